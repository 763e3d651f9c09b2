//! The viewer from outside: captures that were made for a test, and what each view says of them.
//!
//! One program for all, since each would link the viewer again.

#[path = "support/fields.rs"]
mod fields;
mod support;

mod aggregated;
mod captures;
mod check;
mod copy;
mod counting;
#[cfg(feature = "parquet")]
mod dataset;
mod diffs;
mod early_ends;
mod export;
mod failed;
mod files;
mod frees;
mod graph;
mod invalid_frees;
mod lens;
mod lifetimes;
mod live;
mod moments;
mod nameless;
mod oracle;
mod outline;
mod reported;
#[cfg(feature = "sql")]
mod retained;
mod rows;
mod sampling;
mod shown;
#[cfg(feature = "sql")]
mod sql;
mod summary;
mod suppression;
mod symbolize;
mod trees;
mod views;
