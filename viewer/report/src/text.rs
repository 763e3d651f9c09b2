//! Views for terminals and files. Every name from a capture is escaped before it is written.

mod check;
mod columns;
mod cpu;
mod diff;
mod document;
mod escape;
mod estimate;
mod events;
mod extent;
mod frames;
mod functions;
mod headline;
mod line;
mod pages;
mod place;
mod report;
mod retained_tree;
mod stack_line;
mod stacks;
mod style;
mod timeline;
mod top;
mod tree;
mod tree_lines;
mod units;
mod words;

pub use crate::options::EventOptions;
pub use check::check;
pub(crate) use check::{case as check_case, culprits, result as check_result, word as check_word};
pub use diff::{diff, diff_lines};
pub(crate) use document::title;
pub use document::{document, document_lines, table_lines};
pub use escape::{columns, escape, fit};
pub use events::EventLines;
pub use extent::Extent;
pub(crate) use extent::Shown;
pub use headline::{caveats, pages_text, scope, suppressed_text, unsampled_texts, warning_texts};
pub use line::Line;
pub use pages::pages_tree;
pub use place::{detail, detail_of_frame, fit_name, place};
pub use report::report;
pub(crate) use report::rowless;
pub use retained_tree::retained_tree;
pub(crate) use stack_line::not_shown;
pub use stack_line::stack_line;
pub use style::{Role, Style};
pub use timeline::{timeline, timeline_steps};
pub use top::{
    top, top_columns, top_function_name, top_function_numbers, top_header, top_is_narrow, top_numbers,
    top_sorted,
};
pub use units::Units;
pub use words::words;
