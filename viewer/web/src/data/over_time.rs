//! The data that depends on how time is sliced: the slices, and the changes of rows in them.

use crate::columns::Columns;
use analysis::{Amount, Flow, History, processor_time, resident};
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
    let all = || rows.iter().flat_map(|changes| changes.as_ref());
    columns.rising("change.slice", all().map(|(slice, _)| i64::from(*slice)));
    let mut change = |names: [&'static str; 2], of: &dyn Fn(&Flow) -> Amount| {
        columns.numbers(names[0], all().map(|(_, change)| of(change).bytes));
        columns.numbers(names[1], all().map(|(_, change)| of(change).blocks));
    };
    // Usually what was allocated either all stays or all goes: then one of the two is 0.
    change(["change.live.bytes", "change.live.blocks"], &|change| change.live);
    change(["change.gone.bytes", "change.gone.blocks"], &|change| change.allocated - change.live);
    change(["change.temporary.bytes", "change.temporary.blocks"], &|change| change.temporary);
    if has_frees {
        change(["change.frees.bytes", "change.frees.blocks"], &|change| change.frees);
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
    let mut change = |names: [&'static str; 2], of: &dyn Fn(&Flow) -> Amount| {
        columns.numbers(names[0], slices.iter().map(|slice| of(&slice.change).bytes));
        columns.numbers(names[1], slices.iter().map(|slice| of(&slice.change).blocks));
    };
    change(["slice.allocated.bytes", "slice.allocated.blocks"], &|change| change.allocated);
    change(["slice.temporary.bytes", "slice.temporary.blocks"], &|change| change.temporary);
    if has_frees {
        change(["slice.frees.bytes", "slice.frees.blocks"], &|change| change.frees);
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
