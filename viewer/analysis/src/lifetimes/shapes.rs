//! For every stack, the sizes it asks for and the lifetimes of its blocks. Views of one function, or of any selection
//! of stacks, add up the classes of their stacks.

use super::age::Age;
use super::size::SizeClass;
use crate::base::cost::Amount;
use crate::count::tally::Tally;
use crate::count::watch::{Birth, Death, Life, Watch};
use capture::{NodeId, ProcessId, Sampling, Tables};
use hashbrown::HashMap;
use std::collections::BTreeMap;

/// Observes a pass for sizes and lifetimes by stack.
#[derive(Debug)]
pub struct Shapes {
    sampling: Option<Sampling>,
    sizes: HashMap<(ProcessId, NodeId, SizeClass), Tally>,
    ages: HashMap<(ProcessId, NodeId, Age), Tally>,
}

/// The blocks of one stack of one process by class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackShape {
    /// The process.
    pub process: ProcessId,
    /// The stack.
    pub node: NodeId,
    /// Size classes with a block, the smallest first.
    pub sizes: Vec<(SizeClass, Amount)>,
    /// Lifetime classes with a block, the shortest first.
    pub ages: Vec<(Age, Amount)>,
}

/// The blocks of several stacks by class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// By size.
    pub sizes: BTreeMap<SizeClass, Amount>,
    /// By lifetime.
    pub ages: BTreeMap<Age, Amount>,
}

impl Shapes {
    /// For the capture with these tables.
    pub fn new(tables: &Tables) -> Self {
        let sampling = Sampling::new(tables.metadata.sample_interval);
        Self { sampling, sizes: HashMap::new(), ages: HashMap::new() }
    }

    /// One shape for each stack of a process, in order.
    pub fn finish(self) -> Vec<StackShape> {
        let mut shapes: BTreeMap<(ProcessId, NodeId), StackShape> = BTreeMap::new();
        let new = |process, node| StackShape { process, node, sizes: Vec::new(), ages: Vec::new() };
        for ((process, node, class), amount) in amounts(self.sizes) {
            shapes.entry((process, node)).or_insert_with(|| new(process, node)).sizes.push((class, amount));
        }
        for ((process, node, age), amount) in amounts(self.ages) {
            shapes.entry((process, node)).or_insert_with(|| new(process, node)).ages.push((age, amount));
        }
        shapes.into_values().collect()
    }
}

/// Ordered by key, in whole blocks.
fn amounts<K: Ord + Copy>(tallies: HashMap<K, Tally>) -> Vec<(K, Amount)> {
    let mut rows: Vec<(K, Tally)> = tallies.into_iter().collect();
    rows.sort_unstable_by_key(|(key, _)| *key);
    let amounts = Tally::amounts(rows.iter().map(|(_, tally)| tally));
    rows.iter().map(|(key, _)| *key).zip(amounts).collect()
}

impl Shape {
    /// Adds the shape of a stack.
    pub fn add(&mut self, stack: &StackShape) {
        stack.sizes.iter().for_each(|(class, amount)| *self.sizes.entry(*class).or_default() += *amount);
        stack.ages.iter().for_each(|(age, amount)| *self.ages.entry(*age).or_default() += *amount);
    }
}

impl Watch for Shapes {
    /// When the block was allocated.
    type Attached = u64;

    fn born(&mut self, birth: &Birth, _: Option<&Life<u64>>) -> u64 {
        let (class, sampling) = (SizeClass::of(birth.size), self.sampling);
        let key = (birth.process, birth.node, class);
        self.sizes.entry(key).or_insert_with(|| Tally::new(sampling)).add(birth.size);
        birth.at.time
    }

    fn died(&mut self, life: &Life<u64>, death: &Death) {
        let age = Age::at(death, life.attached);
        let sampling = self.sampling;
        let key = (life.process, life.node, age);
        self.ages.entry(key).or_insert_with(|| Tally::new(sampling)).add(life.size);
    }
}
