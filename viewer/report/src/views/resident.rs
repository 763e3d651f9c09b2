//! What memory is actually resident, who allocated it, and who touched it.

use crate::options::ResidentBy;
use crate::table::{Column, Document, Most, Readers, Row, Table, Title, Value, columns, phrase};
use analysis::{HeldRow, ResidencySums, ResidencyTable, Span, TouchRow};
use capture::{NodeId, ProcessId};
use engine::Loaded;

/// What is resident by kind and by process, followed by the stacks that allocated or touched it.
pub fn resident(loaded: &Loaded, table: &ResidencyTable, by: ResidentBy) -> Document {
    let when = match loaded.profile.span {
        Span::Whole => " resident at exit",
        Span::At(_) => " resident then",
        Span::Range { .. } => " resident at the end of this range, and not at its start",
    };
    let title = phrase![Value::bytes(table.sums.total()), when];
    let is_known = table.has_faults;
    let fields = vec![
        ("recorded", Value::Flag(is_known)),
        ("lost_faults", Value::count(table.lost)),
        ("unknown_at_most_bytes", Value::bytes(table.huge_at_most)),
        ("resident", if is_known { Value::Record(sums(&table.sums)) } else { Value::Unknown }),
    ];
    let (processes, held, touched) = match is_known {
        true => (&table.processes[..], &table.held[..], &table.touched[..]),
        false => (&[][..], &[][..], &[][..]),
    };
    let chosen = |shown| if by == shown { Readers::All } else { Readers::Programs };
    let tables = [
        kinds(&table.sums),
        by_process(loaded, processes),
        by_allocation(held).only(chosen(ResidentBy::Allocation)),
        by_touch(touched).only(chosen(ResidentBy::Touch)),
    ];
    Document {
        warnings: warnings(loaded, table),
        fields,
        ..Document::new("resident", Title::Words(title), tables)
    }
}

/// Why the numbers are incomplete.
fn warnings(loaded: &Loaded, table: &ResidencyTable) -> Vec<Value> {
    let refused = loaded.tables.summary.as_ref().map(|summary| summary.faults.refused.clone());
    let mut notes: Vec<Value> =
        refused.filter(|refused| !refused.is_empty()).map(Value::from).into_iter().collect();
    if table.lost > 0 {
        notes.push(phrase![Value::counted(table.lost, "page fault"), " lost: their pages are missing here"]);
    }
    if table.beyond > 0 {
        notes.push(phrase![Value::counted(table.beyond, "page"), " not followed (too many)"]);
    }
    if table.huge_at_most > 0 {
        let most = Value::bytes(table.huge_at_most);
        notes.push(phrase!["up to ", most, " more, where one fault mapped a huge page"]);
    }
    if loaded.tables.processes.iter().any(|process| process.attached) {
        notes.push("pages that were resident before the recording are unknown".into());
    }
    if loaded.profile.sampling.is_some() {
        notes.push(
            "blocks are estimates; space between them is not distinguished from what libc keeps".into(),
        );
    }
    notes
}

/// The sums in words.
fn kinds(sums: &ResidencySums) -> Table {
    let parts = [
        (sums.blocks, "live blocks"),
        (sums.other_blocks, "live blocks outside the selection"),
        (sums.free, "heap pages without a live block: freed, kept by libc"),
        (sums.slack, "between live blocks, on the same pages"),
        (sums.stacks, "thread stacks"),
        (sums.files, "files and shared memory"),
        (sums.anonymous, "other anonymous memory"),
        (sums.unknown, "unknown memory"),
    ];
    let rows = parts
        .into_iter()
        .filter(|(size, _)| *size != 0)
        .map(|(size, what)| Row::new([Value::bytes(size), Value::Share(size, sums.total())], what));
    let columns = [Column::shown("resident").width(11), Column::shown("share").width(7)];
    let table = Table::new("kinds", columns, "what").only(Readers::People).rows(rows);
    let untouched = sums.untouched();
    let note = phrase![
        "of ",
        Value::bytes(sums.held),
        " in live blocks, ",
        Value::bytes(untouched),
        " (",
        Value::Share(untouched, sums.held),
        ") was never touched"
    ];
    Table { most: Most::All, notes: (sums.held > 0).then_some(note).into_iter().collect(), ..table }
}

/// Each process, next to the resident size that the kernel reported.
fn by_process(loaded: &Loaded, rows: &[(ProcessId, ResidencySums)]) -> Table {
    let (columns, cells) = columns![|(process, of): &(ProcessId, ResidencySums)|
        Column::field("pid") => Value::Process(*process),
        Column::shown("resident").width(11) => Value::bytes(of.total()),
        Column::shown("heap").width(11) => Value::bytes(of.heap()),
        Column::new("rss_bytes", "last RSS").width(11) => Value::known(loaded.last_rss(*process).map(Value::bytes)),
        Column::field("") => Value::Record(sums(of)),
    ];
    let rows = rows.iter().map(|row| Row::new(cells(row), Value::Process(row.0)));
    let table = Table::new("processes", columns, "process").titled("By process");
    Table { most: Most::All, ..table }.rows(rows)
}

fn by_allocation(rows: &[HeldRow]) -> Table {
    let (columns, cells) = columns![|row: &HeldRow|
        Column::field("pid") => Value::Process(row.process),
        Column::new("resident_bytes", "resident").width(11) => Value::bytes(row.resident),
        Column::new("untouched_bytes", "untouched").width(11) => Value::bytes(row.untouched()),
        Column::new("held_bytes", "held").width(11) => Value::bytes(row.held.bytes),
        Column::new("blocks", "blocks").width(9) => Value::count(row.held.blocks),
    ];
    let row = |row: &HeldRow| Row::new(cells(row), Value::Stack(row.node));
    let table = Table::new("held", columns, "stack").named("stack").titled("By allocating stack");
    table.rows(rows.iter().map(row))
}

fn by_touch(rows: &[TouchRow]) -> Table {
    let columns = [
        Column::field("stack"),
        Column::field("pid"),
        Column::new("resident_bytes", "resident").width(11),
        Column::new("in_blocks_bytes", "in blocks").width(11),
    ];
    let row = |row: &TouchRow| {
        let stack = Value::Stack(row.node).recorded();
        let name = if row.node == NodeId::ROOT { "[no room for the stack]".into() } else { stack.clone() };
        let pid = Value::Process(row.process);
        Row::new([stack, pid, Value::bytes(row.bytes), Value::bytes(row.in_blocks)], name)
    };
    Table::new("touched", columns, "stack").titled("By touching stack").rows(rows.iter().map(row))
}

fn sums(sums: &ResidencySums) -> Vec<(&'static str, Value)> {
    let sizes = [
        ("total_bytes", sums.total()),
        ("heap_bytes", sums.heap()),
        ("held_bytes", sums.held),
        ("blocks_bytes", sums.blocks),
        ("untouched_bytes", sums.untouched()),
        ("other_blocks_bytes", sums.other_blocks),
        ("free_bytes", sums.free),
        ("slack_bytes", sums.slack),
        ("stacks_bytes", sums.stacks),
        ("files_bytes", sums.files),
        ("anonymous_bytes", sums.anonymous),
        ("unknown_bytes", sums.unknown),
    ];
    sizes.into_iter().map(|(key, size)| (key, Value::bytes(size))).collect()
}
