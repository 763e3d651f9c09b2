//! Programs that give up rights, or have fewer than others.

use super::super::harness::{Capture, World, c, installed, record, skip, wait};
use super::allocators::try_build;
use serde_json::Value;

/// Frees of blocks of this size.
fn frees(capture: &Capture, size: u64) -> u64 {
    capture.rows_of_size(size).iter().map(|row| row.number("frees")).sum()
}

/// Check that a program which forbids itself everything but what its allocator needs lives on, and is recorded with
/// complete stacks, also deeper ones than before. Any further question of the agent to the kernel would kill it.
#[test]
fn sandboxed_programs_live() {
    for how in ["errno", "trap", "kill", "seccomp"] {
        let (ran, capture) = record(c("sandboxes_itself").flags(["-O1"]).build()).arg(how).run();
        if ran.code == 77 {
            return skip("sandboxed programs", "seccomp is not to be had here");
        }
        assert_eq!((ran.code, ran.text()), (3, "allowed\n"), "{how}: {}", ran.stderr);
        capture.assert_sound();
        assert_eq!(
            (frees(&capture, 2100), frees(&capture, 2101), frees(&capture, 2102)),
            (1, 100, 50),
            "{how}"
        );
        for row in capture.rows() {
            assert_eq!(row.state, "complete", "{how}: {:#}", row.value);
        }
    }
}

/// Check that a thread which may only read and write, and not even read the time, survives: what it allocates is
/// counted as lost, with the reason.
#[test]
fn strict_mode_ends_a_recording_and_nothing_else() {
    let (ran, capture) = record(c("sandboxes_itself").flags(["-O1"]).build()).arg("strict").run();
    if ran.code == 77 {
        return skip("the strict mode", "seccomp is not to be had here");
    }
    assert_eq!((ran.code, ran.text()), (3, "allowed\n"), "{}", ran.stderr);
    assert_eq!(capture.row_of_size(2100).number("allocations"), 1);
    let lost = &capture.info()["lost"];
    assert_eq!(lost["by_reason"][0]["reason"], "sandbox", "{lost:#}");
    // 150 blocks, and the one from before.
    assert_eq!(lost["events"], 2 * 150 + 1, "{lost:#}");
}

/// Check that what a child of vfork forbids itself does not apply to its parent, whose memory it has: the parent gets
/// its signals, its limit is unchanged, and what it does and executes is recorded. What the child executes or forks
/// lives.
#[test]
fn children_of_vfork_confine_themselves_alone() {
    let program = c("confines_a_vfork").flags(["-pthread"]).build();
    let started = c("allocates_once").build();
    // A program that does not start with the agent, whatever else its starter may not do.
    let alone = try_build(&c("allocates_once"), "cc", &["-fsanitize=address"]);
    let (ran, capture) = record(program).arg(&started).args(alone).run();
    if ran.code == 77 {
        return skip("children of vfork that confine themselves", "seccomp is not to be had here");
    }
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(frees(&capture, 2601), 80);
    let info = capture.info();
    // What the forked child does, which may not ask for its process id.
    assert_eq!(
        (&info["lost"]["events"], &info["lost"]["by_reason"][0]["reason"]),
        (&2.into(), &"sandbox".into())
    );
    let processes = info["processes"].as_array().expect("a list");
    let arguments: Vec<_> = processes
        .iter()
        .filter(|process| process["name"] == "allocates_once" && process["recorded"] == true)
        .map(|process| &process["command"][1])
        .collect();
    assert_eq!(arguments, ["free"]);
}

/// Check that a program that closes every descriptor is recorded, and that files which it opens under their numbers
/// are its own.
#[test]
fn programs_that_close_everything_are_recorded() {
    let program = c("closes_everything").build();
    let (ran, capture) = record(&program).succeed();
    assert_eq!(ran.text(), "1021 files, 0 bytes in them\n");
    for size in [2501, 2502, 2503, 2504] {
        assert_eq!(frees(&capture, size), 1, "{size}");
    }
    assert_eq!(frees(&capture, 2505), 1000);
}

/// Check that a program is recorded that changes to an empty root, and a child of it that becomes nobody.
#[test]
fn programs_with_a_root_of_their_own_are_recorded() {
    let (ran, capture) = record(c("changes_its_root").build()).run();
    if ran.code == 77 {
        return skip("a root of its own", "chroot is not allowed here");
    }
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    capture.assert_sound();
    for (size, blocks) in [(2701, 1), (2702, 100), (2703, 100), (2704, 1)] {
        assert_eq!(frees(&capture, size), blocks, "{size}");
    }
}

/// Check that a program which limits itself goes on as it does alone, with what it starts: all that it does is
/// recorded.
#[test]
fn limits_that_a_program_sets_are_its_own() {
    let program = c("limits_itself").build();
    let started = c("allocates_once").build();
    for limit in ["as", "data", "fsize", "nofile", "stack", "memlock"] {
        let world = World::new();
        let mut alone = world.command(&program);
        alone.arg(limit).arg(&started);
        let alone = wait(&world, alone);
        let (ran, capture) = record(&program).arg(limit).arg(&started).run();
        assert_eq!(ran.code, alone.code, "{limit}: {}", ran.stderr);
        // What does not get far enough to have the agent is reported.
        if ran.code == 0 {
            capture.assert_sound();
        }
        assert_eq!(capture.info()["lost"]["events"], 0, "{limit}");
        assert_eq!(
            (frees(&capture, 2601), frees(&capture, 2602), frees(&capture, 2603)),
            (1, 100, 1),
            "{limit}"
        );
        assert_eq!(frees(&capture, 2604), 2, "{limit}");
        assert_eq!(frees(&capture, 1001), u64::from(ran.code == 0), "{limit}");
    }
}

/// Check that what a program starts as a user who cannot read the agent's file runs as it does alone, without a
/// message from the loader.
#[test]
fn users_without_the_agent_hear_nothing_of_it() {
    let world = World::new();
    // Accessible to everybody, unlike the folder with the agent.
    std::fs::set_permissions(world.folder(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let recording = record(c("becomes_nobody").build()).arg("/bin/true").world(world);
    let (ran, capture) = recording.run();
    if ran.code == 77 {
        return skip("another user", "that is for root");
    }
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(frees(&capture, 3101), 1);
}

/// Check that a program that starts in a network namespace of its own, where socket names differ, is recorded, as
/// root and as the user who created it; and that the socket through which it is reached is gone afterwards, as is one
/// whose collector was killed.
#[test]
fn programs_in_other_networks_are_recorded() {
    for namespaces in ["-rn", "-Un"] {
        let world = World::new();
        let mut probe = world.command("unshare");
        probe.args([namespaces, "true"]);
        if installed("unshare").is_none() || wait(&world, probe).code != 0 {
            return skip("another network namespace", "it cannot be made here");
        }
        let folder = world.path("agent");
        let left = folder.join("sysprof-memprof-1-0123456789abcdef");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        drop(std::os::unix::net::UnixListener::bind(&left).unwrap());
        let recording = record("unshare").args([namespaces]).args([c("allocates_once").build()]);
        let (_, capture) = recording.world(world).succeed();
        assert_eq!(frees(&capture, 1001), 1, "{namespaces}");
        let names = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
        let sockets = names.filter(|name| name.to_str().unwrap().starts_with("sysprof-memprof-"));
        // A socket of another kind is left alone.
        assert_eq!(sockets.collect::<Vec<_>>(), [""; 0], "{namespaces}");
    }
}

/// Check that a program which limits its address space gets as much of it as it does alone, whatever the agent maps
/// beside, also for threads that begin under the limit.
#[test]
fn limited_address_space_is_as_large_as_alone() {
    let program = c("fills_its_address_space").flags(["-pthread"]).build();
    for threads in ["0", "40"] {
        let world = World::new();
        let mut alone = world.command(&program);
        alone.arg(threads);
        let alone = wait(&world, alone);
        let (ran, capture) = record(&program).arg(threads).succeed();
        let mapped = |text: &str| text.split(' ').next().and_then(|count| count.parse::<i64>().ok()).unwrap();
        let limits = |text: &str| text.split_once(" of ").unwrap().1.to_owned();
        assert_eq!(limits(ran.text()), limits(alone.text()), "{threads} threads");
        let difference = mapped(ran.text()) - mapped(alone.text());
        assert!(difference.abs() <= 1, "{threads} threads: {} instead of {}", ran.text(), alone.text());
        assert_eq!(frees(&capture, 2801), 1 + threads.parse::<u64>().unwrap());
    }
}

/// Check that a small stack, which the program gets as well, is enough for recording and for viewing, and that a
/// signal reaches the program as usual.
#[test]
fn small_stacks_are_enough_for_the_command() {
    let program = c("allocates_once").build();
    for stack in ["-s 64", "-s 192", "-S -s 512"] {
        let world = World::new();
        let file = world.path("it.memprof");
        let record = |arguments: &[&str]| {
            let script = format!("ulimit {stack} && exec \"$@\"");
            let mut command = world.command("bash");
            command
                .args(["-c", &script, "bash"])
                .arg(super::super::harness::product())
                .args(["run", "--force"]);
            command.args(["--no-symbolize", "--quiet", "--output"]).arg(&file).arg("--");
            wait(&world, {
                command.args(arguments);
                command
            })
        };
        let ran = record(&["bash", "-c", "ulimit -s"]);
        assert_eq!(
            (ran.code, ran.text().trim()),
            (0, stack.split(' ').next_back().unwrap()),
            "{}",
            ran.stderr
        );
        let ran = record(&["bash", "-c", "kill -TERM $PPID; sleep 60"]);
        assert_eq!(ran.code, 128 + 15, "{stack}: {}", ran.stderr);
        let ran = record(&[program.to_str().unwrap()]);
        assert_eq!(ran.code, 0, "{stack}: {}", ran.stderr);
        let mut report = world.command("bash");
        report.args(["-c", &format!("ulimit {stack} && exec \"$@\""), "bash"]);
        report.arg(super::super::harness::product()).arg("report").arg(&file);
        let ran = wait(&world, report);
        assert_eq!(ran.code, 0, "{stack}: {}", ran.stderr);
        assert_eq!(frees(&Capture::new(world, file), 1001), 1, "{stack}");
    }
}

/// Check that a recording which may not open the files that it needs says so, whichever file it was.
#[test]
fn too_few_files_are_told_of() {
    for files in 4..32 {
        let world = World::new();
        let mut command = world.command("bash");
        command.args(["-c", &format!("ulimit -n {files} && exec \"$@\""), "bash"]);
        command.arg(super::super::harness::product());
        command.args([
            "run",
            "--no-symbolize",
            "--quiet",
            "--no-cpu",
            "--output",
            "it.memprof",
            "--",
            "true",
        ]);
        let ran = wait(&world, command);
        if ran.code == 0 {
            return assert!(files > 8, "how could that be");
        }
        // With an even lower limit no program starts.
        let is_started = !ran.stderr.contains("shared libraries");
        assert!(!is_started || ran.stderr.contains("(ulimit -n)"), "{files}: {}", ran.stderr);
    }
    panic!("more files do not help");
}

/// Check that a limit on file sizes does not end a recording if it may be lifted, that the program has the limit all
/// the same, and that a recording which cannot be written says why.
#[test]
fn limit_on_files_is_not_the_collectors() {
    let program = c("allocates_once").build();
    // Streams must not be files that the limit applies to.
    let script = |limit: &str| {
        format!("(ulimit {limit}; \"$@\" -- bash -c 'ulimit -S -f; \"$0\"' \"$PROGRAM\" 2>&1; echo $?) | cat")
    };
    for (limit, blocks) in [("-S -f 1", 1), ("-f 100000", 1), ("-f 1", 0)] {
        let world = World::new();
        let file = world.path("it.memprof");
        let mut command = world.command("bash");
        command.arg("-c").arg(script(limit)).arg("bash").arg(super::super::harness::product());
        command.args(["run", "--no-symbolize", "--quiet", "--output"]).arg(&file).env("PROGRAM", &program);
        let ran = wait(&world, command);
        if blocks > 0 {
            assert_eq!(ran.text().lines().next(), limit.split(' ').next_back(), "{limit}: {}", ran.text());
            assert_eq!(ran.text().lines().last(), Some("0"), "{limit}: {}", ran.text());
            let capture = Capture::new(world, file);
            capture.assert_sound();
            assert_eq!(frees(&capture, 1001), blocks, "{limit}");
        } else {
            assert!(ran.text().contains("Allow larger files (ulimit -f)"), "{limit}: {}", ran.text());
            assert_eq!(ran.text().lines().last(), Some("2"), "{limit}: {}", ran.text());
        }
    }
}

/// Check that processes are recorded to their end even if the collector has no descriptors left for them, that it
/// takes as many as it may, and that the program has the limit all the same.
#[test]
fn limit_on_descriptors_loses_nothing() {
    let program = c("has_many_children").flags(["-O1", "-fno-builtin"]).build();
    for limit in ["-S -n 48", "-n 48"] {
        let world = World::new();
        let file = world.path("it.memprof");
        let mut command = world.command("bash");
        let script = format!(
            "ulimit {limit}; exec \"$@\" -- bash -c 'ulimit -S -n; exec \"$0\" 60 5000' \"$PROGRAM\""
        );
        command.args(["-c", &script, "bash"]).arg(super::super::harness::product());
        command.args(["run", "--no-symbolize", "--quiet", "--output"]).arg(&file).env("PROGRAM", &program);
        let ran = wait(&world, command);
        assert_eq!((ran.code, ran.text().trim()), (0, "48"), "{limit}: {}", ran.stderr);
        let capture = Capture::new(world, file);
        capture.assert_sound();
        assert_eq!(frees(&capture, 1300), 60 * 5000, "{limit}");
    }
}

/// Check that programs are recorded when address space is scarce and the collector's own threads take their share of
/// it, and that the exit code is the program's.
#[test]
fn limit_on_address_space_ends_no_recording() {
    let program = c("allocates_once").build();
    for limit in ["250000", "400000"] {
        let world = World::new();
        let file = world.path("it.memprof");
        let mut command = world.command("bash");
        let script = format!("ulimit -v {limit}; exec \"$@\" -- bash -c '\"$0\"; exit 7' \"$PROGRAM\"");
        command.args(["-c", &script, "bash"]).arg(super::super::harness::product());
        command.args(["run", "--quiet", "--output"]).arg(&file).env("PROGRAM", &program);
        let ran = wait(&world, command);
        assert_eq!(ran.code, 7, "{limit}: {}", ran.stderr);
        let capture = Capture::new(world, file);
        capture.assert_sound();
        assert_eq!(frees(&capture, 1001), 1, "{limit}");
    }
}

/// Check that a user who may not read a file learns nothing from it: captures are private whatever the umask is.
#[test]
fn captures_are_private_whatever_the_umask() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let file = world.path("it.memprof");
    let mut command = world.command("bash");
    command.args(["-c", "umask 0; \"$@\"", "bash"]).arg(super::super::harness::product());
    command.args(["run", "--quiet", "--output"]).arg(&file).arg("--").arg(c("allocates_once").build());
    assert_eq!(wait(&world, command).code, 0);
    let mode = std::fs::metadata(&file).expect("the capture is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let _: Value = Capture::new(world, file).info();
}

/// Check that programs which forbid themselves the time stamp counter go on, and that what cannot be recorded then is
/// counted.
#[test]
fn programs_may_forbid_the_counter() {
    for how in [&[][..], &["again"]] {
        let program = c("forbids_the_counter").flags(["-O1", "-fno-builtin", "-pthread"]).build();
        let (ran, capture) = record(program).args(how).run();
        if ran.code == 77 {
            return skip("forbidding the counter", "the kernel refuses");
        }
        assert_eq!((ran.code, ran.text()), (0, "done\n"), "{}", ran.stderr);
        let recorded: u64 = capture.rows_of_size(2300).iter().map(|row| row.number("allocations")).sum();
        let info = capture.info();
        assert_eq!(capture.row_of_size(2200).number("allocations"), 1);
        if recorded < 3000 {
            // At least two thousand calls each of malloc, realloc and free; which of the program's are recorded is
            // not specified.
            assert!(capture.number("/lost/events") >= 6000, "{:#}", info["lost"]);
            assert_eq!(info["lost"]["by_reason"][0]["reason"], "sandbox");
            assert_eq!(capture.number("/totals/leaked_blocks"), 0, "{:#}", info["totals"]);
        }
    }
}
