//! For every stack, the sizes it asks for and the lifetimes of its blocks. Views of one function, or of any selection
//! of stacks, add up the classes of their stacks.

use super::age::Age;
use super::size::SizeClass;
use crate::base::cost::Amount;
use crate::count::tally::Tallies;
use crate::count::watch::{Birth, Death, Life, Watch};
use capture::{NodeId, ProcessId, Tables};
use std::collections::BTreeMap;

/// Observes a pass for sizes and lifetimes by stack.
#[derive(Debug)]
pub struct Shapes {
    sizes: Tallies<(ProcessId, NodeId, SizeClass)>,
    ages: Tallies<(ProcessId, NodeId, Age)>,
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
        Self { sizes: Tallies::new(tables), ages: Tallies::new(tables) }
    }

    /// One shape for each stack of a process, in order.
    pub fn finish(self) -> Vec<StackShape> {
        let mut shapes: BTreeMap<(ProcessId, NodeId), StackShape> = BTreeMap::new();
        let new = |process, node| StackShape { process, node, sizes: Vec::new(), ages: Vec::new() };
        for ((process, node, class), [amount]) in self.sizes.finish() {
            shapes.entry((process, node)).or_insert_with(|| new(process, node)).sizes.push((class, amount));
        }
        for ((process, node, age), [amount]) in self.ages.finish() {
            shapes.entry((process, node)).or_insert_with(|| new(process, node)).ages.push((age, amount));
        }
        shapes.into_values().collect()
    }
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
        self.sizes.add((birth.process, birth.node, SizeClass::of(birth.size)), birth.size);
        birth.at.time
    }

    fn died(&mut self, life: &Life<u64>, death: &Death) {
        self.ages.add((life.process, life.node, Age::at(death, life.attached)), life.size);
    }
}
