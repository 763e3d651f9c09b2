//! Anybody can write the files in which JIT compilers report their code.
//!
//! `cargo +nightly fuzz run --fuzz-dir tests/fuzz symbols_jit`. The same function runs on the seeds and some hundred
//! mutations with `cargo test -p symbols`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| symbols::fuzzing::read_jit(bytes));
