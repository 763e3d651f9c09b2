//! Run by both the fuzzer and its replay in the tests.

use super::{Import, import};
use capture::Reader;
use std::path::Path;
use std::{env, fs, process};

/// Imports arbitrary bytes as another tool's file.
///
/// # Panics
/// If the result is neither a complete capture nor an error without a file, or if the temporary folder is not
/// writable.
pub fn import_hostile(bytes: &[u8]) {
    let folder = env::temp_dir().join(format!("sysprof-memprof-import-{}", process::id()));
    fs::create_dir_all(&folder).expect("temporary files can be made");
    let (file, output) = (folder.join("theirs"), folder.join("ours.memprof"));
    fs::write(&file, bytes).expect("temporary files can be written");
    let what = Import { file, output, replace: true, store_command: true, tool_version: "1".into() };
    match import(&what) {
        Ok(_) => assert!(is_whole(&what.output), "the capture is cut"),
        Err(reason) => assert!(!what.output.exists(), "half a capture is left: {reason}"),
    }
    let _left_behind = fs::remove_dir_all(&folder);
}

fn is_whole(capture: &Path) -> bool {
    Reader::open(capture).is_ok_and(|reader| reader.cut().is_none())
}

#[cfg(test)]
#[path = "../../tests/fuzz/replay.rs"]
mod replay;

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: &str = "imports";

    /// Check that the committed seed is the file of the tests. `UPDATE_GOLDEN=1` writes them anew.
    #[test]
    fn seed_is_committed() {
        let bytes = crate::tests::SMALL.as_bytes();
        let path = replay::corpus(TARGET).join("heaptrack");
        if env::var_os("UPDATE_GOLDEN").is_some() {
            fs::create_dir_all(replay::corpus(TARGET)).unwrap();
            fs::write(&path, bytes).unwrap();
        }
        assert!(fs::read(&path).unwrap() == bytes, "run with UPDATE_GOLDEN=1");
    }

    /// Check that each file of the corpus, and some hundred mutations of each, becomes a complete capture or is
    /// refused with a reason.
    #[test]
    fn mutated_files_are_imported_or_refused() {
        replay::replay(TARGET, 300, import_hostile);
    }
}
