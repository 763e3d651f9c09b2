//! Alarms: what is done when a recording that goes on holds too much.
//!
//! ```text
//!  --alarm over=2G ────┐                     ┌─ log          a line, with the stacks that grew
//!  --alarm growth=20% ─┼─► Watch ─► Alarm ───┼─ snapshot     a capture of all that was recorded so far
//!  --alarm limit=90% ──┘  20 looks           ├─ run:COMMAND  gets the alarm as JSON
//!                         a second or more   ├─ post:URL     the same over HTTP
//!                                            └─ fail         exit code 1 at the end
//! ```
//!
//! A look reads a number that the writer has anyway, and a file of each control group. The stacks that grew are those
//! that hold more than at the alarm before, or at the beginning.

mod action;
mod condition;
mod grown;
mod watch;

use super::live::Recordings;
use super::recording_options::RecordingOptions;
use super::symbols::in_silence;
use crate::exit::Failure;
use action::Action;
use anyhow::Context;
use clap::Args;
use condition::Condition;
pub(super) use watch::Watch;

/// What raises an alarm, and what it does.
#[derive(Args, Clone, Debug)]
pub(crate) struct AlarmOptions {
    /// Raise an alarm when live memory reaches a size (over=2G), has grown by a share since the last alarm
    /// (growth=20%), or when a control group holds a share of its limit (limit=90%), without cached files; may be repeated
    ///
    /// Each alarm is raised again once memory has fallen by a tenth in between.
    #[arg(help_heading = "Alarms", long, value_name = "CONDITION")]
    alarm: Vec<Condition>,
    /// What an alarm does: log, snapshot, run:COMMAND, post:URL, fail; may be repeated [default: log]
    ///
    /// log writes a line with the stacks that grew most; snapshot saves what was recorded so far as a capture of its own;
    /// run gives a shell command the alarm as JSON at its standard input; post sends that to an address (https://…); fail
    /// makes the exit code 1 at the end, unless the program's own is another.
    #[arg(help_heading = "Alarms", long, value_name = "ACTION", requires = "alarm")]
    on_alarm: Vec<Action>,
}

impl AlarmOptions {
    /// Watches these recordings until the result is dropped, if there is anything to watch for.
    pub(super) fn watch(
        &self,
        recordings: Recordings,
        recording: &RecordingOptions,
    ) -> Result<Option<Watch>, Failure> {
        if self.alarm.is_empty() {
            return Ok(None);
        }
        let actions = if self.on_alarm.is_empty() { vec![Action::Log] } else { self.on_alarm.clone() };
        let naming = in_silence(recording.naming());
        let watch = Watch::start(self.alarm.clone(), actions, recordings, naming, recording.labels());
        Ok(Some(watch.context("cannot watch for alarms")?))
    }
}
