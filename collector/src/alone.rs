//! Tests that need a process of their own: what they do would reach other threads of this one, or end it.

use std::process::Command;

/// Says which test is alone in its process.
const ALONE: &str = "SYSPROF_MEMPROF_TEST_ALONE";

/// True in the process of its own that a test has, by its path; where it is not in that one, it is run there and has to succeed.
pub(crate) fn is_alone(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some_and(|alone| alone == test) {
        return true;
    }
    let mut own = Command::new(std::env::current_exe().unwrap());
    let status = own.args(["--exact", test]).env(ALONE, test).status().unwrap();
    assert!(status.success(), "{status}");
    false
}
