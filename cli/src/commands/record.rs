//! `record`: records programs that are started by hand with the agent preloaded.

use super::recording_options::{Kind, RecordingOptions, failure_of};
use super::{opened_capture, supervise};
use crate::exit::{FAILED, Failure, Outcome};
use crate::log::debug;
use crate::progress::Progress;
use crate::{agent, message, output, values};
use analysis::format::duration;
use anyhow::{Context, anyhow};
use clap::Args;
use collector::Rights;
use collector::attach::launch::{Signal, Signals, lift_limits};
use std::cell::Cell;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Record programs started by hand with the agent preloaded
///
/// Listens on a socket until ^C or SIGTERM. Programs that have the agent preloaded, and this socket in
/// `SYSPROF_MEMPROF_SOCKET`, are recorded from their start. If nobody listens, they run unrecorded.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  sysprof-memprof record --listen /tmp/memprof.sock -o all.memprof
  # In another terminal, as the same user
  LD_PRELOAD=$(sysprof-memprof agent path) \\
      SYSPROF_MEMPROF_SOCKET=/tmp/memprof.sock ./service
  # Services of another user: as root, after agent install
  sysprof-memprof record --listen /run/memprof.sock \\
      --socket-group redis -o redis.memprof")]
pub(crate) struct Arguments {
    /// Unix socket to listen on
    #[arg(long, required = true, value_name = "SOCKET")]
    listen: PathBuf,
    /// Permissions of the socket's file, to let programs of other users join: 660 for those of its group, 666 for
    /// all. Needs root
    #[arg(long, value_name = "MODE", value_parser = values::mode)]
    socket_mode: Option<u32>,
    /// Group of the socket's file, whose programs may join; sets its mode to 660 unless --socket-mode is given. Needs
    /// root
    #[arg(long, value_name = "GROUP", value_parser = values::group)]
    socket_group: Option<u32>,
    /// Stop recording after this time, counted from the start of this command; programs run on unrecorded
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    duration: Option<Duration>,
    #[command(flatten)]
    recording: RecordingOptions,
}

impl Arguments {
    /// True for a socket in the abstract namespace, which has no file.
    fn is_abstract(&self) -> bool {
        self.listen.as_os_str().as_encoded_bytes().starts_with(b"@")
    }

    /// Who may connect, according to the socket file's group and mode.
    fn rights(&self) -> Result<Rights, Failure> {
        let mode = match (self.socket_mode, self.socket_group) {
            (None, None) => return Ok(Rights::default()),
            (mode, group) => mode.unwrap_or(if group.is_some() { 0o660 } else { 0o600 }),
        };
        if self.is_abstract() {
            return Err(Failure::usage(anyhow!(
                "{} has no file whose mode or group could be set: name a path with --listen",
                self.listen.display()
            )));
        }
        if !rustix::process::geteuid().is_root() {
            return Err(Failure::usage(anyhow!(
                "programs of other users can join only a recording of root: run this as root, or leave out \
                 --socket-mode and --socket-group"
            )));
        }
        Ok(Rights { mode, group: self.socket_group })
    }
}

/// Records until interrupted.
pub(crate) fn execute(arguments: Arguments) -> Outcome {
    let capture = match &arguments.recording.output {
        Some(path) => path.clone(),
        None => output::default_name(OsStr::new("record"), std::process::id()),
    };
    let rights = arguments.rights()?;
    output::prepare(&capture, arguments.recording.force)?;
    lift_limits();
    let agent = agent::provide().map_err(Failure::usage)?;
    // Shells make background jobs ignore ^C; here it is the way to end the recording.
    let signals = Signals::catch(&[Signal::Interrupt]).context("cannot receive signals")?;
    let progress = Progress::new(arguments.recording.quiet);
    let socket = match arguments.is_abstract() {
        true => arguments.listen.clone(),
        // Programs start in other folders than this one, so they need the absolute path.
        false => std::path::absolute(&arguments.listen).context("cannot name the socket")?,
    };
    let session = arguments.recording.start(Kind {
        attaches: false,
        socket: Some(socket),
        rights,
        hears_commands: true,
        ..Kind::of_services(capture.clone())
    })?;
    session.keep().map_err(failure_of)?;
    let end = arguments.duration.map(|duration| Instant::now() + duration);
    debug!("recording to {} on {}", capture.display(), session.socket().display());
    if !arguments.recording.quiet {
        let limit = arguments.duration.map(|limit| format!(" for {}, or", duration(limit.as_nanos() as u64)));
        message::plain(&format!(
            "Recording to {}{} until ^C. Start programs with:\n  LD_PRELOAD={} SYSPROF_MEMPROF_SOCKET={} COMMAND",
            capture.display(),
            limit.unwrap_or_default(),
            agent.path.display(),
            session.socket().display()
        ));
    }
    let was_removed = Cell::new(false);
    supervise::until_interrupted(&session, &signals, progress, end, || {
        let is_removed = !arguments.is_abstract() && !session.socket().exists();
        if is_removed && !was_removed.replace(is_removed) {
            message::warning(&format!(
                "{} was removed, so no more programs can join this recording; those that have joined go on",
                session.socket().display()
            ));
        }
        end.is_some_and(|end| Instant::now() >= end)
    })
    .context("cannot wait for signals")?;
    let finished = supervise::finish(session, signals, Vec::new(), 0, arguments.recording.quiet)
        .map_err(|error| Failure::new(FAILED, error))?;
    opened_capture::after_recording(&finished, arguments.recording.quiet);
    Ok(ExitCode::SUCCESS)
}
