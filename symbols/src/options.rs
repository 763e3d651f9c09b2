//! Where to look for files.

use crate::cache::Cache;
use crate::debuginfod::{Client, Servers};
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Where to look for files, and how names are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Directories with debug files, searched in this order.
    pub debug_dirs: Vec<PathBuf>,
    /// A copy of the file system of the recorded machine: binaries and debug files are looked for in it first.
    pub sysroot: Option<PathBuf>,
    /// Servers to ask for debug files that are not here (none unless the user names some), and the folder of fetched
    /// files.
    pub servers: Option<Servers>,
    /// Show names of C++, Rust and D as their authors wrote them.
    pub demangle: bool,
    /// Where answers are kept for later lookups; none are kept without a folder.
    pub cache: Option<Cache>,
    /// Number of threads that look up names; by default one for each processor.
    pub threads: Option<NonZeroUsize>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            debug_dirs: vec![PathBuf::from("/usr/lib/debug")],
            sysroot: None,
            servers: None,
            demangle: true,
            cache: None,
            threads: None,
        }
    }
}

/// What a search for debug files needs.
#[derive(Clone, Copy)]
pub(crate) struct Places<'a> {
    pub(crate) options: &'a Options,
    pub(crate) client: Option<&'a Client>,
}
