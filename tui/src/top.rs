//! A running recording in a terminal.
//!
//! ```text
//!  keys ─────► update ──► Model ──► draw ──► terminal
//!                │          ▲
//!              wishes    readings             one thread draws, another reads and counts
//!                ▼          │
//!              whoever reads the recording
//! ```

mod draw;
mod model;
mod shell;
#[cfg(test)]
mod tests;
mod update;

pub use shell::{Top, top};
pub use update::Command;
