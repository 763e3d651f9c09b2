//! `reallocs`: blocks that are resized again and again.

use super::blocks::{BlocksArguments, Form};
use crate::exit::Outcome;
use analysis::lifetimes::Reallocs;
use clap::Args;
use report::{json, text};

/// Show blocks that are resized repeatedly, and what that copies
///
/// Also shows how it could be better. A chain consists of an allocation and the reallocs that follow, and belongs to
/// the stack of the last one.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    blocks: BlocksArguments,
}

/// Prints it.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let (loaded, watch) = arguments.blocks.observe(|_| Reallocs::default())?;
    let found = watch.finish();
    arguments.blocks.print(|out, form| {
        match form {
            Form::Text(limit, style) => text::reallocs(out, &loaded, &found, limit, style)?,
            Form::Json => json::reallocs(out, &loaded, &found)?,
        }
        Ok(())
    })
}
