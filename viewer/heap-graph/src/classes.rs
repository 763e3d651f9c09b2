//! The C++ classes of blocks, and what the objects of each class retain.
//!
//! A block belongs to a class if an object of that class begins at its start, as the pointer to its virtual functions
//! tells. So only classes with virtual functions are found, and objects inside a larger block are not.

use super::block::BlockId;
use super::pace::Pace;
use crate::amounts::most_first;
use crate::graph::groups::{Groups, Labels};
use crate::graph::{HeapGraph, UNHURRIED};
use analysis::Amount;
use capture::{Object, StringId};
use std::collections::HashMap;

/// The classes of blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Classes {
    names: Vec<StringId>,
    /// By block, as far as needed: 0 where no class is known, otherwise one more than the id of its name.
    of: Vec<u32>,
}

/// The blocks of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassRow {
    /// Its name.
    pub name: StringId,
    /// Its reachable blocks.
    pub own: Amount,
    /// These, and what they keep together. Classes keep each other, so these numbers add up to more than the total.
    pub retained: Amount,
    /// They may retain more: there are so many classes that it was not found out what these blocks keep together.
    pub is_least: bool,
    /// Its unreachable blocks.
    pub unreachable: Amount,
}

/// Takes objects one by one.
#[derive(Debug)]
pub struct ClassesBuilder<'a> {
    graph: &'a HeapGraph,
    classes: Classes,
    numbers: HashMap<StringId, u32>,
}

impl<'a> ClassesBuilder<'a> {
    /// For the blocks of this graph.
    pub fn new(graph: &'a HeapGraph) -> Self {
        Self { graph, classes: Classes::default(), numbers: HashMap::new() }
    }

    /// Takes an object, if a block begins at its address.
    pub fn object(&mut self, object: Object) {
        let blocks = self.graph.blocks();
        let Some(block) = self.graph.block_at(object.at) else { return };
        if blocks[block.index()].address != object.at {
            return;
        }
        let Classes { names, of } = &mut self.classes;
        let class = *self.numbers.entry(object.class).or_insert_with(|| {
            names.push(object.class);
            names.len() as u32
        });
        of.resize(blocks.len(), 0);
        of[block.index()] = class;
    }

    /// The classes of all objects so far.
    pub fn finish(self) -> Classes {
        self.classes
    }
}

impl Classes {
    /// The classes of a graph's blocks, according to these objects.
    pub fn new(graph: &HeapGraph, objects: impl IntoIterator<Item = Object>) -> Self {
        let mut builder = ClassesBuilder::new(graph);
        objects.into_iter().for_each(|object| builder.object(object));
        builder.finish()
    }

    /// True when no class of any block is known.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The name of a block's class.
    pub fn of(&self, block: BlockId) -> Option<StringId> {
        self.names.get(self.number(block.index())).copied()
    }

    /// The classes of a graph's blocks, those that retain most first.
    pub fn rows(&self, graph: &HeapGraph) -> Vec<ClassRow> {
        self.rows_at(graph, &Pace::default()).expect(UNHURRIED)
    }

    /// The same; `None` when the caller gives up.
    pub fn rows_at(&self, graph: &HeapGraph, pace: &Pace<'_>) -> Option<Vec<ClassRow>> {
        let none = Amount::ZERO;
        let row = |&name| ClassRow { name, own: none, retained: none, is_least: false, unreachable: none };
        let mut rows: Vec<ClassRow> = self.names.iter().map(row).collect();
        if rows.is_empty() {
            return Some(rows);
        }
        for (place, block) in graph.blocks().iter().enumerate() {
            pace.step()?;
            if let Some(row) = rows.get_mut(self.number(place)) {
                match graph.dominator(BlockId(place as u32)) {
                    Some(_) => row.own += block.amount(),
                    None => row.unreachable += block.amount(),
                }
            }
        }
        // Whatever has no class, including roots, counts as one extra class.
        let without = rows.len();
        let label = |number: u32| {
            let place = graph.dominators.vertex(number) as usize;
            self.number(place).min(without) as u32
        };
        let groups = Groups::new(graph, Labels { count: without + 1, of: &label }, pace)?;
        for ((class, _), retained) in groups.retained {
            if let Some(row) = rows.get_mut(class as usize) {
                row.retained += retained;
                row.is_least = groups.is_least[class as usize];
            }
        }
        rows.sort_unstable_by_key(|row| {
            (most_first(row.retained), most_first(row.own), most_first(row.unreachable), row.name)
        });
        Some(rows)
    }

    /// The index of the name of a block's class; one past the last name if it has none.
    fn number(&self, place: usize) -> usize {
        (self.of.get(place).copied().unwrap_or(0) as usize).wrapping_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::drawn::{graph, numbered, parts, reached};
    use super::*;
    use proptest::prelude::*;

    fn classes(graph: &HeapGraph, classes: impl IntoIterator<Item = (u64, u32)>) -> Classes {
        Classes::new(graph, classes.into_iter().map(|(at, class)| Object { at, class: StringId(class) }))
    }

    /// Check that objects give a class to the blocks that begin where they do, and that what these keep is counted
    /// once.
    #[test]
    fn objects_make_blocks_of_a_class() {
        // A holds a list of B and C, which holds D; nobody holds E.
        let graph = graph(&[(100, 1), (10, 2), (10, 2), (5, 3), (7, 2)], "0A AB BC CD");
        let at = |block: usize| graph.blocks()[block].address;
        let classes = classes(&graph, [(at(1), 8), (at(2), 8), (at(3) + 1, 9), (at(4), 8), (0, 7)]);
        let amount = |blocks, bytes| Amount { blocks, bytes };
        assert_eq!(
            classes.rows(&graph),
            [ClassRow {
                name: StringId(8),
                own: amount(2, 20),
                retained: amount(3, 25),
                is_least: false,
                unreachable: amount(1, 7)
            }]
        );
        let names = [0, 1, 2, 3, 4, 5].map(|block| classes.of(BlockId(block)).map(|name| name.0));
        assert_eq!(names, [None, Some(8), Some(8), None, Some(8), None]);
        assert_eq!(Classes::default().rows(&graph), []);
    }

    proptest! {
        /// Check sums by class against what becomes unreachable when blocks are removed.
        #[test]
        fn sums_equal_removal(parts in parts(), of in prop::collection::vec(0..4_u32, 32)) {
            let graph = numbered(&parts.0, &parts.1, &parts.2);
            let objects = graph.blocks().iter().zip(&of).filter(|(_, class)| **class > 0);
            let classes = classes(&graph, objects.map(|(block, class)| (block.address, *class)));
            let all = reached(&parts, |_| false, None);
            let size = |block: usize| Amount::block(parts.0[block].0);
            let mut own = Amount::ZERO;
            for row in classes.rows(&graph) {
                let is_ours = |block: usize| of.get(block).is_some_and(|class| *class == row.name.0);
                let ours: Vec<usize> = (0..all.len()).filter(|&block| all[block] && is_ours(block)).collect();
                prop_assert_eq!(row.own, ours.iter().map(|&block| size(block)).sum::<Amount>());
                let lost = (0..all.len()).filter(|&block| !all[block] && is_ours(block));
                prop_assert_eq!(row.unreachable, lost.map(size).sum::<Amount>());
                let left = reached(&parts, |block| is_ours(block as usize), None);
                let gone = (0..all.len()).filter(|&block| all[block] && !left[block]);
                prop_assert_eq!(row.retained, gone.map(size).sum::<Amount>());
                own += row.own + row.unreachable;
            }
            let objects = (0..all.len()).filter(|&block| of.get(block).is_some_and(|class| *class > 0));
            prop_assert_eq!(own, objects.map(size).sum::<Amount>());
        }
    }
}
