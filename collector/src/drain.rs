//! The thread that empties the rings.
//!
//! ```text
//!  a round:  watermark = now − ε
//!            every image, every ring: copy out, give the room back, decode
//!            merge what is not later than the watermark ──► batch ──► queue to the writer
//!            processes that are gone: their rings and slot are free again
//!            nothing to do? sleep longer, up to a limit
//! ```

use crate::clock::Clock;
use crate::image::{Image, ImageId};
use crate::item::{Counters, Item, Origin, What};
use crate::log::debug;
use crate::merge::{Pending, Rank, merge};
use crate::watcher::{Request, Watcher};
use rustix::thread::futex;
use shared_ring::Corrupt;
use shared_ring::decode::decode;
use shared_ring::record::Record;
use shared_ring::ring::Consumer;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// How far apart, in shifted ticks, the clocks of two processors may be: some 1.6 µs.
const EPSILON: u64 = 256;
/// Sleeps between rounds.
const SHORTEST: Duration = Duration::from_micros(200);
const LONGEST: Duration = Duration::from_millis(8);
/// The same while there is nobody to record.
const ALONE: Duration = Duration::from_millis(100);
/// Most words copied from one ring in one round: rings take turns.
const TURN: usize = 1 << 16;

/// What the drain thread and its session share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// The recording is to end.
    pub(crate) stop: AtomicBool,
    /// Records seen.
    pub(crate) events: AtomicU64,
    /// Records of agents that cannot be.
    pub(crate) corrupt: AtomicU64,
    /// Threads seen.
    pub(crate) threads: AtomicU32,
}

/// A ring's reading end and what came from it.
#[derive(Debug)]
struct Source {
    consumer: Consumer<'static>,
    /// The beginning of a record that the last turn cut.
    rest: Vec<u64>,
    pending: Pending<Entry>,
    /// Shifted ticks of the last record.
    time: u64,
    /// The ring holds more than its turn: what comes next is later than `time`, but perhaps not than the watermark.
    is_behind: bool,
    /// Slot of the process that writes.
    slot: u32,
    /// Given up: it held something impossible.
    dead: bool,
}

/// What is merged.
#[derive(Clone, Debug)]
enum Entry {
    Record(u32, Record),
    Other(What),
}

impl Rank for Entry {
    fn rank(&self) -> u8 {
        match self {
            Entry::Record(_, record) => record.rank(),
            // Behind all that the process did at that time.
            Entry::Other(What::Ended { .. }) => 3,
            Entry::Other(_) => 1,
        }
    }
}

/// An image as this thread sees it.
struct Drained {
    image: Arc<Image>,
    turn: usize,
    sources: Vec<Source>,
    /// Last time by slot of the processes that live.
    slots: BTreeMap<u32, u64>,
    /// Ends of processes, behind their records.
    ends: Pending<Entry>,
}

/// Everything that the thread needs.
pub(crate) struct Drain {
    pub(crate) images: mpsc::Receiver<Arc<Image>>,
    pub(crate) watcher: Watcher,
    pub(crate) batches: mpsc::SyncSender<Vec<Item>>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) clock: Clock,
}

impl Drain {
    /// Drains until the session stops, then once more to the end.
    pub(crate) fn run(self) {
        let mut drained: Vec<Drained> = Vec::new();
        let mut words = Vec::with_capacity(TURN);
        let mut sleep = SHORTEST;
        loop {
            let stopping = self.shared.stop.load(Ordering::Acquire);
            let mut batch = Vec::new();
            self.welcome(&mut drained, &mut batch);
            if stopping {
                self.close(&drained);
            }
            let watermark = self.clock.now().saturating_sub(EPSILON);
            let mut moved = 0;
            for image in &mut drained {
                // Who was gone before the sweep has nothing left behind after it.
                let ended = image.take_ends();
                let to_the_end = stopping || !ended.is_empty();
                moved += image.sweep(&mut words, &self.shared, &self.watcher, to_the_end);
                image.finish(ended);
                if stopping {
                    image.finish_running();
                }
            }
            let behind = drained.iter().filter_map(Drained::behind);
            let watermark = if stopping { u64::MAX } else { behind.fold(watermark, u64::min) };
            emit(&mut drained, watermark, &mut batch);
            drained.retain(|image| {
                let over = stopping || image.is_over();
                if over {
                    debug!("image {} is over", image.image.id.0);
                    let (time, id) = (self.clock.now(), image.image.id);
                    batch.push(Item { time, image: id, what: What::Finished });
                }
                !over
            });
            if !batch.is_empty() && self.batches.send(batch).is_err() {
                return;
            }
            if stopping {
                return;
            }
            // Under load the rings are looked at often, and when nothing comes less and less.
            let longest = if drained.is_empty() { ALONE } else { LONGEST };
            sleep = if moved > 0 { SHORTEST } else { (sleep * 3 / 2).min(longest) };
            std::thread::sleep(sleep);
        }
    }

    /// Takes images in that were connected since the last round.
    fn welcome(&self, drained: &mut Vec<Drained>, batch: &mut Vec<Item>) {
        for image in self.images.try_iter() {
            let time = self.clock.now();
            batch.push(Item { time, image: image.id, what: What::Image(image.clone()) });
            drained.push(Drained::new(image, TURN));
        }
    }

    /// Tells all agents that it is over, and gives those that are just writing a moment.
    fn close(&self, drained: &[Drained]) {
        for image in drained {
            image.image.memory.control().header().recording.store(0, Ordering::Relaxed);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Merges all that is due into the batch.
fn emit(drained: &mut [Drained], watermark: u64, batch: &mut Vec<Item>) {
    let mut ids: Vec<ImageId> = Vec::new();
    let mut sources: Vec<&mut Pending<Entry>> = Vec::new();
    for image in drained {
        let due = image.sources.iter_mut().map(|source| &mut source.pending).chain([&mut image.ends]);
        for pending in due.filter(|pending| !pending.is_empty()) {
            ids.push(image.image.id);
            sources.push(pending);
        }
    }
    merge(&mut sources, watermark, |source, time, entry| {
        let Some(image) = ids.get(source).copied() else { return };
        let what = match entry {
            Entry::Record(ring, record) => What::Record(ring, record),
            Entry::Other(what) => what,
        };
        batch.push(Item { time, image, what });
    });
}

impl Drained {
    /// `turn` is the most words that are copied from one ring at once.
    fn new(image: Arc<Image>, turn: usize) -> Drained {
        Drained { image, turn, sources: Vec::new(), slots: BTreeMap::new(), ends: Pending::new() }
    }

    /// Ends that the watcher told of.
    fn take_ends(&self) -> Vec<(u32, crate::image::End)> {
        let used = self.image.memory.segment().header().slots_used.load(Ordering::Acquire);
        let slots = self.image.memory.geometry().slot_count() as u32;
        (0..used.min(slots)).filter_map(|slot| Some((slot, self.image.take_end(slot)?))).collect()
    }

    /// Copies what the rings hold and decodes it; how many words there were.
    fn sweep(&mut self, words: &mut Vec<u64>, shared: &Shared, watcher: &Watcher, to_the_end: bool) -> usize {
        let (segment, control) = (self.image.memory.segment(), self.image.memory.control());
        let used = segment.header().rings_used.load(Ordering::Acquire) as usize;
        for ring in self.sources.len()..used.min(self.image.memory.geometry().ring_count()) {
            let Some(entry) = segment.directory().get(ring) else { break };
            let consumer = Consumer::new(segment.ring(ring), &entry.front.head, control.tail(ring), 0);
            self.sources.push(Source {
                consumer,
                rest: Vec::new(),
                pending: Pending::new(),
                time: 0,
                is_behind: false,
                slot: 0,
                dead: false,
            });
        }
        let mut moved = 0;
        for ring in 0..self.sources.len() {
            loop {
                words.clear();
                let Some(source) = self.sources.get_mut(ring) else { break };
                if source.dead {
                    // Nothing in there can be believed any more, but whoever writes must not wait for room.
                    let _ = source.consumer.take(usize::MAX, |_| {});
                    self.wake(ring);
                    break;
                }
                words.append(&mut source.rest);
                let taken = source.consumer.take(self.turn, |word| words.push(word));
                self.wake(ring);
                moved += taken.unwrap_or(0);
                let is_cut = taken == Ok(self.turn);
                if let Err(error) = taken.and_then(|_| self.decode(ring, words, is_cut, shared, watcher)) {
                    self.give_up(ring, error, shared);
                }
                if let Some(source) = self.sources.get_mut(ring) {
                    source.is_behind = is_cut && !to_the_end;
                }
                if !is_cut || !to_the_end {
                    break;
                }
            }
        }
        moved
    }

    /// The time before which everything was read, when some ring holds more than that: nothing later may be merged,
    /// or what is read next would come too late.
    fn behind(&self) -> Option<u64> {
        let behind = self.sources.iter().filter(|source| source.is_behind && !source.dead);
        behind.map(|source| source.time.saturating_sub(1)).min()
    }

    /// Wakes a thread that waits for room in this ring.
    fn wake(&self, ring: usize) {
        let Some(entry) = self.image.memory.segment().directory().get(ring) else { return };
        // Acquire pairs with the Release store before the agent's last look at the tail.
        if entry.front.waiting.load(Ordering::Acquire) != 0 {
            let tail = self.image.memory.control().tail(ring);
            let _ = futex::wake(crate::memory::low_half(tail), futex::Flags::empty(), 1);
        }
    }

    fn give_up(&mut self, ring: usize, error: Corrupt, shared: &Shared) {
        debug!("image {}, ring {ring} is given up: {error}", self.image.id.0);
        shared.corrupt.fetch_add(1, Ordering::Relaxed);
        if let Some(source) = self.sources.get_mut(ring) {
            source.dead = true;
        }
    }

    /// Takes in the records of a turn. One that the turn's limit has cut is kept for the next.
    fn decode(
        &mut self,
        ring: usize,
        mut words: &[u64],
        is_cut: bool,
        shared: &Shared,
        watcher: &Watcher,
    ) -> Result<(), Corrupt> {
        let mut events = 0;
        let result = loop {
            if words.is_empty() {
                break Ok(());
            }
            let (delta, record, length) = match decode(words) {
                Ok(decoded) => decoded,
                Err(Corrupt::Length) if is_cut => {
                    if let Some(source) = self.sources.get_mut(ring) {
                        source.rest.extend_from_slice(words);
                    }
                    break Ok(());
                }
                Err(error) => break Err(error),
            };
            words = words.get(length..).unwrap_or(&[]);
            events += 1;
            self.take(ring, delta, record, shared, watcher);
        };
        shared.events.fetch_add(events, Ordering::Relaxed);
        result
    }

    fn take(&mut self, ring: usize, delta: u64, record: Record, shared: &Shared, watcher: &Watcher) {
        let Some(source) = self.sources.get_mut(ring) else { return };
        source.time = source.time.saturating_add(delta);
        match record {
            Record::Time { time } => {
                source.time = time;
                return;
            }
            Record::Owner { slot, time, .. } => {
                source.time = time;
                source.slot = slot;
                shared.threads.fetch_add(1, Ordering::Relaxed);
                let claimed = self.image.memory.segment().slots().get(slot as usize);
                if let Some((claimed, (pid, parent))) = claimed.and_then(|slot| Some((slot, slot.owner()?))) {
                    // Relaxed: written before the record that is read here was published.
                    let fork = claimed.fork.load(Ordering::Relaxed);
                    let origin =
                        parent.map(|slot| Origin { slot, pid: (fork >> 32) as u32, fork: fork as u32 });
                    let what = What::Started { slot, pid, origin };
                    source.pending.push_back((time, Entry::Other(what)));
                    // Another thread's ring, read before, may have got further than this one's beginning.
                    let known = self.slots.get(&slot).copied();
                    self.slots.insert(slot, known.unwrap_or(0).max(time));
                    if known.is_none() && slot != 0 {
                        watcher.ask(Request::Watch { image: self.image.clone(), slot, pid });
                    }
                }
            }
            Record::Exec => {
                watcher.ask(Request::Exec { image: self.image.id, slot: source.slot });
            }
            _ => {}
        }
        if let Some(last) = self.slots.get_mut(&source.slot) {
            *last = (*last).max(source.time);
        }
        source.pending.push_back((source.time, Entry::Record(ring as u32, record)));
    }

    /// Writes the ends of processes behind their last records, and frees what was theirs.
    fn finish(&mut self, ended: Vec<(u32, crate::image::End)>) {
        let segment = self.image.memory.segment();
        for (slot, end) in ended {
            // A process that never had a ring has said nothing.
            let last = self.slots.remove(&slot).unwrap_or(0);
            let counters = segment.slots().get(slot as usize).map(Counters::read).unwrap_or_default();
            debug!("image {}, slot {slot} ended: {end:?}", self.image.id.0);
            let what = What::Ended { slot, end, counters: Box::new(counters) };
            self.ends.push_back((last, Entry::Other(what)));
            for (ring, entry) in segment.directory().iter().enumerate().take(self.sources.len()) {
                if entry.owner().is_some_and(|(owner, _)| owner == slot) {
                    self.image.memory.punch_ring(ring);
                    entry.release();
                }
            }
            if let Some(slot) = segment.slots().get(slot as usize) {
                slot.free();
            }
        }
    }

    /// The recording ends before these processes do.
    fn finish_running(&mut self) {
        let running = self.slots.keys().map(|slot| (*slot, crate::image::End::Running)).collect();
        self.finish(running);
    }

    /// True when nobody can write any more and all that was written is merged.
    fn is_over(&self) -> bool {
        self.slots.is_empty()
            && self.ends.is_empty()
            && self.sources.iter().all(|source| {
                source.pending.is_empty() && (source.dead || source.consumer.available() == Ok(0))
            })
            && self.image.memory.is_orphaned()
    }
}

#[cfg(test)]
#[path = "hostile.rs"]
#[expect(unsafe_code, reason = "writes into the shared memory as a mad agent would")]
mod hostile;
