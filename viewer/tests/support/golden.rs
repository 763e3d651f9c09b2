//! Expected outputs in files.

use std::path::PathBuf;

/// Compares a text with `tests/golden/NAME`; with `UPDATE_GOLDEN=1` writes it there instead.
pub(crate) fn check_golden(name: &str, actual: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some_and(|value| value == "1") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, actual).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        actual == expected,
        "{name} differs.\n--- expected\n{expected}\n--- actual\n{actual}\nIf the new output is right, run the test with UPDATE_GOLDEN=1."
    );
}
