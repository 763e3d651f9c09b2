//! `threads`: who allocates, who frees, and what passes from one to another.

use super::lives::{Form, LivesArguments};
use crate::exit::Outcome;
use clap::Args;
use viewer::lives::Threads;
use viewer::{json, text};

/// Show who allocates, who frees, and what one thread allocates and another frees
///
/// The stacks of frees are shown where they were recorded.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    lives: LivesArguments,
}

/// Prints it.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let (loaded, watch) = arguments.lives.observe(Threads::new)?;
    let found = watch.finish();
    arguments.lives.print(|out, form| {
        match form {
            Form::Text(limit, style) => text::threads(out, &loaded, &found, limit, style)?,
            Form::Json => json::threads(out, &loaded, &found)?,
        }
        Ok(())
    })
}
