//! The thread that empties the rings.
//!
//! ```text
//!  a round:  watermark = now − ε
//!            every image, every ring: copy out, free the space, check
//!            merge what is not later than the watermark ──► batches ──► queue to the writer
//!            processes that are gone: free their rings and slots
//!            sleep until a ring is past its mark, the clock runs out, or another thread wakes it
//! ```
//!
//! When the writer has fallen behind by more than the queue holds, a round takes nothing from the rings and merges
//! nothing. Where there are many images, most rounds visit only some of them: see [`ready_set`].

pub(crate) mod batch;
pub(crate) mod image_drain;
mod loser_tree;
pub(crate) mod merge;
mod merge_key;
pub(crate) mod message;
pub(crate) mod queue;
mod ready_set;
mod stream;
mod waiter;
mod watermark;

use crate::base::clock::{Clock, thread_cpu_ns};
use crate::base::log::debug;
use crate::image::Image;
use crate::image::exit_scan::ExitScan;
use crate::image::wakeup::Wakeup;
use crate::image::watcher::Watcher;
use batch::Batch;
use image_drain::{Counts, ImageDrain, Sweep};
use merge::Merger;
use message::{Lifecycle, Message};
use queue::Sender;
use ready_set::ReadySet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use waiter::Waiter;
use watermark::Watermark;

/// Most words copied from one ring in one round: an eighth of a ring of the default size. Some such turns of each ring
/// are held in memory.
const TURN: usize = 1 << 14;

/// What the drain thread and its session share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Set when the recording is to end.
    pub(crate) stop: AtomicBool,
    /// Counts so far.
    pub(crate) counts: Counts,
}

/// Everything the drain thread needs.
pub(crate) struct Drain {
    pub(crate) images: mpsc::Receiver<Arc<Image>>,
    pub(crate) watcher: Watcher,
    pub(crate) batches: Sender,
    pub(crate) wakeup: Arc<Wakeup>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) clock: Clock,
    /// Takes exiting processes that wait to be scanned; `None` when nobody scans them.
    pub(crate) exit_scans: Option<mpsc::Sender<ExitScan>>,
}

/// The cost of draining.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Work {
    /// Processor time of the thread, in nanoseconds.
    pub(crate) cpu_ns: u64,
    /// Times the thread was woken.
    pub(crate) wake_ups: u64,
    /// Nanoseconds during which rings were left alone because the writer was behind.
    pub(crate) held_ns: u64,
}

/// Words read in a round.
#[derive(Clone, Copy, Debug, Default)]
struct Words {
    /// From images that would have woken us.
    waking: usize,
    /// From images that had to be looked at.
    polled: usize,
    /// Some process was met for the first time.
    has_met: bool,
}

/// State of the running thread.
struct Round {
    drain: Drain,
    ready: ReadySet,
    merger: Merger,
    watermark: Watermark,
    batch: Batch,
    waiter: Waiter,
    /// Since when the writer has been behind.
    held: Option<Instant>,
    held_ns: u64,
}

impl Drain {
    /// Drains until the session stops, then once more to the end. Returns the sender to the writer, which runs until
    /// that is dropped.
    pub(crate) fn run(self) -> (Work, Sender) {
        let mut round = Round::new(self);
        while !round.run() {
            round.sleep();
        }
        let work = Work { cpu_ns: thread_cpu_ns(), wake_ups: round.waiter.sleeps, held_ns: round.held_ns };
        (work, round.drain.batches)
    }
}

impl Round {
    fn new(drain: Drain) -> Round {
        let waiter = Waiter::new(drain.wakeup.clone());
        Round {
            drain,
            ready: ReadySet::default(),
            merger: Merger::default(),
            watermark: Watermark::default(),
            batch: Batch::default(),
            waiter,
            held: None,
            held_ns: 0,
        }
    }

    /// Runs one round; true when it was the last.
    fn run(&mut self) -> bool {
        self.waiter.listen();
        let is_stopping = self.drain.shared.stop.load(Ordering::Acquire);
        let is_greeted = self.take_new_images();
        if is_stopping {
            self.close();
        }
        let is_whole = is_stopping
            || !self.ready.is_too_large()
            || self.waiter.is_time_to_poll()
            || self.ready.busy().any(ImageDrain::is_behind);
        let now = self.drain.clock.now();
        let due = self.watermark.at(now);
        if due.has_jumped {
            debug!("the clock was set back");
            self.drain.shared.counts.jumps.fetch_add(1, Ordering::Relaxed);
        }
        let parted = self.part(is_whole);
        let moved = self.sweep(now, is_whole);
        self.waiter.moved(moved.waking + moved.polled, moved.has_met || parted > 0);
        let is_last = is_stopping && self.held.is_none() && self.ready.all().all(ImageDrain::is_read);
        for (image, _) in self.ready.visit(is_whole) {
            image.finish_ended(&mut self.merger);
            if is_last {
                image.finish_all(&mut self.merger, now);
            }
        }
        // After a round that read nothing there is no time up to which everything was read: earlier rounds left the
        // rings at different points.
        if is_whole && self.held.is_none() {
            let watermark = match is_last {
                true => u64::MAX,
                false => {
                    self.ready.all().fold(due.time, |time, image| time.min(image.read_until(&self.merger)))
                }
            };
            self.emit(watermark);
        }
        if is_whole {
            self.retire(is_last);
            // To wake the writer costs more than what it does with most batches. Images that have just connected are
            // nothing to it before their first records, which come at once.
            if !self.batch.is_empty() && (is_last || !is_greeted || !self.batch.has_only_images()) {
                self.send();
            }
            self.waiter.polled(moved.polled);
            self.ready.part();
        }
        is_last || (is_stopping && self.drain.batches.is_given_up())
    }

    /// Takes in the images that connected since the last round; true if there are any.
    fn take_new_images(&mut self) -> bool {
        let time = self.drain.clock.now();
        let mut is_any = false;
        for image in self.drain.images.try_iter() {
            // Precedes all of its records, whatever their times: nothing of this round is merged yet.
            self.batch.note(Message { time, image: image.id, event: Lifecycle::Image(image.clone()) });
            self.ready.add(ImageDrain::new(image));
            is_any = true;
        }
        self.drain.wakeup.concerned().into_iter().for_each(|image| self.ready.wake(image));
        is_any
    }

    /// Tells all agents that the recording is over, and gives those in the middle of a write a moment. Whatever is
    /// written later is not waited for.
    fn close(&mut self) {
        self.ready.wake_all();
        self.ready.all().for_each(ImageDrain::close);
        if self.ready.all().next().is_some() {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.ready.visit(true).for_each(|(image, _)| image.note_goals(&mut self.merger));
    }

    /// Hands on processes that wait to be scanned at exit; returns how many.
    fn part(&mut self, is_whole: bool) -> usize {
        let Some(exit_scans) = &self.drain.exit_scans else { return 0 };
        let new = self.ready.visit(is_whole).flat_map(|(image, _)| image.take_exit_scans());
        // If nobody scans any more, dropping the scan lets the process continue.
        new.map(|exit_scan| drop(exit_scans.send(exit_scan))).count()
    }

    /// Reads the rings, unless the writer is behind; returns the words read.
    fn sweep(&mut self, now: u64, is_whole: bool) -> Words {
        if self.drain.batches.is_given_up() {
            // Nothing can be recorded any more: threads that wait for room are let go.
            self.ready.all().for_each(ImageDrain::close);
        }
        // Whoever learns of an end wakes the image.
        self.ready.visit(false).for_each(|(image, _)| image.note_ends(&mut self.merger, now));
        if self.drain.batches.is_full() {
            self.held.get_or_insert_with(Instant::now);
            return Words::default();
        }
        if let Some(since) = self.held.take() {
            debug!("the writer was behind for {:?}", since.elapsed());
            self.held_ns += since.elapsed().as_nanos() as u64;
        }
        let mut sweep = Sweep {
            turn: TURN,
            merger: &mut self.merger,
            counts: &self.drain.shared.counts,
            watcher: &self.drain.watcher,
            clock: &self.drain.clock,
            has_met: false,
        };
        let (mut waking, mut polled) = (0, 0);
        let can_wait = self.waiter.can_wait_for(self.ready.busy().count());
        for (image, is_busy) in self.ready.visit(is_whole) {
            let of_which = if is_busy && can_wait { &mut waking } else { &mut polled };
            *of_which += image.sweep(&mut sweep);
        }
        Words { waking, polled, has_met: sweep.has_met }
    }

    /// Merges everything that is due, and sends what fills batches.
    fn emit(&mut self, watermark: u64) {
        while self.merger.merge(watermark, &mut self.batch) {
            self.send();
        }
        self.merger.compact(TURN);
    }

    fn send(&mut self) {
        self.batch = self.drain.batches.send(std::mem::take(&mut self.batch));
    }

    /// Drops images that will not produce anything more.
    fn retire(&mut self, is_last: bool) {
        let time = self.drain.clock.now();
        let merger = &mut self.merger;
        let batch = &mut self.batch;
        self.ready.retain(|image| {
            let is_over = is_last || image.is_over(merger);
            if is_over {
                let id = image.image.id;
                debug!("image {} is over", id.0);
                batch.note(Message { time, image: id, event: Lifecycle::Finished });
                image.leave(merger);
            }
            !is_over
        });
    }

    fn sleep(&mut self) {
        if self.held.is_some() {
            // The queue wakes us when it has room. Calls of agents are ignored: nothing would be read.
            self.waiter.sleep_for(Duration::from_millis(100));
            return;
        }
        let busy = self.ready.busy();
        let scans = self.drain.exit_scans.is_some();
        let mut images = busy.clone();
        let is_due =
            || images.any(|image| image.is_due() || image.is_behind() || (scans && image.has_parting()));
        let heard = busy.map(|image| (&*image.image, image.heard));
        self.waiter.sleep(heard, self.ready.is_too_large(), is_due);
    }
}

#[cfg(test)]
#[expect(unsafe_code, reason = "writes into the shared memory as a mad agent would")]
mod tests;
