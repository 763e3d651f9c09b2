//! The pass over the events, and the numbers that it leaves.

pub(crate) mod builder;
pub(crate) mod checkpoint;
pub(crate) mod counters;
pub(crate) mod estimate;
pub(crate) mod failures;
pub(crate) mod heap;
pub(crate) mod lineage;
pub(crate) mod mappings;
pub(crate) mod pages;
pub(crate) mod peak;
pub(crate) mod pools;
pub(crate) mod process;
pub(crate) mod profile;
pub(crate) mod row_totals;
pub(crate) mod samples;
mod site_columns;
pub(crate) mod sites;
pub(crate) mod tally;
pub(crate) mod thread;
pub(crate) mod totals;
pub(crate) mod watch;
