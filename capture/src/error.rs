//! What can go wrong with a capture, in words for the user.

use std::io;

use crate::sniff::Sniff;
use crate::version::VERSION;

/// A failure to read or write a capture. Each text says what happened, where, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A system call failed.
    #[error("cannot {action}: {source}")]
    Io {
        /// What was tried, with the path where there is one.
        action: String,
        /// The system's error.
        source: io::Error,
    },
    /// The file is not a capture.
    #[error("this is not a capture but {found}. Captures are made with `sysprof-memprof run`.")]
    NotACapture {
        /// What its first bytes look like.
        found: Sniff,
    },
    /// The file has another major version.
    #[error(
        "this capture has format {major}.{minor}, written by version {written_by}; this program reads format {}.x. \
         Open it with version {written_by}{}.",
        VERSION.major,
        if *major > VERSION.major { " or later" } else { "" }
    )]
    OtherFormat {
        /// Major version of the file.
        major: u16,
        /// Minor version of the file.
        minor: u16,
        /// Version of the program that wrote it, `unknown` where the header does not say.
        written_by: String,
    },
    /// The file was written in the other byte order.
    #[error(
        "this capture was written with the bytes of each number swapped, which no version does: a conversion \
         damaged it. Copy it again from where it was recorded, as binary."
    )]
    ByteSwapped,
    /// The file ends inside its header.
    #[error(
        "this capture ends after {length} bytes, inside its header: the recording stopped before it began. \
         Record again."
    )]
    HeaderCut {
        /// Length of the file.
        length: u64,
    },
    /// The header's checksum is wrong.
    #[error(
        "the header of this capture is damaged (its checksum does not match). Copy it again from where it was \
         recorded."
    )]
    HeaderDamaged,
    /// A chunk that was readable before, or that the index promises, cannot be read.
    #[error(
        "the capture is damaged at byte {offset}: {reason}. What lies before is intact; copy the file again from \
         where it was recorded to read the rest."
    )]
    Damaged {
        /// Where the chunk begins.
        offset: u64,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The writer was given an id that it never gave out.
    #[error(
        "{what} refers to {to} {id}, which was not written before it: a defect of the collector, please report it"
    )]
    UnknownId {
        /// The record that refers.
        what: &'static str,
        /// The table referred to.
        to: &'static str,
        /// The id.
        id: u32,
    },
    /// A record is larger than the format allows.
    #[error("{what} takes {bytes} bytes and a capture holds at most {limit} in one record: shorten it")]
    TooLarge {
        /// The record.
        what: &'static str,
        /// Its encoded size.
        bytes: usize,
        /// The format's limit.
        limit: usize,
    },
    /// A table is full: it has as many rows as its ids can count.
    #[error("the capture's table of {table} is full (2^32 rows): end this recording and start another")]
    TableFull {
        /// The table.
        table: &'static str,
    },
    /// The last name of the file was removed while it was written, alone or with its folder.
    #[error("it was removed while it was written, and what it held is gone")]
    Removed,
    /// The writer failed before; a capture cannot go on after a partly written chunk.
    #[error("the capture was given up after a write failed; what was written before is readable")]
    GivenUp,
}

/// The action of an [`Error::Io`] when writing the capture itself failed.
pub const WRITE: &str = "write the capture";

impl Error {
    pub(crate) fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let action = action.into();
        move |source| Error::Io { action, source }
    }
}

/// Why bytes do not follow the format, without the place: the caller that knows the chunk adds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

impl Malformed {
    pub(crate) fn at(self, offset: u64) -> Error {
        Error::Damaged { offset, reason: self.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that a newer file's message names the version that can read it, and ours.
    #[test]
    fn newer_format_names_the_version_needed() {
        let text = Error::OtherFormat { major: 7, minor: 2, written_by: "3.1.0".into() }.to_string();
        for part in ["7.2", "version 3.1.0 or later", &format!("{}.x", VERSION.major)] {
            assert!(text.contains(part), "{text:?} lacks {part:?}");
        }
    }
}
