//! Views for terminals and files. Every name from a capture is escaped before it is written.

mod beside;
mod check;
mod columns;
mod cpu;
mod diff;
mod dump;
mod escape;
mod estimate;
mod function;
mod functions;
mod headline;
mod history;
mod info;
mod lead;
mod leaks;
mod lifetimes;
mod lines;
mod nameless;
mod pages;
mod place;
mod reallocs;
mod report;
mod resident;
mod sizes;
mod stack_line;
mod stacks;
mod style;
mod summary;
mod temporary;
mod threads;
mod timeline;
mod top;
mod traced;
mod tree;
mod units;

pub use crate::options::DumpOptions;
pub use check::check;
pub(crate) use check::{result as check_result, title as check_title};
pub use cpu::allocator;
pub use diff::diff;
pub use dump::Dump;
pub use escape::{columns, escape, fit};
pub use function::function;
pub(crate) use headline::warning_texts;
pub use history::history;
pub use info::info;
pub use leaks::leaks;
pub use lifetimes::lifetimes;
pub use lines::lines;
pub use pages::{pages, pages_tree};
pub use place::{detail, detail_of_frame, fit_name, place};
pub use reallocs::reallocs;
pub use report::report;
pub use resident::resident;
pub use sizes::sizes;
pub use stack_line::stack_line;
pub use style::Style;
pub use summary::{overview, summary};
pub use temporary::temporary;
pub use threads::threads;
pub use timeline::{timeline, timeline_steps};
pub use top::{
    top, top_columns, top_function_name, top_function_numbers, top_header, top_is_narrow, top_numbers,
    top_sorted,
};
pub use units::Units;
