//! Documents about single blocks, and about lines.

mod failed;
mod frees;
mod history;
mod invalid_frees;
mod lifetimes;
mod lines;
mod pages;
mod reallocs;
mod retained;
mod sizes;
mod start;
mod temporary;
mod threads;

pub use failed::failed;
pub use frees::{frees, frees_of_functions};
pub use history::history;
pub use invalid_frees::invalid_frees;
pub use lifetimes::lifetimes;
pub use lines::lines;
pub use pages::pages;
pub use reallocs::reallocs;
pub use retained::ScannedFields;
pub use retained::retained;
pub use sizes::sizes;
pub use temporary::temporary;
pub use threads::threads;
