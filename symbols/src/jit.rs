//! Functions generated while the program ran.
//!
//! They are in no mapped file; the compiler reports their names in one of two forms: a text, the [`perf_map`], or a
//! binary log with lines, the [`dump`]. Both are read when the process has ended or the recording does, since a name
//! may be reported after the function was first seen.

mod code;
mod dump;
mod files;
mod function_name;
mod perf_map;

pub use code::JitCode;
pub use files::JitFiles;
