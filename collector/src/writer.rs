//! Turns the drain thread's batches into the capture.
//!
//! | file | what it does |
//! |---|---|
//! | `writing` | the thread: takes batches, samples, readings and tasks until there are no more |
//! | `pipeline` | translates merged records into events: the only place where wire and file format meet |
//! | `annotations` | names of pools, and marks |
//! | `tasks` | what other threads ask for, done between two batches |
//! | `written` | how far the writer has come, for other threads |
//! | `snapshot` | a capture of everything so far, while the recording goes on |
//! | `live_heap` | what is held at a moment, while the recording goes on |
//! | `aggregator` | reads the capture while it grows, where totals are kept instead of all events |
//! | `symbolize` | looks names up at the end and stores them |
//! | `output_file` | the file, from its temporary name to where its user has moved it |

pub(crate) mod aggregator;
mod annotations;
pub(crate) mod live_heap;
pub(crate) mod output_file;
pub(crate) mod pipeline;
pub(crate) mod snapshot;
pub(crate) mod symbolize;
pub(crate) mod tasks;
pub(crate) mod writing;
pub(crate) mod written;
