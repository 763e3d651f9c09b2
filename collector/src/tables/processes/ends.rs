//! How processes end.

use super::Processes;
use crate::base::capture_writer::Writer;
use crate::image::{End, Image, ImageId};
use capture::{Counter, CounterKind, Ended, Error, ProcessEnd, ProcessId, ThreadId};
use std::ops::RangeInclusive;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

impl Processes {
    /// The process announced an exec.
    pub(crate) fn execing(&mut self, image: ImageId, slot: u32, thread: ThreadId) {
        if let Some(alive) = self.alive.get_mut(&(image, slot)) {
            alive.execing = Some(thread);
        }
    }

    /// A thread wrote another record: if it had announced an exec, that failed.
    pub(crate) fn goes_on(&mut self, image: ImageId, slot: u32, thread: ThreadId) {
        if let Some(alive) = self.alive.get_mut(&(image, slot))
            && alive.execing == Some(thread)
        {
            alive.execing = None;
        }
    }

    /// The process announced its exit.
    pub(crate) fn exiting(&mut self, image: ImageId, slot: u32, code: i32) {
        if let Some(alive) = self.alive.get_mut(&(image, slot)) {
            alive.code = Some(code & 0xFF);
        }
    }

    /// How the process in a slot stands right now.
    pub(crate) fn end_by_now(&mut self, image: &Image, slot: u32) -> End {
        image.end_by_now(slot, &mut self.scan)
    }

    /// Ends the process in a slot; returns its id, if it ever started. The end was `within` these times: after the last
    /// event, and no later than it was noticed. A process that announced its end did so in its last record.
    pub(crate) fn end(
        &mut self,
        image: ImageId,
        slot: u32,
        end: End,
        within: RangeInclusive<u64>,
        writer: &mut Writer,
    ) -> Result<Option<ProcessId>, Error> {
        let Some(alive) = self.alive.remove(&(image, slot)) else { return Ok(None) };
        self.subjects.remove(alive.process);
        let ended = match (end, alive.code) {
            (End::Exec, _) => Ended::Exec,
            (End::Running, _) => Ended::Running,
            // Even if its status is known: that may be the next program's, which ended before anybody looked.
            (End::Gone(_), None) if alive.execing.is_some() => Ended::Exec,
            (End::Gone(Some(status)), _) => of_wait_status(status),
            (End::Gone(None), Some(code)) => Ended::Exited(code),
            (End::Gone(None), None) => Ended::Unknown,
        };
        let is_announced = alive.code.is_some() || ended == Ended::Exec;
        let time = if is_announced { *within.start() } else { *within.end() };
        self.set_end(alive.process, ended, Some(time), writer)?;
        self.images.end(alive.process);
        if !self.rules.awaits_samples {
            self.images.forget(None);
        }
        Ok(Some(alive.process))
    }

    /// The status from whoever reaped the process overrides what we know; the most memory that was resident in it, or in
    /// those that it has waited for, is a counter. `time` tells the process from a later one
    /// with the same pid.
    pub(crate) fn note_exit(
        &mut self,
        pid: u32,
        time: u64,
        (status, peak_rss): (ExitStatus, Option<u64>),
        writer: &mut Writer,
    ) -> Result<(), Error> {
        let Some(id) = self.images.by_kernel_pid(pid, time) else { return Ok(()) };
        let end = self.images.process(id).and_then(|process| process.end.as_ref());
        if end.is_some_and(|end| end.ended == Ended::Exec) {
            // It continued as a program that was not recorded.
            return Ok(());
        }
        if let Some(value) = peak_rss {
            let (process, kind) = (Some(id), CounterKind::FamilyPeakRss);
            writer.counter(Counter { time, process, kind, instance: 0, value })?;
        }
        self.set_end(id, of_wait_status(status.into_raw()), None, writer)
    }

    fn set_end(
        &mut self,
        id: ProcessId,
        ended: Ended,
        time: Option<u64>,
        writer: &mut Writer,
    ) -> Result<(), Error> {
        let Some(process) = self.images.get_mut(id).map(|known| &mut known.process) else { return Ok(()) };
        let before = process.end.as_ref().map(|end| end.time);
        process.end = Some(ProcessEnd { ended, time: before.or(time).unwrap_or(0) });
        writer.update_process(id, process.clone())
    }
}

fn of_wait_status(status: i32) -> Ended {
    match status & 0x7F {
        0 => Ended::Exited(status >> 8 & 0xFF),
        signal => Ended::Signaled(signal),
    }
}
