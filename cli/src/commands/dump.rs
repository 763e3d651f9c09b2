//! `dump`: every event, a line each.

use super::view;
use crate::exit::Outcome;
use clap::Args;
use std::path::PathBuf;
use viewer::DumpOptions;

/// Print every event, a line each
#[derive(Args, Debug)]
#[command(
    after_help = "Columns: seconds, pid/tid, what was called, address and size, the stack from its innermost \
    function."
)]
pub(crate) struct Arguments {
    /// The capture
    file: PathBuf,
    /// Functions of each stack; 0 leaves stacks out
    #[arg(long, value_name = "N", default_value_t = DumpOptions::default().frames)]
    frames: usize,
    /// Write a JSON document per line
    #[arg(long)]
    json: bool,
}

/// Prints them as they are read: a capture may have more events than fit into memory.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let options = DumpOptions { frames: arguments.frames };
    view::print(|out, style| match arguments.json {
        true => viewer::dump_json(&arguments.file, out, options),
        false => viewer::dump(&arguments.file, out, options, style),
    })
}
