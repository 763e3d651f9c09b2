//! Rules already worked out, in two levels.
//!
//! A fill from the tables costs half a microsecond, so it must happen once per address and process, not once per
//! conflict in a small cache:
//!
//! ```text
//!  RuleTable     per thread, 1,024 rules, 2-way, evicts      ~1 ns
//!  SharedRules   process-wide, insert-only, never evicts     ~5 ns, fills the first level again
//! ```

#[expect(unsafe_code, reason = "takes over zeroed memory of the caller")]
mod shared;
#[expect(unsafe_code, reason = "takes over zeroed memory of the caller")]
mod table;

pub use shared::{SharedRules, SharedSlot};
pub use table::RuleTable;

#[cfg(test)]
mod tests;
