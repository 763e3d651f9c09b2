//! What others have the writer's thread do between two batches of records.

use crate::drain::Shared;
use crate::pipeline::Pipeline;
use crate::snapshot::SoFar;
use capture::Error;
use std::collections::VecDeque;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// How long events may take from a program to the writer: the drain thread looks six times a second.
const ON_THE_WAY: Duration = Duration::from_millis(300);

/// Something to do.
#[derive(Debug)]
pub(crate) enum Order {
    /// Give what there is of the capture, with what the drain thread has counted.
    SoFar(Arc<Shared>, mpsc::Sender<Result<SoFar, Error>>),
    /// Set a mark, and say whether there was a thread to set it for.
    Mark(Mark, mpsc::Sender<bool>),
}

/// A mark that somebody else than the program sets.
#[derive(Debug)]
pub(crate) struct Mark {
    /// The process that it is about, `None` for the whole recording.
    pub(crate) pid: Option<u32>,
    pub(crate) name: String,
    /// Ticks of the recording's clock.
    pub(crate) time: u64,
}

/// Orders that wait, the oldest first. Each is obeyed after the ones before it.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    waiting: VecDeque<(Order, Instant)>,
}

impl Orders {
    /// Adds an order.
    pub(crate) fn push(&mut self, order: Order) {
        self.waiting.push_back((order, Instant::now()));
    }

    /// Obeys those whose time has come. A mark waits until all events before it are written: until a later one is, or
    /// none can be on the way any more.
    pub(crate) fn obey(&mut self, pipeline: &mut Pipeline) -> Result<(), Error> {
        self.take(pipeline, |mark, waited, pipeline| pipeline.has_passed(mark.time) || waited >= ON_THE_WAY)
    }

    /// Obeys all of them, when nothing comes any more.
    pub(crate) fn obey_all(&mut self, pipeline: &mut Pipeline) -> Result<(), Error> {
        self.take(pipeline, |_, _, _| true)
    }

    fn take(
        &mut self,
        pipeline: &mut Pipeline,
        is_due: impl Fn(&Mark, Duration, &mut Pipeline) -> bool,
    ) -> Result<(), Error> {
        while let Some((order, given)) = self.waiting.pop_front() {
            // Whoever gave it may be gone, so nobody minds an answer that is not taken.
            match order {
                Order::SoFar(shared, answer) => drop(answer.send(pipeline.so_far(&shared.counts))),
                Order::Mark(mark, answer) if is_due(&mark, given.elapsed(), pipeline) => {
                    let _ = answer.send(pipeline.mark(&mark)?);
                }
                order @ Order::Mark(..) => {
                    self.waiting.push_front((order, given));
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}
