//! `doctor`: what works here, and a report that can be mailed.

use crate::support::{World, ran};
use std::fs;
use std::os::unix::fs::MetadataExt;

/// Check that the checks run and that preloading, which recordings live by, works on the machine that tests run on.
#[test]
fn doctor_finds_what_recordings_need() {
    let ran = World::new().run(["doctor"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    for name in
        ["version", "system", "C library", "agent", "preloading", "shared memory", "clock", "privileges"]
    {
        assert!(
            ran.stdout.lines().any(|line| line.get(5..).is_some_and(|rest| rest.starts_with(name))),
            "{name}"
        );
    }
    assert!(ran.stdout.contains("ok   preloading"), "{}", ran.stdout);
    // It is never recorded: what is said depends on the processor alone.
    let accesses =
        ran.stdout.lines().find(|line| line.starts_with("note memory accesses")).expect("it is told");
    let can = ["cpu/events/mem-loads", "cpu_core/events/mem-loads", "ibs_op", "arm_spe_0"];
    let can = can.iter().any(|source| fs::exists(format!("/sys/bus/event_source/devices/{source}")).unwrap());
    assert_eq!(accesses.contains("not available"), !can, "{accesses}");
    assert!(accesses.contains("run --faults"), "{accesses}");
}

/// Check that the report has the findings but neither the user's name nor their folders, is theirs alone to read, and
/// replaces nothing unasked.
#[test]
fn report_tells_nothing_private() {
    let world = World::new();
    for folder in ["alice-secret", "alice-secret/run"] {
        fs::create_dir(world.path(folder)).unwrap();
    }
    let report = |more: &[&str]| {
        let mut tool = world.tool([&["doctor", "--report", "report.txt"], more].concat());
        tool.env("HOME", world.path("alice-secret")).env("USER", "alice-secret");
        tool.env("XDG_RUNTIME_DIR", world.path("alice-secret/run"))
            .env("SYSPROF_MEMPROF_SECRET", "hush-hush");
        ran(tool.output().unwrap())
    };
    let first = report(&[]);
    assert_eq!((first.code, first.stdout.as_str()), (Some(0), ""), "{}", first.stderr);
    let file = world.path("work/report.txt");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("ok   preloading") && text.contains("agent protocol"), "{text}");
    assert!(!text.contains("alice-secret") && !text.contains("hush-hush"), "{text}");
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o600);
    assert_eq!(report(&[]).code, Some(2), "it exists");
    assert_eq!(report(&["--force"]).code, Some(0));
}

/// Check that what keeps recordings from working is said, and gives exit code 1.
#[test]
fn doctor_fails_when_the_agent_has_no_place() {
    let world = World::new();
    let ran = ran(world.tool(["doctor"]).env("SYSPROF_MEMPROF_DIR", "/no/such/place/x").output().unwrap());
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.contains("bad  agent"), "{}", ran.stdout);
}
