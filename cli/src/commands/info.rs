//! `info`: what a capture is.

use super::view::{self, Capture};
use crate::exit::Outcome;
use clap::Args;
use viewer::{json, text};

/// Show what was recorded, what was lost, and what the recording cost
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    capture: Capture,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// Prints it.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let loaded = arguments.capture.open()?;
    view::print(|out, style| {
        match arguments.json {
            true => json::info(out, &loaded)?,
            false => text::info(out, &loaded, style)?,
        }
        Ok(())
    })
}
