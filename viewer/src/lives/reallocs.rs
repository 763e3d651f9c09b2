//! Blocks that were resized again and again.
//!
//! ```text
//!  malloc 100 ─► realloc 200 ─► realloc 400 ─► free        a chain of two steps, from 100 to 400
//!                moved: 100 copied   in place
//! ```
//!
//! A chain belongs to the stack that resized it last: there the growth can be changed. What was copied is what a block held
//! when it moved, at most: large blocks are moved by the kernel without a copy.

use crate::analysis::{Birth, Death, End, Life, Watch};
use capture::NodeId;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Observes a pass for chains. In a sampled capture each step is a sample of its own, so there are none.
#[derive(Debug, Default)]
pub struct Reallocs {
    rows: HashMap<NodeId, ReallocRow>,
}

/// The chains of one stack. Numbers are of recorded blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReallocRow {
    /// The stack that resized them last.
    pub node: NodeId,
    /// How many.
    pub chains: u64,
    /// Steps of all together.
    pub steps: u64,
    /// Steps that moved the block.
    pub moves: u64,
    /// Steps of the longest.
    pub longest: u64,
    /// Bytes that they began with.
    pub first_bytes: u64,
    /// Bytes that they ended with.
    pub last_bytes: u64,
    /// Bytes that were copied by moves, at most.
    pub copied_bytes: u64,
}

/// What is known of a chain so far.
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
}

impl ReallocRow {
    /// What could be better, where growing by small steps costs copies: how much its chains ended with on average, and
    /// how many steps each would have needed had it doubled. None where steps are few or large.
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

/// How a block's growth could be better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Advice {
    /// By which it grows with each step on average.
    pub factor: f64,
    /// Steps of a chain on average.
    pub steps: u64,
    /// Steps that doubling would need.
    pub doublings: u64,
    /// What to ask for at once: the size that chains end with on average.
    pub last: u64,
}

impl Watch for Reallocs {
    type Kept = Chain;

    fn born(&mut self, birth: &Birth, old: Option<&Life<Chain>>) -> Chain {
        let Some(old) = old else { return Chain { first: birth.size, ..Chain::default() } };
        let moved = old.address != birth.address;
        let copied = if moved { old.size.min(birth.size) } else { 0 };
        Chain {
            steps: old.kept.steps + 1,
            moves: old.kept.moves + u64::from(moved),
            first: old.kept.first,
            copied: old.kept.copied.saturating_add(copied),
        }
    }

    fn died(&mut self, life: &Life<Chain>, death: &Death) {
        let chain = life.kept;
        // A step to the next block of the chain is no end of it.
        if chain.steps == 0 || matches!(death.end, End::Resized { .. }) {
            return;
        }
        let row =
            self.rows.entry(life.node).or_insert(ReallocRow { node: life.node, ..ReallocRow::default() });
        row.chains += 1;
        row.steps += chain.steps;
        row.moves += chain.moves;
        row.longest = row.longest.max(chain.steps);
        row.first_bytes = row.first_bytes.saturating_add(chain.first);
        row.last_bytes = row.last_bytes.saturating_add(life.size);
        row.copied_bytes = row.copied_bytes.saturating_add(chain.copied);
    }
}
