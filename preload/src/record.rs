//! What hooks record, and when they may.
//!
//! | file | what it does |
//! |---|---|
//! | `guard` | one hook at a time in each thread, and only while something is wanted; `guard/pause` is the program's say in it |
//! | `tracker` | what hooks of allocators and pages record, and in which order |
//! | `pools` | heaps of the program's own, by name |
//! | `lifecycle` | beginnings and ends of processes, threads and images |
//! | `sandbox` | system calls that a program has forbidden itself |

#[expect(unsafe_code, reason = "hands out the thread's state")]
pub(crate) mod guard;
#[expect(unsafe_code, reason = "runs in the loader's and libc's callbacks")]
pub(crate) mod lifecycle;
pub(crate) mod pools;
pub(crate) mod sandbox;
pub(crate) mod tracker;
