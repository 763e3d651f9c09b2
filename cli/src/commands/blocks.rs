//! `blocks`: views of single blocks, those of the registry.

use super::block_selection::BlocksArguments;
use crate::exit::Outcome;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use report::views::{VIEWS, View};

/// Show blocks by size, lifetime, thread and more
///
/// Blocks that were still allocated at the end lived at least until then.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  # Which sizes are requested, and by whom
  sysprof-memprof blocks --by size app.memprof
  # Allocations that did not last
  sysprof-memprof blocks --by temporary app.memprof
  # Who frees what another thread allocated
  sysprof-memprof blocks --by thread app.memprof")]
pub(crate) struct Arguments {
    /// What the rows are
    #[arg(long, value_name = "WHAT", value_parser = view())]
    by: &'static View,
    #[command(flatten)]
    blocks: BlocksArguments,
}

/// Prints them.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    if !arguments.by.divides_stacks() {
        arguments.blocks.refuse_parts_of_stacks()?;
    }
    let (loaded, document) = arguments.blocks.question(|question| arguments.by.ask(question))?;
    arguments.blocks.print(&loaded, &document)
}

fn view() -> impl TypedValueParser<Value = &'static View> {
    let words = VIEWS.map(|view| PossibleValue::new(view.by).help(view.about));
    PossibleValuesParser::new(words).try_map(|word| View::by(&word).ok_or("no such view"))
}
