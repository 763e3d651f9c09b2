//! How text may look.

use anstyle::{AnsiColor, Style as Ansi};
use std::fmt::{self, Display};

/// What the place that text is written to can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Write colours. Only the caller knows whether a terminal reads them.
    pub color: bool,
    /// Columns to fill. Where the width is unknown or output goes to a file, something generous.
    pub width: usize,
}

impl Default for Style {
    /// For files and pipes: no colours, 120 columns.
    fn default() -> Self {
        Self { color: false, width: 120 }
    }
}

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Heading,
    /// The number that a row is about.
    Value,
    /// Something to look at first.
    Function,
    /// Something for those who look twice.
    Detail,
    Warning,
}

/// Text in the colours of its role.
pub(super) struct Painted<T> {
    text: T,
    style: Option<Ansi>,
}

impl Style {
    pub(super) fn paint<T: Display>(&self, role: Role, text: T) -> Painted<T> {
        let style = match role {
            Role::Heading => Ansi::new().bold(),
            Role::Value => AnsiColor::Yellow.on_default(),
            Role::Function => AnsiColor::Cyan.on_default(),
            Role::Detail => Ansi::new().dimmed(),
            Role::Warning => AnsiColor::Red.on_default(),
        };
        Painted { text, style: self.color.then_some(style) }
    }
}

impl<T: Display> Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.style {
            Some(style) => write!(f, "{}{}{}", style.render(), self.text, style.render_reset()),
            None => self.text.fmt(f),
        }
    }
}
