//! The thread that empties the rings.
//!
//! ```text
//!  a round:  watermark = now − ε
//!            every image, every ring: copy out, free the space, check
//!            merge what is not later than the watermark ──► batches ──► queue to the writer
//!            processes that are gone: free their rings and slots
//!            sleep until a ring is past its mark, the clock runs out, or another thread rings
//! ```
//!
//! When the writer has fallen behind by more than the queue holds, a round takes nothing from the rings and merges
//! nothing.

use crate::batch::Batch;
use crate::clock::{Clock, thread_cpu_ns};
use crate::drained::{Counts, Drained, Sweep};
use crate::exit_scans::ExitScan;
use crate::image::Image;
use crate::item::{Item, What};
use crate::log::debug;
use crate::merge::Merger;
use crate::queue::Sender;
use crate::sleeper::{Bell, Sleeper};
use crate::watcher::Watcher;
use crate::watermark::Watermark;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// Most words copied from one ring in one round: half of a ring of the default size.
const TURN: usize = 1 << 16;

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
    pub(crate) bell: Arc<Bell>,
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

/// State of the running thread.
struct Round {
    drain: Drain,
    drained: Vec<Drained>,
    merger: Merger,
    watermark: Watermark,
    batch: Batch,
    sleeper: Sleeper,
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
        let work = Work { cpu_ns: thread_cpu_ns(), wake_ups: round.sleeper.sleeps, held_ns: round.held_ns };
        (work, round.drain.batches)
    }
}

impl Round {
    fn new(drain: Drain) -> Round {
        let sleeper = Sleeper::new(drain.bell.clone());
        Round {
            drain,
            drained: Vec::new(),
            merger: Merger::default(),
            watermark: Watermark::default(),
            batch: Batch::default(),
            sleeper,
            held: None,
            held_ns: 0,
        }
    }

    /// Runs one round; true when it was the last.
    fn run(&mut self) -> bool {
        self.sleeper.listen();
        let is_stopping = self.drain.shared.stop.load(Ordering::Acquire);
        self.welcome();
        if is_stopping {
            self.close();
        }
        let now = self.drain.clock.now();
        let due = self.watermark.at(now);
        if due.has_jumped {
            debug!("the clock was set back");
            self.drain.shared.counts.jumps.fetch_add(1, Ordering::Relaxed);
        }
        let parted = self.part();
        let moved = self.sweep(now);
        self.sleeper.moved(moved, parted > 0);
        let is_last = is_stopping && self.held.is_none() && self.drained.iter().all(Drained::is_read);
        for image in &mut self.drained {
            image.finish_ended(&mut self.merger);
            if is_last {
                image.finish_all(&mut self.merger, now);
            }
        }
        // After a round that read nothing there is no time up to which everything was read: earlier rounds left the
        // rings at different points.
        if self.held.is_none() {
            let read = self.drained.iter().map(|image| image.read_until(&self.merger));
            let watermark = if is_last { u64::MAX } else { read.fold(due.time, u64::min) };
            self.emit(watermark);
        }
        self.retire(is_last);
        is_last || (is_stopping && self.drain.batches.is_given_up())
    }

    /// Takes in the images that connected since the last round.
    fn welcome(&mut self) {
        let time = self.drain.clock.now();
        for image in self.drain.images.try_iter() {
            // Precedes all of its records, whatever their times: nothing of this round is merged yet.
            self.batch.note(Item { time, image: image.id, what: What::Image(image.clone()) });
            self.drained.push(Drained::new(image));
        }
    }

    /// Tells all agents that the recording is over, and gives those in the middle of a write a moment. Whatever is
    /// written later is not waited for.
    fn close(&mut self) {
        self.drained.iter().for_each(Drained::close);
        std::thread::sleep(Duration::from_millis(1));
        self.drained.iter_mut().for_each(|image| image.note_goals(&mut self.merger));
    }

    /// Hands on processes that wait to be scanned at exit; returns how many.
    fn part(&mut self) -> usize {
        let Some(exit_scans) = &self.drain.exit_scans else { return 0 };
        let new = self.drained.iter_mut().flat_map(Drained::take_exit_scans);
        // If nobody scans any more, dropping the scan lets the process continue.
        new.map(|exit_scan| drop(exit_scans.send(exit_scan))).count()
    }

    /// Reads all rings, unless the writer is behind; returns the words read.
    fn sweep(&mut self, now: u64) -> usize {
        if self.drain.batches.is_given_up() {
            // Nothing can be recorded any more: threads that wait for room are let go.
            self.drained.iter().for_each(Drained::close);
        }
        self.drained.iter_mut().for_each(|image| image.note_ends(&mut self.merger, now));
        if self.drain.batches.is_full() {
            self.held.get_or_insert_with(Instant::now);
            return 0;
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
        };
        self.drained.iter_mut().map(|image| image.sweep(&mut sweep)).sum()
    }

    /// Merges everything that is due and sends it.
    fn emit(&mut self, watermark: u64) {
        loop {
            let is_more = self.merger.merge(watermark, &mut self.batch);
            if !self.batch.is_empty() {
                self.batch = self.drain.batches.send(std::mem::take(&mut self.batch));
            }
            if !is_more {
                break;
            }
        }
        self.merger.compact(TURN);
    }

    /// Drops images that will not produce anything more.
    fn retire(&mut self, is_last: bool) {
        let time = self.drain.clock.now();
        let merger = &mut self.merger;
        let batch = &mut self.batch;
        self.drained.retain(|image| {
            let is_over = is_last || image.is_over(merger);
            if is_over {
                let id = image.image.id;
                debug!("image {} is over", id.0);
                batch.note(Item { time, image: id, what: What::Finished });
                image.leave(merger);
            }
            !is_over
        });
        if !self.batch.is_empty() {
            self.batch = self.drain.batches.send(std::mem::take(&mut self.batch));
        }
    }

    fn sleep(&mut self) {
        if self.held.is_some() {
            // The queue rings the bell when it has room. Calls of agents are ignored: nothing would be read.
            self.sleeper.sleep_deaf(Duration::from_millis(100));
            return;
        }
        let drained = &self.drained;
        let scans = self.drain.exit_scans.is_some();
        let is_due = || {
            drained.iter().any(|image| image.is_due() || image.is_behind() || (scans && image.has_parting()))
        };
        self.sleeper.sleep(drained.iter().map(|image| &image.image), is_due);
    }
}

#[cfg(test)]
#[path = "hostile.rs"]
#[expect(unsafe_code, reason = "writes into the shared memory as a mad agent would")]
mod hostile;
