//! `doctor`: tells whether recordings can work on this system, and writes a report for bug reports.

mod check;
mod checks;
mod private;

use crate::exit::{FAILED, Failure, Outcome};
use crate::message;
use anstyle::AnsiColor;
use anyhow::{Context, anyhow};
use check::{Check, Verdict};
use clap::Args;
use private::Scrubber;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Check whether recordings can work here
///
/// Tries everything that a recording needs and says what is missing. The exit code is 1 if something would prevent
/// recordings.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sysprof-memprof doctor")]
pub(crate) struct Arguments {
    /// Write all results to this file, without private paths and names, for a bug report
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long, requires = "report")]
    force: bool,
}

/// Runs the checks, and shows or writes the result.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    let checks = checks::all();
    match &arguments.report {
        None => {
            let shown = show(&checks, &mut anstream::stdout().lock());
            shown.map_err(Failure::from).or_else(Failure::unless_unread)?;
        }
        Some(path) => {
            write_report(path, arguments.force, &checks)?;
            message::plain(&format!(
                "Wrote {}, without your paths, user name and host name. Read it before you send it.",
                path.display()
            ));
        }
    }
    let bad = checks.iter().any(|check| check.verdict == Verdict::Bad);
    Ok(if bad { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}

fn show(checks: &[Check], out: &mut impl Write) -> io::Result<()> {
    for Check { verdict, name, finding } in checks {
        let style = match verdict {
            Verdict::Good => AnsiColor::Green.on_default(),
            Verdict::Note => AnsiColor::Yellow.on_default(),
            Verdict::Bad => AnsiColor::Red.on_default().bold(),
        };
        writeln!(out, "{style}{:4}{style:#} {name:18} {finding}", verdict.word())?;
    }
    out.flush()
}

fn write_report(path: &Path, force: bool, checks: &[Check]) -> Result<(), Failure> {
    let scrubber = Scrubber::of_this_process();
    let mut text = String::from("sysprof-memprof doctor report\n\n");
    for Check { verdict, name, finding } in checks {
        let finding = scrubber.scrub(finding);
        text.push_str(&format!("{:4} {name:18} {finding}\n", verdict.word()));
    }
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    match force {
        true => options.create(true).truncate(true),
        false => options.create_new(true),
    };
    let mut file = options.open(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Failure::usage(anyhow!("{} exists already. Replace it with --force.", path.display()))
        }
        _ => Failure::usage(anyhow!("cannot write {}: {error}", path.display())),
    })?;
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(())
}
