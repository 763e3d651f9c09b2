//! Everything about the processor, the system and the process' own memory that knows nothing of recordings.

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
