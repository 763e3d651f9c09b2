//! The list of a capture's scans.

use super::stack_list::{StackList, StackRow};
use crate::catalogue;
use analysis::format::{bytes, duration};
use engine::Loaded;
use report::text::escape;
use std::sync::Arc;

/// One row per scan, by number.
pub(super) fn scans(loaded: Arc<Loaded>) -> StackList {
    let row = |(number, scan): (usize, &capture::Scan)| {
        let process = loaded.tables.processes.get(scan.process.index());
        let pid = process.map_or_else(|| "?".to_owned(), |process| process.pid.to_string());
        let searched = bytes(scan.searched.min(i64::MAX as u64).cast_signed());
        let (after, still) = (duration(scan.time), duration(scan.still_ns));
        StackRow {
            numbers: format!("{number:>6}  {after:>10}  {pid:>8}  {searched:>10}  {still:>11}"),
            name: process.map_or_else(String::new, |process| escape(&process.name).into_owned()),
            node: None,
            place: None,
            mark: None,
            about: Vec::new(),
        }
    };
    let rows = (1..).zip(&loaded.tables.scans).map(row).collect();
    let about = vec![catalogue::CHOOSE_A_SCAN.to_owned()];
    let (still, process) = (catalogue::STOOD_STILL, "process");
    let header =
        format!("{:>6}  {:>10}  {:>8}  {:>10}  {still:>11}  {process}", "scan", "after", "pid", "searched");
    StackList { about, header, numbers: [53, 28], rows, left_out: 0, loaded: loaded.clone() }
}
