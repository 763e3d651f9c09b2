//! The data that depends on how time is sliced: the slices, and the changes of rows in them.

use crate::columns::Columns;
use analysis::{Flow, History, processor_time, resident};
use capture::CounterKind;
use engine::Loaded;

/// The columns of a history; each row has its changes in order of slices.
pub(crate) fn over_time(loaded: &Loaded, history: &History, rows: &[impl AsRef<[(u32, Flow)]>]) -> Columns {
    let mut columns = Columns::default();
    let has_frees = loaded.tables.metadata.has_free_stacks();
    changes(&mut columns, rows, has_frees);
    slices(&mut columns, loaded, history, has_frees);
    columns
}

fn changes(columns: &mut Columns, rows: &[impl AsRef<[(u32, Flow)]>], has_frees: bool) {
    columns.numbers("row.changes", rows.iter().map(|changes| changes.as_ref().len() as i64));
    let all = rows.iter().flat_map(|changes| changes.as_ref());
    columns.rising("change.slice", all.clone().map(|(slice, _)| i64::from(*slice)));
    let flows = all.map(|(_, change)| change);
    // Usually what was allocated either all stays or all goes: then one of the two is 0.
    columns.amounts("change.live", flows.clone().map(|change| change.live));
    columns.amounts("change.gone", flows.clone().map(|change| change.allocated - change.live));
    columns.amounts("change.temporary", flows.clone().map(|change| change.temporary));
    if has_frees {
        columns.amounts("change.frees", flows.map(|change| change.frees));
    }
}

fn slices(columns: &mut Columns, loaded: &Loaded, history: &History, has_frees: bool) {
    let slices = &history.slices;
    columns.rising("slice.end", slices.iter().map(|slice| slice.end.time.cast_signed()));
    columns.numbers("slice.before_end", slices.iter().map(|slice| i64::from(slice.before_end)));
    columns.numbers("slice.deepest", slices.iter().map(|slice| i64::from(slice.deepest)));
    columns.rising("slice.live.bytes", slices.iter().map(|slice| slice.live.bytes));
    columns.rising("slice.live.blocks", slices.iter().map(|slice| slice.live.blocks));
    columns.rising("slice.most.bytes", slices.iter().map(|slice| slice.most.bytes));
    columns.rising("slice.most.blocks", slices.iter().map(|slice| slice.most.blocks));
    columns.amounts("slice.allocated", slices.iter().map(|slice| slice.change.allocated));
    columns.amounts("slice.temporary", slices.iter().map(|slice| slice.change.temporary));
    if has_frees {
        columns.amounts("slice.frees", slices.iter().map(|slice| slice.change.frees));
    }
    let ends: Vec<u64> = slices.iter().map(|slice| slice.end.time).collect();
    for (name, kind) in [
        ("slice.resident.bytes", CounterKind::Rss),
        ("slice.proportional.bytes", CounterKind::Pss),
        ("slice.swapped.bytes", CounterKind::Swap),
    ] {
        let processes = &loaded.tables.processes;
        columns.rising(name, resident(&loaded.counters, kind, processes, ends.iter().copied()));
    }
    columns.rising("slice.processor.end", processor_time(&loaded.counters, &ends));
}
