//! Views for terminals and files. Every name from a capture is escaped before it is written.

mod beside;
mod columns;
mod cpu;
mod diff;
mod dump;
mod escape;
mod estimate;
mod functions;
mod headline;
mod info;
mod lead;
mod leaks;
mod nameless;
mod place;
mod report;
mod stacks;
mod style;
mod summary;
mod timeline;
mod tree;

pub use crate::options::DumpOptions;
pub use cpu::allocator;
pub use diff::diff;
pub use dump::Dump;
pub use escape::{columns, escape, fit};
pub use info::info;
pub use leaks::leaks;
pub use report::report;
pub use style::Style;
pub use summary::summary;
pub use timeline::{timeline, timeline_steps};
