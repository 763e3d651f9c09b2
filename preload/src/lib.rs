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
//!  malloc(24)        hooks             entry in a naked shim: rsp and rbp as the caller left them
//!    │               thread::sampler   when only samples are wanted: is it one? if not, the real malloc and nothing else
//!    │ real malloc   next              the next allocator, found once by RTLD_NEXT
//!    ▼
//!  tracker           record::guard     busy? then this is a signal handler inside a hook: counted, not recorded
//!    │ stack         thread::stack     walk the caller's frames (unwind), intern them from the root (shared-ring's stack table)
//!    │ clock         process::clock    after the call, so that no later free can seem earlier
//!    ▼
//!  thread            ring              two words, one store that publishes them
//! ```
//!
//! A `free` takes the same path in reverse order: it is recorded and published first, and then freed. When only
//! samples are wanted, it asks the `filter` whether its block is one. The common one, by name of functions:
//!
//! ```text
//!  shim! free ─► hooks::heap::release ─► release_recorded ──────────────────────────────────► jump to the next free
//!                                          └► tracker::freeing_fast
//!                                               ├► HookGuard::enter_fast      busy, inside, epoch, wanted, attention
//!                                               ├► ThreadState::free_in_short   time, one word
//!                                               │     └► Producer::reserve_known ─► Reservation::push, dropped: published
//!                                               └► HookGuard::leave_fast
//! ```
//!
//! Where anything is unusual nothing was done yet, and `release_otherwise` starts over.
//!
//! # The folders
//!
//! From the roof down: each imports only from those below it.
//!
//! | folder | what is in it |
//! |---|---|
//! | `entry` | the constructor, the functions for a collector that has loaded this library into a running process, and the loader's search order there |
//! | `hooks` | the functions that the program calls |
//! | `record` | what hooks record, and when they may |
//! | `session` | how the process connects, joins, forks and leaves |
//! | `thread` | the state of a recording thread: its ring, its stacks, its samples |
//! | `redirect` | changed words and instructions, for calls that do not reach us by symbol lookup |
//! | `next` | what the agent forwards to |
//! | `interpreters` | frames of what an interpreter in the program runs |
//! | `modules` | what is loaded, and which memory can be read |
//! | `process` | the words that hooks compare: what is wanted from this process |
//! | `platform` | the processor, the system, and what is forbidden |
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
    "the agent knows x86-64 and 64-bit ARM only: another processor needs what src/platform/arch, src/hooks/shims and src/platform/elf.rs have, and \
     unwind/src/arch"
);

mod entry;
#[expect(unsafe_code, reason = "exports C symbols")]
mod hooks;
#[expect(unsafe_code, reason = "reads the memory of interpreters, and owns what a thread knows of them")]
mod interpreters;
#[expect(unsafe_code, reason = "lends out mapped modules, and owns the memory of the tables")]
mod modules;
mod next;
mod platform;
#[expect(unsafe_code, reason = "owns the session's mapping and the page that fork wipes")]
mod process;
mod record;
mod redirect;
mod session;
#[expect(unsafe_code, reason = "owns the per-thread memory")]
mod thread;

#[cfg(feature = "standalone")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // Unreachable by construction. There is nothing to unwind into and nobody to report to.
    platform::arch::trap()
}
