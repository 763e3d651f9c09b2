//! Heap profiles: at each moment, what the stacks that changed have allocated and freed since the recording began.

use super::packets::Packets;
use super::pid_of;
use super::tracks::Tracks;
use crate::events::{Weight, end};
use crate::protobuf::Message;
use analysis::{Birth, Death, End, Instant, Life, Watch};
use capture::{Ended, Event, NodeId, ProcessId};
use engine::{Error, Events, Loaded, observe};
use std::collections::{BTreeMap, HashMap};
use std::io;

/// Steps of time, each with a heap profile at its end.
const STEPS: u64 = 50;
/// Most moments that are marks.
const MOST_MARKS: usize = 200;
/// The name of the heap, which the UI shows.
const NAME: &[u8] = b"malloc";

/// What a stack has allocated and freed.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    allocated: i64,
    freed: i64,
    /// Numbers of blocks; fractions where blocks were sampled.
    allocations: f64,
    frees: f64,
    /// Since the last moment.
    has_changed: bool,
}

/// Follows the life of every block.
pub(super) struct Heap<'p, 'a> {
    packets: &'p mut Packets<'a>,
    pub(super) tracks: Tracks<'a>,
    loaded: &'a Loaded,
    weight: Weight,
    rows: HashMap<(u64, NodeId), Row>,
    changed: Vec<(u64, NodeId)>,
    /// Moments to come, the last one first.
    moments: Vec<u64>,
    /// Number of profiles so far.
    profiles: u64,
    /// The first error of the writer.
    written: io::Result<()>,
}

/// Reads the events, and writes profiles and tracks.
pub(super) fn write<'p, 'a>(
    packets: &'p mut Packets<'a>,
    tracks: Tracks<'a>,
    events: &dyn Events,
) -> Result<Heap<'p, 'a>, Error> {
    let loaded = tracks.loaded();
    let heap = Heap {
        packets,
        tracks,
        loaded,
        weight: Weight::new(loaded),
        rows: HashMap::new(),
        changed: Vec::new(),
        moments: moments(loaded),
        profiles: 0,
        written: Ok(()),
    };
    let mut heap = observe(loaded, events, heap)?;
    heap.reach(u64::MAX);
    std::mem::replace(&mut heap.written, Ok(()))?;
    Ok(heap)
}

/// When there is a profile: the last one first.
fn moments(loaded: &Loaded) -> Vec<u64> {
    let end = end(loaded);
    let steps = (1..=STEPS).map(|step| (u128::from(end) * u128::from(step) / u128::from(STEPS)) as u64);
    let marks = loaded.tables.marks.iter().map(|mark| mark.time).take(MOST_MARKS);
    let mut all: Vec<u64> = steps.chain(marks).chain([loaded.profile.peak.at.time]).collect();
    all.sort_unstable_by(|a, b| b.cmp(a));
    all.dedup();
    all
}

impl Heap<'_, '_> {
    /// Writes the profiles of all moments before this time.
    // Cost: one comparison, unless there is one.
    fn reach(&mut self, time: u64) {
        while let Some(&moment) = self.moments.last().filter(|moment| **moment < time) {
            self.moments.pop();
            if self.written.is_ok() {
                self.written = self.profile(moment);
            }
        }
    }

    fn profile(&mut self, moment: u64) -> io::Result<()> {
        let mut dumps: BTreeMap<u64, Message> = BTreeMap::new();
        for key in self.changed.drain(..) {
            let Some(row) = self.rows.get_mut(&key) else { continue };
            row.has_changed = false;
            let mut sample = Message::new();
            sample.uint(1, self.packets.stack(key.1));
            sample.int(2, row.allocated).int(3, row.freed);
            sample.int(5, row.allocations.round() as i64).int(6, row.frees.round() as i64);
            dumps.entry(key.0).or_default().message(2, &sample);
        }
        for (pid, samples) in dumps {
            let mut dump = samples;
            dump.uint(1, pid).bytes(11, NAME);
            dump.uint(12, self.loaded.tables.metadata.sample_interval.max(1));
            dump.uint(9, Packets::time(moment));
            let packet = Message::new().message(5, &dump).uint(7, self.profiles).clone();
            self.profiles += 1;
            self.packets.write(moment, 37, &packet)?;
        }
        Ok(())
    }

    fn change(&mut self, process: ProcessId, node: NodeId, change: impl FnOnce(&mut Row)) {
        let key = (pid_of(self.loaded, process), node);
        let row = self.rows.entry(key).or_default();
        change(row);
        if !row.has_changed {
            row.has_changed = true;
            self.changed.push(key);
        }
    }
}

impl Watch for Heap<'_, '_> {
    type Attached = ();
    const SUMS: bool = false;

    fn born(&mut self, birth: &Birth, _: Option<&Life<()>>) {
        self.reach(birth.at.time);
        let (bytes, blocks) = (self.weight.bytes(birth.size), self.weight.blocks(birth.size));
        self.change(birth.process, birth.node, |row| {
            row.allocated = row.allocated.wrapping_add(bytes);
            row.allocations += blocks;
        });
        self.tracks.hold(self.packets, birth.at.time, birth.process, bytes, &mut self.written);
    }

    fn died(&mut self, life: &Life<()>, death: &Death) {
        if matches!(death.end, End::Left { ended, .. } if ended != Ended::Exec) {
            // It was never given back.
            return;
        }
        self.reach(death.at.time);
        let (bytes, blocks) = (self.weight.bytes(life.size), self.weight.blocks(life.size));
        self.change(life.process, life.node, |row| {
            row.freed = row.freed.wrapping_add(bytes);
            row.frees += blocks;
        });
        self.tracks.hold(self.packets, death.at.time, life.process, bytes.wrapping_neg(), &mut self.written);
    }

    fn event(&mut self, at: Instant, event: &Event) {
        self.tracks.event(at, event);
    }
}
