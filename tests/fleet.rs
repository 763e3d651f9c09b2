//! Recordings of many hosts as one dataset: an engine that reads it finds what was planted.

use crate::harness::{World, c, installed, record, skip, validator, wait};
use serde_json::{Value, json};
use std::path::Path;

/// Records a host that holds as many KiB in each function, and adds it to the dataset, twice.
fn add(dataset: &Path, service: &str, version: &str, host: &str, held: [u32; 3]) {
    let labels = [("service.name", service), ("service.version", version), ("host.name", host)];
    let labels = labels.map(|(name, value)| ["--label".to_owned(), format!("{name}={value}")]).concat();
    let program = c("holds_as_told").flags(["-O1", "-g"]).build();
    let recording = record(program).options(labels).args(held.map(|kib| kib.to_string())).with_names();
    let (_, capture) = recording.succeed();
    let dataset = dataset.to_str().expect("a temporary folder has a plain name");
    for _ in 0..2 {
        let ran = capture.show(&["export", "--format", "parquet", "--dataset", dataset]);
        assert!(ran.code == 0 && ran.stderr.starts_with("Added to "), "{}", ran.stderr);
    }
}

/// Check that each engine finds with the page's questions which function grew, in which host another one holds more, and
/// who holds most, all with our numbers and nothing besides; that adding twice doubles nothing; and that a service has
/// its name, whatever is in that.
#[test]
fn planted_differences_are_found() {
    let world = World::new();
    let dataset = world.path("fleet");
    let held = |host: u32| {
        let noise = host % 6 * 10;
        let forgotten = if host == 4 { 2000 } else { 16 + host % 3 };
        [3000 + noise, if host < 6 { 1000 } else { 1300 } + noise, forgotten]
    };
    for host in 0..12 {
        add(&dataset, "shop", if host < 6 { "1" } else { "2" }, &format!("web-{host}"), held(host));
    }
    add(&dataset, "a/../b=c %é", "1.10", "web-12", [1, 1, 1]);
    assert!(dataset.join("stacks/service=a%2F..%2Fb%3Dc%20%25é/version=1.10").is_dir());
    for (engine, package) in [("duckdb", "duckdb"), ("datafusion", "datafusion"), ("spark", "pyspark")] {
        let Some(answers) = answers(&world, engine, package) else { continue };
        assert_found(&answers, held);
    }
}

/// What an engine says of the dataset; none where it is not installed.
fn answers(world: &World, engine: &str, package: &str) -> Option<Value> {
    let is_missing = installed("python3").is_none() || (engine == "spark" && !has_java());
    let Some(package) = validator(&format!("python/{package}")).filter(|_| !is_missing) else {
        skip(engine, "not installed (scripts/validators), so it did not read the dataset");
        return None;
    };
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = world.command("python3");
    command
        .env("PYTHONPATH", package.parent().expect("it has a folder"))
        // Spark misses partitions whose names its locale cannot spell.
        .env("LC_ALL", "C.UTF-8")
        .arg(here.join("validators/fleet.py"))
        .arg(engine)
        .arg(here.join("../docs/tasks/watch-a-fleet.md"));
    let ran = wait(world, command);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let mut document: Value = serde_json::from_str(ran.text()).expect("the script prints JSON");
    Some(document["answers"].take())
}

/// Whether there is a Java that Spark runs on: 17 or later.
fn has_java() -> bool {
    let Some(java) = installed("java") else { return false };
    let output = std::process::Command::new(java).arg("-version").output().expect("java starts");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let version = text.split('"').nth(1).and_then(|version| version.split('.').next()?.parse().ok());
    version.is_some_and(|version: u32| version >= 17)
}

/// Checks that what was planted is found, and nothing else.
fn assert_found(answers: &Value, held: impl Fn(u32) -> [u32; 3]) {
    let rows = |question: &str, columns: &[&str]| -> Vec<Value> {
        let rows = answers[question].as_array().unwrap_or_else(|| panic!("no {question} in {answers:#}"));
        rows.iter().map(|row| columns.iter().map(|column| row[*column].clone()).collect()).collect()
    };
    let mean = |hosts: std::ops::Range<u32>, function: usize| {
        let number = f64::from(hosts.end - hosts.start);
        hosts.map(|host| f64::from(held(host)[function] * 1024)).sum::<f64>() / number
    };
    let grew = rows("regressions", &["service", "function", "before", "after"]);
    assert_eq!(grew, [json!(["shop", "fill_cache", mean(0..6, 1), mean(6..12, 1)])], "{answers:#}");
    let differs = rows("outliers", &["service", "version", "host", "function", "held"]);
    assert_eq!(differs, [json!(["shop", "1", "web-4", "forget", 2000.0 * 1024.0])], "{answers:#}");
    let counted = rows("growth", &["service", "version", "captures"]);
    assert_eq!(
        counted,
        [json!(["a/../b=c %é", "1.10", 1]), json!(["shop", "1", 6]), json!(["shop", "2", 6])]
    );
    let most = rows("most", &["function", "hosts", "allocations"]);
    let sessions: u32 = (0..12).map(|host| held(host)[0]).sum();
    assert_eq!(most[0], json!(["open_sessions", 12, sessions]), "{answers:#}");
}
