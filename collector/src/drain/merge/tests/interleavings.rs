//! A model of what decides the order of events: threads that hand one block over and get its address again, step by
//! step in every order, with clocks that are read early wherever no fence forbids it, and sweeps at any moment.
//!
//! ```text
//!   thread 0   allocate  walk  read the clock  publish  give ─┐
//!   thread 1                                    take ◄────────┘  read the clock  publish  release ─┐
//!   thread 2   allocate ◄──────────────────────────────────────────────────────────────────────────┘ …
//! ```
//!
//! A read without a fence may happen at any moment since the thread's last record; one in each course of events does.
//! What is merged is what the real merger makes of it, and must be what happened.

use super::{BLOCK, alloc, contents, free};
use crate::drain::batch::Batch;
use crate::drain::merge::{Merger, StreamId};
use crate::image::ImageId;
use shared_ring::record::encode;
use std::rc::Rc;
use std::sync::atomic::AtomicU64;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The thread gets its ring and is counted.
    Join,
    /// Waits until nobody has the block.
    Allocate,
    /// Part of the way to an allocation's time.
    Walk,
    Read,
    PublishAllocation,
    PublishFree,
    /// Waits until the place is empty.
    Give,
    /// Waits until the place is full.
    Take,
    Release,
}
use Step::{Allocate, Give, Join, PublishAllocation, PublishFree, Read, Release, Take, Walk};

/// What a thread does for an allocation, and for a free.
const ALLOCATION: [Step; 6] = [Allocate, Walk, Walk, Read, PublishAllocation, Give];
const FREE: [Step; 4] = [Take, Read, PublishFree, Release];

/// Which reads of the clock wait for what their thread has seen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fences {
    /// As in the agent: all, once a second thread has a ring.
    BesideOthers,
    /// Those of allocations only.
    OfAllocations,
    None,
}

#[derive(Clone, Default)]
struct Thread {
    steps: Rc<[Step]>,
    at: usize,
    /// When the clock was read ahead of its step.
    early: Option<u64>,
    time: u64,
}

/// The collector's sweep: reads the clock, copies ring by ring, merges.
#[derive(Clone, Default)]
struct Sweep {
    at: usize,
    now: u64,
    /// Records copied of each ring.
    copied: Vec<usize>,
}

#[derive(Clone)]
struct World {
    fences: Fences,
    /// Ticks of the clock per unit of a record's time.
    resolution: u64,
    now: u64,
    /// So many more reads of the clock may be early.
    early_reads: u32,
    threads: Vec<Thread>,
    joined: usize,
    is_allocated: bool,
    is_given: bool,
    /// All that happened, in order: ring, whether it is a free, its time in ticks.
    truth: Vec<(u32, bool, u64)>,
    /// `None` without a sweep before the last one.
    sweep: Option<Sweep>,
}

impl World {
    /// Threads that do these things in turn, each an allocation or a free by a thread of this number.
    fn new(fences: Fences, resolution: u64, turns: &[(usize, &[Step])]) -> World {
        let count = turns.iter().map(|(thread, _)| thread + 1).max().unwrap_or(0);
        let thread = |number| {
            let own = turns.iter().filter(|(thread, _)| *thread == number).flat_map(|(_, steps)| *steps);
            Thread { steps: std::iter::once(&Join).chain(own).copied().collect(), ..Thread::default() }
        };
        let threads = (0..count).map(thread).collect();
        let (joined, is_allocated, is_given, truth) = (0, false, false, Vec::new());
        World {
            fences,
            resolution,
            now: 0,
            early_reads: 1,
            threads,
            joined,
            is_allocated,
            is_given,
            truth,
            sweep: None,
        }
    }

    /// Tries all that can happen next, and then everything after that. Returns how many courses there are, and how
    /// many of them are merged in another order than they had.
    fn courses(&self) -> [u64; 2] {
        let mut sum = [0, 0];
        let mut is_over = true;
        let mut follow = |next: Option<World>| {
            let [all, wrong] = next.map_or([0, 0], |next| next.courses());
            is_over &= all == 0;
            sum = [sum[0] + all, sum[1] + wrong];
        };
        for number in 0..self.threads.len() {
            follow(self.stepped(number));
            follow(self.read_early(number));
        }
        follow(self.swept());
        if is_over { [1, u64::from(!self.is_merged_as_it_was())] } else { sum }
    }

    /// Whether a read of the clock waits for what its thread has seen, as far as rings are there by now.
    fn is_fenced(&self, is_of_allocation: bool) -> bool {
        self.joined > 1
            && match self.fences {
                Fences::BesideOthers => true,
                Fences::OfAllocations => is_of_allocation,
                Fences::None => false,
            }
    }

    fn later(&self) -> World {
        World { now: self.now + 1, ..self.clone() }
    }

    /// After the next step of a thread; `None` if that waits, or there is none.
    fn stepped(&self, number: usize) -> Option<World> {
        let step = *self.threads[number].steps.get(self.threads[number].at)?;
        let mut next = self.later();
        let World { now, is_allocated, is_given, .. } = *self;
        let thread = &mut next.threads[number];
        thread.at += 1;
        match step {
            Join => next.joined += 1,
            Allocate if is_allocated => return None,
            Allocate => next.is_allocated = true,
            Walk => {}
            Read => {
                let is_of_allocation = thread.steps.get(thread.at) == Some(&PublishAllocation);
                // A fence does away with an early read: the processor had guessed that there is none.
                let early = thread.early.take().filter(|_| !self.is_fenced(is_of_allocation));
                thread.time = early.unwrap_or(now);
            }
            PublishAllocation => next.truth.push((number as u32, false, thread.time)),
            PublishFree => next.truth.push((number as u32, true, thread.time)),
            Give if is_given => return None,
            Give => next.is_given = true,
            Take if !is_given => return None,
            Take => next.is_given = false,
            Release => next.is_allocated = false,
        }
        Some(next)
    }

    /// After a thread has read the clock ahead of its step.
    fn read_early(&self, number: usize) -> Option<World> {
        let thread = &self.threads[number];
        let ahead = thread.steps.get(thread.at..)?;
        let until = ahead.iter().position(|step| *step == Read)?;
        let is_of_allocation = ahead.get(until + 1) == Some(&PublishAllocation);
        let is_blocked =
            ahead[..until].iter().any(|step| matches!(step, Join | PublishAllocation | PublishFree));
        if self.early_reads == 0
            || until == 0
            || is_blocked
            || self.is_fenced(is_of_allocation)
            || thread.early.is_some()
        {
            return None;
        }
        let mut next = self.later();
        next.threads[number].early = Some(self.now);
        next.early_reads -= 1;
        Some(next)
    }

    /// After the next step of the sweep.
    fn swept(&self) -> Option<World> {
        let sweep = self.sweep.as_ref().filter(|sweep| sweep.at <= self.threads.len())?;
        let mut next = self.later();
        let (now, at) = (self.now, sweep.at);
        let published = self.truth.iter().filter(|(ring, ..)| *ring as usize + 1 == at).count();
        if let Some(sweep) = &mut next.sweep {
            sweep.at += 1;
            match at {
                0 => sweep.now = now,
                _ => sweep.copied.push(published),
            }
        }
        Some(next)
    }

    fn is_merged_as_it_was(&self) -> bool {
        let mut merger = Merger::default();
        let streams: Vec<StreamId> =
            (0..self.threads.len() as u32).map(|ring| merger.open(ImageId(0), ring)).collect();
        let mut batch = Batch::default();
        let mut merged = Vec::new();
        let mut done = vec![(0, 0); streams.len()];
        let mut take = |copied: &dyn Fn(usize) -> usize, watermark| {
            for (ring, id) in streams.iter().enumerate() {
                let (from, last) = &mut done[ring];
                let own = self.truth.iter().filter(|(of, ..)| *of as usize == ring);
                for (_, is_free, time) in own.take(copied(ring)).skip(*from) {
                    let time = (time / self.resolution).max(*last);
                    let record = if *is_free { free(BLOCK) } else { alloc(BLOCK) };
                    let (words, length) = encode(record, time - *last);
                    merger.stream(*id).copy(&words.map(AtomicU64::new)[..length]);
                    *last = time;
                }
                *from = copied(ring).max(*from);
                merger.stream(*id).check(u64::MAX, false, |_, _, _| {}).unwrap();
            }
            assert!(!merger.merge(watermark, &mut batch));
            merged.extend(contents(&mut batch).into_iter().filter_map(|(ring, _)| ring));
        };
        if let Some(sweep) = self.sweep.as_ref().filter(|sweep| sweep.copied.len() == self.threads.len()) {
            take(&|ring| sweep.copied[ring], (sweep.now / self.resolution).saturating_sub(1));
        }
        take(&|_| usize::MAX, u64::MAX);
        merged.into_iter().eq(self.truth.iter().map(|(ring, ..)| *ring))
    }
}

/// Two threads that pass one block to and fro, three in a circle, and one that also frees what it has allocated.
const TURNS: [&[(usize, &[Step])]; 3] = [
    &[(0, &ALLOCATION), (1, &FREE), (0, &ALLOCATION), (1, &FREE)],
    &[(0, &ALLOCATION), (1, &FREE), (2, &ALLOCATION), (0, &FREE)],
    &[(0, &ALLOCATION), (0, &FREE), (1, &ALLOCATION), (0, &FREE)],
];
/// Ticks from an allocation's time to that of a free by another thread, at least.
const HAND_OVER: u64 = 4;
/// The same from a free to the next allocation.
const REUSE: u64 = 6;

/// Check that whatever the order of the steps, and whenever the collector sweeps, events are merged as they happened:
/// with a clock that tells all of them apart, and with one so coarse that a free has the time of its allocation.
#[test]
fn fences_keep_hand_over_and_reuse_in_order() {
    const { assert!(HAND_OVER < REUSE, "a clock that tells these apart may still not tell those apart") };
    for (turns, resolution) in TURNS.iter().flat_map(|turns| [1, REUSE].map(|of| (turns, of))) {
        let mut world = World::new(Fences::BesideOthers, resolution, turns);
        let [all, wrong] = world.courses();
        assert!(all > 10 && wrong == 0, "{wrong} of {all} at {resolution}");
        // Beside a sweep, rings are all there from the beginning.
        for number in 0..world.threads.len() {
            world = world.stepped(number).unwrap();
        }
        world.sweep = Some(Sweep::default());
        let [all, wrong] = world.courses();
        assert!(all > 1000 && wrong == 0, "{wrong} of {all} at {resolution}, beside a sweep");
    }
}

/// Check that the model finds what a missing fence does: a free that seems to precede its allocation, or without any
/// fence also an allocation that seems to precede the free before it.
#[test]
fn without_fences_the_order_is_lost() {
    for (turns, fences) in
        TURNS.iter().flat_map(|turns| [Fences::OfAllocations, Fences::None].map(|fences| (turns, fences)))
    {
        let [all, wrong] = World::new(fences, 1, turns).courses();
        assert!(0 < wrong && wrong < all, "{wrong} of {all}");
    }
}
