//! `history`: everything that happened at one address.

use crate::table::{Column, Document, Most, Row, Table, Title, Value, columns, phrase};
use analysis::lifetimes::{Entry, Turn};
use engine::Loaded;

/// The entries, oldest first; `earlier` more came before them.
pub fn history(loaded: &Loaded, address: u64, entries: &[Entry], earlier: u64) -> Document {
    let number = Value::counted(earlier + entries.len() as u64, "event");
    let title = phrase![number, " of blocks at ", Value::Address(address)];
    let tables = &loaded.tables;
    let pid = |entry: &Entry| tables.processes.get(entry.process.index()).map(|process| process.pid);
    let tid = |entry: &Entry| tables.threads.get(entry.thread?.index()).map(|thread| thread.tid);
    let id = |number: Option<u32>| Value::known(number.map(|number| Value::Id(number.into())));
    let (columns, cells) = columns![|entry: &Entry|
        Column::new("time_ns", "seconds").width(16) => Value::Time(entry.at.time),
        Column::new("pid", "pid").width(7) => id(pid(entry)),
        Column::new("tid", "tid").width(7) => id(tid(entry)),
        Column::field("turn") => entry.turn.name(),
        Column::field("address") => Value::Address(entry.address),
        Column::field("size") => Value::Id(entry.size),
        Column::field("old_address") => Value::known(resized_from(entry).map(|(address, _)| Value::Address(address))),
        Column::field("old_size") => Value::known(resized_from(entry).map(|(_, size)| Value::Id(size))),
        Column::field("new_address") => Value::known(resized_to(entry).map(|(address, _)| Value::Address(address))),
        Column::field("new_size") => Value::known(resized_to(entry).map(|(_, size)| Value::Id(size))),
        Column::field("stack") => Value::Stack(entry.stack).recorded(),
    ];
    let row = |entry: &Entry| {
        let stack = Value::Stack(entry.stack).recorded();
        let name = if stack == Value::Unknown { what(entry) } else { phrase![what(entry), "  ", stack] };
        Row::new(cells(entry), name)
    };
    let rows = entries.iter().map(row);
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

/// Address and size of the block that an entry's was before.
fn resized_from(entry: &Entry) -> Option<(u64, u64)> {
    let Turn::ResizedFrom { address, size } = entry.turn else { return None };
    Some((address, size))
}

/// The same of what it became.
fn resized_to(entry: &Entry) -> Option<(u64, u64)> {
    let Turn::ResizedTo { address, size } = entry.turn else { return None };
    Some((address, size))
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
