//! The writer's thread: turns the drain thread's batches into the capture.

use super::distil::LAG;
use super::kept::Kept;
use super::orders::{Mark, Order, Orders};
use super::pipeline::Pipeline;
use super::snapshot::SoFar;
use crate::base::clock::thread_cpu_ns;
use crate::base::triggers::Lookout;
use crate::cpu::Samples;
use crate::drain::drained::Counts;
use crate::drain::queue::{Received, Receiver};
use capture::{Counter, Overhead, Summary};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// The writer's progress, for other threads.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub(crate) live_bytes: AtomicU64,
    pub(crate) lost: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) processes: AtomicU32,
    /// Turns the writer has begun.
    turns: AtomicU64,
    /// How far a distiller has read; [`NOBODY`] without one, [`FAILED`] after it failed.
    read: AtomicU64,
    /// Bytes of the distiller's output.
    kept: AtomicU64,
}

/// In `read`: there is no distiller.
const NOBODY: u64 = 0;
/// In `read`: the distiller has failed.
const FAILED: u64 = u64::MAX;

impl Written {
    /// Counts another turn of the writer.
    pub(crate) fn begin_turn(&self) {
        // Relaxed: readers compare it with an earlier value, and read nothing on the strength of it.
        self.turns.fetch_add(1, Ordering::Relaxed);
    }

    /// Turns so far; stays the same while the writer waits for its output.
    pub(crate) fn turns(&self) -> u64 {
        // Relaxed: as above.
        self.turns.load(Ordering::Relaxed)
    }

    /// From now on a distiller reads what is written.
    pub(crate) fn begin_distilling(&self) {
        self.distilled(1, 0);
    }

    /// Notes how far the distiller has read, and the size of its output.
    pub(crate) fn distilled(&self, read: u64, kept: u64) {
        // Relaxed: the writer waits for numbers, and reads nothing on the strength of them.
        self.kept.store(kept, Ordering::Relaxed);
        self.read.store(read.clamp(NOBODY + 1, FAILED - 1), Ordering::Relaxed);
    }

    /// Notes that the distiller has failed.
    pub(crate) fn fail_distilling(&self) {
        // Relaxed: as above.
        self.read.store(FAILED, Ordering::Relaxed);
    }

    /// Bytes that will remain at the end: of the capture, or of what is kept in its place.
    pub(crate) fn kept(&self) -> u64 {
        // Relaxed: for display, and for limits that are checked twice a second.
        match self.read.load(Ordering::Relaxed) {
            NOBODY => self.bytes.load(Ordering::Relaxed),
            _ => self.kept.load(Ordering::Relaxed),
        }
    }

    /// Waits while the distiller is far behind. Rings fill up meanwhile, and their policy for full rings applies.
    fn wait_for_distiller(&self, length: u64) -> Result<(), capture::Error> {
        loop {
            // Relaxed: nothing else is read on the strength of it.
            match self.read.load(Ordering::Relaxed) {
                NOBODY => return Ok(()),
                FAILED => {
                    let source = std::io::Error::other("what is kept of the recording could not be written");
                    return Err(capture::Error::Io { action: "go on".into(), source });
                }
                read if length.saturating_sub(read) <= LAG => return Ok(()),
                _ => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    }
}

/// The writer's inputs.
pub(crate) struct Inputs {
    pub(crate) queue: Receiver,
    pub(crate) samples: Samples,
    pub(crate) readings: mpsc::Receiver<Vec<Counter>>,
    pub(crate) orders: mpsc::Receiver<Order>,
    pub(crate) lookout: Lookout,
    /// What gets its name when the first process has connected, unless others see to that.
    pub(crate) kept: Option<Arc<Kept>>,
    /// How often whole chunks are written.
    pub(crate) flush_every: Duration,
}

impl Inputs {
    /// Takes what is there besides agents' records, without waiting.
    fn beside(&self, pipeline: &mut Pipeline) -> Result<(), capture::Error> {
        self.samples.try_each(|batch| pipeline.sampled(batch))?;
        self.readings.try_iter().try_for_each(|counters| pipeline.counted(&counters))
    }
}

/// Takes batches until there are no more. Returns the pipeline and the processor time taken.
pub(crate) fn write(
    mut pipeline: Pipeline,
    mut inputs: Inputs,
    written: &Written,
) -> Result<(Pipeline, u64), capture::Error> {
    let mut flushed = Instant::now();
    let mut orders = Orders::default();
    loop {
        written.begin_turn();
        let received = inputs.queue.receive(orders.patience().min(inputs.flush_every));
        let is_over = matches!(received, Received::Over);
        if let Received::Batch(mut batch) = received {
            let bytes = batch.bytes();
            pipeline.writer.hurry(inputs.queue.is_behind());
            pipeline.take(&mut batch)?;
            written.wait_for_distiller(pipeline.writer.length())?;
            inputs.queue.finish(batch, bytes);
        }
        inputs.orders.try_iter().for_each(|order| orders.push(order));
        inputs.beside(&mut pipeline)?;
        if let Some(kept) = inputs.kept.take_if(|_| pipeline.has_met) {
            kept.name()?;
        }
        if is_over {
            orders.obey_all(&mut pipeline)?;
            return Ok((pipeline, thread_cpu_ns()));
        }
        let live = pipeline.live.as_ref().map_or(0, |live| live.bytes());
        if !pipeline.timeline.is_awaiting()
            && let Some(name) = inputs.lookout.due(Duration::from_nanos(pipeline.timeline.now()), live)
        {
            // Nobody waits for the answer.
            let (done, _) = mpsc::channel();
            orders.push(Order::Mark(Mark { pid: None, name, time: pipeline.timeline.clock().now() }, done));
        }
        orders.obey(&mut pipeline)?;
        if flushed.elapsed() >= inputs.flush_every {
            pipeline.refresh()?;
            flushed = Instant::now();
        }
        written.live_bytes.store(live, Ordering::Relaxed);
        written.lost.store(pipeline.totals.lost(), Ordering::Relaxed);
        written.bytes.store(pipeline.writer.length(), Ordering::Relaxed);
        written.processes.store(pipeline.processes.count() as u32, Ordering::Relaxed);
    }
}

impl Pipeline {
    /// The capture as it would be if it ended now, with these counts of the drain thread.
    pub(crate) fn so_far(&mut self, drained: &Counts) -> Result<SoFar, capture::Error> {
        self.refresh()?;
        let summary = Summary {
            duration_ns: self.timeline.now(),
            lost: self.totals.losses(drained),
            overhead: overhead(self),
            remarks: vec!["This is a snapshot: the recording went on.".into()],
            ..Summary::default()
        };
        let end = self.writer.end_so_far(&summary)?;
        Ok(SoFar { length: self.writer.length(), end })
    }
}

/// What the recording has cost so far.
pub(crate) fn overhead(pipeline: &Pipeline) -> Overhead {
    let usage = crate::base::clock::own_usage();
    let totals = pipeline.totals;
    Overhead {
        agent_cpu_ns: pipeline.timeline.clock().duration(totals.agent_ticks),
        collector_cpu_ns: usage.cpu_ns,
        wait_ns: totals.counters.wait_ns,
        collector_peak_rss: usage.peak_rss,
        shared_memory: totals.shared_memory,
        agent_allocations: totals.counters.agent_allocations,
    }
}
