//! Documents about the lives of blocks, and about lines.

mod history;
mod lifetimes;
mod lines;
mod pages;
mod reallocs;
mod retained;
mod sizes;
mod start;
mod temporary;
mod threads;

pub use history::history;
pub use lifetimes::lifetimes;
pub use lines::lines;
pub use pages::pages;
pub use reallocs::reallocs;
pub(crate) use retained::ScannedFields;
pub use retained::retained;
pub use sizes::sizes;
pub use temporary::temporary;
pub use threads::threads;
