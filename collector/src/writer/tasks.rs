//! Tasks that other threads give the writer's thread, done between two batches of records.

use super::live_heap::LiveHeap;
use super::pipeline::Pipeline;
use super::pipeline::{MarkRequest, Rest};
use super::snapshot::SoFar;
use crate::drain::Shared;
use crate::drain::queue::Caller;
use crate::image::exit_scan::Place;
use crate::scan::Scanned;
use capture::Error;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// Longest time an event takes from a program to the writer: the drain thread looks six times a second.
const ON_THE_WAY: Duration = Duration::from_millis(300);

/// A task for the writer.
#[derive(Debug)]
pub(crate) enum Task {
    /// Deliver the capture as it is, with the drain thread's counts.
    SoFar(Arc<Shared>, mpsc::Sender<Result<SoFar, Error>>),
    /// Deliver the numbers as they are, when all that happened up to this time is in them.
    LiveHeap(LiveHeapRequest, mpsc::Sender<Result<LiveHeap, Error>>),
    /// Set a mark, and say whether there was a thread to set it for.
    Mark(MarkRequest, mpsc::Sender<bool>),
    /// Write what was found in a process's memory, and say whether the process is known. A process at exit is
    /// identified by its place.
    Scan(Box<Scanned>, Option<Place>, mpsc::Sender<bool>),
    /// Write the rest of a scan.
    Pointers(Rest, mpsc::Sender<bool>),
}

/// What a state is asked of.
#[derive(Debug)]
pub(crate) struct LiveHeapRequest {
    pub(crate) shared: Arc<Shared>,
    /// Events up to this time count; none: those that have come so far.
    pub(crate) time: Option<u64>,
    /// The file with the tables.
    pub(crate) capture: Option<PathBuf>,
}

/// Sends tasks to the writer.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    pub(crate) tasks: mpsc::Sender<Task>,
    /// Wakes the writer, which sleeps while there are no batches.
    pub(crate) writer: Caller,
}

impl Sender {
    /// Gives a task; false when the writer has ended.
    pub(crate) fn send(&self, task: Task) -> bool {
        let is_taken = self.tasks.send(task).is_ok();
        self.writer.call();
        is_taken
    }
}

/// Waiting tasks, oldest first. Each is executed after those before it.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    waiting: VecDeque<(Task, Instant)>,
}

impl Tasks {
    /// Adds a task.
    pub(crate) fn push(&mut self, task: Task) {
        self.waiting.push_back((task, Instant::now()));
    }

    /// How long they may be left alone: not at all while a scan is being written.
    pub(crate) fn timeout(&self) -> Duration {
        match self.waiting.front() {
            None => Duration::MAX,
            Some((Task::Pointers(..), _)) => Duration::ZERO,
            Some((_, given)) => ON_THE_WAY.saturating_sub(given.elapsed()),
        }
    }

    /// Executes tasks that are due. A mark waits until all earlier events are written: until a later event is, or
    /// none can still be on the way. So does a scan, which is then written part by part. A scan at exit waits only
    /// until its process is known, since events carry their times wherever they are written.
    pub(crate) fn run_due(&mut self, pipeline: &mut Pipeline) -> Result<(), Error> {
        self.take(pipeline, false, |time, waited, pipeline| {
            pipeline.timeline.has_passed(time) || waited >= ON_THE_WAY
        })
    }

    /// Executes all tasks, when no more events will come.
    pub(crate) fn run_all(&mut self, pipeline: &mut Pipeline) -> Result<(), Error> {
        self.take(pipeline, true, |_, _, _| true)
    }

    fn take(
        &mut self,
        pipeline: &mut Pipeline,
        is_last: bool,
        is_due: impl Fn(u64, Duration, &mut Pipeline) -> bool,
    ) -> Result<(), Error> {
        while let Some((task, given)) = self.waiting.pop_front() {
            // The sender may be gone, so a failed answer is ignored.
            match task {
                Task::SoFar(shared, answer) => drop(answer.send(pipeline.so_far(&shared.counts))),
                Task::Mark(mark, answer) if is_due(mark.time, given.elapsed(), pipeline) => {
                    let _ = answer.send(pipeline.mark(&mark)?);
                }
                Task::LiveHeap(LiveHeapRequest { shared, time, capture }, answer)
                    if time.is_none_or(|time| is_due(time, given.elapsed(), pipeline)) =>
                {
                    drop(answer.send(pipeline.live_heap(&shared.counts, capture)));
                }
                Task::Scan(scanned, at_end, answer)
                    if at_end.is_some_and(|place| pipeline.processes.in_place(place).is_some())
                        || is_due(scanned.time, given.elapsed(), pipeline) =>
                {
                    match pipeline.scan(*scanned, at_end)? {
                        Some(rest) => self.waiting.push_front((Task::Pointers(rest, answer), given)),
                        None => drop(answer.send(false)),
                    }
                }
                Task::Pointers(mut rest, answer) => {
                    if rest.write(&mut pipeline.writer)? {
                        self.waiting.push_front((Task::Pointers(rest, answer), given));
                        if !is_last {
                            return Ok(());
                        }
                    } else {
                        let _ = answer.send(true);
                    }
                }
                task @ (Task::Mark(..) | Task::LiveHeap(..) | Task::Scan(..)) => {
                    self.waiting.push_front((task, given));
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}
