//! The programs of `bench`: what `scripts/bench` measures is what it says.

use crate::harness::{bench, record};

/// Checks that a program of `bench`, at 20 frames, does as many allocations for a pair as expected, that all stacks
/// are complete, and how many there are.
#[track_caller]
fn check(name: &str, allocations_of_a_pair: std::ops::Range<u64>, stacks: std::ops::Range<u64>) {
    let (ran, capture) = record(bench(name).build()).args(["20", "2048", "2"]).succeed();
    let (ran, info) = (ran.text(), capture.info());
    let pairs = ran.lines().find_map(|line| line.strip_prefix("pairs ")).and_then(|number| number.parse().ok());
    assert_eq!(pairs, Some(4096_u64), "{name}: {ran}");
    let number = |path: &str| info.pointer(path).and_then(serde_json::Value::as_u64).expect(path);
    let allocations = number("/totals/allocations");
    assert!(
        allocations_of_a_pair.contains(&(allocations / 4096)),
        "{name}: {allocations} allocations for 4096 pairs"
    );
    assert_eq!(number("/stacks/complete"), number("/stacks/distinct"), "{name}");
    assert!(stacks.contains(&number("/stacks/distinct")), "{name}: {} stacks", number("/stacks/distinct"));
    for phase in ["pair ", "wall "] {
        assert!(ran.lines().any(|line| line.starts_with(phase)), "{name} does not tell its {phase}: {ran}");
    }
}
