//! The agent: a library that `LD_PRELOAD` puts in front of a program's allocator.
//!
//! # What it promises to its host
//!
//! - It never allocates through its own hooks, never panics, keeps `errno`, writes nothing to the host's streams.
//! - It takes no lock, and none of the dynamic loader's. The one thing it may wait for is room in a full ring, when
//!   the recording asks for that, while the collector lives, for a bounded time.
//! - It leaves no descriptor, no thread and no signal handler behind.
//! - It forwards to the *next* allocator of the search order, so a program keeps the allocator it chose.
//! - Without a collector it stays dormant: each call compares one word of its thread with one of the doorbell's page,
//!   and nothing else happens until somebody rings.
//!
//! # The path of one `malloc`
//!
//! ```text
//!  malloc(24)        interpose   entry in a naked shim: rsp and rbp as the caller left them
//!    │               sampler     when only samples are wanted: is it one? if not, the real malloc and nothing else
//!    │ real malloc   real        the next allocator, found once by RTLD_NEXT
//!    ▼
//!  tracker           guard       busy? then this is a signal handler inside a hook: counted, not recorded
//!    │ stack         stack       walk the caller's frames (unwind), intern them from the root (shared-ring's stash)
//!    │ clock         clock       after the call, so that no later free can seem earlier
//!    ▼
//!  thread            ring        two words, one store that publishes them
//! ```
//!
//! A `free` takes the same path in reverse order: it is recorded and published first, and then freed. When only
//! samples are wanted, it asks the `filter` whether its block is one.
#![cfg_attr(feature = "standalone", no_std)]
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]
#![cfg_attr(test, allow(dead_code, reason = "the test process keeps its own malloc: nothing is exported"))]
#![allow(
    clippy::missing_safety_doc,
    reason = "exports have the contracts of the C functions they are named after"
)]

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!(
    "the agent knows x86-64 and 64-bit ARM only: another processor needs what src/arch, src/interpose/shims and src/elf.rs have, and \
     unwind/src/arch"
);

mod address_space;
#[expect(unsafe_code, reason = "calls C functions")]
mod allocator;
#[expect(unsafe_code, reason = "reads registers and thread-local storage")]
mod arch;
#[expect(unsafe_code, reason = "reads a variable of libc's")]
mod arenas;
#[expect(unsafe_code, reason = "hands out memory before there is an allocator")]
mod bootstrap;
#[expect(unsafe_code, reason = "calls functions that only one C library has")]
mod c_library;
mod clock;
#[expect(unsafe_code, reason = "reads the environment")]
mod config;
#[expect(unsafe_code, reason = "receives descriptors and maps them")]
mod connect;
mod departure;
#[expect(unsafe_code, reason = "maps the page of the doorbell")]
mod doorbell;
#[expect(unsafe_code, reason = "reads the tables of loaded modules")]
mod dynamic;
mod elf;
#[expect(unsafe_code, reason = "asks libc where it is")]
mod errno;
#[expect(unsafe_code, reason = "rebuilds the environment of exec")]
mod exec;
#[expect(unsafe_code, reason = "owns the memory of the filter")]
mod filter;
#[expect(unsafe_code, reason = "owns the memory of names")]
mod functions;
#[expect(unsafe_code, reason = "changes words of other modules")]
mod got;
mod guard;
mod hash;
#[expect(unsafe_code, reason = "exports C symbols, and asks the dynamic loader")]
mod injected;
#[expect(unsafe_code, reason = "exports C symbols")]
mod interpose;
mod kinds;
mod known_pages;
#[expect(unsafe_code, reason = "runs in the loader's and libc's callbacks")]
mod lifecycle;
#[expect(unsafe_code, reason = "asks the dynamic loader, and reads words of modules")]
mod linkage;
#[expect(unsafe_code, reason = "changes the program's own code")]
mod linked;
#[expect(unsafe_code, reason = "asks the dynamic loader for modules, and reads its list")]
mod loader;
#[cfg_attr(test, expect(unsafe_code, reason = "its test allocates by libc"))]
mod mapped_blocks;
#[expect(unsafe_code, reason = "lends out mapped modules, and owns the memory of the tables")]
mod modules;
mod pause;
#[expect(unsafe_code, reason = "makes parts of the segment accessible")]
mod pieces;
mod pools;
#[expect(unsafe_code, reason = "owns the session's mapping and the page that fork wipes")]
mod process;
#[expect(unsafe_code, reason = "reads what an exec is given")]
mod program;
#[expect(unsafe_code, reason = "calls a function of the program's")]
mod provider;
#[expect(unsafe_code, reason = "calls C functions through pointers")]
mod real;
#[expect(unsafe_code, reason = "maps the memory of sessions")]
mod reservation;
mod sampler;
mod sandbox;
#[expect(unsafe_code, reason = "reorders a list of the loader's, in its callback")]
mod search_scope;
#[expect(unsafe_code, reason = "owns the memory of slots")]
mod seqlock;
mod signal_stacks;
#[expect(unsafe_code, reason = "uses per-thread memory of its own")]
mod stack;
#[expect(unsafe_code, reason = "reads the host's stack")]
mod stack_reader;
#[expect(unsafe_code, reason = "system calls")]
mod sys;
#[expect(unsafe_code, reason = "owns the per-thread memory")]
mod thread;
mod thread_local;
mod tracker;

#[cfg(feature = "standalone")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // Unreachable by construction. There is nothing to unwind into and nobody to report to.
    arch::trap()
}
