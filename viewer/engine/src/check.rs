//! Rules for a capture: how much it may hold, leave and allocate, in numbers or relative to an earlier capture.
//!
//! ```text
//!  rules: file, options ──► Rules ──┐
//!  capture ──► sums, once per part ─┼─► Report ──► text, JSON, JUnit
//!  baseline ──► the same ───────────┘        stacks to blame for broken rules
//! ```
//!
//! A rules file belongs in a repository, next to the code whose memory it watches.
//!
//! ```toml
//! suppressions = ["app.supp"]        # paths are relative to this file
//! max-peak = "512M"
//! max-leaked = 0
//!
//! [[rule]]
//! name = "the parser keeps nothing"
//! filter = "parse* and not parse_cache"
//! from = "warm"                      # marks, times, peak …
//! to = "end"
//! max-growth = "64K"
//!
//! [[rule]]
//! during = "load"                    # blocks that were allocated in regions of this name
//! max-peak = "2M"                    # the most that they held at once
//! ```

mod baseline;
mod culprits;
mod file;
mod growth;
mod highest;
mod judge;
mod measure;
mod rule;
mod sum;
mod sums;
mod verdict;

pub use baseline::Numbers;
pub use culprits::Culprits;
pub use file::RulesError;
pub use growth::Growth;
pub use measure::Measure;
pub use rule::{Baseline, Limits, Rules, Section};
pub use verdict::{Outcome, Report, Verdict};
