//! Everything about the processor, the system and the process' own memory that knows nothing of recordings.
//!
//! | file | what it has |
//! |---|---|
//! | `arch` | everything that depends on the processor: a file for each |
//! | `sys` | system calls, made directly |
//! | `allowed_calls` | which of them the program has forbidden itself |
//! | `own_call` | calls of libc that the agent makes for itself |
//! | `errno` | kept for the program |
//! | `thread_local` | a thread's block, and the table of its states: hooks, signal handlers, own calls |
//! | `signal_stacks` | signal stacks that the kernel treats as unset while a handler runs |
//! | `seqlock` | slots of several words, without a lock |
//! | `invalidations` | counts of what may make remembered modules and pages wrong |
//! | `bootstrap` | memory for calls that come before the next allocator is known |
//! | `address_space` | the program's limit, which our mappings must not count against |
//! | `own_image` | where the agent's own library is mapped |
//! | `config` | what the environment says |
//! | `elf` | constants of the format |
//! | `hash` | of texts and numbers |

pub(crate) mod address_space;
pub(crate) mod allowed_calls;
#[expect(unsafe_code, reason = "reads registers and thread-local storage")]
pub(crate) mod arch;
#[expect(unsafe_code, reason = "hands out memory before there is an allocator")]
pub(crate) mod bootstrap;
#[expect(unsafe_code, reason = "reads the environment")]
pub(crate) mod config;
pub(crate) mod elf;
#[expect(unsafe_code, reason = "asks libc where it is")]
pub(crate) mod errno;
pub(crate) mod hash;
pub(crate) mod invalidations;
#[expect(unsafe_code, reason = "asks the dynamic loader")]
pub(crate) mod own_call;
#[expect(unsafe_code, reason = "asks the dynamic loader")]
pub(crate) mod own_image;
#[expect(unsafe_code, reason = "owns the memory of slots")]
pub(crate) mod seqlock;
pub(crate) mod signal_stacks;
#[expect(unsafe_code, reason = "system calls")]
pub(crate) mod sys;
pub(crate) mod thread_local;
