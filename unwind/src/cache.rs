//! Rules already worked out, in two levels.
//!
//! A fill from the tables costs a quarter of a microsecond and more, so it must happen once per address and process, not once per
//! conflict in a small cache:
//!
//! ```text
//!  RuleTable     per thread, 1,024 rules, 2-way, evicts      within the 5 ns of a frame
//!  SharedRules   process-wide, insert-only, never evicts     3 ns more, fills the first level again
//! ```

#[expect(unsafe_code, reason = "takes over zeroed memory of the caller")]
mod shared;
mod table;

pub use shared::{SharedRules, SharedSlot};
pub use table::RuleTable;

#[cfg(test)]
mod tests;
