//! What the capture's events refer to: processes, stacks, modules, addresses, and totals over them.
//!
//! | file | what it has |
//! |---|---|
//! | `processes` | images and threads of the capture, and how they ended |
//! | `stacks` | stack ids of a segment as stacks of the capture |
//! | `modules` | modules of an image, and the functions that interpreters in it run |
//! | `module` | a file as a module of the capture |
//! | `addresses` | addresses that need names, and the files that names come from |
//! | `unnamed` | code frames that need a name |
//! | `anonymous_code` | code that the loader did not report: made at run time, or mapped by the program itself |
//! | `file_copies` | copies of files that may be written to again |
//! | `missed_allocators` | programs and libraries whose own allocator could not be redirected |
//! | `live` | bytes live right now, for the progress line |
//! | `totals` | counts over all processes, and what the user is told about them |
//! | `recording_start` | when a recording begins: with the session, or with the first process attached to |

pub(crate) mod addresses;
pub(crate) mod anonymous_code;
mod file_copies;
pub(crate) mod missed_allocators;
pub(crate) mod module;
pub(crate) mod modules;
pub(crate) mod processes;
pub(crate) mod recording_start;
pub(crate) mod stacks;
pub(crate) mod totals;
pub(crate) mod unnamed;
