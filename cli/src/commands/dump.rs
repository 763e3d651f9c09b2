//! `dump`: every event, a line each.

use super::view;
use crate::exit::Outcome;
use clap::Args;
use std::path::PathBuf;
use viewer::text::{Dump, DumpOptions};

/// Print every event, a line each
#[derive(Args, Debug)]
#[command(
    after_help = "Columns: seconds, pid/tid, what was called, address and size, the stack from its innermost function."
)]
pub(crate) struct Arguments {
    /// The capture
    file: PathBuf,
    /// Functions of each stack; 0 leaves stacks out
    #[arg(long, value_name = "N", default_value_t = 8)]
    frames: usize,
}

/// Prints them as they are read: a capture may have more events than fit into memory.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let reader = view::open(&arguments.file)?;
    let loaded = view::load(&arguments.file)?;
    let options = DumpOptions { frames: arguments.frames };
    view::print(|out, style| {
        let mut dump = Dump::new(out, &loaded, options, *style);
        for event in reader.events().map_err(std::io::Error::other)? {
            dump.event(&event.map_err(std::io::Error::other)?)?;
        }
        Ok(())
    })
}
