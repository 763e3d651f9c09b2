//! Rules for a capture: how much it may hold, leave and allocate, in numbers or relative to an earlier capture.
//!
//! ```text
//!  rules: file, options ──► Rules ──┐
//!  capture ──► sums, once per part ─┼─► Report ──► text, JSON, JUnit
//!  baseline ──► the same ───────────┘
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
//! ```

mod file;
mod growth;
mod judge;
mod measure;
mod rule;

pub use file::RulesError;
pub use growth::Growth;
pub use judge::{Outcome, Report, Verdict};
pub use measure::Measure;
pub use rule::{Baseline, Limits, Rules, Section};
