//! `threads`: who allocates, who frees, and what passes from one to another.

use super::blocks::{BlocksArguments, Form};
use crate::exit::Outcome;
use analysis::lifetimes::Threads;
use clap::Args;
use report::{json, text};

/// Show what each thread allocates, and which thread frees it
///
/// Includes the stacks of frees, if they were recorded.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    blocks: BlocksArguments,
}

/// Prints it.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let (loaded, watch) = arguments.blocks.observe(Threads::new)?;
    let found = watch.finish();
    arguments.blocks.print(|out, form| {
        match form {
            Form::Text(limit, style) => text::threads(out, &loaded, &found, limit, style)?,
            Form::Json => json::threads(out, &loaded, &found)?,
        }
        Ok(())
    })
}
