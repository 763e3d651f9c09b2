//! `info`: what a capture is.

use super::view;
use crate::exit::Outcome;
use clap::Args;
use std::path::PathBuf;
use viewer::{json, text};

/// Show what was recorded, what was lost, and what the recording cost
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// The capture
    file: PathBuf,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// Prints it.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let loaded = view::open(&arguments.file)?;
    view::print(|out, style| {
        match arguments.json {
            true => json::info(out, &loaded)?,
            false => text::info(out, &loaded, style)?,
        }
        Ok(())
    })
}
