//! Debug information is read, but never trusted.
//!
//! `cargo +nightly fuzz run --fuzz-dir tests/fuzz symbols_dwarf`. The same function runs on the seeds and some hundred
//! mutations with `cargo test -p symbols`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| symbols::fuzzing::read_dwarf(bytes));
