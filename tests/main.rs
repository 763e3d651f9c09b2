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
mod one_clock;
mod resident;
mod stacks;

mod processes;
mod threads;

mod failed_allocations;
mod frees;
mod leaks;
mod lifetimes;
mod queries;
mod sampling;
mod scans;

mod admission;
mod alarms;
mod attached_services;
mod deaths;
mod durations;
mod event_order;
mod exit_scans;
mod injected;
mod long_recordings;
mod metrics;
mod namespaces;
mod output_file;
mod overload;
mod own_memory;
mod process_selection;
mod services;
mod signals;
mod stalled_receivers;
mod streaming;
mod top;
mod truncated_captures;
mod wake_ups;

mod interpreter_stacks;
mod perl;
mod php;
mod program_api;
mod pytest;
mod python;
mod ruby;

mod fleet;
mod footprint;
mod generated_code;
mod go;
mod guard_pages;
mod java;
mod mapped_files;
mod modules;
mod node;
mod options;
mod preloaded_by_hand;
mod symbol_names;

mod agreement_of_views;
mod documented_exchange;
mod documented_help;
mod exports;
mod imports;
mod push;
mod serve;
mod terminal;
mod web;

mod documents;
mod kubernetes;
mod packaging;

mod aggregate;
mod benches;
mod hard_cases;
mod musl;
mod programs;
