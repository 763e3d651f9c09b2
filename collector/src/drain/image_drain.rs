//! One image as the drain thread sees it: its rings, the processes that write into them, and the ends of these.

use super::merge::{Merger, StreamId};
use super::merge_key::Rank;
use super::message::{Arrival, Counters, Lifecycle, Message, Origin};
use crate::base::clock::{Clock, EPSILON};
use crate::base::log::debug;
use crate::image::exit_scan::ExitScan;
use crate::image::watcher::{Request, Watcher};
use crate::image::{End, Image};
use rustix::thread::futex;
use shared_ring::Corrupt;
use shared_ring::record::Record;
use shared_ring::ring::Consumer;
use shared_ring::wakeup;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// Most turns of one ring that may wait for earlier records of others; rings read as fast as they are written stay
/// below it.
const TURNS: usize = 4;

/// Words of a ring whose pages are given back when its process is gone.
const WORTH_PUNCHING: u64 = 4096;

/// Counts kept while rings are drained.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Records seen.
    pub(crate) events: AtomicU64,
    /// Impossible records.
    pub(crate) corrupt: AtomicU64,
    /// Words left in rings that were given up, as far as they can be counted.
    pub(crate) unread: AtomicU64,
    /// Threads seen.
    pub(crate) threads: AtomicU32,
    /// Times the clock was set back.
    pub(crate) jumps: AtomicU32,
}

/// What a sweep needs besides the image.
pub(crate) struct Sweep<'d> {
    /// Most words copied from one ring at once: rings take turns.
    pub(crate) turn: usize,
    pub(crate) merger: &'d mut Merger,
    pub(crate) counts: &'d Counts,
    pub(crate) watcher: &'d Watcher,
    pub(crate) clock: &'d Clock,
    /// Set once a process was met that is to be watched.
    pub(crate) has_met: bool,
}

/// The reading end of a ring.
#[derive(Debug)]
struct Source {
    consumer: Consumer<'static>,
    stream: StreamId,
    /// The ring holds more than one turn: what follows is later than what was read, but may still be earlier than the
    /// watermark.
    is_behind: bool,
    /// So much of the ring is waiting to be merged that no more is read.
    is_full: bool,
    /// Where it was when its pages were last given back.
    punched: u64,
    /// Slot of the writing process.
    slot: u32,
    /// Given up: it held something impossible.
    dead: bool,
}

/// A process that is gone, until everything it wrote is read.
#[derive(Debug)]
struct Ending {
    slot: u32,
    end: End,
    /// When the watcher had reported it, in shifted ticks.
    since: u64,
    /// How far each ring is to be read.
    goals: Vec<u64>,
}

/// An image as this thread sees it.
#[derive(Debug)]
pub(crate) struct ImageDrain {
    pub(crate) image: Arc<Image>,
    sources: Vec<Source>,
    /// By slot of each live process: the time of its last record.
    slots: BTreeMap<u32, u64>,
    ending: Vec<Ending>,
    /// Slots of processes that have already been scanned at exit: once each, whatever they say.
    scanned_at_exit: BTreeSet<u32>,
    /// The last sweep has read nothing.
    is_silent: bool,
    /// The count of its agents' calls when the last sweep began, see [`shared_ring::wakeup`].
    pub(crate) heard: u32,
    /// How far each ring is to be read once the recording ends, so that a process that keeps writing holds nobody up.
    goals: Option<Vec<u64>>,
}

impl ImageDrain {
    pub(crate) fn new(image: Arc<Image>) -> ImageDrain {
        ImageDrain {
            image,
            sources: Vec::new(),
            slots: BTreeMap::new(),
            ending: Vec::new(),
            scanned_at_exit: BTreeSet::new(),
            is_silent: false,
            heard: 0,
            goals: None,
        }
    }

    /// The agents know that the recording is over: only what they have written up to now is read.
    pub(crate) fn note_goals(&mut self, merger: &mut Merger) {
        self.note_rings(merger);
        let sources = &self.sources;
        self.goals.get_or_insert_with(|| sources.iter().map(Source::goal).collect());
    }

    /// True when, at the end of the recording, everything up to the goals is read.
    pub(crate) fn is_read(&self) -> bool {
        self.goals.as_ref().is_some_and(|goals| are_read(&self.sources, goals))
    }

    /// Notes the ends that the watcher has reported by `now`. A process that was gone before a sweep has nothing left
    /// in its rings after it.
    pub(crate) fn note_ends(&mut self, merger: &mut Merger, now: u64) {
        self.note_rings(merger);
        let used = self.image.memory.segment().header().slots_used.load(Ordering::Acquire);
        let slots = self.image.memory.geometry().slot_count() as u32;
        for slot in 0..used.min(slots) {
            // The first reason stands.
            if let Some(end) = self.image.take_end(slot)
                && self.ending.iter().all(|ending| ending.slot != slot)
            {
                let goals = self.sources.iter().map(Source::goal).collect();
                self.ending.push(Ending { slot, end, since: now, goals });
            }
        }
    }

    /// Processes that have begun to wait for their scan at exit.
    pub(crate) fn take_exit_scans(&mut self) -> Vec<ExitScan> {
        let new: Vec<u32> = self.slots_that_part().collect();
        let scanned = &mut self.scanned_at_exit;
        new.into_iter()
            .filter(|slot| scanned.insert(*slot))
            .filter_map(|slot| ExitScan::take(&self.image, slot))
            .collect()
    }

    /// True when there are such processes.
    pub(crate) fn has_parting(&self) -> bool {
        self.slots_that_part().next().is_some()
    }

    fn slots_that_part(&self) -> impl Iterator<Item = u32> + '_ {
        let segment = self.image.memory.segment();
        // Acquire: a slot in use has its owner set.
        let used = segment.header().slots_used.load(Ordering::Acquire);
        let slots = (0..used).zip(segment.slots());
        slots
            .filter(|(slot, there)| there.is_untaken() && !self.scanned_at_exit.contains(slot))
            .map(|(slot, _)| slot)
    }

    /// Takes in rings that were claimed since the last look.
    fn note_rings(&mut self, merger: &mut Merger) {
        let (segment, control) = (self.image.memory.segment(), self.image.memory.control());
        let used = segment.header().rings_used.load(Ordering::Acquire) as usize;
        for ring in self.sources.len()..used.min(self.image.memory.geometry().ring_count()) {
            let Some(entry) = segment.directory().get(ring) else { break };
            let consumer = Consumer::new(segment.ring(ring), &entry.front.head, control.tail(ring), 0);
            let stream = merger.open(self.image.id, ring as u32);
            self.sources.push(Source {
                consumer,
                stream,
                is_behind: false,
                is_full: false,
                punched: 0,
                slot: 0,
                dead: false,
            });
        }
    }

    /// Copies what the rings hold and checks it; returns the number of words.
    pub(crate) fn sweep(&mut self, sweep: &mut Sweep<'_>) -> usize {
        self.heard = wakeup::listen(&self.image.memory.segment().header().wakeups);
        self.note_rings(sweep.merger);
        let words = (0..self.sources.len()).map(|ring| self.sweep_ring(ring, sweep)).sum();
        self.is_silent = words == 0;
        words
    }

    /// True when its processes live and have nothing to say.
    pub(crate) fn is_idle(&self) -> bool {
        self.is_silent && self.ending.is_empty() && !self.slots.is_empty() && !self.is_behind()
    }

    fn sweep_ring(&mut self, ring: usize, sweep: &mut Sweep<'_>) -> usize {
        let Some(source) = self.sources.get_mut(ring) else { return 0 };
        if source.dead {
            // Nothing in there can be trusted any more, but its writer must not wait for room.
            let unread = source.consumer.available().unwrap_or(0);
            sweep.counts.unread.fetch_add(unread as u64, Ordering::Relaxed);
            source.consumer.skip();
            self.wake(ring);
            return 0;
        }
        // A ring claimed after the end has no goal: nothing of it is read.
        let rest = self.goals.as_ref().map(|goals| goals.get(ring).map_or(0, |goal| source.words_to(*goal)));
        let turn = rest.map_or(sweep.turn, |rest| rest.min(sweep.turn));
        let stream = sweep.merger.stream(source.stream);
        source.is_full = stream.waiting() >= sweep.turn.saturating_mul(TURNS);
        if source.is_full {
            source.is_behind = rest != Some(0);
            return 0;
        }
        let taken = source.consumer.take(turn, |part| stream.copy(part));
        let is_cut = taken == Ok(turn);
        source.is_behind = is_cut && rest.is_none_or(|rest| rest > turn);
        if taken == Ok(0) {
            return 0;
        }
        // A thread waiting for room may continue while we check what was copied.
        self.wake(ring);
        let moved = taken.unwrap_or(0);
        if let Err(error) = taken.and_then(|_| self.check(ring, is_cut, sweep)) {
            debug!("image {}, ring {ring} is given up: {error}", self.image.id.0);
            sweep.counts.corrupt.fetch_add(1, Ordering::Relaxed);
            if let Some(source) = self.sources.get_mut(ring) {
                source.dead = true;
            }
        }
        moved
    }

    /// Checks what was copied, and acts on what it says about processes.
    fn check(&mut self, ring: usize, is_cut: bool, sweep: &mut Sweep<'_>) -> Result<(), Corrupt> {
        let ImageDrain { image, sources, slots, .. } = self;
        let Some(source) = sources.get_mut(ring) else { return Ok(()) };
        let now = sweep.clock.now().saturating_add(EPSILON);
        let Sweep { merger, counts, watcher, has_met, .. } = sweep;
        let mut notes = Vec::new();
        // Only a process's last word about an exec counts, so repeating it without end keeps nobody busy.
        let mut execs = BTreeMap::new();
        let checked = merger.stream(source.stream).check(now, is_cut, |before, time, record| match record {
            Record::Owner { slot, .. } => {
                see(slots, source.slot, before);
                source.slot = slot;
                counts.threads.fetch_add(1, Ordering::Relaxed);
                let segment = image.memory.segment();
                let claimed = segment.slots().get(slot as usize);
                if let Some((claimed, (ns_pid, parent))) =
                    claimed.and_then(|slot| Some((slot, slot.owner()?)))
                {
                    // Relaxed: written before the record that we are reading was published.
                    let fork = claimed.fork.load(Ordering::Relaxed);
                    let origin =
                        parent.map(|slot| Origin { slot, pid: (fork >> 32) as u32, fork: fork as u32 });
                    // Another thread's ring, read earlier, may already be past this one's beginning.
                    let known = slots.insert(slot, time);
                    see(slots, slot, known.unwrap_or(0));
                    let met = known.and_then(|_| image.slot_process(slot, ns_pid));
                    let slot_process = met.unwrap_or_else(|| image.meet(slot, ns_pid, time));
                    // The process that connected has been watched since then.
                    if known.is_none() && !(slot == 0 && ns_pid == image.info.ns_pid) {
                        image.note_fork();
                        *has_met = true;
                        watcher.watch_fork(image, slot, slot_process.clone());
                    }
                    let event = Lifecycle::Started(Arrival { slot, slot_process, origin });
                    notes.push(Message { time, image: image.id, event });
                }
            }
            record => {
                execs.insert(source.slot, record == Record::Exec);
            }
        });
        for (slot, begins) in execs {
            let image = image.id;
            watcher.ask(if begins {
                Request::Exec { image, slot }
            } else {
                Request::ExecFailed { image, slot }
            });
        }
        see(slots, source.slot, merger.stream(source.stream).time());
        notes.into_iter().for_each(|message| merger.note(message, Rank::Other));
        counts.events.fetch_add(checked?, Ordering::Relaxed);
        Ok(())
    }

    /// Wakes a thread that waits for room in this ring.
    fn wake(&self, ring: usize) {
        let Some(entry) = self.image.memory.segment().directory().get(ring) else { return };
        // Pairs with the fence before the agent's last look at the tail: either it sees the room, or we see that it waits.
        fence(Ordering::SeqCst);
        if entry.front.waiting.load(Ordering::Relaxed) != 0 {
            let tail = self.image.memory.control().tail(ring);
            let _ = futex::wake(crate::image::memory::low_half(tail), futex::Flags::empty(), 1);
        }
    }

    /// True when some ring is so full that it should not wait.
    pub(crate) fn is_due(&self) -> bool {
        self.sources.iter().any(|source| !source.dead && source.consumer.is_past_mark())
    }

    /// True when some ring holds more than was read in its turn.
    pub(crate) fn is_behind(&self) -> bool {
        self.sources.iter().any(|source| source.is_behind && !source.dead)
    }

    /// The time up to which everything was read, when some ring holds more: merging anything later could leave the
    /// records read next too late.
    pub(crate) fn read_until(&self, merger: &Merger) -> u64 {
        let behind = self.sources.iter().filter(|source| source.is_behind && !source.dead);
        // For a full ring, include that time: if all its records had the same time, nothing of it would ever be
        // merged.
        let until = |source: &Source| merger.time(source.stream).saturating_sub(u64::from(!source.is_full));
        behind.map(until).min().unwrap_or(u64::MAX)
    }

    /// Ends the processes whose rings are read to where they stopped writing.
    pub(crate) fn finish_ended(&mut self, merger: &mut Merger) {
        let sources = &self.sources;
        let read: Vec<Ending> =
            self.ending.extract_if(.., |ending| are_read(sources, &ending.goals)).collect();
        for Ending { slot, end, since, .. } in read {
            self.finish(slot, end, since, merger);
        }
    }

    /// Ends all processes at the end of the recording. Some still run, and for others the watcher has not reported
    /// the end yet; the writer finds out which.
    pub(crate) fn finish_all(&mut self, merger: &mut Merger, now: u64) {
        for Ending { slot, end, since, .. } in std::mem::take(&mut self.ending) {
            self.finish(slot, end, since, merger);
        }
        let slots: Vec<u32> = self.slots.keys().copied().collect();
        for slot in slots {
            self.finish(slot, End::Running, now, merger);
        }
    }

    /// Writes the end of a process after its last record, and frees its rings and slot.
    fn finish(&mut self, slot: u32, end: End, since: u64, merger: &mut Merger) {
        let segment = self.image.memory.segment();
        // A process without a time never had a ring.
        let time = self.slots.remove(&slot).unwrap_or(0);
        self.scanned_at_exit.remove(&slot);
        let counters = segment.slots().get(slot as usize).map(Counters::read).unwrap_or_default();
        debug!("image {}, slot {slot} ended: {end:?}", self.image.id.0);
        let event = Lifecycle::Ended { slot, end, since, counters: Box::new(counters) };
        merger.note(Message { time, image: self.image.id, event }, Rank::Last);
        for ((ring, source), entry) in self.sources.iter_mut().enumerate().zip(segment.directory()) {
            if entry.owner().is_some_and(|(owner, _)| owner == slot) {
                // To take pages away all processors are interrupted: not for a few.
                let position = source.consumer.position();
                if position.saturating_sub(source.punched) > WORTH_PUNCHING {
                    source.punched = position;
                    self.image.memory.punch_ring(ring);
                }
                entry.release();
            }
        }
        if let Some(slot) = segment.slots().get(slot as usize) {
            slot.free();
        }
    }

    /// True when nobody can write any more and everything written is merged.
    pub(crate) fn is_over(&self, merger: &Merger) -> bool {
        // A process may do all it ever does between the first check and the second: only a check after nobody can
        // write is final.
        self.is_all_merged(merger) && self.image.memory.is_orphaned() && self.is_all_merged(merger)
    }

    fn is_all_merged(&self, merger: &Merger) -> bool {
        // Acquire: a ring is claimed before it is written.
        let rings_used = self.image.memory.segment().header().rings_used.load(Ordering::Acquire) as usize;
        self.slots.is_empty()
            && self.ending.is_empty()
            && self.sources.len() >= rings_used.min(self.image.memory.geometry().ring_count())
            && self.sources.iter().all(|source| source.dead || source.consumer.available() == Ok(0))
            && merger.has_nothing_of(self.image.id, self.sources.iter().map(|source| source.stream))
    }

    /// Tells the agents that it is over.
    pub(crate) fn close(&self) {
        self.image.close();
    }

    /// Closes the streams of its rings.
    pub(crate) fn leave(&self, merger: &mut Merger) {
        self.sources.iter().for_each(|source| merger.close(source.stream));
    }
}

impl Source {
    /// Words from here to `goal`.
    fn words_to(&self, goal: u64) -> usize {
        usize::try_from(goal.saturating_sub(self.consumer.position())).unwrap_or(usize::MAX)
    }

    /// Where the ring ends now; 0 when its head is impossible.
    fn goal(&self) -> u64 {
        self.consumer.available().map_or(0, |count| self.consumer.position() + count as u64)
    }
}

/// True when all rings are read up to these goals.
fn are_read(sources: &[Source], goals: &[u64]) -> bool {
    sources.iter().zip(goals).all(|(source, goal)| source.dead || source.words_to(*goal) == 0)
}

/// Notes that the process in a slot has written a record at this time.
fn see(slots: &mut BTreeMap<u32, u64>, slot: u32, time: u64) {
    if let Some(last) = slots.get_mut(&slot) {
        *last = (*last).max(time);
    }
}
