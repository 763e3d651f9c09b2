//! The writer's thread: turns the drain thread's batches into the capture.

use super::output_file::OutputFile;
use super::pipeline::MarkRequest;
use super::pipeline::Pipeline;
use super::tasks::{Task, Tasks};
use super::written::Written;
use crate::base::clock::thread_cpu_ns;
use crate::base::triggers::TriggerMonitor;
use crate::cpu::Samples;
use crate::drain::queue::{Received, Receiver};
use capture::Counter;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// The writer's inputs.
pub(crate) struct Inputs {
    pub(crate) queue: Receiver,
    pub(crate) samples: Samples,
    pub(crate) readings: mpsc::Receiver<Vec<Counter>>,
    pub(crate) tasks: mpsc::Receiver<Task>,
    pub(crate) triggers: TriggerMonitor,
    /// What gets its name when the first process has connected, unless others see to that.
    pub(crate) kept: Option<Arc<OutputFile>>,
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
    let mut tasks = Tasks::default();
    loop {
        written.begin_turn();
        let received = inputs.queue.receive(tasks.timeout().min(inputs.flush_every));
        let is_over = matches!(received, Received::Over);
        if let Received::Batch(mut batch) = received {
            let bytes = batch.bytes();
            pipeline.writer.hurry(inputs.queue.is_behind());
            pipeline.take(&mut batch)?;
            written.wait_for_aggregator(pipeline.writer.length())?;
            inputs.queue.finish(batch, bytes);
        }
        inputs.tasks.try_iter().for_each(|task| tasks.push(task));
        inputs.beside(&mut pipeline)?;
        if let Some(kept) = inputs.kept.take_if(|_| pipeline.has_met) {
            kept.name()?;
        }
        if is_over {
            tasks.run_all(&mut pipeline)?;
            return Ok((pipeline, thread_cpu_ns()));
        }
        let live = pipeline.writer.observer().held().bytes.max(0).cast_unsigned();
        if !pipeline.timeline.is_awaiting()
            && let Some(name) = inputs.triggers.due(Duration::from_nanos(pipeline.timeline.now()), live)
        {
            // Nobody waits for the answer.
            let (done, _) = mpsc::channel();
            tasks.push(Task::Mark(
                MarkRequest { pid: None, name, time: pipeline.timeline.clock().now() },
                done,
            ));
        }
        tasks.run_due(&mut pipeline)?;
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
