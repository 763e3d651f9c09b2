//! `record`: records programs that were started by hand with the agent preloaded.

use super::recording::{Kind, Recording};
use super::{supervise, view};
use crate::exit::{FAILED, Failure, Outcome};
use crate::log::debug;
use crate::progress::Progress;
use crate::{agent, message, output};
use anyhow::Context;
use clap::Args;
use collector::launch::{Signal, Signals, lift_limits};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::ExitCode;

/// Record programs that are started by hand with the agent preloaded
///
/// Listens on a socket until ^C or SIGTERM. A program that has the agent preloaded and this socket in its environment
/// is recorded from its start; when nobody listens there, it runs unrecorded.
#[derive(Args, Debug)]
#[command(after_help = "\
Example:
  sysprof-memprof record --listen /tmp/memprof.sock -o all.memprof
  LD_PRELOAD=$(sysprof-memprof preload-path) SYSPROF_MEMPROF_SOCKET=/tmp/memprof.sock ./service")]
pub(crate) struct Arguments {
    /// Listen on this Unix socket
    #[arg(long, required = true, value_name = "SOCKET")]
    listen: PathBuf,
    #[command(flatten)]
    recording: Recording,
}

/// Records until interrupted.
pub(crate) fn execute(arguments: Arguments) -> Outcome {
    let capture = match &arguments.recording.output {
        Some(path) => path.clone(),
        None => output::default_name(OsStr::new("record"), std::process::id()),
    };
    output::prepare(&capture, arguments.recording.force)?;
    lift_limits();
    let agent = agent::provide().map_err(Failure::usage)?;
    // Shells let what they start in the background ignore ^C; here it is the way to end.
    let signals = Signals::catch(&[Signal::Interrupt]).context("cannot receive signals")?;
    let progress = Progress::new(arguments.recording.quiet);
    // Programs start in other folders than this one, so they need the whole path.
    let socket = std::path::absolute(&arguments.listen).context("cannot name the socket")?;
    let session = arguments.recording.start(Kind {
        attaches: false,
        socket: Some(socket),
        live: progress.is_wanted(),
        hears_commands: true,
        ..Kind::of_services(capture.clone())
    })?;
    debug!("recording to {} on {}", capture.display(), session.socket().display());
    if !arguments.recording.quiet {
        message::plain(&format!(
            "Recording to {} until ^C. Start programs with:\n  LD_PRELOAD={} SYSPROF_MEMPROF_SOCKET={} COMMAND",
            capture.display(),
            agent.path.display(),
            session.socket().display()
        ));
    }
    supervise::until_interrupted(&session, &signals, progress, None, || false)
        .context("cannot wait for signals")?;
    let finished = supervise::finish(session, signals, Vec::new(), 0, arguments.recording.quiet)
        .map_err(|error| Failure::new(FAILED, error))?;
    view::after_recording(&finished, arguments.recording.quiet);
    Ok(ExitCode::SUCCESS)
}
