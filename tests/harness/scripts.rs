//! Stacks of scripts, beside what the scripts say of themselves.

use super::{Capture, Row};
use serde_json::Value;
use std::collections::HashMap;

/// By stack of a script's functions, how many blocks it has, and their bytes.
pub(crate) type BlocksByStack = HashMap<String, (u64, u64)>;

/// What a script has said: a line for each block, with its size and its stack.
pub(crate) fn said_blocks(text: &str) -> BlocksByStack {
    let mut said = BlocksByStack::new();
    for line in text.lines() {
        let (size, stack) = line.split_once(' ').expect("a size and a stack");
        let (blocks, bytes) = said.entry(stack.to_owned()).or_default();
        *blocks += 1;
        *bytes += size.parse::<u64>().expect("a size");
    }
    said
}

/// The blocks of these sizes in a recording, by stack as `scripted` writes that of a row.
pub(crate) fn found_blocks(
    capture: &Capture,
    sizes: &str,
    scripted: impl Fn(&Value) -> String,
) -> BlocksByStack {
    let mut found = BlocksByStack::new();
    let report = capture.report(&["--by", "allocations", "--size", sizes]);
    for row in report["rows"].as_array().expect("a report has rows") {
        let (blocks, bytes) = found.entry(scripted(row)).or_default();
        *blocks += row["allocations"].as_u64().unwrap_or(0);
        *bytes += row["bytes"].as_u64().unwrap_or(0);
    }
    found
}

/// The only stack with blocks of these sizes.
pub(crate) fn only_row(capture: &Capture, sizes: &str) -> Row {
    let report = capture.report(&["--by", "allocations", "--size", sizes]);
    let rows = report["rows"].as_array().expect("a report has rows");
    let [row] = rows.as_slice() else { panic!("{} stacks with blocks of {sizes} bytes", rows.len()) };
    Row::from_json(row)
}
