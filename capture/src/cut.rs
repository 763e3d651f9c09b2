//! Where an incomplete capture ends.

use std::fmt;

/// The state of a capture without a valid end: everything before `offset` is intact and readable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Where the readable part ends: after a whole chunk.
    pub offset: u64,
    /// Bytes of the file from there on.
    pub lost: u64,
    /// Why reading ends there.
    pub reason: CutReason,
}

/// Why only a part of a capture was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutReason {
    /// All chunks are whole: the recording is still running or was killed.
    Unfinished,
    /// The file ends inside a chunk: it is being written right now, the disk was full, or a copy was interrupted.
    Torn,
    /// A chunk is damaged, for this reason; later chunks mean nothing without it.
    Damaged(&'static str),
}

impl fmt::Display for Cut {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cut { offset, lost, reason } = self;
        match reason {
            CutReason::Unfinished => {
                write!(
                    out,
                    "not finished: it ends after {offset} bytes without a summary, and of what happened last, a second or so is missing"
                )
            }
            CutReason::Torn => {
                write!(out, "cut off at byte {offset}: the last {lost} bytes are part of a chunk")
            }
            CutReason::Damaged(how) => {
                write!(out, "damaged at byte {offset}, {lost} bytes cannot be read: {how}")
            }
        }
    }
}
