//! Every event of a capture, or every CPU sample, a line each.

use super::Arguments;
use crate::commands::opened_capture::{self, Capture};
use crate::exit::Outcome;
use crate::output;
use analysis::format::counted;
use clap::Args;
use engine::{Error, LookedUp};
use report::EventOptions;
use report::text::Style;
use std::io::Write;
use std::path::Path;

/// What the lines are.
#[derive(Args, Debug)]
#[command(next_help_heading = "Events")]
pub(super) struct LineOptions {
    /// Frames of each stack in events and events-json; 0 for none [default: 8]
    #[arg(long, value_name = "N")]
    frames: Option<usize>,
    /// With --format events and events-json, write CPU samples instead
    #[arg(long)]
    samples: bool,
    /// With --format events, unwind kept CPU samples again, and say whether that finds the same frames; needs `run
    /// --keep-stacks`
    ///
    /// Binaries are read from where they were. Each line has the number of the sample, the bytes that were kept, and
    /// the frames.
    #[arg(long, conflicts_with_all = ["samples", "frames"])]
    pub(super) unwind: bool,
}

impl LineOptions {
    /// True if one of them is given.
    pub(super) fn are_given(&self) -> bool {
        self.frames.is_some() || self.samples || self.unwind
    }
}

/// Writes events as they are read: a capture may have more of them than fit into memory.
pub(super) fn execute(arguments: &Arguments, is_json: bool) -> Outcome {
    let output = arguments.checked_output()?;
    let mut looked_up = LookedUp::default();
    let mut lines = |out: &mut dyn Write, style: &Style| -> Result<(), Error> {
        looked_up = write(arguments, is_json, out, style)?;
        Ok(())
    };
    let code = match output {
        None => opened_capture::print(lines)?,
        Some((output, packing)) => {
            // A file that is not a capture is reported before another is made.
            arguments.capture.analyzer()?;
            output::write(output, packing, |out| Ok(lines(out, &Style::default())?))?
        }
    };
    opened_capture::note_looked_up(looked_up);
    Ok(code)
}

fn write(
    Arguments { capture, lines, .. }: &Arguments,
    is_json: bool,
    out: &mut dyn Write,
    style: &Style,
) -> Result<LookedUp, Error> {
    let Capture { file, names } = capture;
    let mut options = EventOptions { short_names: names.short_names, ..EventOptions::default() };
    options.frames = lines.frames.unwrap_or(options.frames);
    match is_json {
        _ if lines.unwind => unwind(file, out).map(|()| LookedUp::default()),
        _ if lines.samples => report::samples(file, names.naming(), out, options, is_json),
        true => report::events_json(file, names.naming(), out, options),
        false => report::events(file, names.naming(), out, options, style),
    }
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
