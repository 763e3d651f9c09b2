//! `history`: everything that happened at one address.

use crate::table::{Column, Document, Most, Row, Table, Title, Value, phrase};
use analysis::lifetimes::{Entry, Turn};
use capture::NodeId;
use engine::Loaded;

/// The entries, oldest first; `earlier` more came before them.
pub fn history(loaded: &Loaded, address: u64, entries: &[Entry], earlier: u64) -> Document {
    let number = Value::counted(earlier + entries.len() as u64, "event");
    let title = phrase![number, " of blocks at ", Value::Address(address)];
    let columns = [
        Column::new("time_ns", "seconds").width(16),
        Column::new("pid", "pid").width(7),
        Column::new("tid", "tid").width(7),
        Column::field("turn"),
        Column::field("address"),
        Column::field("size"),
        Column::field("old_address"),
        Column::field("old_size"),
        Column::field("new_address"),
        Column::field("new_size"),
        Column::field("stack"),
    ];
    let rows = entries.iter().map(|entry| row(loaded, entry));
    let table = Table {
        noun: "earlier event",
        most: Most::Last,
        more: earlier,
        ..Table::new("turns", columns, "event").rows(rows)
    };
    let nothing = entries.is_empty().then(|| "no recorded block was at this address".into());
    Document {
        notes: nothing.into_iter().collect(),
        fields: vec![("address", Value::Address(address)), ("earlier", Value::count(earlier))],
        ..Document::new("history", Title::Words(title), [table])
    }
}

fn row(loaded: &Loaded, entry: &Entry) -> Row {
    let id = |number: Option<u32>| number.map_or(Value::Unknown, |number| Value::Id(number.into()));
    let process = loaded.tables.processes.get(entry.process.index());
    let thread = entry.thread.and_then(|thread| loaded.tables.threads.get(thread.index()));
    let block = |address, size| [Value::Address(address), Value::Id(size)];
    let [old, new] = match entry.turn {
        Turn::ResizedFrom { address, size } => [block(address, size), [Value::Unknown, Value::Unknown]],
        Turn::ResizedTo { address, size } => [[Value::Unknown, Value::Unknown], block(address, size)],
        _ => [[Value::Unknown, Value::Unknown], [Value::Unknown, Value::Unknown]],
    };
    let head = [
        Value::Time(entry.at.time),
        id(process.map(|process| process.pid)),
        id(thread.map(|thread| thread.tid)),
        entry.turn.name().into(),
    ];
    let cells = head.into_iter().chain(block(entry.address, entry.size)).chain(old).chain(new);
    let cells: Vec<Value> = cells.chain([Value::Stack(entry.stack).recorded()]).collect();
    let what = what(entry);
    Row::new(
        cells,
        if entry.stack == NodeId::ROOT { what } else { phrase![what, "  ", Value::Stack(entry.stack)] },
    )
}

fn what(entry: &Entry) -> Value {
    let block = |address, size| phrase![Value::Address(address), " ", Value::Id(size)];
    let this = block(entry.address, entry.size);
    match entry.turn {
        Turn::Allocated => phrase!["allocated ", this],
        Turn::ResizedFrom { address, size } => phrase!["resized ", block(address, size), " -> ", this],
        Turn::ResizedTo { address, size } => phrase!["resized ", this, " -> ", block(address, size)],
        Turn::Freed => phrase!["freed ", this],
        Turn::Displaced => phrase!["freed without a record ", this],
        Turn::Left => phrase!["never freed ", this],
        Turn::Uncertain => phrase!["possibly never freed ", this],
        Turn::AtExec => phrase!["live at exec ", this],
        Turn::FreedInvalid => phrase!["freed ", Value::Address(entry.address), ", where no block began"],
    }
}
