//! Captures are opened by people who received them by mail.
//!
//! `cargo +nightly fuzz run --fuzz-dir tests/fuzz capture_reader`. The same function runs on the seeds and some
//! thousand mutations with `cargo test -p capture`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| capture::fuzzing::read_hostile(bytes));
