//! How text may look.

use anstyle::{AnsiColor, Style as Ansi};
use std::fmt::{self, Display};

/// Columns that a name gets on the narrowest terminal.
const LEAST: usize = 20;

/// What the place that text is written to can show. The default is for files and pipes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Write colours. Only the caller knows whether a terminal reads them.
    pub color: bool,
    /// Columns of a terminal: names are cut to them. None where no terminal is: then nothing is cut.
    pub width: Option<usize>,
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
    /// Columns for a name beside others that are used.
    pub(super) fn room(&self, used: usize) -> usize {
        self.width.map_or(usize::MAX, |width| width.saturating_sub(used).max(LEAST))
    }

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
