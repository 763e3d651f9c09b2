//! What can go wrong between a capture and its view.

use analysis::format::duration;
use analysis::query::Unknown;
use capture::Error as CaptureError;
use heap_graph::WhichScan;
use std::io;

/// What can go wrong between a capture and its view.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The capture cannot be read. The text says where and what to do.
    #[error("{file}: {error}")]
    Capture {
        /// The file, as the user named it.
        file: String,
        /// What is wrong with it.
        #[source]
        error: CaptureError,
    },
    /// The question names something that the capture does not have.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// The range that was asked for ends before it begins.
    #[error("the range ends at {}, before it begins at {}: give the earlier moment first", duration(*.to), duration(*.from))]
    Backwards {
        /// Its beginning, nanoseconds since the start of the recording.
        from: u64,
        /// Its end.
        to: u64,
    },
    /// The capture is aggregated, and the question is about single blocks.
    #[error(
        "{file} is aggregated: it has totals per stack at snapshots, but no {wanted}. Record without --aggregate; if that is too \
         large, --sample makes it smaller, and attach and daemon limit it by --max-size and --keep"
    )]
    Aggregated {
        /// The file, as the user named it.
        file: String,
        /// What was asked for that it lacks.
        wanted: &'static str,
    },
    /// The capture does not have the scan that was asked for.
    #[error("{file} {}: sysprof-memprof scan PID scans a process that is recorded, run --scan-at-exit each process at its end", scans(*.count, .which))]
    NotScanned {
        /// The file, as the user named it.
        file: String,
        /// Number of scans in the capture.
        count: usize,
        /// The one that was asked for.
        which: WhichScan,
    },
    /// A file of earlier numbers that cannot be used.
    #[error("{0}")]
    Baseline(String),
    /// The view cannot be written; a closed pipe is one reason.
    #[error("cannot write: {0}")]
    Write(#[from] io::Error),
}

/// Which scans there are instead.
fn scans(count: usize, which: &WhichScan) -> String {
    match (count, which) {
        (0, _) | (_, WhichScan::Last) => "has no memory scan".into(),
        (_, WhichScan::Of(_)) => "has no scan of this process, only of others (info lists them)".into(),
        (1, WhichScan::Number(number)) => format!("has one scan, and no number {number}"),
        (count, WhichScan::Number(number)) => format!("has {count} scans, and no number {number}"),
    }
}
