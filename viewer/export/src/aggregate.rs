//! A recording kept as totals per stack at snapshots, so that its size does not grow with its events.
//!
//! ```text
//!  recording ──► capture in memory ──► Aggregate ──► aggregated capture
//!                let go as it is read    │  pass over all events: live blocks and totals
//!                                        └─ at each snapshot what changed of each stack
//! ```
//!
//! Blocks are counted by the same pass as in every view, so an aggregated capture has the same numbers at each of its
//! snapshots as the capture of all events would have had. Bounds:
//!
//! | | by |
//! |---|---|
//! | memory | live blocks, distinct stacks of each process image, and what is not read yet |
//! | the file | stacks that changed × snapshots, some 10 to 30 bytes each, and the names of all stacks once |
//!
//! Snapshots are taken at equal distances that double after each [`RUN`] of them, so a day that begins with ten
//! seconds has some 1,600. Further ones are taken when a process ends, and for marks, some of which share one when
//! many arrive at once.

mod snapshot_taker;
mod tables;

pub use snapshot_taker::{RUN, Receiver, SnapshotTaker};

use analysis::ProfileBuilder;
use capture::aggregate::AGGREGATE;
use capture::{Action, Error, Event, Metadata, ProcessId, ReadAt, Reader, Sink, Summary, Writer};
use std::time::Duration;
use tables::Copied;

/// The metadata of an aggregated capture made from this one, with `every` between its first snapshots.
pub fn metadata(of: &Metadata, every: Duration) -> Metadata {
    let every = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX);
    let mut metadata = of.clone();
    metadata.options.push((AGGREGATE.into(), every.to_string()));
    metadata
}

/// Makes an aggregated capture from a growing one.
pub struct Aggregate<R: ReadAt, S: Sink> {
    reader: Reader<R>,
    builder: ProfileBuilder<'static>,
    snapshot_taker: SnapshotTaker,
    copied: Copied,
    writer: Writer<S>,
    every: Duration,
    /// When the recording began, as far as the aggregated capture has been told: it may begin only after it was
    /// opened.
    started: u64,
}

impl<R: ReadAt, S: Sink> Aggregate<R, S> {
    /// From the capture that `reader` has just opened, into one that was begun with its [`metadata`].
    pub fn new(reader: Reader<R>, writer: Writer<S>, every: Duration) -> Self {
        let builder = ProfileBuilder::new(reader.tables()).without_frees();
        let started = reader.tables().metadata.started_unix_ns;
        let nanoseconds = u64::try_from(every.as_nanos()).unwrap_or(u64::MAX);
        let snapshot_taker = SnapshotTaker::new(nanoseconds);
        Self { reader, builder, snapshot_taker, copied: Copied::default(), writer, every, started }
    }

    /// Processes what has arrived, and returns the offset in the growing capture up to which it is no longer needed.
    ///
    /// # Errors
    /// When one of the two cannot be read or written.
    // Cost: 30 to 120 ns per event, as in any pass.
    pub fn refresh(&mut self) -> Result<u64, Error> {
        self.reader.refresh()?;
        let changed = self.reader.take_changed_processes();
        let Self { reader, builder, snapshot_taker, copied, writer, every, started } = self;
        let begun = &reader.tables().metadata;
        if std::mem::replace(started, begun.started_unix_ns) != begun.started_unix_ns {
            writer.metadata(&metadata(begun, *every))?;
        }
        copied.take(reader.tables(), &changed, writer)?;
        let mut result = Ok(());
        builder.grow(reader.tables());
        let mut receiver = ToWriter { copied, writer, reader };
        reader.for_each_batch(|events| {
            if result.is_ok() {
                result =
                    events.iter().try_for_each(|event| snapshot_taker.event(builder, event, &mut receiver));
            }
        })?;
        result?;
        reader.for_each_counters(|counters| copied.counters(counters))?;
        writer.flush()?;
        Ok(reader.forget())
    }

    /// Bytes of the aggregated capture so far.
    pub fn length(&self) -> u64 {
        self.writer.length()
    }

    /// Processes the rest, once the growing capture is complete, and finishes the aggregated one.
    ///
    /// # Errors
    /// As [`Aggregate::refresh`].
    pub fn finish(mut self) -> Result<S, Error> {
        self.refresh()?;
        let Self { reader, mut builder, mut snapshot_taker, mut copied, mut writer, .. } = self;
        let summary = reader.tables().summary.clone();
        builder.grow(reader.tables());
        let mut receiver = ToWriter { copied: &mut copied, writer: &mut writer, reader: &reader };
        snapshot_taker.finish(&mut builder, &mut receiver)?;
        let mut summary =
            summary.unwrap_or_else(|| Summary { duration_ns: snapshot_taker.last(), ..Summary::default() });
        summary.remarks.extend(snapshot_taker.remarks(reader.tables()));
        writer.finish(&summary)
    }
}

/// Writes what the snapshot taker hands over.
struct ToWriter<'t, R: ReadAt, S: Sink> {
    copied: &'t mut Copied,
    writer: &'t mut Writer<S>,
    reader: &'t Reader<R>,
}

impl<R: ReadAt, S: Sink> Receiver for ToWriter<'_, R, S> {
    type Error = Error;

    fn receive(&mut self, time: u64, process: ProcessId, action: Action) -> Result<(), Error> {
        let Self { copied, writer, reader } = self;
        let thread = copied.carrier(process, reader.tables(), writer)?;
        if action == Action::Snapshot {
            copied.write_counters(writer)?;
        }
        writer.event(Event { time, thread, action })
    }
}
