//! Tests that need a process of their own, because they would affect other threads of this one, or kill it.

use std::process::Command;

/// Names the test that is alone in its process.
const ALONE: &str = "SYSPROF_MEMPROF_TEST_ALONE";

/// True in the process that runs only this test, given by its path. Elsewhere it runs the test in such a process,
/// requires it to succeed, and returns false.
pub(crate) fn is_alone(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some_and(|alone| alone == test) {
        return true;
    }
    let mut own = Command::new(std::env::current_exe().unwrap());
    let status = own.args(["--exact", test]).env(ALONE, test).status().unwrap();
    assert!(status.success(), "{status}");
    false
}
