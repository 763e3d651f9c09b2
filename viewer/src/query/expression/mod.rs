//! Expressions over stacks: `foo and (malloc or module:libssl*) and not thread:worker-?`.
//!
//! ```text
//!  expression   = both { "or" both }
//!  both         = one { "and" one }
//!  one          = "not" one | "(" expression ")" | [ field ":" ] name
//!  field        = "function" | "module" | "file" | "process" | "thread" | "call"
//!  name         = letters with * and ?, a backslash before those that are meant as such, before blanks and brackets
//!               | '"' letters as they are, a backslash before " and \ '"'
//! ```
//!
//! A name alone is a function's: one anywhere on the stack, or the function of the allocator that was called. It is
//! compared with the whole name and with the short one, without parameters and generic arguments.
//!
//! ```text
//!  text ──► token ──► parser ──► Expression: terms, and a formula in postfix order
//!                                     │  evaluate, once per capture
//!                                     ▼
//!                                Selection: a set of terms for each stack, built from the root inwards
//! ```

mod evaluate;
mod parser;
mod syntax_error;
mod token;

pub use evaluate::Selection;
pub use syntax_error::SyntaxError;

use super::pattern::Pattern;
use std::fmt;
use std::str::FromStr;

/// Names that one expression may have: a stack's are a set of bits in a word.
pub(super) const MOST_TERMS: usize = 64;

/// A condition on stacks and on who allocates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    text: String,
    terms: Vec<Term>,
    /// In postfix order: operands before what joins them. So no depth of brackets costs a program's stack.
    formula: Vec<Step>,
}

/// One name of an expression and what it is the name of.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    field: Field,
    pattern: Pattern,
}

/// What a name may be the name of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    /// A function on the stack, or the one of the allocator.
    Function,
    /// The file that a function on the stack is in, by path or by the last part of it.
    Module,
    /// The source file, likewise.
    File,
    /// The process, by name or pid.
    Process,
    /// The thread that allocates, by name or id.
    Thread,
    /// The function of the allocator alone.
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

/// One step of the evaluation: what it does to a stack of truths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Puts the truth of a term on top.
    Term(u8),
    /// Turns the one on top round.
    Not,
    /// Joins the two on top.
    And,
    /// Likewise.
    Or,
}

impl Expression {
    /// True when it asks for threads, which rows of a profile have only when it was counted by them.
    pub fn asks_for_threads(&self) -> bool {
        self.terms.iter().any(|term| term.field == Field::Thread)
    }

    /// True when it asks for names of functions or source files, which a capture may lack.
    pub fn asks_for_functions(&self) -> bool {
        self.terms.iter().any(|term| matches!(term.field, Field::Function | Field::File))
    }

    /// The truth of the formula, of a set of true terms.
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
