//! How text may be styled.

use anstyle::{AnsiColor, Style as Ansi};
use std::fmt::{self, Display};

/// Least columns of a name, on the narrowest terminal.
const LEAST: usize = 20;

/// What the output can display. The default suits files and pipes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Write colours. Only the caller knows whether the output is a terminal.
    pub color: bool,
    /// Width of the terminal, to which names are cut. None for anything else: nothing is cut.
    pub width: Option<usize>,
}

/// The role of a piece of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Nothing special.
    #[default]
    Plain,
    /// What follows belongs to it.
    Heading,
    /// The number that a row is about.
    Value,
    /// What to look at first.
    Function,
    /// Secondary details.
    Detail,
    /// What to know before trusting the rest.
    Warning,
}

/// Text in the colours of its role.
pub(super) struct Painted<T> {
    text: T,
    style: Option<Ansi>,
}

impl Style {
    /// Columns left for a name, given those used.
    pub(super) fn room(&self, used: usize) -> usize {
        self.width.map_or(usize::MAX, |width| width.saturating_sub(used).max(LEAST))
    }

    pub(super) fn paint<T: Display>(&self, role: Role, text: T) -> Painted<T> {
        let style = match role {
            Role::Plain => return Painted { text, style: None },
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
