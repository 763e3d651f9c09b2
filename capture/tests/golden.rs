//! Captures of every version that was released stay readable.

use std::path::{Path, PathBuf};
use std::{env, fs};

use capture::VERSION;

use crate::fixture;

fn golden(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/v{version}.memprof"))
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
