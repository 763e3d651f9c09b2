//! What others ask of a running recording, and how it is answered.

mod backlog;
pub mod commands;
pub(crate) mod exit_scans;
pub(crate) mod requests;
