//! Analysis of a capture and its views.
pub mod analysis;
