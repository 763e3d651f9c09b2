//! Tests that look for rare events run several times.

/// The variable that sets how often.
const VARIABLE: &str = "SYSPROF_MEMPROF_TEST_RUNS";

/// Runs a test as often as the variable says, else ten times.
pub(crate) fn repeat(mut test: impl FnMut()) {
    let runs = std::env::var(VARIABLE).map_or(Ok(10), |runs| runs.parse());
    for _ in 0..runs.unwrap_or_else(|error| panic!("{VARIABLE} is a number of runs: {error}")) {
        test();
    }
}
