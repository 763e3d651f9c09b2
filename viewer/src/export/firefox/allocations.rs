//! Allocations and frees, and the track of what was held.
//!
//! The blocks of a capture that has more than [`MOST_BLOCKS`] are summed up: one allocation for each stack with the bytes of
//! all its blocks, and one free with those that were freed.

use super::markers::Happened;
use super::tracks::{Tracks, at};
use crate::analysis::{Birth, Death, End, Instant, Life, Watch};
use crate::export::events::{Events, Weight, end, observe};
use crate::export::held::Held;
use crate::loaded::Loaded;
use crate::open::Error;
use capture::{Event, NodeId, ProcessId};
use fxprof_processed_profile::CounterHandle;
use std::collections::HashMap;

/// Blocks that the profiler can show one by one.
const MOST_BLOCKS: i64 = 1 << 19;

/// Adds those of all processes, and gives what else the events tell.
pub(super) fn add<'a>(
    tracks: &mut Tracks<'a>,
    loaded: &'a Loaded,
    events: &dyn Events,
) -> Result<Happened, Error> {
    let is_summed = loaded.profile.total.allocated.blocks > MOST_BLOCKS;
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
            happened: Happened::default(),
        },
    )?;
    writer.step(u64::MAX);
    if is_summed {
        writer.sum_up();
    }
    Ok(writer.happened)
}

struct Writer<'w, 'a> {
    loaded: &'a Loaded,
    tracks: &'w mut Tracks<'a>,
    weight: Weight,
    held: Held,
    counters: HashMap<ProcessId, CounterHandle>,
    /// Too many blocks to show.
    is_summed: bool,
    happened: Happened,
}

impl Writer<'_, '_> {
    /// Ends the steps that are over at this time.
    // Cost: one comparison, unless one is.
    fn step(&mut self, time: u64) {
        let Some(over) = self.held.over(time) else { return };
        let Self { tracks, held, counters, .. } = self;
        held.step(time, |process, holding| {
            let handle = tracks.process_handle(process, over);
            let counter = *counters.entry(process).or_insert_with(|| {
                let what = "Bytes that were allocated and not freed";
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

    fn add(&mut self, process: ProcessId, node: NodeId, time: u64, address: u64, bytes: i64) {
        let track = self.tracks.main(process, time);
        let stack = self.tracks.stack(track, node);
        let thread = self.tracks.handle(track);
        self.tracks.profile.add_allocation_sample(thread, at(time), stack, address, bytes);
    }

    /// One allocation and one free for all blocks of each stack, where there are too many. Addresses are made up.
    fn sum_up(&mut self) {
        let loaded = self.loaded;
        for (number, site) in loaded.profile.sites.iter().enumerate() {
            let (bytes, address) = (site.cost.allocated.bytes, 16 * (number as u64 + 1));
            if bytes != 0 {
                self.add(site.process, site.node, 0, address, bytes);
            }
            let gone = bytes.wrapping_sub(site.cost.live().bytes);
            if gone != 0 {
                self.add(site.process, site.node, end(loaded), address, gone.wrapping_neg());
            }
        }
    }
}

impl Watch for Writer<'_, '_> {
    type Kept = ();

    fn born(&mut self, birth: &Birth, _: Option<&Life<()>>) {
        let bytes = self.weight.bytes(birth.size);
        self.change(birth.process, birth.at.time, bytes);
        if !self.is_summed {
            self.add(birth.process, birth.node, birth.at.time, birth.address, bytes);
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
            self.add(life.process, life.node, death.at.time, life.address, bytes);
        }
    }

    fn event(&mut self, at: Instant, event: &Event) {
        self.happened.event(self.loaded, at, event);
    }
}
