//! Where blocks lie: memory divided into cells, each with how much of it is held, and by how many distinct stacks.
//!
//! ```text
//!  memory   |■■ ■  ■■|■       |········|■■■■■■■■|■■■■    |        cells without a block are left out
//!  held      60 %     10 %              100 %    50 %
//!  stacks    3        1                 1        1
//! ```

use super::pages::PAGE;
use crate::count::watch::{Birth, Death, End, Left, Life, Watch};
use capture::{Ended, NodeId, ProcessId};
use hashbrown::HashMap;
use std::cmp::Reverse;

/// Stacks that are named for each cell, those that hold most of it.
const NAMED: usize = 3;

/// Observes a pass for the blocks that are live at its end. Keeps an entry for each of them.
#[derive(Debug, Default)]
pub struct AddressMap {
    rows: HashMap<(ProcessId, NodeId), u32>,
    stacks: Vec<NodeId>,
    blocks: Vec<Block>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Block {
    process: ProcessId,
    first: u64,
    last: u64,
    row: u32,
}

/// Memory in cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapTable {
    /// Bytes per cell: whole pages.
    pub cell_bytes: u64,
    /// Cells with a block on them, by process and address.
    pub cells: Vec<MapCell>,
}

/// A piece of memory of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapCell {
    /// The process.
    pub process: ProcessId,
    /// Its first address.
    pub address: u64,
    /// Bytes of blocks on it.
    pub held: u64,
    /// Number of distinct stacks that allocated them.
    pub stacks: u32,
    /// The stacks that hold most of it, with how many bytes.
    pub largest: Vec<(NodeId, u64)>,
}

impl AddressMap {
    /// The cells: as small as possible with at most `most` of them.
    pub fn finish(mut self, most: usize) -> MapTable {
        self.blocks.sort_unstable();
        let mut cell_bytes = PAGE;
        while count(&self.blocks, cell_bytes) > most as u64 && cell_bytes < 1 << 62 {
            cell_bytes *= 2;
        }
        let mut cells: Vec<MapCell> = Vec::new();
        // What each stack holds of the current cell.
        let mut held: HashMap<u32, u64> = HashMap::new();
        // Of overlapping blocks, which no allocator hands out, only the part past the previous ones counts: so each
        // cell is opened once, whatever a capture says.
        let mut free = (ProcessId(0), 0);
        for block in &self.blocks {
            let first = if free.0 == block.process { block.first.max(free.1) } else { block.first };
            if first > block.last {
                continue;
            }
            free = (block.process, block.last.saturating_add(1));
            for number in first / cell_bytes..=block.last / cell_bytes {
                let address = number * cell_bytes;
                let is_open =
                    cells.last().is_some_and(|cell| (cell.process, cell.address) == (block.process, address));
                if !is_open {
                    self.close(cells.last_mut(), &mut held);
                    let (held, stacks, largest) = Default::default();
                    cells.push(MapCell { process: block.process, address, held, stacks, largest });
                }
                let end = block.last.min(address + (cell_bytes - 1));
                *held.entry(block.row).or_default() += end - first.max(address) + 1;
            }
        }
        self.close(cells.last_mut(), &mut held);
        MapTable { cell_bytes, cells }
    }

    /// Sums up what stacks hold of a cell.
    fn close(&self, cell: Option<&mut MapCell>, held: &mut HashMap<u32, u64>) {
        let mut rows: Vec<(u32, u64)> = held.drain().collect();
        let Some(cell) = cell else { return };
        cell.held = rows.iter().map(|(_, bytes)| bytes).sum();
        cell.stacks = u32::try_from(rows.len()).unwrap_or(u32::MAX);
        let stack = |row: u32| self.stacks[row as usize];
        // Row numbers depend on the order in which blocks are met, which differs from run to run.
        rows.sort_unstable_by_key(|&(row, bytes)| (Reverse(bytes), stack(row)));
        cell.largest = rows.iter().take(NAMED).map(|&(row, bytes)| (stack(row), bytes)).collect();
    }
}

/// How many cells of this size have a block on them.
fn count(blocks: &[Block], cell_bytes: u64) -> u64 {
    let mut last: Option<(ProcessId, u64)> = None;
    blocks.iter().fold(0, |sum, block| {
        let (from, to) = (block.first / cell_bytes, block.last / cell_bytes);
        let known = last.filter(|(process, _)| *process == block.process).map_or(0, |(_, last)| last + 1);
        last = Some((block.process, to.max(known.saturating_sub(1))));
        sum + (to + 1).saturating_sub(from.max(known))
    })
}

impl Watch for AddressMap {
    type Attached = ();
    const SUMS: bool = false;

    fn born(&mut self, _: &Birth, _: Option<&Life<()>>) {}

    fn died(&mut self, life: &Life<()>, death: &Death) {
        // Blocks of processes that ended earlier no longer occupy memory.
        let End::Left { left: Left::Leaked | Left::Uncertain, ended: Ended::Running, .. } = death.end else {
            return;
        };
        if life.size == 0 {
            return;
        }
        let next = u32::try_from(self.stacks.len()).unwrap_or(u32::MAX);
        let row = *self.rows.entry((life.process, life.node)).or_insert(next);
        if row == next {
            self.stacks.push(life.node);
        }
        let last = life.address.saturating_add(life.size - 1);
        self.blocks.push(Block { process: life.process, first: life.address, last, row });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::watch::Instant;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn map(blocks: &[(u32, u64, u64, u32)]) -> AddressMap {
        let mut map = AddressMap { stacks: (0..8).map(NodeId).collect(), ..AddressMap::default() };
        map.blocks = blocks
            .iter()
            .map(|&(process, first, size, row)| Block {
                process: ProcessId(process),
                first,
                last: first + size - 1,
                row,
            })
            .collect();
        map
    }

    /// Check the drawing: what each cell holds, by whom, and that those without a block are left out.
    #[test]
    fn cells_are_as_drawn() {
        let blocks = [(0, 0, 100, 1), (0, 50 * 4096, 4096, 2), (0, 4000, 200, 3), (0, 4050, 10, 1)];
        let table = map(&blocks).finish(100);
        let cells: Vec<_> = table
            .cells
            .iter()
            .map(|cell| (cell.address, cell.held, cell.stacks, cell.largest.clone()))
            .collect();
        let node = NodeId;
        assert_eq!(table.cell_bytes, PAGE);
        assert_eq!(
            cells,
            [
                (0, 100 + 96, 2, vec![(node(1), 100), (node(3), 96)]),
                (4096, 104, 1, vec![(node(3), 104)]),
                (50 * 4096, 4096, 1, vec![(node(2), 4096)]),
            ]
        );
    }

    /// Check that of stacks that hold equal parts of a cell the same ones are named, in whatever order blocks are
    /// met.
    #[test]
    fn ties_are_broken_by_stacks() {
        let blocks: Vec<(u64, u32)> = (0..8).map(|place| (place * 100, 7 - place as u32)).collect();
        let table = |blocks: &[(u64, u32)]| {
            let mut map = AddressMap::default();
            for &(address, node) in blocks {
                let (process, thread) = (ProcessId(0), capture::ThreadId(0));
                let life = Life { process, thread, node: NodeId(node), address, size: 64, attached: () };
                let end = End::Left { left: Left::Leaked, ended: Ended::Running, in_realloc: false };
                map.died(&life, &Death { at: Instant::default(), end });
            }
            map.finish(100)
        };
        let expected = [0, 1, 2].map(|node| (NodeId(node), 64));
        let backwards: Vec<_> = blocks.iter().copied().rev().collect();
        for blocks in [&blocks, &backwards] {
            assert_eq!(table(blocks).cells[0].largest, expected);
        }
    }

    /// Check that huge blocks far apart have few cells, and take no time or memory beyond these.
    #[test]
    fn huge_blocks_have_few_cells() {
        let table = map(&[(0, 0, 1 << 46, 1), (1, 1 << 46, 1 << 40, 2)]).finish(64);
        assert!(table.cells.len() <= 64, "{}", table.cells.len());
        assert_eq!(table.cells.iter().map(|cell| cell.held).sum::<u64>(), (1 << 46) + (1 << 40));
        assert_eq!(AddressMap::default().finish(64).cells, []);
    }

    proptest! {
        /// Check that cells account for every byte of disjoint blocks, and are no more than allowed.
        #[test]
        fn cells_keep_every_byte(
            steps in prop::collection::vec((0..2_u32, 1..40_000_u64, 1..30_000_u64, 0..8_u32), 0..60),
            most in 2..50_usize,
        ) {
            let mut at = [0_u64; 2];
            let blocks: Vec<_> = steps.iter().map(|&(process, gap, size, row)| {
                let first = at[process as usize] + gap;
                at[process as usize] = first + size;
                (process, first, size, row)
            }).collect();
            let table = map(&blocks).finish(most);
            prop_assert!(table.cells.len() <= most);
            let mut held: BTreeMap<(u32, u64), u64> = BTreeMap::new();
            for &(process, first, size, _) in &blocks {
                for byte in (first..first + size).step_by(1) {
                    *held.entry((process, byte / table.cell_bytes * table.cell_bytes)).or_default() += 1;
                }
            }
            let found: Vec<_> = table.cells.iter().map(|cell| ((cell.process.0, cell.address), cell.held)).collect();
            prop_assert_eq!(found, held.into_iter().collect::<Vec<_>>());
            for cell in &table.cells {
                prop_assert!(cell.stacks > 0 && cell.held <= table.cell_bytes);
            }
        }
    }
}
