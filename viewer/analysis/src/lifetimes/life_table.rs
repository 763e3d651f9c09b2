//! How long blocks live: by stack, and by size.
//!
//! A block that is still live at the end has lived at least until then. Its true lifetime is unknown (it is
//! *censored*), so it goes to a class of its own, and no mean is taken over such numbers.

use super::age::Age;
use super::size::SizeClass;
use crate::base::cost::Amount;
use crate::count::tally::Tallies;
use crate::count::watch::{Birth, Death, Life, Watch};
use capture::{NodeId, Tables};
use std::cmp::Reverse;

/// Observes a pass for lifetimes.
#[derive(Debug)]
pub struct Lifetimes {
    stacks: Tallies<(NodeId, Age)>,
    map: Tallies<(SizeClass, Age)>,
}

/// The result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LifeTable {
    /// Stacks, those with most blocks first.
    pub stacks: Vec<LifeRow>,
    /// Sizes by lifetimes, sparse.
    pub map: Vec<Cell>,
}

/// The lifetimes of one stack's blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LifeRow {
    /// The stack.
    pub node: NodeId,
    /// All its blocks.
    pub total: Amount,
    /// By class, the shortest first; classes without a block are left out.
    pub ages: Vec<(Age, Amount)>,
}

/// Blocks of one size class and lifetime class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The class of sizes.
    pub size: SizeClass,
    /// The class of lifetimes.
    pub age: Age,
    /// The blocks.
    pub amount: Amount,
}

impl Lifetimes {
    /// For the capture with these tables.
    pub fn new(tables: &Tables) -> Self {
        Self { stacks: Tallies::new(tables), map: Tallies::new(tables) }
    }

    /// Finishes the tables.
    pub fn finish(self) -> LifeTable {
        let mut stacks: Vec<LifeRow> = Vec::new();
        for ((node, age), [amount]) in self.stacks.finish() {
            match stacks.last_mut().filter(|row| row.node == node) {
                Some(row) => {
                    row.total += amount;
                    row.ages.push((age, amount));
                }
                None => stacks.push(LifeRow { node, total: amount, ages: vec![(age, amount)] }),
            }
        }
        stacks.sort_by_key(|row| (Reverse((row.total.blocks, row.total.bytes)), row.node));
        let map = self.map.finish().map(|((size, age), [amount])| Cell { size, age, amount });
        LifeTable { stacks, map: map.collect() }
    }
}

impl Watch for Lifetimes {
    /// When the block was allocated.
    type Attached = u64;

    fn born(&mut self, birth: &Birth, _: Option<&Life<u64>>) -> u64 {
        birth.at.time
    }

    fn died(&mut self, life: &Life<u64>, death: &Death) {
        let age = Age::at(death, life.attached);
        self.stacks.add((life.node, age), life.size);
        self.map.add((SizeClass::of(life.size), age), life.size);
    }
}
