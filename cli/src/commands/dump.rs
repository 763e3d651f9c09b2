//! `dump`: prints every event, one per line.

use super::opened_capture::{self, Capture};
use crate::exit::Outcome;
use analysis::format::counted;
use clap::{Args, ValueEnum};
use engine::{Error, LookedUp};
use report::DumpOptions;
use std::io::Write;
use std::path::Path;

/// Print every event, one per line
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sysprof-memprof dump app.memprof
  # One document per line
  sysprof-memprof dump app.memprof --json | jq -c 'select(.size > 1000000)'

Columns: seconds, pid/tid, what was called, address and size, and the stack,
innermost function first.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    capture: Capture,
    /// Frames of each stack to print; 0 for none
    #[arg(long, value_name = "N", default_value_t = DumpOptions::default().frames)]
    frames: usize,
    /// Print CPU samples instead
    #[arg(long)]
    samples: bool,
    /// Unwind kept CPU samples again, and say whether that finds the same frames; needs `run --keep-stacks`
    ///
    /// Binaries are read from where they were. Each line has the number of the sample, the bytes that were kept, and
    /// the frames.
    #[arg(long, conflicts_with_all = ["samples", "json", "format"])]
    unwind: bool,
    /// Write one JSON document per line; short for --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", hide_default_value = true)]
    format: Lines,
}

/// How events are written, a line each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Lines {
    /// In columns
    Text,
    /// A JSON document per line
    Json,
}

/// Prints events as they are read: a capture may have more of them than fit into memory.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let options = DumpOptions { frames: arguments.frames, short_names: arguments.capture.names.short_names };
    let Capture { file, .. } = &arguments.capture;
    if arguments.unwind {
        return opened_capture::print(|out, _| unwind(file, out));
    }
    let naming = arguments.capture.naming();
    let is_json = arguments.json || arguments.format == Lines::Json;
    let mut looked_up = LookedUp::default();
    let code = opened_capture::print(|out, style| {
        looked_up = match is_json {
            is_json if arguments.samples => report::dump_samples(file, naming, out, options, is_json)?,
            true => report::dump_json(file, naming, out, options)?,
            false => report::dump(file, naming, out, options, style)?,
        };
        Ok(())
    })?;
    opened_capture::note_looked_up(looked_up);
    Ok(code)
}

/// Unwinds kept stacks again; prints a line for each, and a total.
fn unwind(file: &Path, out: &mut dyn Write) -> Result<(), Error> {
    let (mut written, mut all, mut same) = (Ok(()), 0_u64, 0_u64);
    let unwound = collector::unwind_again(file, |again| {
        all += 1;
        same += u64::from(again.is_same);
        let frames = counted(again.frames.len() as u64, "frame");
        let verdict = match again.is_same {
            true => "as recorded",
            false if again.is_foreign => "recorded on another kind of processor, and not unwound",
            false => "not as recorded",
        };
        if written.is_ok() {
            written = writeln!(out, "sample {}: {} B, {frames}, {verdict}", again.sample, again.bytes);
        }
    });
    unwound.map_err(|error| Error::Capture { file: file.display().to_string(), error })?;
    written?;
    match all {
        0 => writeln!(out, "no stacks were kept: record with --keep-stacks, and without --aggregate")?,
        all => writeln!(out, "{}, {same} as recorded", counted(all, "stack"))?,
    }
    Ok(())
}
