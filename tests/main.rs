//! End to end: the product as a user has it, with programs that each behave in one known way.
//!
//! - Every program under test is a process, including the product: nothing of it is linked into these tests.
//! - What a recording should show is known independently: programs print the calls that they make, a counting library
//!   counts them, glibc's `backtrace` tells where they came from.
//! - Nothing waits by sleeping, and no time limit is close to what is measured.
//!
//! `programs/` contains what is recorded, one behaviour each. `SYSPROF_MEMPROF_TEST_CC=musl-gcc` builds the C
//! programs for musl. `SYSPROF_MEMPROF_TEST_RUNS=100` repeats the tests that look for rare events.

mod harness;

mod calls;
mod check;
mod counts;
mod cpu;
mod resident;
mod sources;
mod stacks;

mod processes;
mod threads;

mod failed;
mod frees;
mod leaks;
mod lives;
mod moments;
mod sampling;
mod scans;

mod deaths;
mod durations;
mod ends;
mod injected;
mod joining;
mod long_recordings;
mod namespaces;
mod order;
mod outputs;
mod overload;
mod own_memory;
mod services;
mod signals;
mod stalled;
mod streams;
mod top;
mod torn;
mod wake_ups;
mod ways;
mod whom;

mod scripts;
mod told;

mod by_hand;
mod footprint;
mod go;
mod guard_pages;
mod java;
mod made_code;
mod mapped_files;
mod modules;
mod names;
mod options;

mod exchange;
mod exports;
mod imports;
mod push;
mod serve;
mod terminal;
mod views;
mod web;

mod documents;
mod packaging;

mod aggregated;
mod benches;
mod hard_cases;
mod musl;
mod programs;
