//! The rows of a profile: one per stack and process.

use super::estimate::Counted;
use crate::base::cost::{Amount, Cost, Part};
use crate::base::spread::Spread;
use capture::Seed;
use capture::{NodeId, ProcessId, Tables, ThreadId};
use hashbrown::HashTable;
use serde::{Deserialize, Serialize};
use std::mem::offset_of;

/// Index of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct SiteId(pub(crate) u32);

const NONE: u32 = u32::MAX;

/// One stack of one process while events are counted. What most events read or change is in its first cache line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[repr(C, align(64))]
pub(crate) struct SiteState {
    /// Live at this moment.
    pub(crate) held: Amount,
    pub(crate) process: ProcessId,
    /// [`NONE`] unless rows are told apart by threads, which is never so in saved rows.
    #[serde(skip, default = "none")]
    thread: u32,
    pub(crate) node: NodeId,
    /// True while the row is in the list of [`super::peak::Peak`].
    pub(crate) dirty: bool,
    /// Collects blocks that are followed but not counted: see [`Sites::rest`].
    pub(crate) is_rest: bool,
    pub(crate) cost: Cost,
}

const _: () = assert!(offset_of!(SiteState, cost.freed) + size_of::<Amount>() <= 64, "the first cache line");
const _: () = assert!(size_of::<SiteState>() == 192, "three cache lines");

fn none() -> u32 {
    NONE
}

impl SiteState {
    /// The thread, if rows are told apart by threads.
    pub(crate) fn thread(&self) -> Option<ThreadId> {
        Some(self.thread).filter(|&thread| thread != NONE).map(ThreadId)
    }
}

/// The variances of a row's numbers.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct SiteSpread {
    held: Spread,
    cost: Cost<Spread>,
}

/// All rows, found by stack and process.
///
/// ```text
///  recent[node] ──► row of the process that used this stack last      one load, nearly always the right row
///  index        ──► row of (process, node)                            when processes share the stack
/// ```
///
/// A range of a capture starts with rows of its own. Older rows remain for the blocks that they hold, so that the two
/// can be told apart without visiting any block:
///
/// ```text
///  before the range   main > f  held 300 │ freed 100 in the range ─┐
///  since              main > f  allocated 200, leaked 200, freed 0 ─┴─► one row: allocated 200, freed 100, leaked 200
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Sites {
    #[serde(skip, default = "Seed::random")]
    seed: Seed,
    #[serde(skip)]
    recent: Vec<u32>,
    #[serde(skip)]
    index: HashTable<u32>,
    rows: Vec<SiteState>,
    /// Rows before this index are for blocks from before the range.
    since: usize,
    #[serde(skip)]
    by_threads: bool,
    is_sampled: bool,
    /// By row in a sampled capture, otherwise empty.
    spreads: Vec<SiteSpread>,
}

impl Sites {
    /// For a capture with this many nodes.
    pub(crate) fn new(seed: Seed, nodes: usize, is_sampled: bool) -> Self {
        let mut sites = Self {
            seed,
            recent: vec![NONE; nodes.max(1)],
            index: HashTable::new(),
            rows: Vec::new(),
            since: 0,
            by_threads: false,
            is_sampled,
            spreads: Vec::new(),
        };
        sites.make_room(nodes);
        sites
    }

    /// Gives each thread rows of its own from now on.
    pub(crate) fn tell_threads_apart(&mut self) {
        self.by_threads = true;
    }

    /// The row of a stack in a process. A stack that the capture does not define counts as the empty stack.
    // Cost: two loads when the same process used the stack last.
    pub(crate) fn of(&mut self, process: ProcessId, thread: ThreadId, node: NodeId) -> SiteId {
        let thread = if self.by_threads { thread.0 } else { NONE };
        let node = if node.index() < self.recent.len() { node } else { NodeId::ROOT };
        let recent = self.recent[node.index()];
        if recent != NONE {
            let row = &self.rows[recent as usize];
            if row.process == process && row.thread == thread {
                return SiteId(recent);
            }
        }
        let row = self.find_or_add(process, thread, node, false);
        self.recent[node.index()] = row;
        SiteId(row)
    }

    /// The row of the process that used this stack last, if any did.
    pub(crate) fn last_of(&self, node: NodeId) -> Option<SiteId> {
        self.recent.get(node.index()).copied().filter(|&row| row != NONE).map(SiteId)
    }

    /// Reads what most events need from a row, without depending on other loads.
    #[inline]
    pub(crate) fn glance(&self, site: SiteId) -> i64 {
        self.get(site).held.bytes
    }

    /// Number of stacks that the capture has.
    pub(crate) fn nodes(&self) -> usize {
        self.recent.len()
    }

    /// Makes room for the stacks that the capture has now.
    pub(crate) fn grow(&mut self, nodes: usize) {
        if nodes > self.recent.len() {
            self.recent.resize(nodes, NONE);
        }
        if self.rows.is_empty() {
            self.make_room(nodes);
        }
    }

    /// Reserves room for as many rows as a capture with this many nodes usually needs at most. Growing a vector of such
    /// large rows copies all of them, while untouched reserved memory costs only address space.
    pub(crate) fn make_room(&mut self, nodes: usize) {
        const MOST: usize = 1 << 22;
        // If that fails, rows are copied as the vector grows.
        let _ = self.rows.try_reserve_exact(nodes.min(MOST));
    }

    pub(crate) fn seed(&self) -> Seed {
        self.seed
    }

    /// All rows, each at the place of its [`SiteId`].
    pub(crate) fn rows(&self) -> &[SiteState] {
        &self.rows
    }

    /// The row for blocks of a process that are followed but not counted.
    pub(crate) fn rest(&mut self, process: ProcessId) -> SiteId {
        SiteId(self.find_or_add(process, NONE, NodeId::ROOT, true))
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// True when all rows fit these tables.
    pub(crate) fn fit(&self, tables: &Tables) -> bool {
        let is_known = |row: &SiteState| {
            row.process.index() < tables.processes.len() && row.node.index() < tables.nodes.len().max(1)
        };
        self.rows.iter().all(is_known) && (self.spreads.is_empty() || self.spreads.len() == self.rows.len())
    }

    /// The same rows for a capture with these tables, with the lookup tables rebuilt.
    pub(crate) fn resume(self, tables: &Tables, is_sampled: bool) -> Self {
        let mut sites = Self::new(Seed::random(), tables.nodes.len(), is_sampled);
        for (place, row) in self.rows.iter().enumerate() {
            sites.find_or_add(row.process, NONE, row.node, row.is_rest);
            debug_assert_eq!(sites.rows.len(), place + 1);
        }
        for (mut row, place) in self.rows.into_iter().zip(0..) {
            row.dirty = false;
            if let Some(to) = sites.rows.get_mut(place) {
                *to = row;
            }
        }
        if is_sampled && !self.spreads.is_empty() {
            sites.spreads = self.spreads;
        }
        sites
    }

    /// Begins a range: nothing has been allocated, freed or left in it, and its peak is what is held now.
    pub(crate) fn restart(&mut self) {
        self.since = self.rows.len();
        self.recent.fill(NONE);
        self.index.clear();
        for row in &mut self.rows {
            row.cost = Cost::default();
        }
        for spread in &mut self.spreads {
            spread.cost = Cost::default();
        }
        self.hold_peak();
    }

    /// Makes this moment the peak of all rows.
    pub(crate) fn hold_peak(&mut self) {
        for row in 0..self.rows.len() {
            self.copy_peak(SiteId(u32::try_from(row).expect("rows are counted in u32")));
        }
    }

    #[cold]
    fn find_or_add(&mut self, process: ProcessId, thread: u32, node: NodeId, is_rest: bool) -> u32 {
        let Self { seed, index, rows, is_sampled, spreads, .. } = self;
        // The thread implies the process.
        let owner = |process: ProcessId, thread: u32| if thread == NONE { process.0 } else { thread };
        let hash = seed.pair(owner(process, thread), node.0);
        let found = index.find(hash, |&row| {
            let row = &rows[row as usize];
            row.process == process && row.thread == thread && row.node == node && row.is_rest == is_rest
        });
        if let Some(&row) = found {
            return row;
        }
        let row = u32::try_from(rows.len()).expect("fewer rows than events of one file");
        rows.push(SiteState {
            process,
            thread,
            node,
            dirty: false,
            is_rest,
            held: Amount::ZERO,
            cost: Cost::default(),
        });
        if *is_sampled {
            spreads.push(SiteSpread::default());
        }
        index.insert_unique(hash, row, |&row| {
            let row = &rows[row as usize];
            seed.pair(owner(row.process, row.thread), row.node.0)
        });
        row
    }

    pub(crate) fn get(&self, site: SiteId) -> &SiteState {
        &self.rows[site.0 as usize]
    }

    pub(crate) fn get_mut(&mut self, site: SiteId) -> &mut SiteState {
        &mut self.rows[site.0 as usize]
    }

    /// Adds a block to one part of a row's cost.
    #[inline]
    pub(crate) fn count(&mut self, site: SiteId, part: Part, block: Counted) {
        *self.get_mut(site).cost.part_mut(part) += block.amount;
        if let Some(spread) = self.spreads.get_mut(site.0 as usize) {
            *spread.cost.part_mut(part) += block.spread;
        }
    }

    /// Changes what a row holds.
    #[inline]
    pub(crate) fn hold(&mut self, site: SiteId, block: Counted) -> &mut SiteState {
        if let Some(spread) = self.spreads.get_mut(site.0 as usize) {
            spread.held += block.spread;
        }
        let row = self.get_mut(site);
        row.held += block.amount;
        row
    }

    /// Makes what a row holds now its share of the peak.
    pub(crate) fn copy_peak(&mut self, site: SiteId) {
        let row = self.get_mut(site);
        row.cost.peak = row.held;
        row.dirty = false;
        if let Some(spread) = self.spreads.get_mut(site.0 as usize) {
            spread.cost.peak = spread.held;
        }
    }

    /// The rows that are counted, and by row the variances of its cost; no variances if the capture is not sampled.
    pub(crate) fn into_rows(mut self) -> (impl Iterator<Item = SiteState>, Vec<Cost<Spread>>) {
        for before in 0..self.since {
            self.join(before);
        }
        let spreads = self.rows.iter().zip(&self.spreads).skip(self.since);
        let spreads = spreads.filter(|(row, _)| !row.is_rest).map(|(_, spread)| spread.cost).collect();
        (self.rows.into_iter().skip(self.since).filter(|row| !row.is_rest), spreads)
    }

    /// Adds what happened to blocks from before the range to the row of their stack.
    fn join(&mut self, before: usize) {
        let SiteState { process, thread, node, is_rest, cost, .. } = self.rows[before];
        let parts = |cost: Cost| Cost {
            leaked: Amount::ZERO,
            uncertain: Amount::ZERO,
            at_exec: Amount::ZERO,
            ..cost
        };
        if parts(cost) == Cost::default() {
            return;
        }
        let row = self.find_or_add(process, thread, node, is_rest) as usize;
        self.rows[row].cost += parts(cost);
        if let Some(SiteSpread { cost, .. }) = self.spreads.get(before).copied() {
            let (leaked, uncertain, at_exec) = Default::default();
            self.spreads[row].cost += Cost { leaked, uncertain, at_exec, ..cost };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that processes that share a stack have rows of their own, which are found again in any order.
    #[test]
    fn shared_stacks_have_a_row_per_process() {
        let mut sites = Sites::new(Seed::random(), 3, false);
        let first = sites.of(ProcessId(0), ThreadId(0), NodeId(2));
        let second = sites.of(ProcessId(1), ThreadId(0), NodeId(2));
        assert_ne!(first, second);
        for _ in 0..2 {
            assert_eq!(sites.of(ProcessId(0), ThreadId(0), NodeId(2)), first);
            assert_eq!(sites.of(ProcessId(1), ThreadId(0), NodeId(2)), second);
        }
    }

    /// Check that a stack outside of the table counts as the empty stack.
    #[test]
    fn undefined_stack_is_the_empty_one() {
        let mut sites = Sites::new(Seed::random(), 3, false);
        assert_eq!(
            sites.of(ProcessId(0), ThreadId(0), NodeId(3)),
            sites.of(ProcessId(0), ThreadId(0), NodeId::ROOT)
        );
    }

    /// Check that threads have rows of their own only on request.
    #[test]
    fn threads_are_told_apart_on_demand() {
        let of = |sites: &mut Sites, thread| sites.of(ProcessId(0), ThreadId(thread), NodeId(1)).0;
        let mut sites = Sites::new(Seed::random(), 3, false);
        assert_eq!([0, 1, 0].map(|thread| of(&mut sites, thread)), [0, 0, 0]);
        let mut sites = Sites::new(Seed::random(), 3, false);
        sites.tell_threads_apart();
        assert_eq!([0, 1, 0, 1].map(|thread| of(&mut sites, thread)), [0, 1, 0, 1]);
        assert_eq!(sites.get(SiteId(1)).thread(), Some(ThreadId(1)));
        assert_eq!(sites.get(SiteId(0)).thread(), Some(ThreadId(0)));
    }
}
