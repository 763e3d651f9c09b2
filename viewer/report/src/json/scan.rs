//! A scan of a process' memory.

use capture::Scan;
use engine::Loaded;
use serde::Serialize;

/// What is known of a scan apart from its pointers.
#[derive(Serialize)]
pub(super) struct ScanFields<'a> {
    number: usize,
    pid: Option<u32>,
    process: Option<&'a str>,
    time_ns: u64,
    still_ns: u64,
    searched_bytes: u64,
    unread_bytes: u64,
    lost_pointers: u64,
}

impl<'a> ScanFields<'a> {
    /// For the scan with this number in the capture, from 1.
    pub(super) fn new(loaded: &'a Loaded, number: usize, scan: &Scan) -> Self {
        let process = loaded.tables.processes.get(scan.process.index());
        Self {
            number,
            pid: process.map(|process| process.pid),
            process: process.map(|process| process.name.as_str()),
            time_ns: scan.time,
            still_ns: scan.still_ns,
            searched_bytes: scan.searched,
            unread_bytes: scan.unread,
            lost_pointers: scan.lost,
        }
    }
}
