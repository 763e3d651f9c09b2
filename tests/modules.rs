//! Code that comes and goes keeps its names.

use crate::harness::{Capture, World, c, copy_program, library, record, wait};
use std::collections::BTreeMap;
use std::path::Path;

/// Check that two libraries which were loaded one after another at the same address are told apart.
#[test]
fn libraries_at_the_same_address_are_told_apart() {
    let lender = |name: &str, size: u32| {
        let flags = [format!("-DFUNCTION={name}"), format!("-DSIZE={size}")];
        library("lends_memory").flags(flags).named(&format!("lib{name}.so")).build()
    };
    let libraries = [lender("first_place", 1401), lender("second_place", 1402)];
    let (ran, capture) = record(c("loads_libraries").build()).args(&libraries).with_names().succeed();
    assert_eq!(ran.text(), "the same address\n", "the loader was to use the place again");
    for (size, function, library) in
        [(1401, "first_place", &libraries[0]), (1402, "second_place", &libraries[1])]
    {
        for row in capture.rows_of_size(size) {
            assert_eq!(row.names()[..4], [function, "lend", "lend_from", "main"]);
            assert_eq!(row.state, "complete");
            assert!(row.frames[..2].iter().all(|frame| *frame.module == *library.to_string_lossy()));
        }
        let blocks: u64 = capture.rows_of_size(size).iter().map(|row| row.number("allocations")).sum();
        assert!(blocks > 0, "no block of {size} bytes");
    }
}

/// Check that a library which is loaded and unloaded more often than a process can have modules is named every time,
/// whether or not it can be recognized when it comes again.
#[test]
fn libraries_that_come_again_keep_their_names() {
    const TIMES: u64 = 8_600;
    let program = c("loads_it_again").build();
    for (build_id, size) in [("sha1", 1405), ("none", 1406)] {
        let flags = [format!("-Wl,--build-id={build_id}"), format!("-DSIZE={size}")];
        let library = library("lends_memory").flags(["-DFUNCTION=come_again"]).flags(flags).build();
        let (_, capture) = record(&program).arg(&library).arg(TIMES.to_string()).with_names().succeed();
        let row = capture.row_of_size(size);
        assert_eq!((row.number("allocations"), row.state.as_str()), (TIMES, "complete"), "{build_id}");
        assert_eq!(row.names()[..3], ["come_again", "lend", "main"], "{build_id}");
        assert!(row.frames[..2].iter().all(|frame| *frame.module == *library.to_string_lossy()));
    }
}

/// Check that libraries have their names while several threads load and unload them at once, often one in the place
/// of another.
#[test]
fn libraries_that_threads_load_keep_their_names() {
    const TIMES: u64 = 500;
    let lender = |place: u64| {
        let flags = [format!("-DFUNCTION=lend_{place}"), format!("-DSIZE={}", 1410 + place)];
        library("lends_memory").flags(flags).named(&format!("lib{place}.so")).build()
    };
    let libraries: Vec<_> = (0..4).map(lender).collect();
    let program = c("loads_in_threads").flags(["-pthread"]).build();
    let (_, capture) = record(program).arg(TIMES.to_string()).args(&libraries).with_names().succeed();
    for (place, library) in (0..).zip(&libraries) {
        let rows = capture.rows_of_size(1410 + place);
        for row in &rows {
            assert_eq!(row.names()[..3], [&*format!("lend_{place}"), "lend", "come_and_go"], "{row:#?}");
            assert_eq!(row.state, "complete", "{row:#?}");
            assert!(row.frames[..2].iter().all(|frame| *frame.module == *library.to_string_lossy()));
        }
        assert_eq!(rows.iter().map(|row| row.number("allocations")).sum::<u64>(), TIMES);
    }
}

/// Check that a library is found by the RUNPATH of the program that opens it, as it is without us.
#[test]
fn libraries_are_found_beside_the_program() {
    let world = World::new();
    let program = c("opens_beside_itself").flags(["-Wl,--enable-new-dtags,-rpath,$ORIGIN"]).build();
    let beside = library("lends_memory").flags(["-DFUNCTION=beside", "-DSIZE=1403"]).build();
    for (from, to) in [(program, "program"), (beside, "libbeside.so")] {
        copy_program(from, &world.path(to));
    }
    let path = world.path("program");
    let (_, capture) = record(path).world(world).with_names().succeed();
    assert_eq!(capture.row_of_size(1403).names()[..3], ["beside", "lend", "main"]);
}

/// How often each file is in the table of modules.
fn modules(capture: &Capture) -> BTreeMap<String, usize> {
    let mut query = capture.world().tool(["query", "--format", "csv"]);
    query.arg(capture.file()).arg("select path, build_id from modules where path like '/%'");
    let listed = wait(capture.world(), query);
    assert_eq!(listed.code, 0, "{}", listed.stderr);
    let mut modules = BTreeMap::new();
    for line in listed.text().lines().skip(1) {
        let (path, build_id) = line.rsplit_once(',').unwrap_or_else(|| panic!("{line}"));
        assert!(build_id.len() > "\"\"".len(), "{line}: each file is known by its contents");
        *modules.entry(path.trim_matches('"').to_owned()).or_default() += 1;
    }
    modules
}

/// Check that a program with five thousand mappings of code has its names, and so does a library with the longest
/// possible path.
#[test]
fn many_mappings_and_long_paths_have_names() {
    let world = World::new();
    let lender = library("lends_memory").flags(["-DFUNCTION=far_away", "-DSIZE=1404"]).build();
    let mut folder = world.folder().to_owned();
    while folder.as_os_str().len() + 250 < 4000 {
        folder.push("x".repeat(240));
        std::fs::create_dir(&folder).expect("the folder is ours");
    }
    folder.push("y".repeat(4000 - folder.as_os_str().len() - "/lib.so".len() - 1));
    std::fs::create_dir(&folder).expect("the folder is ours");
    let path = folder.join("lib.so");
    assert_eq!(path.as_os_str().len(), 4000);
    copy_program(lender, &path);
    let program = c("maps_its_code_often").build();
    let recording = record(&program).arg("5000").arg(&path).world(world).with_names();
    let (_, capture) = recording.succeed();
    let row = capture.row_of_size(1404);
    assert_eq!(row.names()[..3], ["far_away", "lend", "main"]);
    assert_eq!(Path::new(&row.frames[0].module), path);
    let modules = modules(&capture);
    assert_eq!(modules.get(path.to_str().expect("it is ASCII")), Some(&1));
    assert_eq!(modules.get(program.to_str().expect("it is UTF-8")), Some(&1), "{modules:#?}");
}

/// Check that programs which end at once have their whole stacks named, and that files which a hundred of them have
/// mapped are in the capture once.
#[test]
fn files_of_many_short_programs_are_kept_once() {
    let program = c("allocates_once").build();
    let numbers: String = (0..100).map(|number| format!(" {number}")).collect();
    let script = format!("for i in{numbers}; do {}; done", program.display());
    let (_, capture) = record("sh").args(["-c", &script]).with_names().succeed();
    assert_eq!(capture.info()["processes"].as_array().map(Vec::len), Some(101));
    let modules = modules(&capture);
    let libc = modules.keys().filter(|path| path.contains("libc.so")).count();
    assert!(libc == 1 && modules.contains_key(&*program.to_string_lossy()), "{modules:#?}");
    assert!(modules.values().all(|&times| times == 1), "{modules:#?}");
    let row = capture.row_of_size(1001);
    assert_eq!((row.number("allocations"), row.state.as_str()), (100, "complete"));
    assert_eq!(row.names()[..2], ["only_place", "main"]);
}
