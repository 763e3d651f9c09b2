//! Rules that were already computed, in two levels.
//!
//! Computing a rule from the tables costs at least a quarter of a microsecond, so it must happen once per address and
//! process, not once per conflict in a small cache:
//!
//! ```text
//!  RuleTable     per thread, 2,048 rules, 2-way, evicts      within the 5 ns of a frame
//!  SharedRules   process-wide, insert-only, never evicts     3 ns more, fills the first level again
//! ```

#[expect(unsafe_code, reason = "takes over zeroed memory of the caller")]
mod shared;
mod table;

pub use shared::{SharedRules, SharedSlot};
pub use table::RuleTable;

#[cfg(test)]
mod tests;
