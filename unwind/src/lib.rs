//! Exact stack unwinding from `.eh_frame`, fit to run inside `malloc`.
//!
//! The constraints first, since they shaped everything here:
//!
//! - **No allocation, no lock, no system call, no panic.** The code runs in a hook beneath any code of the host, in
//!   signal handlers, and before the host's `main`. `no_std`, and all storage is the caller's.
//! - **Little stack.** A warm walk takes a few hundred bytes. A call frame table is parsed in the caller's
//!   [`Scratch`], so even the first walk of a thread fits on a 16 KiB thread stack.
//! - **Exact or ended.** A frame is only visited if its address is code and it was reached by unwind tables, by frame
//!   pointers where there are no tables, or by the instructions of a leaf function or of a C library that is built
//!   without tables ([`CodeWithoutTables`]). Stack pointers rise strictly, except from a signal handler or from C to the goroutine
//!   that called it, which may be on other stacks. A chain that breaks a rule is cut, and [`End`] says why; nothing is
//!   guessed by scanning.
//! - **Hostile bytes are ordinary input.** Tables, headers and stack words may be anything. Every read is bounded,
//!   and every loop has a limit.
//! - Not for: symbol names, source lines, `.debug_frame`, and processors other than x86-64 and 64-bit ARM (the crate
//!   compiles elsewhere, and every walk ends at once with [`End::NoUnwindInfo`]).
//!
//! What happens to one return address:
//!
//! ```text
//!  walk ──► RuleTable ──miss──► SharedRules ──miss──► cfi (gimli) ──► row ──► Rule, kept in both tables
//!   │        per thread          process-wide          .eh_frame_hdr → FDE → row at this address
//!   │        5 ns a frame        3 ns more             ~0.3 µs, once per address
//!   └── Rule: next sp, bp and return address from sp and bp; or the row itself for the rare odd frame
//! ```
//!
//! The caller provides memory ([`Memory`]), modules ([`Modules`]) and the three stores of [`CachedRules`], and calls
//! [`walk()`], or [`Memos::stack`], which stops where it meets the thread's previous stack unchanged. Stacks of other
//! processes, as in CPU samples, go through [`unwind_sample`] by the same rules.
//!
//! # Files
//!
//! | file | what it does |
//! |---|---|
//! | `memo` | a walk that stops where it meets the last stack unchanged |
//! | `walk` | a stack, innermost frame first; `sample`: one of another process, from a copy |
//! | `frame` `registers` `address` `end` | the state of a walk, where it starts, what a code address is, how a walk ends |
//! | `cache` | rules that were computed already, in two levels |
//! | `rules` | where a rule comes from: `learn` has the table of special cases |
//! | `rule` | a table row in eight bytes |
//! | `cfi` `expression` | rows of the call frame tables, and DWARF expressions |
//! | `epilogue` `code_without_tables` | rules from instructions, where there are no tables |
//! | `frame_pointer` | the step where there is no rule at all |
//! | `clone` `go` `hotspot` | frames of the C library, Go's runtime and Java's interpreter that no table describes |
//! | `module` `sections` | what a mapped ELF image says about itself, and what a walk needs of it |
//! | `memory` `stack_memory` `saved_words` | words of stacks |
//! | `arch` `instruction` | what differs between processors; lengths of instructions |
#![no_std]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

#[cfg(test)]
extern crate std;

mod address;
mod end;
mod frame;
mod memory;
mod registers;
mod saved_words;
mod sections;
#[expect(unsafe_code, reason = "reads stack words in place")]
mod stack_memory;
mod walk;

mod memo;

mod cache;
mod rule;
mod rules;

mod sample;

mod cfi;
mod clone;
mod epilogue;
mod expression;
mod frame_pointer;
mod go;
mod hotspot;

mod arch;
mod code_without_tables;
pub mod instruction;
pub mod module;

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod testing;

pub use address::CodeAddress;
pub use cache::{RuleTable, SharedRules, SharedSlot};
pub use cfi::Scratch;
pub use code_without_tables::CodeWithoutTables;
pub use end::End;
pub use frame::Frame;
pub use memo::{Accessors, Frames, Label, Labels, Memos, Numbered};
pub use memory::Memory;
pub use registers::Registers;
pub use rule::{Kind, Rule};
pub use rules::{CachedRules, Rules};
pub use sample::{SampledModules, StackSample, unwind_sample};
pub use saved_words::{SavedWord, SavedWords};
pub use sections::{FIRST_OF_GREENLETS, Modules, Sections};
pub use stack_memory::StackMemory;
pub use walk::{step, walk};
