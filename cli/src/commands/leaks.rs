//! `leaks`: what was still allocated at the end.

use super::view;
use crate::exit::Outcome;
use clap::Args;
use std::path::PathBuf;
use viewer::text;

/// Show what was still allocated at the end, stack by stack
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// The capture
    file: PathBuf,
    /// Sum up what is beyond this number of stacks
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

/// Prints the leaks.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let loaded = view::open(&arguments.file)?;
    view::print(|out, style| Ok(text::leaks(out, &loaded, arguments.limit, style)?))
}
