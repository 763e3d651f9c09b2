//! `view`: shows a capture in the terminal.

use super::html::mapping;
use super::opened_capture::{self, Capture};
use super::symbols::in_silence;
use crate::exit::{Failure, Outcome};
use anstream::{AutoStream, ColorChoice};
use anyhow::anyhow;
use clap::Args;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;

/// Browse a capture in the terminal
///
/// Shows what the other commands print (call tree, flame graph, timeline, leaks, lines, …) for the whole recording, a
/// range of time or a moment. Use the keyboard or the mouse; `?` lists the keys.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sysprof-memprof view app.memprof
  # The same, if the output is a terminal
  sysprof-memprof app.memprof
  # The new capture, and what changed since the old one
  sysprof-memprof view old.memprof new.memprof
  # Sources of a program that was built elsewhere
  sysprof-memprof view app.memprof --path-map /build/src=/home/me/src")]
pub(crate) struct Arguments {
    #[command(flatten)]
    capture: Capture,
    /// Newer capture: show it, compared with the first one
    newer: Option<PathBuf>,
    /// Replace the prefix FROM of source paths by TO; may be repeated, the first match counts
    #[arg(long, value_name = "FROM=TO", value_parser = mapping)]
    path_map: Vec<(String, String)>,
}

/// Shows the capture until the user leaves.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    if !is_possible() {
        return Err(Failure::usage(anyhow!(
            "view needs a terminal. To write to a file or a pipe: sysprof-memprof report"
        )));
    }
    // A file that is not a capture is reported before the screen is taken over.
    arguments.capture.analyzer()?;
    let first = arguments.capture.file.clone();
    let (file, baseline) = match &arguments.newer {
        Some(newer) => (newer.clone(), Some(first)),
        None => (first, None),
    };
    opened_capture::analyzer(&file)?;
    let options = tui::Options {
        file,
        baseline,
        naming: in_silence(arguments.capture.naming()),
        path_map: arguments.path_map.clone(),
        color: AutoStream::choice(&io::stdout()) != ColorChoice::Never,
    };
    tui::run(options)?;
    Ok(ExitCode::SUCCESS)
}

/// True if the output is seen and keys can be pressed.
pub(super) fn is_possible() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    io::stdout().is_terminal() && io::stdin().is_terminal() && !is_dumb
}
