//! What the fuzzers run, without a fuzzer.

#[path = "../../../tests/fuzz/replay.rs"]
mod replay;

use replay::replay;
use symbols::fuzzing::{read_dwarf, read_elf, read_jit};

/// Mutations of each file.
const MUTATIONS: usize = 200;

/// Check that files of the corpus, and mutations of them, are looked into as ELF files without a panic.
#[test]
fn mutated_modules_are_read() {
    replay("symbols_elf", MUTATIONS, read_elf);
}

/// Check that the same holds of debug information.
#[test]
fn mutated_debug_information_is_read() {
    replay("symbols_dwarf", MUTATIONS, read_dwarf);
}

/// Check that the same holds of what compilers at run time tell.
#[test]
fn mutated_logs_of_compilers_are_read() {
    replay("symbols_jit", MUTATIONS, read_jit);
}
