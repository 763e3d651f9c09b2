//! `dump`: every event, a line each.

use super::view::{self, Capture};
use crate::exit::Outcome;
use clap::Args;
use viewer::{DumpOptions, LookedUp};

/// Print every event, a line each
#[derive(Args, Debug)]
#[command(
    after_help = "Columns: seconds, pid/tid, what was called, address and size, the stack from its innermost \
    function."
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    capture: Capture,
    /// Functions of each stack; 0 leaves stacks out
    #[arg(long, value_name = "N", default_value_t = DumpOptions::default().frames)]
    frames: usize,
    /// Print the samples of the CPU instead
    #[arg(long)]
    samples: bool,
    /// Print the hits of tracepoints instead
    #[arg(long, conflicts_with = "samples")]
    hits: bool,
    /// Write a JSON document per line
    #[arg(long)]
    json: bool,
}

/// Prints them as they are read: a capture may have more events than fit into memory.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let options = DumpOptions { frames: arguments.frames, short_names: arguments.capture.short_names };
    let Capture { file, .. } = &arguments.capture;
    let naming = arguments.capture.naming();
    let mut looked_up = LookedUp::default();
    let code = view::print(|out, style| {
        looked_up = match arguments.json {
            is_json if arguments.samples => viewer::dump_samples(file, naming, out, options, is_json)?,
            is_json if arguments.hits => viewer::dump_hits(file, naming, out, options, is_json)?,
            true => viewer::dump_json(file, naming, out, options)?,
            false => viewer::dump(file, naming, out, options, style)?,
        };
        Ok(())
    })?;
    view::tell(looked_up);
    Ok(code)
}
