//! How processes ended, as told by whoever waited for them.

use crate::writer::pipeline::Pipeline;
use std::process::ExitStatus;
use std::sync::{Mutex, PoisonError};

/// The exits noted so far.
#[derive(Debug, Default)]
pub(super) struct Exits(Mutex<Vec<Exit>>);

/// A process, when it was waited for (ticks of the recording's clock), and how it ended.
#[derive(Clone, Copy, Debug)]
struct Exit {
    pid: u32,
    ticks: u64,
    status: ExitStatus,
    peak_rss: Option<u64>,
}

impl Exits {
    /// Notes one exit.
    pub(super) fn note(&self, pid: u32, ticks: u64, status: ExitStatus, peak_rss: Option<u64>) {
        let mut exits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        exits.push(Exit { pid, ticks, status, peak_rss });
    }

    /// Writes them into the capture, which knows all processes by now.
    pub(super) fn write(self, pipeline: &mut Pipeline) -> Result<(), capture::Error> {
        let exits = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        exits.into_iter().try_for_each(|Exit { pid, ticks, status, peak_rss }| {
            let time = pipeline.timeline.clock().nanoseconds(ticks);
            let Pipeline { processes, writer, .. } = pipeline;
            processes.note_exit(pid, time, (status, peak_rss), writer)
        })
    }
}
