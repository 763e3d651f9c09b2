//! `agent install` and `agent uninstall`: a copy of the agent for all users.

use crate::exit::{Failure, Outcome};
use crate::{agent, installed, message};
use anyhow::{Context, anyhow};
use clap::{Args, Subcommand};
use collector::attach::agent_file;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Install or remove the agent library for all users
#[derive(Args, Debug)]
#[command(
    disable_help_subcommand = true,
    after_help = "\
Examples:
  sysprof-memprof agent install --prefix ~/.local
  sysprof-memprof agent uninstall --prefix ~/.local"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Install(Install),
    Uninstall(Uninstall),
}

/// Install the agent library for all users
///
/// Writes it to PREFIX/lib/sysprof-memprof, where `preload-path` and `run` find it. Installs nothing else, and
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

/// Installs or removes it.
pub(crate) fn execute(arguments: &Arguments) -> Outcome {
    match &arguments.what {
        What::Install(arguments) => install(arguments),
        What::Uninstall(arguments) => uninstall(arguments),
    }
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
    if let Err(error) = collector::attach::make_doorbell() {
        message::warning(&format!(
            "cannot make the doorbell: {error}. Programs with this agent cannot be attached to"
        ));
    }
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

fn prefix(given: Option<&Path>) -> anyhow::Result<PathBuf> {
    let prefix = given.map_or_else(installed::default_prefix, Path::to_path_buf);
    std::path::absolute(&prefix).with_context(|| format!("cannot name the folder {}", prefix.display()))
}
