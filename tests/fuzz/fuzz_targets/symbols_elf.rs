//! Recorded programs and libraries may be files that nobody has checked.
//!
//! `cargo +nightly fuzz run --fuzz-dir tests/fuzz symbols_elf`. The same function runs on the seeds and some hundred
//! mutations with `cargo test -p symbols`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| symbols::fuzzing::read_elf(bytes));
