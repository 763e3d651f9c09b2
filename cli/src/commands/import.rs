//! `import`: converts a recording of heaptrack into a capture.

use super::opened_capture;
use crate::exit::{Failure, Outcome};
use crate::{message, output};
use analysis::format::counted;
use clap::Args;
use import::{Import, ImportError};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Convert a recording of heaptrack into a capture
///
/// Reads files of heaptrack (heaptrack.NAME.PID.zst or .gz). What such a file does not contain is missing from the
/// capture; `info` says what that is.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sysprof-memprof import heaptrack.app.4711.zst -o app.memprof
  sysprof-memprof report app.memprof")]
pub(crate) struct Arguments {
    /// File of heaptrack
    file: PathBuf,
    /// Capture to write [default: the name of the file with .memprof, in the current folder]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the output if it exists
    #[arg(long, requires = "output")]
    force: bool,
    /// Do not store the command line in the capture
    #[arg(long)]
    no_cmdline: bool,
}

/// Imports the file and reports the result.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let output = match &arguments.output {
        Some(output) => output.clone(),
        None => output::unused(default_name(&arguments.file)),
    };
    output::check(&output, arguments.force)?;
    let what = Import {
        file: arguments.file.clone(),
        output: output.clone(),
        replace: arguments.force,
        store_command: !arguments.no_cmdline,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let imported = import::import(&what).map_err(|error| match error {
        // A full disk is not the file's fault.
        ImportError::Output(source) => Failure::from(collector::cannot_create(&output, source)),
        _ => Failure::usage(error),
    })?;
    message::plain(&format!(
        "Wrote {}: {} of heaptrack",
        output.display(),
        counted(imported.events, "event")
    ));
    opened_capture::summarize(&output)?;
    Ok(ExitCode::SUCCESS)
}

/// Turns `heaptrack.app.4711.zst` into `heaptrack.app.4711.memprof`.
fn default_name(file: &Path) -> PathBuf {
    let name = Path::new(file.file_name().unwrap_or_default());
    let is_packed = name.extension().is_some_and(|end| end == "zst" || end == "gz");
    let stem = if is_packed { name.file_stem().unwrap_or_default() } else { name.as_os_str() };
    PathBuf::from(format!("{}.memprof", stem.to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that a capture is named after its source.
    #[test]
    fn captures_are_named_after_their_source() {
        for (file, name) in [
            ("/x/heaptrack.app.7.zst", "heaptrack.app.7.memprof"),
            ("heaptrack.app.7.gz", "heaptrack.app.7.memprof"),
            ("notes.txt", "notes.txt.memprof"),
        ] {
            assert_eq!(default_name(Path::new(file)), Path::new(name));
        }
    }
}
