//! `agent path`, `agent install` and `agent uninstall`: where the agent is, and a copy of it for all users.

use crate::exit::{Failure, Outcome};
use crate::{agent, installed, message};
use anyhow::{Context, anyhow};
use clap::{Args, Subcommand};
use collector::attach::agent_file;
use std::io::{ErrorKind, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Print the path of the agent library, install or remove it
#[derive(Args, Debug)]
#[command(
    disable_help_subcommand = true,
    after_help = "\
Examples:
  LD_PRELOAD=$(sysprof-memprof agent path) ./app
  sysprof-memprof agent install --prefix ~/.local
  sysprof-memprof agent uninstall --prefix ~/.local"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Print the path of the agent library, for `LD_PRELOAD`
    ///
    /// This is the installed copy, see `agent install`, or else a copy in a private folder, which is made if it is
    /// missing.
    #[command(after_help = "\
Examples:
  # Recorded once somebody attaches
  LD_PRELOAD=$(sysprof-memprof agent path) ./app
  # Recorded by record --listen
  LD_PRELOAD=$(sysprof-memprof agent path) \\
      SYSPROF_MEMPROF_SOCKET=/tmp/memprof.sock ./app")]
    Path,
    Install(Install),
    Uninstall(Uninstall),
}

/// Install the agent library for all users
///
/// Writes it to PREFIX/lib/sysprof-memprof, where `agent path` and `run` find it. Installs nothing else, and
/// nothing setuid.
#[derive(Args, Debug)]
struct Install {
    /// Folder to install below [default: where this program is installed, or /usr/local]
    #[arg(long, value_name = "DIR")]
    prefix: Option<PathBuf>,
}

/// Remove the agent library that `agent install` installed
#[derive(Args, Debug)]
struct Uninstall {
    /// Folder to remove it from [default: where this program is installed, or /usr/local]
    #[arg(long, value_name = "DIR")]
    prefix: Option<PathBuf>,
    /// Also remove the copies in private folders
    #[arg(long)]
    private: bool,
}

/// Prints its path, installs or removes it.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    match &arguments.what {
        What::Path => path(),
        What::Install(arguments) => install(arguments),
        What::Uninstall(arguments) => uninstall(arguments),
    }
}

/// Prints where the agent is.
fn path() -> Outcome {
    let agent = agent::provide().map_err(Failure::usage)?;
    make_doorbell();
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

/// Installs the agent and prints its path.
fn install(arguments: &Install) -> Outcome {
    let prefix = prefix(arguments.prefix.as_deref())?;
    let unspeakable = |letter: char| letter.is_whitespace() || matches!(letter, ':' | '$');
    if prefix.to_string_lossy().contains(unspeakable) {
        return Err(Failure::usage(anyhow!(
            "{} has a space, colon or $ sign, which LD_PRELOAD cannot hold. Choose another --prefix.",
            prefix.display()
        )));
    }
    let path = installed::install(agent::BYTES, &prefix).with_context(|| {
        let path = installed::path_in(&prefix);
        format!(
            "cannot write {}. Choose a folder of yours with --prefix, or run this as root",
            path.display()
        )
    })?;
    writeln!(std::io::stdout(), "{}", path.display())?;
    make_doorbell();
    Ok(ExitCode::SUCCESS)
}

/// Removes the agent and prints its former path.
fn uninstall(arguments: &Uninstall) -> Outcome {
    let prefix = prefix(arguments.prefix.as_deref())?;
    let path = installed::path_in(&prefix);
    let mut removed = Vec::new();
    if arguments.private {
        let private = agent_file::remove_private(&agent_file::candidates());
        removed.extend(private.context("cannot remove a private copy")?);
    }
    match installed::uninstall(&prefix) {
        Ok(path) => removed.push(path),
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(anyhow!(error).context(format!("cannot remove {}", path.display())).into());
        }
        Err(_) if removed.is_empty() => {
            return Err(Failure::usage(anyhow!(
                "there is no agent at {}. Name the prefix it was installed to with --prefix.",
                path.display()
            )));
        }
        Err(_) => {}
    }
    for path in removed {
        writeln!(std::io::stdout(), "removed {}", path.display())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn make_doorbell() {
    if let Err(error) = collector::attach::make_doorbell() {
        message::warning(&format!(
            "cannot make the doorbell: {error}. Programs with this agent cannot be attached to"
        ));
    }
}

fn prefix(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    let prefix = given.map_or_else(installed::default_prefix, Path::to_path_buf);
    std::path::absolute(&prefix).with_context(|| format!("cannot name the folder {}", prefix.display()))
}
