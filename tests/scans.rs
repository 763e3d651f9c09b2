//! Scans: which words of a program's memory point where, at a moment.

use crate::harness::{
    Capture, Page, Ran, Recording, Service, World, assert_exact, c, cpp, info, installed, record, skip,
    start, wait, wait_for,
};
use capture::{Area, AreaKind, Pointer, Reader, Scan, ScanId};
use rustix::process::{Pid, Signal};
use serde_json::Value;
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

/// The scans of a capture, each with its pointers.
fn scans(file: &Path) -> Vec<(Scan, Vec<Pointer>)> {
    let reader = Reader::open(file).expect("it is a capture");
    let pointers = |number: u32| {
        let mut all = Vec::new();
        reader.for_each_pointers(ScanId(number), |some| all.extend(some)).expect("they can be read");
        all
    };
    (0..).zip(&reader.tables().scans).map(|(number, scan)| (scan.clone(), pointers(number))).collect()
}

fn area(scan: &Scan, address: u64) -> Option<&Area> {
    scan.areas.iter().find(|area| (area.start..area.end).contains(&address))
}

/// Checks what holds for every scan: areas and pointers are sorted by address, pointers are in areas and point to
/// memory of blocks, and nothing of the agent is included.
fn assert_sound(scan: &Scan, pointers: &[Pointer], file: &Path) {
    assert!(scan.areas.windows(2).all(|pair| pair[0].end <= pair[1].start), "{:x?}", scan.areas);
    assert!(pointers.windows(2).all(|pair| pair[0].from <= pair[1].from));
    assert_eq!((scan.unread, scan.lost), (0, 0));
    assert!(scan.searched > 0 && scan.still_ns > 0 && scan.time > 0);
    let mut areas = scan.areas.iter().peekable();
    for pointer in pointers {
        while areas.next_if(|area| area.end <= pointer.from).is_some() {}
        assert!(areas.peek().is_some_and(|area| area.start <= pointer.from), "{pointer:x?}");
        let to = area(scan, pointer.to).map(|area| area.kind);
        let is_right =
            matches!(to, Some(AreaKind::Heap | AreaKind::Anonymous | AreaKind::Left | AreaKind::Other));
        assert!(is_right, "{pointer:x?} leads to {to:?}");
    }
    let reader = Reader::open(file).expect("it is a capture");
    let name = |area: &Area| reader.tables().strings[area.name.index()].clone();
    for area in &scan.areas {
        assert!(!name(area).contains("sysprof"), "{area:x?}");
        assert_eq!(area.kind == AreaKind::Stack, area.tid != 0, "{area:x?}");
    }
}

/// Check that whatever holds blocks is found, in variables, stacks, registers, thread-local variables and blocks, and
/// that only unreachable blocks themselves lead to unreachable blocks.
#[test]
fn whatever_holds_a_block_is_found() {
    let world = World::new();
    let page = Page::new(&world);
    let program = c("holds_in_every_way").flags(["-O1"]).build();
    let recording = record(&program).world(world).arg(&page.path);
    let running = recording.start();
    wait_for("the program to hold its blocks", || page.is_done());
    let ran = wait(&recording.world, recording.world.tool(["scan", &page.pid().to_string()]));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("scanned ") && ran.stderr.contains(" pointers"), "{}", ran.stderr);
    let smaps = std::fs::read_to_string(format!("/proc/{}/smaps", page.pid())).expect("it runs");
    page.stop();
    let ran = running.wait();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let place = places(&ran);
    let [(scan, pointers)] = &scans(&recording.file())[..] else { panic!("it was scanned once") };
    let own = of_the_agent(&smaps);
    assert!(own.len() > 3, "{smaps}");
    let is_own = |area: &Area| own.iter().any(|own| own.start < area.end && area.start < own.end);
    assert!(!scan.areas.iter().any(is_own), "{own:x?} {:x?}", scan.areas);
    assert_sound(scan, pointers, &recording.file());
    let to = |name: &str| -> Vec<(u64, AreaKind)> {
        let to = pointers.iter().filter(|pointer| pointer.to == place[name]);
        to.map(|pointer| (pointer.from, area(scan, pointer.from).expect("it lies in one").kind)).collect()
    };
    assert!(to("list").contains(&(place["list place"], AreaKind::Variables)), "{:x?}", to("list"));
    assert!(to("second of list").contains(&(place["list"], AreaKind::Heap)));
    assert!(to("on stack").contains(&(place["stack place"], AreaKind::Stack)));
    assert!(to("behind it").contains(&(place["on stack"], AreaKind::Heap)));
    assert!(to("behind it").contains(&(place["large"] + 8000, AreaKind::Anonymous)));
    assert!(to("large").contains(&(place["list"] + 16, AreaKind::Heap)));
    assert!(to("thread's block").contains(&(place["thread's place"], AreaKind::Stack)));
    // In the mapping of the thread's stack, above the stack itself.
    assert!(
        to("local block").iter().any(|(from, _)| *from == place["local place"]),
        "{:x?}",
        to("local block")
    );
    // The word in the register appears at the stack's lowest address.
    let in_register = to("in register");
    let is_register = |(from, _): &(u64, _)| area(scan, *from).is_some_and(|area| area.start == *from);
    assert!(in_register.iter().any(is_register), "{in_register:x?}");
    assert_eq!(to("lost"), []);
    assert_eq!(to("first of cycle"), [(place["second of cycle"], AreaKind::Heap)]);
    assert_eq!(to("second of cycle"), [(place["first of cycle"], AreaKind::Heap)]);
    // Threads are identified by the numbers that events have.
    let reader = Reader::open(recording.file()).unwrap();
    let tids: Vec<u32> = reader.tables().threads.iter().map(|thread| thread.tid).collect();
    let stacks: Vec<&Area> = scan.areas.iter().filter(|area| area.kind == AreaKind::Stack).collect();
    assert!(stacks.len() == 3 && stacks.iter().all(|area| tids.contains(&area.tid)), "{stacks:x?} {tids:?}");
    recording.capture().assert_sound();
}

/// Check that a terabyte of which next to nothing was touched is searched only where it was touched.
#[test]
fn sparse_memory_is_searched_where_it_is() {
    let world = World::new();
    let page = Page::new(&world);
    let recording = record(c("holds_sparsely").flags(["-O1"]).build()).world(world).arg(&page.path);
    let running = recording.start();
    wait_for("the program to hold its block", || page.is_done());
    let ran = wait(&recording.world, recording.world.tool(["scan", &page.pid().to_string()]));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    page.stop();
    let ran = running.wait();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let place = places(&ran);
    let [(scan, pointers)] = &scans(&recording.file())[..] else { panic!("it was scanned once") };
    assert_sound(scan, pointers, &recording.file());
    let of_block = pointers.iter().filter(|pointer| pointer.to == place["block"]);
    assert!(of_block.clone().any(|pointer| pointer.from == place["place"]), "{pointers:x?}");
    // With huge pages, 2 MiB for each one touched.
    assert!(scan.searched < 256 << 20, "{}", scan.searched);
}

/// The agent's memory: what it shares, its library, and mappings with the flags of its private memory.
fn of_the_agent(smaps: &str) -> Vec<Range<u64>> {
    let mut own = Vec::new();
    let mut range = None;
    for line in smaps.lines() {
        let flags = line.strip_prefix("VmFlags:").map(|flags| format!("{flags} "));
        if let Some((start, end)) = line.split_once(' ').and_then(|(range, _)| range.split_once('-')) {
            let number = |text| u64::from_str_radix(text, 16).expect("an address");
            range = Some(number(start)..number(end));
        }
        let is_private = |flags: &String| [" nr ", " dd ", " rr "].iter().all(|flag| flags.contains(flag));
        if line.contains("sysprof") || flags.as_ref().is_some_and(is_private) {
            own.extend(range.take());
        }
    }
    own
}

/// The program's output: addresses by name.
fn places(ran: &Ran) -> HashMap<String, u64> {
    let line = |line: &str| {
        let (name, address) = line.rsplit_once(" 0x")?;
        Some((name.to_owned(), u64::from_str_radix(address, 16).ok()?))
    };
    ran.text().lines().filter_map(line).collect()
}

/// Check that threads which allocate all the time are scanned again and again, go on, and lose nothing.
#[test]
fn busy_programs_are_scanned_often() {
    let server = Service::new(4);
    let collector = server.attach("it.memprof");
    for _ in 0..20 {
        let ran = server.run("scan", &[]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    server.work();
    collector.signal(Signal::INT);
    assert_eq!(collector.wait().code, 0);
    let file = server.world.path("it.memprof");
    let scans = scans(&file);
    assert_eq!(scans.len(), 20);
    assert!(scans.windows(2).all(|pair| pair[0].0.time < pair[1].0.time));
    for (scan, pointers) in &scans {
        assert_sound(scan, pointers, &file);
        let stacks = scan.areas.iter().filter(|area| area.kind == AreaKind::Stack);
        assert_eq!(stacks.count(), 5);
    }
    assert_exact(&info(&server.world, "it.memprof"), 4);
    server.stop();
}

/// Check that recordings without single blocks refuse a scan, and so does a process that is not recorded.
#[test]
fn recordings_without_blocks_refuse() {
    let server = Service::new(1);
    for (option, why) in [(["--sample", "1M"], "is sampled"), (["--aggregate", "--every=1h"], "aggregated")] {
        let collector = server.attach_with(&[&option[..], &["--output", "it.memprof"]].concat());
        let ran = server.run("scan", &[]);
        assert!(ran.code == 1 && ran.stderr.contains(why), "{} {}", ran.code, ran.stderr);
        collector.signal(Signal::INT);
        assert_eq!(collector.wait().code, 0);
        server.wait_until_it_has_left();
        std::fs::remove_file(server.world.path("it.memprof")).expect("it was made");
    }
    let ran = server.run("scan", &[]);
    assert!(ran.code == 2 && ran.stderr.contains("is not recorded"), "{}", ran.stderr);
    server.stop();
}

/// A program that ends with blocks held in this way, to be scanned at its end.
fn ending(way: &str) -> (Recording, Page) {
    let world = World::new();
    let page = Page::new(&world);
    let program = c("ends_with_blocks").flags(["-O1"]).build();
    (record(program).world(world).options(["--scan-at-exit"]).arg(&page.path).arg(way), page)
}

/// Check that processes are scanned when they end, on their own or in the middle, including forked ones, and that
/// what nobody can reach then is distinguished from what a variable still holds.
#[test]
fn ends_are_scanned() {
    for way in ["main", "_exit", "child"] {
        let (recording, page) = ending(way);
        page.go();
        let (ran, capture) = recording.run();
        assert_eq!(ran.code, 3, "{way}: {}", ran.stderr);
        capture.assert_sound();
        let scans = scans(capture.file());
        assert_eq!(scans.len(), if way == "child" { 2 } else { 1 });
        let number = if way == "child" { "1" } else { "0" };
        let retained = retained(&capture, number);
        let unreachable = &retained["unreachable"];
        // The child's own blocks are known, those from before are not.
        assert_eq!(
            (&unreachable["blocks"], &unreachable["bytes"]),
            (&4.into(), &(24 + 48 + 2 * 112).into()),
            "{way}"
        );
        let heads = retained["unreachable_stacks"].as_array().expect("a list");
        let claimed: Vec<&Value> = heads.iter().map(|row| &row["claimed"]["bytes"]).collect();
        assert_eq!(claimed, [&Value::from(224), &Value::from(72)], "{way}");
        let list = &retained["roots"].as_array().expect("a list")[0];
        assert_eq!(
            (&list["name"], &list["retained"]["bytes"]),
            (&"list [ends_with_blocks]".into(), &(3 * 112).into())
        );
        assert_eq!(retained["stacks"][0]["kept_by"][0]["root"], "list [ends_with_blocks]");
        assert_eq!(retained["scan"]["is_partial"], way == "child");
        let leaks: Value =
            serde_json::from_str(capture.show(&["leaks", "--unreachable", "--json"]).text()).expect("JSON");
        assert_eq!((&leaks["unreachable"], &leaks["leaked"]["bytes"]), (&true.into(), &296.into()), "{way}");
        let text = capture.show(&["leaks", "--unreachable"]);
        assert!(
            text.text().contains("296 B in 4 blocks, unreachable when memory was scanned"),
            "{}",
            text.text()
        );
        // Not all blocks of a forked child are known, so there may be more.
        let kept = if way == "child" { 2 } else { 0 };
        for (limit, code) in [("296", kept), ("295", 1)] {
            let checked = capture.show(&["check", "--max-unreachable", limit]);
            assert_eq!(checked.code, code, "{}", checked.text());
        }
        let of_cycle = capture.show(&["check", "--max-unreachable", "224", "--filter", "lose_a_cycle"]);
        assert_eq!(of_cycle.code, kept, "{}", of_cycle.text());
    }
}

/// Check that blocks are known by the classes of their objects, in position-independent and fixed-address programs,
/// with or without symbols; that parts of objects do not count; and what the objects keep.
#[test]
fn objects_are_known_by_their_classes() {
    for flags in [&["-O1"][..], &["-O1", "-s", "-static-libstdc++"], &["-O1", "-no-pie", "-s"]] {
        let program = cpp("keeps_objects").flags(flags.iter().copied()).build();
        let (ran, capture) = record(program).options(["--scan-at-exit"]).run();
        assert_eq!(ran.code, 0, "{flags:?}: {}", ran.stderr);
        let retained = retained(&capture, "0");
        let rows = retained["classes"].as_array().expect("a list");
        let found: Vec<(&str, [Option<i64>; 3])> = rows
            .iter()
            .map(|row| {
                let blocks = |of: &str| row[of]["blocks"].as_i64();
                (row["name"].as_str().expect("a name"), ["own", "retained", "unreachable"].map(blocks))
            })
            .filter(|(name, _)| !name.starts_with("std::") || name.contains("Square"))
            .collect();
        let shared = found.iter().find(|(name, _)| name.contains("_Sp_counted")).expect("it is counted");
        assert!(
            shared.0.contains("Square") && shared.1 == [Some(1), Some(1), Some(0)],
            "{flags:?} {found:?}"
        );
        let mut others: Vec<_> =
            found.into_iter().filter(|(name, _)| !name.contains("_Sp_counted")).collect();
        others.sort_unstable();
        let counts = |own, retained, unreachable| [Some(own), Some(retained), Some(unreachable)];
        assert_eq!(
            others,
            [
                ("(anonymous namespace)::Hidden", counts(2, 2, 0)),
                ("Both", counts(3, 6, 0)),
                ("Box<double>", counts(5, 5, 0)),
                ("Square", counts(13, 13, 4)),
            ],
            "{flags:?}"
        );
        let text = capture.show(&["retained"]);
        assert!(text.text().contains("By class") && text.text().contains("Box<double>"), "{}", text.text());
    }
}

/// Check that without a scan nothing is said about what could be reached, and that the user is told what to do.
#[test]
fn without_a_scan_nothing_is_unreachable() {
    let (_, capture) = record(c("keeps_some").build()).succeed();
    for command in [&["retained"][..], &["leaks", "--unreachable"], &["check", "--max-unreachable", "0"]] {
        let ran = capture.show(command);
        assert!(ran.code != 0 && ran.stderr.contains("has no memory scan: sysprof-memprof scan PID"));
    }
}

/// `retained --json` of the scan with this number, 0 for the last one.
fn retained(capture: &Capture, number: &str) -> Value {
    let number: &[&str] = if number == "0" { &[] } else { &["--scan", number] };
    let ran = capture.show(&[&["retained", "--json"], number].concat());
    serde_json::from_str(ran.text()).expect("JSON")
}

/// Check that a process which waits at its end goes on when its collector dies, and when the recording is ended.
#[test]
fn nobody_waits_for_the_dead() {
    for signal in [Signal::KILL, Signal::INT] {
        let (recording, page) = ending("main");
        let running = recording.start();
        wait_for("the program", || page.pid() != 0);
        running.stop();
        page.go();
        wait_for("the program to do its work", || page.is_done());
        let pid = Pid::from_raw(page.pid()).expect("a pid is not 0");
        std::thread::sleep(Duration::from_millis(300));
        assert!(is_running(pid), "it waits for a collector that stands still");
        running.signal(signal);
        running.signal(Signal::CONT);
        wait_for("the program to end", || !is_running(pid));
        running.wait();
    }
}

/// True of a process that has not ended.
fn is_running(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
}

/// Check that a process that is being debugged ends without a scan, and that the recording says why.
#[test]
fn debugged_processes_are_not_scanned() {
    let Some(gdb) = installed("gdb") else {
        return skip("scans of debugged programs", "gdb is not installed");
    };
    let (recording, page) = ending("main");
    let running = recording.start();
    wait_for("the program", || page.pid() != 0);
    let mut command = recording.world.command(gdb);
    command.args(["-batch", "-nx", "-p", &page.pid().to_string(), "-ex", "continue"]);
    let debugger = start(&recording.world, command);
    wait_for("the debugger", || is_traced(page.pid()));
    page.go();
    assert_eq!(running.wait().code, 3);
    debugger.wait();
    let info = recording.capture().info();
    let remarks = info["remarks"].to_string();
    assert!(remarks.contains("One process was not scanned at the end: process"), "{remarks}");
}

fn is_traced(pid: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().any(|line| line.strip_prefix("TracerPid:").is_some_and(|by| by.trim() != "0"))
}

/// Check that what threads have left behind, on their stacks and in free memory, holds nothing: a stack that libc
/// keeps for the next thread contains only stale data, and no event tells where the blocks of threads lie.
#[test]
fn ended_threads_hold_nothing() {
    let program = c("forgets_in_threads").flags(["-O1", "-pthread"]).build();
    let (_, capture) = record(program).options(["--scan-at-exit"]).succeed();
    let retained = retained(&capture, "0");
    assert_eq!(
        (&retained["unreachable"]["blocks"], &retained["unreachable"]["bytes"]),
        (&3.into(), &15_000.into())
    );
    let list = &retained["roots"][0];
    assert_eq!(
        (&list["name"], &list["retained"]["bytes"]),
        (&"list [forgets_in_threads]".into(), &(30 * 112).into())
    );
    let reader = Reader::open(capture.file()).expect("it is a capture");
    let ended = |area: &&Area| area.kind == AreaKind::Left;
    assert!(reader.tables().scans[0].areas.iter().filter(ended).count() > 0);
}

/// Check that whatever holds blocks counts, including inaccessible memory and the program's own stacks, and that if
/// blocks are not known, nothing that may be in use is called unreachable, and a limit cannot be judged.
#[test]
fn odd_places_hold_blocks() {
    let program = c("holds_in_odd_places").with_api().flags(["-O1", "-fno-builtin", "-pthread"]).build();
    for (way, is_partial) in [
        ("closed map", false),
        ("closed block", false),
        ("own stack", false),
        ("before a start", true),
        ("freed in a pause", true),
    ] {
        let (_, capture) = record(&program).arg(way).options(["--scan-at-exit"]).succeed();
        let retained = retained(&capture, "0");
        assert_eq!(retained["unreachable"]["blocks"], 0, "{way}");
        assert_eq!(retained["scan"]["is_partial"], is_partial, "{way}");
        let checked = capture.show(&["check", "--max-unreachable", "0"]);
        assert_eq!(checked.code, if is_partial { 2 } else { 0 }, "{way}: {}", checked.text());
    }
}
