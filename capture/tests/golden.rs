//! Captures of every released version stay readable.

use std::path::Path;
use std::{env, fs};

use crate::fixture;

/// Check that the golden file of format 1 gives what was recorded in it. `UPDATE_GOLDEN=1` writes it anew, which is
/// right only before that version is released.
#[test]
fn version_1_reads_as_it_was_written() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1.memprof");
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, fixture::file()).unwrap();
    }
    let golden = fs::read(&path).unwrap();
    assert_eq!(fixture::read(golden.as_slice()).unwrap(), fixture::contents());
    // What this version writes is the same chunks. Compressed bytes may differ between versions of zstd.
    let raw = |file: &[u8]| format!("{:#?}", crate::hand::chunks(file));
    assert_eq!(
        raw(&fixture::file()),
        raw(&golden),
        "the writer changed: a new version needs a new golden file"
    );
}
