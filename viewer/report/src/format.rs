//! The formats in which documents are written.

use crate::outline::{self, Form, outlines};
use crate::table::{Document, Readers};
use crate::text::{Extent, Style};
use crate::{csv, json, text};
use engine::Loaded;
use std::io::{self, Write};
use std::str::FromStr;

analysis::named! {
    /// A format of documents.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Format {
        /// In columns, for people.
        #[default]
        Text = "text",
        /// All of it, for programs: see `JSON.md`.
        Json = "json",
        /// The tables with exact numbers, for spreadsheets.
        Csv = "csv",
        /// Tables that wikis and issue trackers understand.
        Markdown = "markdown",
        /// A page of its own, without script.
        Html = "html",
    }
}

impl Format {
    /// Writes a document. Only texts for people have a limit, and only columns of text are cut.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(
        self,
        out: &mut dyn Write,
        loaded: &Loaded,
        document: &Document,
        extent: Extent,
        style: &Style,
    ) -> io::Result<()> {
        match self {
            Format::Text => text::document(out, loaded, document, extent, style),
            Format::Json => json::document(out, loaded, document),
            Format::Csv => csv::csv(out, loaded, document),
            Format::Markdown | Format::Html => {
                outline::write(out, &outlines(loaded, document, extent), self.form())
            }
        }
    }

    /// Who reads it.
    pub fn readers(self) -> Readers {
        if self == Format::Json { Readers::Programs } else { Readers::People }
    }

    /// The form of an outline in it.
    pub fn form(self) -> Form {
        match self {
            Format::Markdown => Form::Markdown,
            Format::Html => Form::Html,
            _ => Form::Text,
        }
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| format!("unknown format `{name}`"))
    }
}
