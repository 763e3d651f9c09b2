//! Drains the rings of recorded processes into one capture.

pub mod agent_file;
pub mod launch;
pub mod target;

mod error;
mod options;
mod session;

pub use error::Error;
pub use options::{OnFull, Options};
pub use session::{Finished, Progress, Session};
