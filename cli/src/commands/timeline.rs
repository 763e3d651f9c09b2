//! `timeline`: the heap over time.

use super::formatting::FormatArguments;
use super::opened_capture::{self, Capture, failure};
use super::selection::WhichRange;
use crate::exit::Outcome;
use crate::terminal;
use clap::Args;
use report::text::{Extent, Style, timeline_steps};
use report::{Format, text, views};
use std::io;

/// Show the heap over time
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sysprof-memprof timeline app.memprof
  sysprof-memprof timeline app.memprof --from 10s --to 12s
  # For a spreadsheet
  sysprof-memprof timeline app.memprof --format csv > timeline.csv
  sysprof-memprof timeline app.memprof --json --steps 1000 |
      jq '.steps[] | [.end_ns, .held_bytes]'")]
pub(crate) struct Arguments {
    #[command(flatten)]
    capture: Capture,
    /// Maximum number of time steps [default: as many as fit the terminal; 512 in JSON and CSV]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(2..=2048))]
    steps: Option<u16>,
    #[command(flatten)]
    format: FormatArguments,
    #[command(flatten)]
    range: WhichRange,
}

/// Number of steps for programs.
const STEPS: usize = 512;

/// Prints it.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let format = arguments.format.format();
    let style = Style { width: terminal::width(io::stdout()), ..Style::default() };
    let default = match format {
        Format::Json | Format::Csv => STEPS,
        Format::Text | Format::Markdown | Format::Html => timeline_steps(&style),
    };
    let steps = arguments.steps.map_or(default, usize::from);
    let mut analyzer = arguments.capture.analyzer()?;
    let (timeline, profile) = analyzer.timeline(&arguments.range.part(), steps).map_err(failure)?;
    let loaded = analyzer.show(profile, engine::Naming::Stored);
    opened_capture::print(|out, style| {
        match format {
            Format::Text => text::timeline(out, &loaded, &timeline, style)?,
            format => {
                let document = views::timeline(&loaded, &timeline);
                format.write(out, &loaded, &document, Extent::of_command(usize::MAX), style)?;
            }
        }
        Ok(())
    })
}
