//! The programs of `bench`: what `scripts/bench` measures is what it claims.

use crate::harness::{bench, record};
use serde_json::Value;

/// Check that the program of first allocations reports how long they took when recorded, and that each of its threads
/// was recorded.
#[test]
fn first_allocations_are_told() {
    let (ran, capture) = record(bench("first").build()).args(["50"]).succeed();
    let told: Vec<f64> = ["median ", "p99 ", "most "]
        .iter()
        .filter_map(|what| ran.text().lines().find_map(|line| line.strip_prefix(what)?.parse().ok()))
        .collect();
    assert!(told.len() == 3 && told[0] > 0.0 && told.is_sorted(), "{}", ran.text());
    assert_eq!(capture.row_of_size(24).number("allocations"), 50);
}

/// Check that each program makes the allocations that it claims, from as many stacks as its name says, and reports
/// how long they took.
#[test]
fn programs_allocate_as_they_say() {
    // The few further stacks are those of the C library and of printing.
    let cases = [
        ("loop", 1024, 1.0..1.1, 1..10),
        ("batch", 1024, 1.0..1.1, 1..10),
        ("tree", 8192, 1.0..1.1, 1000..8200),
        ("alternating", 1024, 1.0..1.1, 64..74),
        ("all_new", 2048, 1.0..1.1, 64..74),
        ("mix", 1, 5000.0..50_000.0, 30..100),
        ("scattered", 1 << 18, 1.3..1.5, 1..10),
        ("threads", 1024, 1.0..1.1, 1..20),
        ("cross", 1024, 1.0..1.1, 1..20),
    ];
    for (name, pairs, allocations_of_a_pair, stacks) in cases {
        let recording = record(bench(name).build()).args(["20", &pairs.to_string(), "2"]);
        let (ran, capture) = recording.succeed();
        let told =
            |what: &str| ran.text().lines().find_map(|line| line.strip_prefix(what)).map(str::to_string);
        assert_eq!(told("pairs "), Some((2 * pairs).to_string()), "{name}: {}", ran.text());
        for phase in ["pair ", "wall "] {
            let took: f64 =
                told(phase).and_then(|text| text.split(' ').next()?.parse().ok()).unwrap_or_default();
            assert!(took > 0.0, "{name}: {}", ran.text());
        }
        let info = capture.info();
        let number = |path: &str| info.pointer(path).and_then(Value::as_u64).unwrap_or_default();
        let each = number("/totals/allocations") as f64 / f64::from(2 * pairs);
        assert!(allocations_of_a_pair.contains(&each), "{name}: {each} allocations for a pair");
        let distinct = number("/stacks/distinct");
        assert!(stacks.contains(&distinct), "{name}: {distinct} stacks");
        assert_eq!(number("/stacks/complete"), distinct, "{name}");
    }
}
