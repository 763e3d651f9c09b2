//! Lists of a page: what programs reported about themselves, and the memory map.

use super::Writer;
use analysis::MarkName;
use capture::{NodeId, ProcessId};
use report::text::{Style, stack_line};
use serde::Serialize;
use std::collections::HashMap;

/// Most marks that a page shows, the first ones: more would merge into a grey area.
const MOST_MARKS: usize = 2000;

/// Most regions that a page shows, the first ones of all names.
const MOST_REGIONS: usize = 4000;

/// Width of a stack in the memory map.
const WIDTH_OF_A_STACK: usize = 120;

/// A mark that a program set.
#[derive(Serialize)]
pub(super) struct MarkFields {
    name: u32,
    kind: &'static str,
    time_ns: u64,
    tid: u32,
}

/// The regions of a name, whose statistics are in the `info` document.
#[derive(Serialize)]
pub(super) struct RegionFields {
    name: u32,
    /// The index of what rows allocated in it; none when rows do not have that.
    number: Option<u32>,
    /// Begin and end, in nanoseconds.
    times_ns: Vec<(u64, u64)>,
}

impl Writer<'_> {
    pub(super) fn marks(&mut self) -> Vec<MarkFields> {
        let texts = &mut self.texts;
        let marks = self.parts.loaded.marks().take(MOST_MARKS).map(|row| MarkFields {
            name: texts.number(row.name),
            kind: row.mark.kind.name(),
            time_ns: row.mark.time,
            tid: row.thread.map_or(0, |thread| thread.tid),
        });
        marks.collect()
    }

    /// Where the blocks held at the peak were.
    pub(super) fn map(&mut self) {
        let Some(map) = self.parts.shared.memory.as_ref().map(|memory| &memory.map) else { return };
        let loaded = self.parts.loaded;
        let process =
            |id: ProcessId| loaded.tables.processes.get(id.index()).map_or(0, |process| process.pid);
        let columns = &mut self.columns;
        columns.numbers("cell.process", map.cells.iter().map(|cell| i64::from(process(cell.process))));
        columns.rising(
            "cell.number.end",
            map.cells.iter().map(|cell| (cell.address / map.cell_bytes).cast_signed()),
        );
        columns.numbers("cell.bytes", map.cells.iter().map(|cell| cell.held.cast_signed()));
        columns.numbers("cell.stacks", map.cells.iter().map(|cell| i64::from(cell.stacks)));
        let style = Style { color: false, width: Some(WIDTH_OF_A_STACK) };
        let texts = &mut self.texts;
        let mut known: HashMap<NodeId, i64> = HashMap::new();
        let mut text = |node: NodeId| {
            *known
                .entry(node)
                .or_insert_with(|| i64::from(texts.number(&stack_line(loaded, node, &style, 0))))
        };
        let largest = || map.cells.iter().flat_map(|cell| &cell.largest);
        columns.numbers("cell.named", map.cells.iter().map(|cell| cell.largest.len() as i64));
        columns.numbers("named.text", largest().map(|(node, _)| text(*node)).collect::<Vec<_>>());
        columns.numbers("named.bytes", largest().map(|(_, bytes)| bytes.cast_signed()));
    }

    /// In the order of the names in the `info` document.
    pub(super) fn regions(&mut self) -> Vec<RegionFields> {
        let (texts, loaded) = (&mut self.texts, self.parts.loaded);
        let mut room = MOST_REGIONS;
        let names = loaded.marks_by_name();
        let row = |row: &MarkName| {
            let times_ns: Vec<(u64, u64)> =
                row.regions.iter().take(room).map(|region| (region.from, region.to)).collect();
            room -= times_ns.len();
            let number = self.parts.shared.call_tree.regions.iter().position(|name| *name == row.name);
            RegionFields {
                name: texts.number(loaded.tables.string(row.name)),
                number: number.and_then(|number| u32::try_from(number).ok()),
                times_ns,
            }
        };
        names.iter().take(MOST_MARKS).map(row).collect()
    }

    pub(super) fn spectrum(&mut self) {
        let spectrum = &self.parts.history.spectrum;
        let columns = &mut self.columns;
        columns.amounts("size.allocated", spectrum.sizes.iter().map(|class| class.allocated));
        columns.numbers("size.temporary.blocks", spectrum.sizes.iter().map(|class| class.temporary.blocks));
        columns.amounts("size.left", spectrum.sizes.iter().map(|class| class.left));
        columns.amounts("life", spectrum.lives.iter().copied());
    }
}
