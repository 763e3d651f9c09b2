//! What the capture's events refer to: processes, stacks, modules, addresses, and totals over them.

pub(crate) mod addresses;
pub(crate) mod anonymous_code;
mod file_copies;
pub(crate) mod live;
pub(crate) mod missed_allocators;
pub(crate) mod module;
pub(crate) mod modules;
pub(crate) mod processes;
pub(crate) mod recording_start;
pub(crate) mod stacks;
pub(crate) mod totals;
pub(crate) mod unnamed;
