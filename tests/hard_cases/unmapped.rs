//! Memory and modules that disappear without notice.

use super::super::harness::{Capture, c, cpp_library, library, record, skip};
use std::path::PathBuf;

/// Allocations of the size that these programs use.
fn allocations(capture: &Capture) -> u64 {
    capture.rows_of_size(2001).iter().map(|row| row.number("allocations")).sum()
}

/// Check that a program whose filter makes `mprotect` fail lives on, and that all its stacks are recorded.
#[test]
fn programs_that_may_not_open_memory_live() {
    let (ran, capture) = record(c("forbids_mprotect").flags(["-O1"]).build()).run();
    if ran.code == 1 {
        return skip("a program that may not open memory", "seccomp is not to be had here");
    }
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    capture.assert_sound();
    assert_eq!(allocations(&capture), 1 + (1 << 13));
}

/// Check that a coroutine's stack in a block is not read any more once libc has given the block back on its own: a
/// block that was mapped, one at the end of the heap, and one in an arena.
#[test]
fn stacks_in_blocks_are_forgotten_with_these() {
    let program = c("coroutine_in_a_block").flags(["-O1"]).build();
    for place in ["mapped", "break", "arena"] {
        for frames in ["-6", "-3", "-1", "0", "1"] {
            let (ran, capture) = record(&program).args([place, frames]).run();
            assert_eq!(ran.code, 0, "{place} {frames}: {}", ran.stderr);
            assert_eq!(allocations(&capture), 2, "{place} {frames}");
        }
    }
}

/// Check that a module which libc has unloaded on its own is neither taken for loaded nor for the library that is in
/// its place.
#[test]
fn modules_that_libc_unloads_are_forgotten() {
    let lender = library("lends_memory").flags(["-DFUNCTION=in_its_place", "-DSIZE=2001"]).build();
    let (ran, capture) = record(c("closes_charsets").build()).arg(&lender).with_names().run();
    if ran.code == 3 {
        return skip("a module that libc unloads", "it has no such character sets here");
    }
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let row = capture.row_of_size(2001);
    assert_eq!(
        (&row.names()[..3], &*row.state),
        (&["in_its_place", "lend", "main"].map(String::from)[..], "complete")
    );
}

/// Check that an operator new found in a library is not called any more when the library is gone.
#[test]
fn the_new_of_a_closed_library_is_forgotten() {
    let of = |name: &str| -> PathBuf { cpp_library("brings_its_new").named(name).build() };
    let program = c("closes_its_new").build();
    let (ran, capture) = record(program).arg(of("libfirst_new.so")).arg(of("libsecond_new.so")).run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(allocations(&capture), 2);
}

/// Check that a thread does not mistake the frames of a library for those of another one that was there before.
#[test]
fn frames_of_unloaded_libraries_are_forgotten() {
    let of = |size: u32| -> PathBuf {
        let named = format!("libframe_{size}.so");
        library("frame_of_a_size").flags([format!("-DFRAME={size}")]).named(&named).build()
    };
    let (ran, capture) =
        record(c("threads_of_libraries").build()).args([of(4104), of(8200)]).with_names().succeed();
    assert_eq!(ran.text(), "the same address\n", "the loader was to use the place again");
    assert_eq!(allocations(&capture), 2);
    for row in capture.rows_of_size(2001) {
        assert_eq!(row.names()[..2], ["allocate", "call"]);
        assert_eq!(row.state, "complete");
    }
}
