//! `lifetimes`: how long blocks live.

use super::blocks::{BlocksArguments, Form};
use crate::exit::Outcome;
use analysis::lifetimes::Lifetimes;
use clap::Args;
use report::{json, text};

/// Show how long blocks live, by size and by stack
///
/// Blocks that were still allocated at the end lived at least until then; they have a class of their own.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    blocks: BlocksArguments,
}

/// Prints it.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let (loaded, watch) = arguments.blocks.observe(Lifetimes::new)?;
    let found = watch.finish();
    arguments.blocks.print(|out, form| {
        match form {
            Form::Text(limit, style) => text::lifetimes(out, &loaded, &found, limit, style)?,
            Form::Json => json::lifetimes(out, &loaded, &found)?,
        }
        Ok(())
    })
}
