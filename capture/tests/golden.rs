//! Captures of every version stay readable.

use std::path::{Path, PathBuf};
use std::{env, fs};

use capture::{Effort, VERSION};

use crate::fixture::{self, Contents};

fn golden(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/v{version}.memprof"))
}

/// Checks that the golden file of a version reads as exactly this.
fn reads_as(version: &str, expected: Contents) {
    let golden = fs::read(golden(version)).unwrap();
    assert_eq!(fixture::read(golden.as_slice()).unwrap(), expected);
}

/// Check that the golden file of the present format reads as recorded, and is what is written. `UPDATE_GOLDEN=1`
/// rewrites it, which is right only before that version is released.
#[test]
fn present_version_reads_and_writes_its_golden_file() {
    let path = golden(&VERSION.to_string());
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, fixture::file()).unwrap();
    }
    let golden = fs::read(&path).unwrap();
    assert_eq!(fixture::read(golden.as_slice()).unwrap(), fixture::contents());
    // Compressed bytes may differ between versions of zstd.
    let raw = |file: &[u8]| format!("{:#?}", crate::hand::chunks(file));
    assert_eq!(
        raw(&fixture::file()),
        raw(&golden),
        "the writer changed: a new version needs a new golden file"
    );
}

/// Check that the golden file of format 1.0 gives what was recorded in it, and defaults for what it lacks.
#[test]
fn version_1_0_reads_as_it_was_written() {
    let mut expected = fixture::contents_before_1_2(fixture::events_of_1_0());
    expected.tables.summary.as_mut().unwrap().effort = Effort::default();
    reads_as("1.0", expected);
}

/// Check that the golden file of format 1.2 gives what was recorded in it, and nothing of what came later.
#[test]
fn version_1_2_reads_as_it_was_written() {
    reads_as("1.2", fixture::contents_before_1_3());
}

/// Check that the golden file of format 1.3 gives what was recorded in it, and nothing of what came later.
#[test]
fn version_1_3_reads_as_it_was_written() {
    reads_as("1.3", fixture::contents_before_1_4());
}

/// Check that the golden file of format 1.4, whose numbers lie in no planes, gives what was recorded in it.
#[test]
fn version_1_4_reads_as_it_was_written() {
    reads_as("1.4", fixture::contents_before_1_6());
}

/// Check that the golden file of format 1.5 gives what was recorded in it, and nothing of what came later.
#[test]
fn version_1_5_reads_as_it_was_written() {
    reads_as("1.5", fixture::contents_before_1_6());
}

/// Check that the golden file of format 1.6, whose chunks have fewer events, gives what was recorded in it.
#[test]
fn version_1_6_reads_as_it_was_written() {
    reads_as("1.6", fixture::contents_before_1_8());
}

/// Check that the golden file of format 1.7 gives what was recorded in it, and nothing of what came later.
#[test]
fn version_1_7_reads_as_it_was_written() {
    reads_as("1.7", fixture::contents_before_1_8());
}

/// Check that the golden file of format 1.8 gives what was recorded in it, and nothing of what came later.
#[test]
fn version_1_8_reads_as_it_was_written() {
    reads_as("1.8", fixture::contents_before_1_9());
}

/// Check that the golden file of format 1.9 gives what was recorded in it, and nothing of what came later.
#[test]
fn version_1_9_reads_as_it_was_written() {
    reads_as("1.9", fixture::contents_before_1_10());
}

/// Check that the golden file of format 1.10, whose sizes and placements lie in no groups, gives what was recorded in it.
#[test]
fn version_1_10_reads_as_it_was_written() {
    reads_as("1.10", fixture::contents_before_1_12());
}

/// Check that the golden file of format 1.11 gives what was recorded in it, and nothing of what came later.
#[test]
fn version_1_11_reads_as_it_was_written() {
    reads_as("1.11", fixture::contents_before_1_12());
}

/// Check that the golden file of format 1.12 gives what was recorded in it, except hits of tracepoints.
#[test]
fn version_1_12_reads_as_it_was_written() {
    reads_as("1.12", fixture::contents_before_1_15());
}

/// Check that the golden files of formats 1.13 and 1.14 give what was recorded in them.
#[test]
fn versions_1_13_and_1_14_read_as_they_were_written() {
    reads_as("1.13", fixture::contents_before_1_15());
    reads_as("1.14", fixture::contents_before_1_15());
}

/// Check that the golden file of format 1.1 gives what was recorded in it, and nothing of what came later.
#[test]
fn version_1_1_reads_as_it_was_written() {
    reads_as("1.1", fixture::contents_before_1_2(fixture::events_of_1_1()));
}
