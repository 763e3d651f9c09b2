//! Totals are exact: an independent library counts the same calls.

use crate::harness::{Capture, Recording, World, c, cpp, installed, library, record, skip, wait};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Successful calls: blocks allocated, blocks freed, bytes requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    allocations: u64,
    frees: u64,
    bytes: u64,
}

impl Counts {
    /// What the counting library wrote.
    fn read(file: &Path) -> Counts {
        let bytes = std::fs::read(file).expect("the world has this file");
        let mut words = bytes.chunks(8).map(|word| u64::from_ne_bytes(word.try_into().expect("whole words")));
        let mut next = || words.next().expect("three words");
        Counts { allocations: next(), frees: next(), bytes: next() }
    }

    /// What the capture has.
    fn of(capture: &Capture) -> Counts {
        let totals = &capture.info()["totals"];
        let number = |field: &str| totals[field].as_u64().expect("totals are numbers");
        Counts {
            allocations: number("allocations"),
            frees: number("frees") + number("unmatched_frees") + number("inherited_frees"),
            bytes: number("allocated_bytes"),
        }
    }
}

/// The variables of the counting library, whose counts go to this file of a world. Calls of the product are not
/// counted.
fn counting(world: &World) -> ([(&'static str, PathBuf); 3], PathBuf) {
    let file = world.write("counts", [0; 24]);
    let variables = [
        ("LD_PRELOAD", library("counting_preload").build()),
        ("COUNTING_PRELOAD_FILE", file.clone()),
        ("COUNTING_PRELOAD_SKIP", "sysprof-memprof".into()),
    ];
    (variables, file)
}

/// The counts of a program that runs with the counting library alone.
fn alone(program: impl AsRef<OsStr>) -> Counts {
    let world = World::new();
    let (variables, file) = counting(&world);
    let mut command = world.command(program);
    command.envs(variables);
    let ran = wait(&world, command);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    Counts::read(&file)
}

/// Records with the counting library behind the agent, so that it counts what the agent forwards, and compares.
fn check_together(mut recording: Recording) -> Value {
    let (variables, file) = counting(&recording.world);
    for (name, value) in variables {
        recording = recording.env(name, value);
    }
    let (_, capture) = recording.succeed();
    assert_eq!(Counts::of(&capture), Counts::read(&file));
    capture.info()
}

/// Check that a program makes the same calls with us as without, and that all of them are counted.
#[test]
fn totals_equal_those_of_an_independent_count() {
    let mixed = c("mixed_calls");
    let programs = [
        mixed.clone().flags(["-O0"]).build(),
        mixed.flags(["-O2"]).build(),
        c("every_call").build(),
        cpp("every_new").build(),
    ];
    for program in programs {
        let (_, capture) = record(&program).succeed();
        assert_eq!(Counts::of(&capture), alone(&program), "{}", program.display());
        check_together(record(&program));
    }
}

/// Check that every call of real programs is forwarded once and counted once, over all their processes.
#[test]
fn totals_of_real_programs_are_exact() {
    let programs: [(&str, &[&str]); 6] = [
        ("perl", &["-e", "my %seen; $seen{$_ % 97} .= $_ for 1..20000; print join ',', sort keys %seen"]),
        (
            "sqlite3",
            &[
                ":memory:",
                "create table t(a); with recursive n(i) as (select 1 union all select i+1 from n limit 500) insert into t select hex(randomblob(20)) from n; select count(distinct a) from t",
            ],
        ),
        ("xz", &["--stdout", "--keep", "--threads=1", "--force", "/proc/self/maps"]),
        ("bash", &["-c", "for i in {1..200}; do x+=$i; done; (echo child $x); ls / | sort | wc -l"]),
        ("git", &["--version"]),
        ("python3", &["-c", "import json; print(json.loads(json.dumps(list(range(1000))))[-1])"]),
    ];
    for (name, arguments) in programs {
        if installed(name).is_none() {
            skip(name, "not installed");
            continue;
        }
        let info = check_together(record(name).args(arguments));
        assert!(info["totals"]["allocations"].as_u64() > Some(0), "{name}");
    }
}
