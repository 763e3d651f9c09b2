//! `generate completions`: lets a shell complete our command lines.

use crate::exit::Outcome;
use clap::{Args, Command};
use clap_complete::Shell;
use std::io::Write;
use std::process::ExitCode;

/// Print shell completions
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sysprof-memprof generate completions bash \\
      > ~/.local/share/bash-completion/completions/sysprof-memprof")]
pub(crate) struct Arguments {
    /// Shell to complete for
    shell: Shell,
}

/// Prints them.
pub(crate) fn execute(arguments: &Arguments, mut definition: Command) -> Outcome {
    // The generator panics if it cannot write, so it writes to memory.
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut definition, "sysprof-memprof", &mut text);
    let mut out = std::io::stdout().lock();
    out.write_all(&text)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
