//! A graph of what a scan found, and what is called what in it.

use super::HeapGraph;
use capture::Scan;

/// Which block kept which alive when a process was scanned.
#[derive(Debug)]
pub struct Scanned {
    /// The scan.
    pub scan: Scan,
    /// Which of the capture's scans it is, counted from 1.
    pub number: usize,
    /// How many there are.
    pub count: usize,
    /// Blocks may have been there that are not known, as of a process that was attached to: memory that lies in no known block counts
    /// as in use, so less is unreachable than there may be.
    pub is_partial: bool,
    /// What roots are called, by their numbers: see [`super::root_name`].
    pub roots: Vec<String>,
    /// The graph.
    pub graph: HeapGraph,
}
