//! Sampled recordings: estimates are right within their errors, and the end of every sample is noticed.

use crate::harness::{Capture, Recording, Row, c, cpp, record};
use serde_json::Value;

/// A recording that chooses the same samples each time.
fn sampled(program: impl AsRef<std::ffi::OsStr>, interval: &str, seed: u32) -> Recording {
    let recording = record(program).options(["--sample", interval]);
    recording.env("SYSPROF_MEMPROF_SEED", seed.to_string())
}

/// An estimate and its standard error.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    value: f64,
    error: f64,
}

impl Estimate {
    /// The estimate in a field of a document.
    fn of(value: &Value, field: &str) -> Estimate {
        let number = |field: &str| value[field].as_f64().unwrap_or_else(|| panic!("{field} of {value:#}"));
        Estimate { value: number(field), error: number(&format!("{field}_stderr")) }
    }

    /// The sum over all stacks that begin in a function.
    fn of_function(rows: &[Row], function: &str, field: &str) -> Estimate {
        let rows =
            rows.iter().filter(|row| row.frames.first().is_some_and(|frame| frame.function == function));
        let of_rows: Vec<Estimate> = rows.map(|row| Estimate::of(&row.value, field)).collect();
        Estimate {
            value: of_rows.iter().map(|row| row.value).sum(),
            error: of_rows.iter().map(|row| row.error * row.error).sum::<f64>().sqrt(),
        }
    }

    /// Checks that the truth is within five standard errors, so an estimate without error must be the truth. The same
    /// samples are chosen each time only on one machine, and there are hundreds of checks: with four standard errors
    /// they would fail on one machine in fifty.
    fn check(self, truth: f64, what: &str) {
        assert!((self.value - truth).abs() <= 5.0 * self.error, "{what}: {self:?}, in truth {truth}");
    }
}

const TIMES: f64 = 50_000.0;
/// Bytes of the blocks that `certain` allocates.
const CERTAIN: f64 = 30.0 * 200_000.0 + 435.0;

/// What `known_allocations` allocates: function, allocations, bytes, and how many of them leaked and were temporary.
const KNOWN: [(&str, f64, f64, f64, f64); 6] = [
    ("lasting", TIMES, TIMES * 48.0, TIMES, 0.0),
    ("temporary", TIMES, TIMES * 120.0, 0.0, TIMES),
    ("delayed", TIMES, TIMES * 200.0, 0.0, 1.0),
    ("growing", 500.0 * 13.0, 500.0 * 131_056.0, 0.0, 500.0),
    ("zeroed", TIMES, TIMES * 300.0, 0.0, TIMES),
    ("certain", 30.0, CERTAIN, 30.0, 0.0),
];

/// Check that estimates for every function, and for the whole, are within their errors.
#[test]
fn estimates_are_right_within_their_errors() {
    for seed in 1..=3 {
        let program = c("known_allocations").flags(["-O1"]).build();
        let (_, capture) = sampled(program, "8K", seed).with_names().succeed();
        let rows = capture.rows();
        for (function, allocations, bytes, leaked, temporary) in KNOWN {
            let check = |field: &str, truth: f64| {
                Estimate::of_function(&rows, function, field).check(truth, &format!("{field} of {function}"));
            };
            check("allocations", allocations);
            check("bytes", bytes);
            check("frees", allocations - leaked);
            check("leaked_blocks", leaked);
            if function != "delayed" {
                check("temporary", temporary);
            }
        }
        // None that was freed after another allocation counts as temporary, except the last.
        let delayed = Estimate::of_function(&rows, "delayed", "temporary");
        assert!(delayed.value < 100.0, "{delayed:?}");

        let info = capture.info();
        assert_eq!(
            (&info["sample_interval"], &info["totals"]["leaked_blocks"]),
            (&8192.into(), &rows_sum(&rows))
        );
        let sum = |part: fn(&(&str, f64, f64, f64, f64)) -> f64| KNOWN.iter().map(part).sum::<f64>();
        let total = |field: &str, truth: f64| Estimate::of(&info["totals"], field).check(truth, field);
        total("allocations", sum(|known| known.1));
        total("allocated_bytes", sum(|known| known.2));
        // Everything leaked is live at the end, which is the peak.
        total("peak_bytes", CERTAIN + TIMES * 48.0);
        total("peak_blocks", 30.0 + TIMES);
    }
}

fn rows_sum(rows: &[Row]) -> Value {
    rows.iter().map(|row| row.number("leaked_blocks")).sum::<u64>().into()
}

/// Check that all blocks of twenty intervals or more are recorded, and counted without an error.
#[test]
fn large_blocks_are_always_recorded() {
    let program = c("known_allocations").flags(["-O1"]).build();
    for (interval, seed) in [("1", 1), ("2000", 2), ("9K", 3)] {
        let (_, capture) = sampled(&program, interval, seed).with_names().succeed();
        let rows = capture.rows();
        for (field, truth) in [("allocations", 30.0), ("bytes", CERTAIN), ("leaked_blocks", 30.0)] {
            let estimate = Estimate::of_function(&rows, "certain", field);
            assert_eq!((estimate.value, estimate.error), (truth, 0.0), "{field} at {interval}");
        }
    }
}

/// Checks that only what libraries keep is leaked: each sample's end was noticed.
fn assert_all_ends_noticed(capture: &Capture) {
    for row in capture.rows_by("leaked") {
        let module = row.frames.first().map_or("", |frame| frame.module.as_str());
        let is_library = ["libc.so", "ld-linux", "libstdc++.so"].iter().any(|name| module.contains(name));
        assert!(is_library, "{:#}", row.value);
    }
}

/// Check that threads which pass blocks to each other and resize them leave no sample behind, at all densities.
#[test]
fn samples_that_pass_between_threads_are_not_leaked() {
    let threads = c("frees_everything").flags(["-O2"]).build();
    let objects = cpp("frees_everything").flags(["-O2"]).build();
    for (interval, seed) in [("1", 1), ("100", 2), ("1000", 3), ("10K", 4)] {
        for (program, steps) in [(&threads, "5000"), (&objects, "1000")] {
            let recording = sampled(program, interval, seed).args(["4", steps]);
            assert_all_ends_noticed(&recording.env("MALLOC_ARENA_MAX", "1").succeed().1);
        }
    }
}

/// Check that a sample stays one when its `realloc` fails, and ends when it succeeds, whatever the new block is.
#[test]
fn samples_survive_what_fails() {
    let (_, capture) = sampled(c("resizes_in_vain").build(), "100", 1).succeed();
    assert_all_ends_noticed(&capture);
    let totals = capture.info()["totals"].clone();
    // Blocks of 5000, 6000, 7000 and 8000 bytes are certain to be sampled, those of 1 byte are not.
    let certain = 200.0 * 4.0;
    let allocations = Estimate::of(&totals, "allocations");
    assert!(allocations.value >= certain && allocations.value <= certain + 200.0 + 4.0 * allocations.error);
    assert_eq!(capture.rows_of_size(5000).iter().map(|row| row.number("frees")).sum::<u64>(), 200);
}

/// Check that children of fork know their parent's samples as inherited, and that each chooses samples of its own.
#[test]
fn children_know_their_parents_samples() {
    let (_, capture) = sampled(c("forks_samples").build(), "2000", 5).succeed();
    assert_all_ends_noticed(&capture);
    let info = capture.info();
    let processes = info["processes"].as_array().expect("a list");
    assert_eq!(processes.len(), 21);
    let (parent, children) = processes.split_first().expect("there is a parent");
    let inherited = |process: &Value| process["inherited_frees"].as_u64();
    let own = inherited(&children[0]);
    assert!(own > Some(50) && children.iter().all(|child| inherited(child) == own), "{children:#?}");
    Estimate::of(parent, "allocations").check(2000.0, "allocations of the parent");
    let mut different: Vec<String> = children.iter().map(|child| child["allocations"].to_string()).collect();
    for child in children {
        Estimate::of(child, "allocations").check(2000.0, "allocations of a child");
    }
    different.sort();
    different.dedup();
    assert!(different.len() > 10, "{different:?}");
}

/// Check that the environment sets the interval if the command line does not, and that an invalid one is refused.
#[test]
fn interval_comes_from_option_or_environment() {
    let interval = |capture: &Capture| capture.info()["sample_interval"].clone();
    let program = c("allocates_once").build();
    let variable = "SYSPROF_MEMPROF_SAMPLE";
    assert_eq!(interval(&record(&program).succeed().1), Value::Null);
    assert_eq!(interval(&record(&program).env(variable, "64K").succeed().1), 65_536);
    let both = record(&program).env(variable, "64K").options(["--sample", "0"]).succeed().1;
    assert_eq!(interval(&both), Value::Null);
    assert_eq!(both.row_of_size(1001).number("allocations"), 1);
    let ran = record(&program).env(variable, "often").start().wait();
    assert!(ran.code == 2 && ran.stderr.contains("expected a size like"), "{}", ran.stderr);
}
