//! Sampled stacks, each stored once.
//!
//! A program takes new paths for as long as it runs: when compilers run on a system that is sampled as a whole, each
//! sample adds two or three new stack nodes. Each takes some 80 bytes here and in the writer, so their number is
//! limited, as agents' memory for stacks is.

use super::batch::{Batch, Step};
use capture::Pseudo;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use unwind::End;

/// The stack without frames.
pub(super) const EMPTY: u32 = 0;

/// Most stacks, including those that only lead to others: as many as an agent has room for.
const MOST: usize = 1 << 24;

/// The stacks seen so far.
#[derive(Debug)]
pub(super) struct Stacks {
    most: usize,
    /// Steps, numbered: they are far fewer than stacks, and larger.
    steps: FxHashMap<Step, u32>,
    /// Stacks, by parent stack and number of the step.
    ids: FxHashMap<(u32, u32), u32>,
}

impl Default for Stacks {
    fn default() -> Stacks {
        Stacks::of_at_most(MOST)
    }
}

impl Stacks {
    pub(super) fn of_at_most(most: usize) -> Stacks {
        Stacks { most, steps: FxHashMap::default(), ids: FxHashMap::default() }
    }

    /// The stack in which `step` is called from `parent`; `None` if there is no room for another stack.
    pub(super) fn node(&mut self, parent: u32, step: Step, batch: &mut Batch) -> Option<u32> {
        if self.ids.len() < self.most {
            return Some(self.enter(parent, step, batch));
        }
        self.ids.get(&(parent, *self.steps.get(&step)?)).copied()
    }

    /// The stack that stands for all those without room.
    #[cold]
    pub(super) fn full(&mut self, batch: &mut Batch) -> u32 {
        self.enter(EMPTY, Step::End(Pseudo::StackTableFull), batch)
    }

    fn enter(&mut self, parent: u32, step: Step, batch: &mut Batch) -> u32 {
        let next = self.steps.len() as u32;
        let number = *self.steps.entry(step).or_insert(next);
        let next = self.ids.len() as u32 + 1;
        match self.ids.entry((parent, number)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(room) => {
                batch.nodes.push((parent, step));
                *room.insert(next)
            }
        }
    }
}

/// What the user is told about stacks without room.
pub(crate) fn remark_on_unkept(stacks: u64) -> Option<String> {
    (stacks > 0).then(|| {
        format!(
            "Stacks of samples that could not be kept: {stacks}. They show as [stack table full]: a recording \
             holds 16 million different frames in stacks of samples. Sample less often (--frequency), or \
             continue in another capture (--max-size)."
        )
    })
}

/// The outermost frame of a stack that ends in this way; none if the stack is complete.
pub(super) fn marker(end: End) -> Option<Pseudo> {
    match end {
        End::Root => None,
        End::Truncated => Some(Pseudo::Truncated),
        End::NoUnwindInfo => Some(Pseudo::NoUnwindInfo),
        End::Broken | End::Unreadable => Some(Pseudo::Broken),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(address: u64) -> Step {
        Step::Code { module: 0, address, exact: true }
    }

    /// Check that the number of stacks is limited, that known stacks are still found then, and that all others share
    /// one.
    #[test]
    fn stacks_have_an_end() {
        let (mut stacks, mut batch) = (Stacks::of_at_most(100), Batch::default());
        let mut nodes = Vec::new();
        for address in 0..100 {
            let parent = nodes.last().copied().unwrap_or(EMPTY);
            nodes.push(stacks.node(parent, step(address % 10), &mut batch).unwrap());
        }
        assert_eq!(nodes, Vec::from_iter(1..=100));
        for address in 0..1000 {
            assert_eq!(stacks.node(EMPTY, step(address + 1), &mut batch), None);
        }
        assert_eq!([stacks.full(&mut batch), stacks.full(&mut batch)], [101, 101]);
        assert_eq!(stacks.node(EMPTY, step(0), &mut batch), Some(1));
        assert_eq!(stacks.node(99, step(9), &mut batch), Some(100));
        assert_eq!((batch.nodes.len(), stacks.ids.len()), (101, 101));
        assert!(stacks.steps.len() <= 11 && batch.nodes[100] == (EMPTY, Step::End(Pseudo::StackTableFull)));
    }

    /// Check that nothing is said if there was room; otherwise, how many stacks were dropped.
    #[test]
    fn unkept_stacks_are_told() {
        assert_eq!(remark_on_unkept(0), None);
        let told = remark_on_unkept(7).unwrap();
        assert!(told.contains("kept: 7. ") && !told.contains("  ") && told.ends_with('.'), "{told}");
    }
}
