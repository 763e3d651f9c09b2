//! Versions of the format.

use std::fmt;

/// The version that this crate writes.
pub const VERSION: Version = Version { major: 1, minor: 12 };

/// A version of the format. A reader opens every minor version of the majors it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version {
    /// Changes when an older reader would misread the file.
    pub major: u16,
    /// Changes when something was added that older readers skip.
    pub minor: u16,
}

impl fmt::Display for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}", self.major, self.minor)
    }
}
