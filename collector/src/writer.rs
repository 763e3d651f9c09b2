//! Turns the drain thread's batches into the capture.

pub(crate) mod aggregator;
mod annotations;
pub(crate) mod output_file;
pub(crate) mod pipeline;
pub(crate) mod snapshot;
pub(crate) mod symbolize;
pub(crate) mod tasks;
pub(crate) mod writing;
pub(crate) mod written;
