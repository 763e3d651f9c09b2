//! A stack in one line, and a table's header.

use super::escape::fit;
use super::place::{chain, detail};
use super::style::{Role, Style};
use crate::analysis::meaningful;
use crate::loaded::Loaded;
use capture::NodeId;
use std::io::{self, Write};

/// Functions shown where nothing else is said.
const DEPTH: usize = 8;

/// `parse (parse.c:12) < read < main`, cut to the columns that are left.
pub fn stack_line(loaded: &Loaded, node: NodeId, style: &Style, used: usize) -> String {
    stack_line_to(DEPTH, loaded, node, style, used)
}

/// The same of so many functions at most.
pub(super) fn stack_line_to(
    depth: usize,
    loaded: &Loaded,
    node: NodeId,
    style: &Style,
    used: usize,
) -> String {
    let chain = chain(loaded, node, 0, depth);
    if chain.is_empty() {
        return "[no stack]".to_owned();
    }
    let first = meaningful(&loaded.tables, &loaded.names, node).next();
    let text = match first.and_then(|(_, step)| detail(loaded, &step)) {
        // The place belongs to the first function, before its callers.
        Some(place) => match chain.split_once(" < ") {
            Some((function, callers)) => format!("{function} ({place}) < {callers}"),
            None => format!("{chain} ({place})"),
        },
        None => chain,
    };
    fit(&text, style.room(used)).into_owned()
}

/// The line over a table.
pub(super) fn header(out: &mut dyn Write, style: &Style, text: &str) -> io::Result<()> {
    writeln!(out, "{}", style.paint(Role::Detail, text))
}

/// A heading within a view.
pub(super) fn heading(out: &mut dyn Write, style: &Style, text: &str) -> io::Result<()> {
    writeln!(out, "\n{}", style.paint(Role::Heading, text))
}

/// How many rows a limit leaves out, if any.
pub(super) fn rest(out: &mut dyn Write, style: &Style, hidden: usize, noun: &str) -> io::Result<()> {
    match hidden {
        0 => Ok(()),
        hidden => {
            let text = format!("{} not shown", crate::format::counted(hidden as u64, noun));
            writeln!(out, "{}", style.paint(Role::Detail, text))
        }
    }
}
