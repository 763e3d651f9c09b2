//! `preload-path`: where the agent is.

use crate::exit::{Failure, Outcome};
use crate::{agent, message};
use clap::Args;
use std::io::{IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

/// Print the path of the agent library, for `LD_PRELOAD`
///
/// This is the installed copy, see `agent install`, or else a copy in a private folder, which is made if it is
/// missing.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  # Recorded once somebody attaches
  LD_PRELOAD=$(sysprof-memprof preload-path) ./app
  # Recorded by record --listen
  LD_PRELOAD=$(sysprof-memprof preload-path) \\
      SYSPROF_MEMPROF_SOCKET=/tmp/memprof.sock ./app")]
pub(crate) struct Arguments {}

/// Prints it.
pub(crate) fn execute(_: &Arguments) -> Outcome {
    let agent = agent::provide().map_err(Failure::usage)?;
    if let Err(error) = collector::attach::make_doorbell() {
        message::warning(&format!(
            "cannot make the doorbell: {error}. Programs with this agent cannot be attached to"
        ));
    }
    // A person who reads the path on a terminal learns its limits; a script that asks each time need not.
    if !agent.installed && std::io::stdout().is_terminal() {
        message::warning(
            "this copy is private: other users cannot read it, and it may be gone after the next boot. \
             For services, run: sysprof-memprof agent install",
        );
    }
    let mut out = std::io::stdout().lock();
    out.write_all(agent.path.as_os_str().as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
