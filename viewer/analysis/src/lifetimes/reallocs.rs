//! Blocks that are resized again and again.
//!
//! ```text
//!  malloc 100 ─► realloc 200 ─► realloc 400 ─► free        a chain of two steps, from 100 to 400
//!                moved: 100 copied   in place
//! ```
//!
//! A chain belongs to the stack that resized it last: growth can be changed there. The bytes copied are an upper
//! bound, what a block held when it moved: the kernel moves large blocks without copying.
//!
//! C++ vectors and strings grow without `realloc`. They take a larger block, copy, and free the smaller one:
//!
//! ```text
//!  new 100 (a) ─► … ─► new 200 (b), delete a ─► … ─► new 400 (c), delete b       the same stack and thread, nothing in between
//! ```
//!
//! This counts as growth when it happens [`FEWEST_REPLACED`] times in a row, each time by at least a quarter. A
//! program that frees a message after it has taken the next one does so by chance once or twice, since messages do
//! not keep getting longer.

use crate::count::watch::{Birth, Death, End, Life, Watch};
use capture::{NodeId, ProcessId};
use hashbrown::HashMap;
use std::cmp::Reverse;

/// A chain without `realloc` with fewer steps may be chance.
const FEWEST_REPLACED: u64 = 4;

/// Observes a pass for chains. In a sampled capture each step is a sample by itself: chains lack steps, as views say.
#[derive(Debug, Default)]
pub struct Reallocs {
    rows: HashMap<NodeId, ReallocRow>,
    /// By thread, the block that its last event allocated.
    newest: Vec<Option<Birth>>,
    /// Chains without `realloc` so far, by their latest block.
    replaced: HashMap<(ProcessId, u64), Chain>,
}

/// The chains of one stack. Numbers are of recorded blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReallocRow {
    /// The stack that resized them last.
    pub node: NodeId,
    /// Number of chains.
    pub chains: u64,
    /// Total number of steps.
    pub steps: u64,
    /// Steps that moved the block.
    pub moves: u64,
    /// Number of steps of the longest chain.
    pub longest: u64,
    /// Bytes at their beginning.
    pub first_bytes: u64,
    /// Bytes at their end.
    pub last_bytes: u64,
    /// Upper bound of the bytes that moves copied.
    pub copied_bytes: u64,
    /// True for growth without `realloc`: a larger block replaced a smaller one, as in C++ vectors.
    pub is_replaced: bool,
}

/// A chain so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chain {
    steps: u64,
    moves: u64,
    first: u64,
    copied: u64,
}

impl Reallocs {
    /// The stacks, those that copied most first.
    pub fn finish(self) -> Vec<ReallocRow> {
        let mut rows: Vec<ReallocRow> = self.rows.into_values().collect();
        rows.sort_by_key(|row| (Reverse((row.copied_bytes, row.steps)), row.node));
        rows
    }

    /// Whether a freed block was replaced by the one that its thread has just allocated.
    fn grows_into(&self, life: &Life<Chain>, end: End) -> Option<Birth> {
        let End::Freed { thread, .. } = end else { return None };
        let new = self.newest.get(thread.index()).copied().flatten()?;
        let is_larger = new.size > life.size && new.size - life.size >= life.size / 4;
        let is_same = (new.process, new.thread, new.node) == (life.process, life.thread, life.node);
        (is_same && is_larger && new.address != life.address).then_some(new)
    }

    fn end(&mut self, chain: Chain, node: NodeId, last: u64, is_replaced: bool) {
        let row = self.rows.entry(node).or_insert(ReallocRow { node, is_replaced, ..ReallocRow::default() });
        row.chains += 1;
        row.steps += chain.steps;
        row.moves += chain.moves;
        row.longest = row.longest.max(chain.steps);
        row.first_bytes = row.first_bytes.saturating_add(chain.first);
        row.last_bytes = row.last_bytes.saturating_add(last);
        row.copied_bytes = row.copied_bytes.saturating_add(chain.copied);
    }
}

impl ReallocRow {
    /// What could be improved where growing in small steps costs copies: the average final size of its chains, and
    /// how many steps doubling would have needed. None if steps are few or large.
    pub fn advice(&self) -> Option<Advice> {
        const FEW: u64 = 4;
        let chains = self.chains.max(1);
        let (first, last, steps) = (self.first_bytes / chains, self.last_bytes / chains, self.steps / chains);
        if steps < FEW || last <= first {
            return None;
        }
        let ratio = last as f64 / first.max(1) as f64;
        let doublings = ratio.log2().ceil() as u64;
        let factor = ratio.powf(1.0 / steps as f64);
        (doublings * 2 <= steps).then_some(Advice { factor, steps, doublings, last })
    }
}

/// How the growth of a block could be improved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Advice {
    /// Average growth factor per step.
    pub factor: f64,
    /// Average number of steps of a chain.
    pub steps: u64,
    /// Number of steps that doubling would need.
    pub doublings: u64,
    /// What to request at once: the average final size of the chains.
    pub last: u64,
}

impl Watch for Reallocs {
    type Attached = Chain;

    fn born(&mut self, birth: &Birth, old: Option<&Life<Chain>>) -> Chain {
        let thread = birth.thread.index();
        if self.newest.len() <= thread {
            self.newest.resize(thread + 1, None);
        }
        self.newest[thread] = Some(*birth).filter(|_| old.is_none());
        let Some(old) = old else { return Chain { first: birth.size, ..Chain::default() } };
        let moved = old.address != birth.address;
        let copied = if moved { old.size.min(birth.size) } else { 0 };
        Chain {
            steps: old.attached.steps + 1,
            moves: old.attached.moves + u64::from(moved),
            first: old.attached.first,
            copied: old.attached.copied.saturating_add(copied),
        }
    }

    fn died(&mut self, life: &Life<Chain>, death: &Death) {
        let grown =
            if self.replaced.is_empty() { None } else { self.replaced.remove(&(life.process, life.address)) };
        let new = self.grows_into(life, death.end);
        if let End::Freed { thread, .. } = death.end
            && let Some(newest) = self.newest.get_mut(thread.index())
        {
            *newest = None;
        }
        if let Some(new) = new {
            let chain = grown.unwrap_or(Chain { first: life.size, ..Chain::default() });
            let copied = chain.copied.saturating_add(life.size);
            let chain = Chain { steps: chain.steps + 1, moves: chain.moves + 1, copied, ..chain };
            self.replaced.insert((new.process, new.address), chain);
        } else if let Some(chain) = grown.filter(|chain| chain.steps >= FEWEST_REPLACED) {
            self.end(chain, life.node, life.size, true);
        }
        // A step to the next block does not end the chain.
        if life.attached.steps > 0 && !matches!(death.end, End::Resized { .. }) {
            self.end(life.attached, life.node, life.size, false);
        }
    }
}
