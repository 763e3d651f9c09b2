//! Code that comes and goes keeps its names.

use crate::harness::{World, c, copy_program, library, record};

/// Check that two libraries which were loaded one after the other at the same address are told apart.
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
