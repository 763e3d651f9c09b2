//! What the target starts and leaves behind.

use crate::support::{Ran, World, eventually};
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;

/// The pids that the note about processes left behind names.
fn named(ran: &Ran, name: &str) -> Vec<i32> {
    let note = ran.stderr.lines().find(|line| line.contains("go on unrecorded")).unwrap_or_default();
    let words: Vec<_> = note.split([' ', ',']).collect();
    let pids = words.windows(2).filter(|pair| pair[1].starts_with(&format!("({name})")));
    pids.map(|pair| pair[0].parse().unwrap()).collect()
}

/// Ends a process that the test left behind.
fn end(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    eventually("the end of it", || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !Path::new(&format!("/proc/{pid}")).exists() || stat.contains(") Z ")
    });
}

/// Check that `run` ends when its command ends, and counts and names what goes on: children and orphans alike.
#[test]
fn processes_left_behind_are_named() {
    let world = World::new();
    // The shell ends only when its child has become sleep.
    let start = "sleep 60 </dev/null >/dev/null 2>&1 & until grep -qx sleep /proc/$!/comm; do :; done";
    for script in [format!("{start}; exit 3"), format!("({start}); exit 3")] {
        let ran = world.run(["run", "--", "sh", "-c", &script]);
        assert_eq!(ran.code, Some(3), "{}", ran.stderr);
        let pids = named(&ran, "sleep");
        assert!(ran.stderr.contains("1 process left behind"), "{}", ran.stderr);
        assert_eq!(pids.len(), 1, "{}", ran.stderr);
        assert!(Path::new(&format!("/proc/{}", pids[0])).exists(), "it goes on");
        end(pids[0]);
    }
}

/// Check that with --wait-children `run` ends after the last of them, with the target's code.
#[test]
fn children_are_waited_for_on_demand() {
    let world = World::new();
    let mark = world.path("mark");
    let script = format!("(sleep 0.3; touch '{}') </dev/null >/dev/null 2>&1 & exit 4", mark.display());
    let ran = world.run(["run", "--wait-children", "--", "sh", "-c", &script]);
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert!(mark.exists());
    assert!(!ran.stderr.contains("go on unrecorded"), "{}", ran.stderr);
}

/// Check that children which are not recorded anyway are not worth a word.
#[test]
fn unfollowed_children_are_not_named() {
    let world = World::new();
    let script = "sleep 60 </dev/null >/dev/null 2>&1 & echo $!; exit 0";
    let ran = world.run(["run", "--no-follow", "--", "sh", "-c", script]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!ran.stderr.contains("go on unrecorded"), "{}", ran.stderr);
    end(ran.stdout.trim().parse().unwrap());
}
