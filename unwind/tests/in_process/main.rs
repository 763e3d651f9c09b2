//! Walks in this very process, compared frame by frame with glibc's `backtrace`.
#![cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_os = "linux"))]

#[macro_use]
#[expect(unsafe_code, reason = "reads the process that the tests run in")]
mod support;

#[expect(unsafe_code, reason = "calls back through C")]
mod callbacks;
mod damaged;
#[expect(unsafe_code, reason = "functions in assembly")]
mod handwritten;
#[expect(unsafe_code, reason = "installs signal handlers")]
mod interrupted;
mod limits;
mod modules;
mod nested;
mod second_opinion;
#[expect(unsafe_code, reason = "installs signal handlers")]
mod signals;
#[expect(unsafe_code, reason = "lends memory to a thread as its stack")]
mod small_stack;
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "installs signal handlers")]
mod stepping;
mod whole_modules;
