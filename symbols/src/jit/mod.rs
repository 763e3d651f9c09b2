//! Functions that compilers made while the program ran.
//!
//! No file was mapped for them; the compiler tells their names beside the program, in one of two forms: a text, the
//! [`perf_map`], or a binary log with lines, the [`dump`]. Both are read when the process has ended or the recording
//! does, since a name may be told after the function was first seen.

mod code;
mod dump;
mod files;
mod function_name;
mod perf_map;

pub use code::JitCode;
pub use files::JitFiles;
