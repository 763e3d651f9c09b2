//! A table with a row for each stack of each process, as in RFC 4180: lines end in CRLF, texts are quoted, and none
//! is a formula.

use super::amounts::{COLUMNS, FREES};
use super::places::places;
use analysis::{Amount, StackState, call_of_row, stack_states};
use engine::Loaded;
use report::csv::{cell, folded};
use report::text::escape;
use std::io::{self, Write};

/// Writes the table; stacks are written outermost function first, separated by semicolons.
pub(super) fn write(out: &mut dyn Write, loaded: &Loaded) -> io::Result<()> {
    write!(out, "pid,process,call,state")?;
    let columns = || COLUMNS.into_iter().chain(loaded.has_free_stacks().then_some(FREES));
    for (blocks, bytes, _) in columns() {
        write!(out, ",{blocks},{bytes}")?;
    }
    write!(out, ",stack\r\n")?;
    let states = stack_states(&loaded.tables);
    let mut stack: Vec<&str> = Vec::new();
    for site in &loaded.profile.sites {
        let name = |label| loaded.names.label(label).name.as_str();
        let process = loaded.tables.processes.get(site.process.index());
        write!(out, "{},", process.map_or(0, |process| process.pid))?;
        write!(out, "{}", cell(&escape(name(loaded.names.process(site.process)))))?;
        let state = states.get(site.node.index()).copied().unwrap_or(StackState::Incomplete);
        write!(out, ",\"{}\",{}", call_of_row(&loaded.tables, site.node, &site.cost), state.name())?;
        for (_, _, amount) in columns() {
            let Amount { blocks, bytes } = amount(&site.cost);
            write!(out, ",{blocks},{bytes}")?;
        }
        stack.clear();
        stack.extend(places(loaded, site).map(|place| name(place.label)));
        // The process has a column of its own.
        stack.pop();
        stack.reverse();
        let stack: Vec<_> = stack.iter().map(|name| folded(name)).collect();
        write!(out, ",{}\r\n", cell(&stack.join(";")))?;
    }
    Ok(())
}
