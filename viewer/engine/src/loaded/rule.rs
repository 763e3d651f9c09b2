//! One rule.

use analysis::query::Pattern;
use std::fmt;

/// A rule, which hides the leaks of stacks that it matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// As in `LeakSanitizer`: a part of the name of a function, of its source file, or of its executable or library.
    pub pattern: Pattern,
    /// The pattern as it was written.
    pub text: String,
    /// Where it comes from.
    pub origin: Origin,
}

/// Where a rule comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A line of a file.
    File {
        /// Its name, as the user gave it.
        file: String,
        /// Line number, from 1.
        line: usize,
    },
    /// The program's own `__lsan_default_suppressions`.
    Program(String),
    /// The built-in list, and why the rule is in it.
    BuiltIn(&'static str),
}

impl Origin {
    /// The word that names it in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Origin::File { .. } => "file",
            Origin::Program(_) => "program",
            Origin::BuiltIn(_) => "built_in",
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::File { file, line } => write!(f, "{file}:{line}"),
            Origin::Program(program) => write!(f, "__lsan_default_suppressions of {program}"),
            Origin::BuiltIn(why) => write!(f, "built in: {why}"),
        }
    }
}
