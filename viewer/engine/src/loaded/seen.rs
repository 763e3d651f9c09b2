//! What part of a capture is shown.

use analysis::query::Unmatched;
use analysis::{Cost, Spread};

/// What a lens has left out, for views to report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// The filter, as it was written.
    pub filter: Option<String>,
    /// Names in the filter, or in other options that choose functions, that match nothing.
    pub unmatched: Vec<Unmatched>,
    /// What rows are, unless they are functions.
    pub group: Option<Grouping>,
    /// The costs of what is not shown.
    pub hidden: Cost,
    /// The variances of `hidden`.
    pub hidden_spread: Cost<Spread>,
}

impl Seen {
    /// What this lens and one after it have left out together.
    pub(crate) fn followed_by(mut self, next: Self) -> Self {
        self.hidden += next.hidden;
        self.hidden_spread += next.hidden_spread;
        self.unmatched.extend(next.unmatched);
        Self { filter: self.filter.or(next.filter), group: self.group.or(next.group), ..self }
    }
}

/// What functions, or whole stacks, are grouped by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// The executable or library that a function is in.
    Module,
    /// The part of its name before the last `::`.
    Namespace,
    /// Its source file.
    File,
    /// Its source line.
    Line,
    /// The process that allocates, by name and pid, instead of the stack.
    Process,
    /// The path of the executable, instead of the stack.
    Executable,
    /// The command line, instead of the stack.
    Command,
    /// The thread that allocates, instead of the stack.
    Thread,
    /// The value of this label of the process, instead of the stack.
    Label(String),
}

impl Grouping {
    /// All but labels, of which each capture has others.
    pub const ALL: [Grouping; 8] = [
        Grouping::Module,
        Grouping::Namespace,
        Grouping::File,
        Grouping::Line,
        Grouping::Process,
        Grouping::Executable,
        Grouping::Command,
        Grouping::Thread,
    ];

    /// The word that names it on the command line.
    pub fn name(&self) -> &str {
        match self {
            Grouping::Module => "module",
            Grouping::Namespace => "namespace",
            Grouping::File => "file",
            Grouping::Line => "line",
            Grouping::Process => "process",
            Grouping::Executable => "executable",
            Grouping::Command => "command",
            Grouping::Thread => "thread",
            Grouping::Label(name) => name,
        }
    }

    /// True when it groups by who allocates rather than where.
    pub fn is_of_owner(&self) -> bool {
        matches!(
            self,
            Grouping::Process
                | Grouping::Executable
                | Grouping::Command
                | Grouping::Thread
                | Grouping::Label(_)
        )
    }
}

impl From<&str> for Grouping {
    /// Whatever is none of the others is a label.
    fn from(name: &str) -> Self {
        let known = Self::ALL.into_iter().find(|grouping| grouping.name() == name);
        known.unwrap_or_else(|| Grouping::Label(name.strip_prefix("label:").unwrap_or(name).to_owned()))
    }
}
