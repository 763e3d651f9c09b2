//! Recordings of other tools may come from anybody.
//!
//! `cargo +nightly fuzz run --fuzz-dir tests/fuzz imports`. The same function runs on the seeds and some hundred mutations
//! with `cargo test -p import`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| import::fuzzing::import_hostile(bytes));
