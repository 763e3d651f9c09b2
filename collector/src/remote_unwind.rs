//! Unwinds stacks of other processes with the tables of their files: a library of its own.

mod code;
pub(crate) mod files;
mod memory;
pub(crate) mod space;
