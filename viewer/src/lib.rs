//! Analysis of a capture and its views.
pub mod analysis;
mod ended;
pub mod format;
mod loaded;
mod options;
pub mod text;
pub use loaded::{Loaded, Source};
pub use options::{ReportOptions, Shape};
