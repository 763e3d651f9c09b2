//! Allocations and frees, and the track of the bytes held.
//!
//! If a capture has more than [`MOST_BLOCKS`] blocks, they are summed up: for each stack one allocation with the
//! bytes of all its blocks, when its process begins, and one free with those that were freed, when it ends. The
//! profiler expects times in order, so all allocations of a process precede all frees.

use super::markers::Happened;
use super::tracks::{Tracks, at};
use crate::events::Weight;
use crate::held::Held;
use analysis::{Birth, Death, End, Instant, Life, Watch};
use capture::{Event, NodeId, ProcessId};
use engine::{Error, Events, Loaded, observe};
use fxprof_processed_profile::CounterHandle;
use std::collections::HashMap;

/// Most blocks that the profiler can show individually.
const MOST_BLOCKS: i64 = 1 << 19;

/// Adds those of all processes, and returns what else the events tell.
pub(super) fn add<'a>(
    tracks: &mut Tracks<'a>,
    loaded: &'a Loaded,
    events: &dyn Events,
) -> Result<Happened, Error> {
    let is_summed = are_too_many(loaded, events)?;
    let mut writer = observe(
        loaded,
        events,
        Writer {
            loaded,
            tracks,
            weight: Weight::new(loaded),
            held: Held::new(loaded),
            counters: HashMap::new(),
            is_summed,
            now: 0,
            happened: Happened::default(),
        },
    )?;
    writer.step(u64::MAX);
    if is_summed {
        writer.sum_up();
    }
    Ok(writer.happened)
}

/// True when more blocks were recorded than can be shown. A sample is one record, whatever it stands for, so for
/// sampled captures a pass may be needed to find out.
fn are_too_many(loaded: &Loaded, events: &dyn Events) -> Result<bool, Error> {
    let (blocks, events_read) = (loaded.profile.total.allocated.blocks, loaded.profile.events);
    if blocks <= MOST_BLOCKS || events_read <= MOST_BLOCKS.cast_unsigned() {
        return Ok(false);
    }
    Ok(loaded.profile.sampling.is_none() || observe(loaded, events, Records(0))?.0 > MOST_BLOCKS)
}

/// Counts recorded blocks.
struct Records(i64);

impl Watch for Records {
    type Attached = ();
    const SUMS: bool = false;

    fn born(&mut self, _: &Birth, _: Option<&Life<()>>) {
        self.0 += 1;
    }
}

struct Writer<'w, 'a> {
    loaded: &'a Loaded,
    tracks: &'w mut Tracks<'a>,
    weight: Weight,
    held: Held,
    counters: HashMap<ProcessId, CounterHandle>,
    /// Whether there are too many blocks to show.
    is_summed: bool,
    /// The latest time added.
    now: u64,
    happened: Happened,
}

impl Writer<'_, '_> {
    /// Ends the steps that are over at this time.
    // Cost: one comparison, unless a step is over.
    fn step(&mut self, time: u64) {
        let Some(over) = self.held.over(time) else { return };
        let Self { tracks, held, counters, .. } = self;
        held.step(time, |process, holding| {
            let handle = tracks.process_handle(process, over);
            let counter = *counters.entry(process).or_insert_with(|| {
                let what = "Live bytes";
                tracks.profile.add_counter(handle, "malloc", "Memory", what)
            });
            tracks.profile.add_counter_sample(counter, at(over), holding.change as f64, holding.changes);
        });
    }

    fn change(&mut self, process: ProcessId, time: u64, bytes: i64) {
        self.step(time);
        self.tracks.main(process, time);
        self.held.change(process, bytes);
    }

    /// Adds a block when it is allocated or freed. The order of events is authoritative, so times never go back.
    fn add_next(&mut self, process: ProcessId, node: NodeId, time: u64, address: u64, bytes: i64) {
        self.now = self.now.max(time);
        self.add(process, node, self.now, address, bytes);
    }

    fn add(&mut self, process: ProcessId, node: NodeId, time: u64, address: u64, bytes: i64) {
        let track = self.tracks.main(process, time);
        let stack = self.tracks.stack(track, node);
        let thread = self.tracks.handle(track);
        self.tracks.profile.add_allocation_sample(thread, at(time), stack, address, bytes);
    }

    /// Adds one allocation and one free for all blocks of each stack, if there are too many. Addresses are made up.
    fn sum_up(&mut self) {
        let loaded = self.loaded;
        let sites = || (1_u64..).map(|number| 16 * number).zip(&loaded.profile.sites);
        for (address, site) in sites() {
            let bytes = site.cost.allocated.bytes;
            if bytes != 0 {
                let (since, _) = self.tracks.span(site.process);
                self.add(site.process, site.node, since, address, bytes);
            }
        }
        for (address, site) in sites() {
            let gone = site.cost.allocated.bytes.wrapping_sub(site.cost.live().bytes);
            if gone != 0 {
                let (_, until) = self.tracks.span(site.process);
                self.add(site.process, site.node, until, address, gone.wrapping_neg());
            }
        }
    }
}

impl Watch for Writer<'_, '_> {
    type Attached = ();

    fn born(&mut self, birth: &Birth, _: Option<&Life<()>>) {
        let bytes = self.weight.bytes(birth.size);
        self.change(birth.process, birth.at.time, bytes);
        if !self.is_summed {
            self.add_next(birth.process, birth.node, birth.at.time, birth.address, bytes);
        }
    }

    fn died(&mut self, life: &Life<()>, death: &Death) {
        // What was never freed stays: the profiler shows it as retained.
        if matches!(death.end, End::Left { .. }) {
            return;
        }
        let bytes = self.weight.bytes(life.size).wrapping_neg();
        self.change(life.process, death.at.time, bytes);
        if !self.is_summed {
            self.add_next(life.process, life.node, death.at.time, life.address, bytes);
        }
    }

    fn event(&mut self, at: Instant, event: &Event) {
        self.happened.event(self.loaded, at, event);
    }
}
