//! Names in files are bytes that anybody can choose, and short ones can stand for long ones.
//!
//! `cargo +nightly fuzz run --fuzz-dir tests/fuzz symbols_names`. The same function runs on the seeds and some hundred
//! mutations with `cargo test -p symbols`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| symbols::fuzzing::read_names(bytes));
