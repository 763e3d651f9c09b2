//! Runs what the fuzzers run, without a fuzzer.

#[path = "../../../tests/fuzz/replay.rs"]
mod replay;

use replay::{replay, replay_file};
use std::collections::BTreeSet;
use std::path::PathBuf;
use symbols::fuzzing::{read_dwarf, read_elf, read_jit, read_names};

/// Mutations of each file.
const MUTATIONS: usize = 200;

/// Check that files of the corpus, and mutations of them, are read as ELF files without a panic.
#[test]
fn mutated_modules_are_read() {
    replay("symbols_elf", MUTATIONS, read_elf);
}

/// Check the same for debug information.
#[test]
fn mutated_debug_information_is_read() {
    replay("symbols_dwarf", MUTATIONS, read_dwarf);
}

/// Check the same for the logs of JIT compilers.
#[test]
fn mutated_logs_of_compilers_are_read() {
    replay("symbols_jit", MUTATIONS, read_jit);
}

/// Check the same for names.
#[test]
fn mutated_names_are_read() {
    replay("symbols_names", MUTATIONS, read_names);
}

/// Check the same for real libraries: those that this process has mapped.
#[test]
fn mutated_libraries_are_read() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let path = |line: &str| line.find('/').map(|at| PathBuf::from(&line[at..]));
    let is_library = |path: &PathBuf| path.to_string_lossy().contains(".so");
    let libraries: BTreeSet<PathBuf> = maps.lines().filter_map(path).filter(is_library).collect();
    assert!(!libraries.is_empty(), "{maps}");
    for library in &libraries {
        replay_file(library, MUTATIONS / 4, read_elf);
    }
}
