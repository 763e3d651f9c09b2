//! `leaks`: what was still allocated at the end.

use super::question::Question;
use super::view::{self, Capture};
use crate::exit::Outcome;
use clap::Args;
use viewer::text;

/// Show what was still allocated at the end, stack by stack
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    capture: Capture,
    /// Sum up what is beyond this number of stacks
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    #[command(flatten)]
    question: Question,
}

/// Prints the leaks.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let loaded = arguments.capture.ask(&arguments.question.query())?;
    view::print(|out, style| Ok(text::leaks(out, &loaded, arguments.limit, style)?))
}
