//! Expressions over stacks: `foo and (malloc or module:libssl*) and not thread:worker-?`.
//!
//! ```text
//!  expression   = both { "or" both }
//!  both         = one { "and" one }
//!  one          = "not" one | "(" expression ")" | [ field ":" ] name
//!  field        = "function" | "module" | "file" | "process" | "thread" | "call"
//!  name         = letters with * and ?; a backslash precedes literal *, ?, blanks and brackets
//!               | '"' a whole name as it stands, with a backslash before " and \ '"'
//! ```
//!
//! A name without a field is a function's: any function on the stack, or the allocator function that was called. It
//! is found as whole words of the short name, without parameters and generic arguments, or as the whole full name:
//! see [`Pattern`].
//!
//! ```text
//!  text ──► token ──► parser ──► Expression: terms, and a formula in postfix order
//!                                     │  evaluate, once per capture
//!                                     ▼
//!                                Selection: a set of terms for each stack, built from the root up
//! ```

mod evaluate;
mod parser;
mod syntax_error;
mod token;
mod unmatched;

pub use evaluate::Selection;
pub use syntax_error::SyntaxError;

use super::pattern::Pattern;
use std::fmt;
use std::str::FromStr;

/// Most names in one expression: the set of true ones is a word of bits.
pub(super) const MOST_TERMS: usize = 64;

/// A condition on stacks and on who allocates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    text: String,
    terms: Vec<Term>,
    /// In postfix order: operands before their operator. So nested brackets need no recursion.
    formula: Vec<Step>,
}

/// A name in an expression, and its field.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    field: Field,
    pattern: Pattern,
}

/// What a name refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    /// A function on the stack, or the allocator function.
    Function,
    /// The binary that contains a function on the stack, by path or file name.
    Module,
    /// The source file of a function on the stack, likewise.
    File,
    /// The process, by name or pid.
    Process,
    /// The thread that allocates, by name or id.
    Thread,
    /// The allocator function alone.
    Call,
}

impl Field {
    const ALL: [(&'static str, Field); 6] = [
        ("function", Field::Function),
        ("module", Field::Module),
        ("file", Field::File),
        ("process", Field::Process),
        ("thread", Field::Thread),
        ("call", Field::Call),
    ];

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, field)| *field)
    }
}

/// A step of the evaluation: its effect on a stack of booleans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Pushes the value of a term.
    Term(u8),
    /// Negates the top.
    Not,
    /// Replaces the two on top by their conjunction.
    And,
    /// Replaces the two on top by their disjunction.
    Or,
}

impl Expression {
    /// True when it refers to threads, which profile rows have only when counted by threads.
    pub fn asks_for_threads(&self) -> bool {
        self.terms.iter().any(|term| term.field == Field::Thread)
    }

    /// True when it refers to names of functions or source files, which a capture may lack.
    pub fn asks_for_functions(&self) -> bool {
        self.terms.iter().any(|term| matches!(term.field, Field::Function | Field::File))
    }

    /// The value of the formula, given the set of true terms.
    fn holds(&self, true_terms: u64, truths: &mut Vec<bool>) -> bool {
        truths.clear();
        for step in &self.formula {
            match *step {
                Step::Term(term) => truths.push(true_terms >> term & 1 == 1),
                Step::Not => {
                    let truth = truths.pop().unwrap_or(false);
                    truths.push(!truth);
                }
                Step::And | Step::Or => {
                    let (b, a) = (truths.pop().unwrap_or(false), truths.pop().unwrap_or(false));
                    truths.push(if *step == Step::And { a && b } else { a || b });
                }
            }
        }
        truths.pop().unwrap_or(true)
    }
}

impl FromStr for Expression {
    type Err = SyntaxError;

    fn from_str(text: &str) -> Result<Self, SyntaxError> {
        parser::parse(text)
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
