//! `sizes`: which sizes are asked for, and by whom.

use super::blocks::{BlocksArguments, Form};
use crate::exit::Outcome;
use analysis::lifetimes::Sizes;
use clap::Args;
use report::{json, text};

/// Show requested sizes, by whom, and what the allocator adds
///
/// The overhead is computed for glibc's malloc with default settings; other allocators differ.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    blocks: BlocksArguments,
}

/// Prints it.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let (loaded, watch) = arguments.blocks.observe(Sizes::new)?;
    let found = watch.finish();
    arguments.blocks.print(|out, form| {
        match form {
            Form::Text(limit, style) => text::sizes(out, &loaded, &found, limit, style)?,
            Form::Json => json::sizes(out, &loaded, &found)?,
        }
        Ok(())
    })
}
