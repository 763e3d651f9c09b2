//! The state of a pass between two events, to resume from it later.
//!
//! It contains only what later events need. Peaks are not included: the state serves moments and ranges, which begin
//! their own.

use super::builder::ProfileBuilder;
use super::heap::{Block, Heap};
use super::process::ProcessState;
use super::sites::{SiteId, Sites};
use super::thread::ThreadState;
use super::watch::Watch;
use crate::base::cost::Amount;
use capture::{BlockNumber, ProcessId, Seed, Tables};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A state to resume from.
#[derive(Debug, Deserialize)]
pub struct Checkpoint {
    pub(crate) counters: Counters,
    pub(crate) sites: Sites,
    pub(crate) processes: Vec<ProcessState>,
    pub(crate) threads: Vec<ThreadState>,
}

/// The same, borrowed for serialization without a copy.
#[derive(Serialize)]
pub struct Saving<'a> {
    pub(crate) counters: Counters,
    pub(crate) sites: &'a Sites,
    pub(crate) processes: &'a [ProcessState],
    pub(crate) threads: &'a [ThreadState],
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Counters {
    pub(crate) events: u64,
    pub(crate) now: u64,
    pub(crate) stray_events: u64,
    pub(crate) last_time: u64,
    pub(crate) own_pages: i64,
    pub(crate) held: Amount,
}

impl<W: Watch<Attached = ()>> ProfileBuilder<'_, W> {
    /// Number of events so far.
    pub fn position(&self) -> u64 {
        self.instant().position
    }

    /// Live blocks of all processes plus rows, which determine the size of a saved state.
    pub fn weight(&self) -> u64 {
        self.live_blocks() + self.rows()
    }
}

impl Checkpoint {
    /// Number of events before it.
    pub fn position(&self) -> u64 {
        self.counters.events
    }

    /// What all processes together hold.
    pub fn held(&self) -> Amount {
        self.counters.held
    }

    /// True when it can belong to a capture with these tables: every id is in range.
    pub(crate) fn fits(&self, tables: &Tables) -> bool {
        let rows = self.sites.len();
        let is_row = |block: &Block| (block.site.0 as usize) < rows;
        let is_process = |process: ProcessId| process.index() < tables.processes.len();
        self.processes.len() == tables.processes.len()
            && self.threads.len() == tables.threads.len()
            && self.sites.fit(tables)
            && self
                .threads
                .iter()
                .all(|thread| thread.pending.iter().filter_map(|pending| pending.block.as_ref()).all(is_row))
            && self.processes.iter().all(|process| {
                process.heap.iter().all(|block| is_row(&block))
                    && process.reallocating.iter().all(|thread| thread.index() < tables.threads.len())
                    && process.lineage.parent().is_none_or(is_process)
                    && process.pages.is_sound()
                    && process.failures.fit(tables)
            })
    }
}

/// A block in address order, by its distance from the previous one: small numbers, most of them alike.
#[derive(Serialize, Deserialize)]
struct Packed<K> {
    distance: u64,
    size: u64,
    site: u32,
    thread: u32,
    gap_edges: u32,
    forks: u32,
    attached: K,
}

impl<K: Copy + Serialize> Serialize for Heap<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut blocks: Vec<Block<K>> = self.iter().collect();
        blocks.sort_unstable_by_key(|block| block.address);
        let mut before = 0;
        serializer.collect_seq(blocks.into_iter().map(|block| {
            let distance = block.address.wrapping_sub(std::mem::replace(&mut before, block.address));
            let Block { size, gap_edges, forks, attached, .. } = block;
            Packed { distance, size, site: block.site.0, thread: block.thread.0, gap_edges, forks, attached }
        }))
    }
}

impl<'de, K: Copy + Deserialize<'de>> Deserialize<'de> for Heap<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let packed = Vec::<Packed<K>>::deserialize(deserializer)?;
        let mut heap = Heap::new(Seed::random());
        let mut address = 0_u64;
        for Packed { distance, size, site, thread, gap_edges, forks, attached } in packed {
            address = address.wrapping_add(distance);
            let (site, thread) = (SiteId(site), capture::ThreadId(thread));
            heap.insert(Block {
                address,
                size,
                site,
                thread,
                gap_edges,
                forks,
                number: BlockNumber::default(),
                attached,
            });
        }
        Ok(heap)
    }
}

#[cfg(test)]
mod tests {
    use super::super::lineage::inherit;
    use super::*;
    use capture::Process;

    /// Check that a state whose process descends from one that the capture does not have belongs to another capture.
    #[test]
    fn unknown_parents_do_not_fit() {
        let saved = |child: usize, parent: usize, known: usize| {
            let new = || ProcessState::new(Seed::random(), &Process::default());
            let mut processes: Vec<ProcessState> = (0..3).map(|_| new()).collect();
            processes[parent].lineage.note_fork(1);
            inherit(&mut processes, ProcessId::from_index(parent), ProcessId::from_index(child), 1);
            processes.truncate(known);
            let sites = Sites::new(Seed::random(), 0, false);
            Checkpoint { counters: Counters::default(), sites, processes, threads: Vec::new() }
        };
        for (child, parent, known, expected) in [(1, 0, 2, true), (1, 2, 3, true), (1, 2, 2, false)] {
            let tables = Tables { processes: vec![Process::default(); known], ..Tables::default() };
            assert_eq!(saved(child, parent, known).fits(&tables), expected, "{child} of {parent}");
        }
    }
}
