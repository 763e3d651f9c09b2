//! A stack in one line, and a table's header.

use super::escape::{columns, fit};
use super::place::{chain, detail};
use super::style::{Role, Style};
use analysis::format::counted;
use analysis::meaningful;
use capture::NodeId;
use engine::Loaded;
use std::io::{self, Write};

/// Functions shown by default.
const DEPTH: usize = 8;

/// `parse (parse.c:12) < read < main`, cut to the remaining columns.
pub fn stack_line(loaded: &Loaded, node: NodeId, style: &Style, used: usize) -> String {
    fit(&stack(loaded, node), style.room(used)).into_owned()
}

/// The same in full length.
pub(super) fn stack(loaded: &Loaded, node: NodeId) -> String {
    stack_to(DEPTH, loaded, node)
}

/// The same with at most this many functions.
pub(super) fn stack_to(depth: usize, loaded: &Loaded, node: NodeId) -> String {
    let chain = chain(loaded, node, 0, depth);
    if chain.is_empty() {
        return "[no stack]".to_owned();
    }
    let first = meaningful(&loaded.tables, &loaded.names, node).next();
    match first.and_then(|(_, step)| detail(loaded, &step)) {
        // The place is that of the first function, and precedes its callers.
        Some(place) => match chain.split_once(" < ") {
            Some((function, callers)) => format!("{function} ({place}) < {callers}"),
            None => format!("{chain} ({place})"),
        },
        None => chain,
    }
}

/// The header of a table.
pub(super) fn header(out: &mut dyn Write, style: &Style, text: &str) -> io::Result<()> {
    writeln!(out, "{}", style.paint(Role::Detail, text))
}

/// How many children of a tree node are hidden, in this many columns: "not shown" is left out if there is no room.
pub(super) fn smaller_ones(hidden: usize, option: &str, room: usize) -> String {
    let text = not_shown(hidden, "smaller one", option);
    match option {
        _ if columns(&text) <= room => text,
        "" => counted(hidden as u64, "smaller one"),
        option => format!("{} ({option})", counted(hidden as u64, "smaller one")),
    }
}

/// How many rows are hidden, and the option that shows them, which may be empty.
pub(crate) fn not_shown(hidden: usize, noun: &str, option: &str) -> String {
    not_shown_of(hidden, noun, "", option)
}

/// The same with something said of these rows.
pub(super) fn not_shown_of(hidden: usize, noun: &str, said: &str, option: &str) -> String {
    let rows = counted(hidden as u64, noun);
    if option.is_empty() {
        format!("{rows}{said} not shown")
    } else {
        format!("{rows}{said} not shown ({option})")
    }
}
