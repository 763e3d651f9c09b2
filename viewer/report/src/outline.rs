//! A page as it is on screen, to be pasted elsewhere: rows of numbers and an indented name, as text, Markdown or
//! HTML.
//!
//! A view that shows rows makes an outline of exactly these rows, so what is copied from a terminal is what was on
//! it, and a report in another form has the rows of the text report.

mod check;
mod document;
mod html;
mod markdown;
mod plain;
mod report;

pub use check::check;
pub use document::outlines;
pub use report::outline;

use serde::Serialize;
use std::io::{self, Write};

/// How an outline is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// In columns.
    #[default]
    Text,
    /// A table that wikis and issue trackers understand.
    Markdown,
    /// A page of its own, without script.
    Html,
}

impl Form {
    /// All of them.
    pub const ALL: [Form; 3] = [Form::Text, Form::Markdown, Form::Html];
}

/// Rows under a title.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outline {
    /// What the rows are about, a line each.
    pub title: Vec<String>,
    /// Headings of the number columns, then that of the names.
    pub columns: Vec<String>,
    /// From top to bottom.
    pub rows: Vec<OutlineRow>,
}

/// A row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OutlineRow {
    /// In the order of the columns; an empty one is left blank.
    pub numbers: Vec<String>,
    /// Levels of indentation of the name.
    pub indent: usize,
    /// The name as recorded; it is escaped when written.
    pub name: String,
    /// True for a name that is not from the program: a placeholder for an unknown function, or the sum of other rows.
    pub is_generated: bool,
}

/// Writes outlines, one below the other.
///
/// # Errors
/// Those of the writer.
pub fn write(out: &mut dyn Write, outlines: &[Outline], form: Form) -> io::Result<()> {
    if form == Form::Html {
        return html::write(out, outlines);
    }
    for (place, outline) in outlines.iter().enumerate() {
        if place > 0 {
            writeln!(out)?;
        }
        match form {
            Form::Markdown => markdown::write(out, outline)?,
            _ => plain::write(out, outline)?,
        }
    }
    Ok(())
}

impl Outline {
    /// Writes it.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&self, out: &mut dyn Write, form: Form) -> io::Result<()> {
        write(out, std::slice::from_ref(self), form)
    }

    /// The outline as text.
    pub fn to_text(&self, form: Form) -> String {
        let mut text = Vec::new();
        // Writing to memory cannot fail.
        let _ = self.write(&mut text, form);
        String::from_utf8_lossy(&text).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Outline {
        let row = |bytes: &str, indent, name: &str, is_generated| OutlineRow {
            numbers: vec![bytes.to_owned(), String::new()],
            indent,
            name: name.to_owned(),
            is_generated,
        };
        Outline {
            title: vec!["app.memprof: peak".to_owned()],
            columns: ["bytes", "self", "function"].map(str::to_owned).into(),
            rows: vec![
                row("12.3 MiB", 0, "[Everything]", true),
                row("1 B", 2, "map<a|b, c*>::f\u{1b}[1m `x` <script>", false),
            ],
        }
    }

    /// Check the columns of the text, and that a name cannot act on a terminal.
    #[test]
    fn text_is_in_columns() {
        let expected = "app.memprof: peak\n\n     bytes  self  function\n  12.3 MiB        [Everything]\n       1 B            map<a|b, c*>::f\\u{1b}[1m `x` <script>\n";
        assert_eq!(example().to_text(Form::Text), expected);
    }

    /// Check that a name cannot end a cell of a Markdown table, and that its levels are kept.
    #[test]
    fn markdown_is_a_table() {
        let expected = "app.memprof: peak\n\n| bytes | self | function |\n|---:|---:|:---|\n| 12.3 MiB |  | *[Everything]* |\n| 1 B |  | &nbsp;&nbsp;&nbsp;&nbsp;`` map<a\\|b, c*>::f\\u{1b}[1m `x` <script> `` |\n";
        assert_eq!(example().to_text(Form::Markdown), expected);
    }

    /// Check that a name is text in the page, whatever is in it, and that the page allows no script.
    #[test]
    fn html_has_text_only() {
        let page = example().to_text(Form::Html);
        assert!(page.contains("&lt;script&gt;") && !page.contains("<script"), "{page}");
        assert!(page.contains("default-src 'none'") && page.contains("padding-left:2em"), "{page}");
        assert!(page.contains("<i>[Everything]</i>"), "{page}");
    }
}
