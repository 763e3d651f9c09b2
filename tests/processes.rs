//! Every process of a tree is in the capture, with its name and its own counts, however it was started.

use crate::harness::{Capture, World, c, info, installed, product, record, skip, wait};
use serde_json::Value;
use std::collections::BTreeSet;

/// The processes of a capture.
fn processes(capture: &Capture) -> Vec<Value> {
    capture.info()["processes"].as_array().cloned().unwrap_or_default()
}

/// Check that a forked child has counts of its own, with its parent's stacks, and that blocks which it inherited are
/// not unknown to it.
#[test]
fn both_sides_of_a_fork_are_exact() {
    let (ran, capture) = record(c("forks_once").build()).with_names().succeed();
    let words: Vec<u64> = ran.text().split_whitespace().map(|word| word.parse().unwrap_or(0)).collect();
    let [parent, child, 7] = words[..] else { panic!("{}", ran.text()) };
    for (size, function) in [(501, "in_parent"), (502, "in_child")] {
        let row = capture.row_of_size(size);
        assert_eq!((row.number("allocations"), row.number("frees")), (10_000, 10_000));
        assert_eq!(row.names()[..2], [function, "main"]);
        assert_eq!(row.state, "complete");
    }
    let all = processes(&capture);
    let of = |pid: u64| all.iter().find(|process| process["pid"] == pid).cloned().unwrap_or_default();
    let (parent_info, child_info) = (of(parent), of(child));
    assert_eq!(all.len(), 2, "{all:#?}");
    assert_eq!(parent_info["allocations"], 10_050);
    assert_eq!(parent_info["inherited_frees"], 0);
    assert_eq!(child_info["allocations"], 10_000);
    assert_eq!(child_info["inherited_frees"], 50);
    assert_eq!((&child_info["ppid"], &child_info["forked"]), (&parent.into(), &true.into()));
    assert_eq!((&child_info["ended"], &child_info["exit"]), (&"exited".into(), &7.into()));
    for process in [&parent_info, &child_info] {
        assert_eq!(process["name"], "forks_once");
        assert_eq!((&process["unmatched_frees"], &process["leaked_blocks"]), (&0.into(), &0.into()));
    }
}

/// Check that a child has inherited what its parent had at the fork, not what the parent has when the child begins.
#[test]
fn child_that_begins_late_has_its_inheritance() {
    let (_, capture) = record(c("forks_and_frees_first").build()).succeed();
    let info = capture.info();
    assert_eq!(info["totals"]["inherited_frees"], 50, "{:#}", info["totals"]);
    assert_eq!(capture.row_of_size(505).number("frees"), 50);
}

/// Check that a daemon has inherited what it frees, though the process that had it is already gone.
#[test]
fn daemon_has_its_inheritance() {
    let program = c("becomes_a_daemon").build();
    let (_, capture) = record(program).options(["--wait-children"]).succeed();
    let info = capture.info();
    assert_eq!(info["totals"]["inherited_frees"], 50, "{:#}", info["totals"]);
    assert_eq!(info["totals"]["unmatched_frees"], 0, "{:#}", info["totals"]);
}

/// Check that `run` as the first process of a container, which adopts its own tracer, waits for the children of the
/// program and for nothing else, and names what is left behind and nothing else.
#[test]
fn first_process_of_a_container_waits_for_others_only() {
    let world = World::new();
    let in_namespace = |arguments: &[&str]| {
        let mut command = world.command("unshare");
        command
            .args(["--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"])
            .args(arguments);
        wait(&world, command)
    };
    if installed("unshare").is_none() || in_namespace(&["true"]).code != 0 {
        return skip("containers", "namespaces of processes cannot be made");
    }
    let product = product().to_str().expect("a path of text");
    let run = |options: &[&str], script: &str| {
        let file = world.path("it.memprof");
        let output = file.to_str().expect("a path of text");
        let begin = [product, "run", "--no-symbolize", "--no-cpu", "--force", "--output", output];
        in_namespace(&[&begin, options, &["--", "sh", "-c", script]].concat())
    };
    let alone = run(&[], "true");
    assert!(alone.code == 0 && !alone.stderr.contains("left behind"), "{}", alone.stderr);
    assert_eq!(run(&["--wait-children"], "true").code, 0);
    let left = run(&[], "sleep 60 & true");
    assert!(left.stderr.contains("1 process left behind"), "{}", left.stderr);
    let late = world.path("late");
    let waited = run(&["--wait-children"], &format!("(sleep 0.3; echo late >{}) & true", late.display()));
    assert!(waited.code == 0 && late.exists(), "{}", waited.stderr);
}

/// Check that a child which never allocates is known, with its end.
#[test]
fn idle_child_is_known() {
    let (ran, capture) = record(c("forks_idle_child").build()).succeed();
    let pid: u64 = ran.text().trim().parse().unwrap();
    let all = processes(&capture);
    assert_eq!(all.len(), 2, "{all:#?}");
    assert!(all.iter().any(|process| process["pid"] == pid && process["exit"] == 5), "{all:#?}");
}

/// Check that hundreds of children, one after another, are all recorded with their own counts and ends.
#[test]
fn hundreds_of_forks_are_exact() {
    let (_, capture) = record(c("forks_often").build()).succeed();
    let all = processes(&capture);
    assert_eq!(all.len(), 1 + 200 + 20);
    let sum = |exit: u64| all.iter().filter(|process| process["exit"] == exit).count();
    // The first process, 67 children and all grandchildren end with 0.
    assert_eq!((sum(0), sum(1), sum(2)), (1 + 67 + 20, 67, 66));
    let row = capture.row_of_size(600);
    assert_eq!(row.number("allocations"), (0..200).map(|child| 10 + child).sum::<u64>());
    assert_eq!(capture.row_of_size(601).number("allocations"), 20);
}

/// Check that more processes than the collector can wait for at once are exact, those that sleep, short ones beside
/// them, and what the sleeping ones fork.
#[test]
fn many_processes_are_exact() {
    let (ran, capture) = record(c("starts_a_crowd").build()).run();
    if ran.code == 77 {
        return skip("a crowd", "there may not be so many processes here");
    }
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for (size, count) in [(801, 150 * 3), (802, 150 * 2), (803, (150 + 40) * 10)] {
        let rows = capture.rows_of_size(size);
        let sum = |key| rows.iter().map(|row| row.number(key)).sum::<u64>();
        assert_eq!((sum("allocations"), sum("frees")), (count, count), "{size}");
    }
    let (info, all) = (capture.info(), processes(&capture));
    assert_eq!((&info["lost"]["events"], &info["totals"]["conflicts"]), (&0.into(), &0.into()));
    let ended = |how: &str, exit: Option<u64>| {
        let is_it = |one: &&Value| one["ended"] == how && exit.is_none_or(|exit| one["exit"] == exit);
        all.iter().filter(is_it).count()
    };
    let exited = [0, 3, 4].map(|code| ended("exited", Some(code)));
    assert_eq!((exited, ended("exec", None)), ([1, 150, 150 + 40], 150));
}

/// Check that a child forked by one thread has nothing of what the other threads were doing.
#[test]
fn fork_from_one_of_several_threads_is_exact() {
    let (_, capture) = record(c("forks_from_a_thread").build()).succeed();
    assert_eq!(capture.row_of_size(701).number("allocations"), 50 * 20);
    let busy = capture.row_of_size(700);
    assert_eq!(busy.number("allocations"), busy.number("frees"));
    let all = processes(&capture);
    let children: Vec<_> = all.iter().filter(|process| process["forked"] == true).collect();
    assert_eq!(children.len(), 50, "{all:#?}");
    for process in children {
        assert_eq!(process["allocations"], 20, "{process:#}");
    }
}

/// Check that exec ends an image and begins the next, by every function of the family: what was live then is not
/// leaked, and a failed exec has changed nothing.
#[test]
fn exec_chains_keep_their_images_apart() {
    let (ran, capture) = record(c("becomes_itself").build()).args(["8"]).run();
    assert_eq!(ran.code, 9, "{}", ran.stderr);
    capture.assert_sound();
    let mut all = processes(&capture);
    all.sort_by_key(|process| process["image"].as_u64());
    assert_eq!(all.len(), 9, "{all:#?}");
    let pids: BTreeSet<_> = all.iter().map(|process| process["pid"].as_u64()).collect();
    assert_eq!(pids.len(), 1, "{pids:?}");
    for (number, process) in all.iter().enumerate() {
        let is_last = number == 8;
        assert_eq!(process["image"], number);
        assert_eq!(process["allocations"], 1, "{process:#}");
        assert_eq!(process["allocated_bytes"], 808 - number);
        assert_eq!(process["exec_blocks"], u64::from(!is_last), "{process:#}");
        assert_eq!(process["leaked_blocks"], 0, "{process:#}");
        assert_eq!(process["ended"], if is_last { "exited" } else { "exec" }, "{process:#}");
    }
    assert_eq!(all[8]["exit"], 9);
}

/// Check that a process is counted once, however many programs it executes, and its thread, too.
#[test]
fn process_that_executes_is_one() {
    let world = World::new();
    let mut run = world.tool(["run", "--no-symbolize", "--no-cpu", "--output", "it.memprof", "--"]);
    run.arg(c("becomes_itself").build()).arg("3");
    let ran = wait(&world, run);
    assert!(ran.stderr.contains("threads       1 that allocated or freed, in 1 process\n"), "{}", ran.stderr);
    assert_eq!(info(&world, "it.memprof")["threads"], 1);
}

/// Check that programs are followed however they are started, also with an empty environment, and that the stacks of
/// a program which lives only for a moment are named.
#[test]
fn started_programs_are_followed() {
    let short = c("allocates_once").build();
    let (_, capture) = record(c("starts_programs").build()).args([&short]).with_names().succeed();
    let all = processes(&capture);
    let started = all.iter().filter(|process| process["name"] == "allocates_once");
    let ways: Vec<_> = started.map(|process| process["command"][1].as_str().unwrap_or("?")).collect();
    let expected = ["fork", "vfork", "spawn", "spawn-empty", "spawn-own", "exec-empty", "system", "popen"];
    assert_eq!(ways, expected);
    let row = capture.row_of_size(1001);
    assert_eq!(row.number("allocations"), expected.len() as u64);
    assert_eq!(row.names()[..2], ["only_place", "main"]);
    let between: u64 = capture.rows_of_size(900).iter().map(|row| row.number("allocations")).sum();
    assert_eq!(between, 7, "the starter is recorded in between");
}

/// Check that programs which libc starts with an emptied environment are followed, too, and that the environment
/// stays empty.
#[test]
fn programs_that_empty_their_environment_are_followed() {
    let short = c("allocates_once").build();
    let (_, capture) = record(c("empties_its_environment").build()).args([&short]).succeed();
    assert_eq!(capture.row_of_size(1001).number("allocations"), 2);
    assert_eq!(capture.row_of_size(901).number("allocations"), 1);
    capture.assert_sound();
}

/// Check that a compiler's whole family of processes is recorded, with names, parents and command lines.
#[test]
fn a_compiler_and_what_it_starts_are_recorded() {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/cpp/templates.cpp");
    let recording = record("c++").args(["-O0", "-o", "templates"]).args([&source]);
    let (_, capture) = recording.succeed();
    let all = processes(&capture);
    for part in ["cc1plus", "as", "ld"] {
        // Names like x86_64-linux-gnu-ld.bfd are those of ld, too.
        let is_it = |process: &&Value| {
            let name = process["name"].as_str().unwrap_or_default();
            let last = name.rsplit('-').next().unwrap_or_default();
            last == part || last.strip_prefix(part).is_some_and(|rest| rest.starts_with('.'))
        };
        let process = all.iter().find(is_it).unwrap_or_else(|| panic!("no {part} in {all:#?}"));
        assert!(process["allocations"].as_u64() > Some(0) && process["exit"] == 0, "{process:#}");
        assert!(process["command"].as_array().is_some_and(|command| !command.is_empty()));
        assert!(all.iter().any(|parent| parent["pid"] == process["ppid"]), "{process:#}");
    }
    // What was compiled while being recorded works.
    let command = capture.world().command(capture.world().path("templates"));
    assert_eq!(wait(capture.world(), command).text(), "5050\n");
}

/// Check that two processes which had the same pid, one after another, are two.
#[test]
fn processes_with_the_same_pid_are_told_apart() {
    let inside = ["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"];
    let world = World::new();
    let mut probe = world.command("unshare");
    probe.args(inside).arg("true");
    if installed("unshare").is_none() || wait(&world, probe).code != 0 {
        return skip("processes with the same pid", "pid namespaces cannot be made here");
    }
    // The collector is in the namespace, too, so that it sees the pid twice.
    let file = world.path("it.memprof");
    let mut command = world.command("unshare");
    command.args(inside).arg(product()).args(["run", "--quiet", "--no-symbolize", "--output"]);
    command.arg(&file).arg("--").arg(c("uses_a_pid_again").build());
    let ran = wait(&world, command);
    if ran.code == 77 {
        return skip("processes with the same pid", "the next pid cannot be chosen here");
    }
    assert_eq!((ran.code, ran.text()), (0, "4242 4242\n"), "{}", ran.stderr);
    let capture = Capture::new(world, file);
    capture.assert_sound();
    let mut both = processes(&capture);
    both.retain(|process| process["pid"] == 4242);
    assert_eq!(both.len(), 2, "{both:#?}");
    for (process, size) in both.iter().zip([1601, 1602]) {
        assert_eq!((&process["allocations"], &process["allocated_bytes"]), (&10.into(), &(10 * size).into()));
        assert_eq!(process["ended"], "exited");
    }
}

/// Check that the number of children which were not recorded is reported if there are more at a time than a recording
/// has slots for.
#[test]
fn children_without_a_place_are_counted() {
    let (ran, capture) = record(c("has_many_children").flags(["-O1"]).build()).args(["1100", "1"]).run();
    if ran.code == 77 {
        return skip("a thousand children", "there may not be so many here");
    }
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    // One slot is the parent's.
    let recorded = capture.rows_of_size(1300).iter().map(|row| row.number("allocations")).sum::<u64>();
    assert_eq!(recorded, 1023);
    let remarks = capture.info()["remarks"].to_string();
    assert!(remarks.contains("not recorded: 77."), "{remarks}");
}

/// Check that a program which inherits a filter that is deadly to the agent ends as it does alone, and so does one
/// that may not ask for its limits.
#[test]
fn heir_of_a_filter_lives() {
    for call in ["connect", "process_vm_readv", "prlimit64"] {
        let program = c("allocates_often").build();
        let alone = std::process::Command::new(&program).status().expect("it runs");
        let recording = record(c("confines_another").build()).args([call, "-"]).arg(&program);
        let (ran, capture) = recording.run();
        assert_eq!(Some(ran.code), alone.code(), "{}", ran.stderr);
        let all = processes(&capture);
        assert!(all.iter().all(|process| process["signal"].is_null()), "{all:#?}");
    }
}
