//! A table with a row for each stack of each process, as in RFC 4180: lines end in CRLF, texts are quoted, and none
//! is a formula.

use super::places::places;
use analysis::{Amount, Cost, StackState, call_of_row, stack_states};
use engine::Loaded;
use report::csv::{cell, folded};
use report::text::escape;
use std::io::{self, Write};

/// The names of two columns, for blocks and for bytes, and the amount that they show.
type Columns = (&'static str, &'static str, fn(&Cost) -> Amount);

const COLUMNS: [Columns; 9] = [
    ("allocations", "allocated_bytes", |cost| cost.allocated),
    ("frees", "freed_bytes", |cost| cost.freed),
    ("temporary", "temporary_bytes", |cost| cost.temporary),
    ("peak_blocks", "peak_bytes", |cost| cost.peak),
    ("leaked_blocks", "leaked_bytes", |cost| cost.leaked),
    ("uncertain_blocks", "uncertain_bytes", |cost| cost.uncertain),
    ("exec_blocks", "exec_bytes", |cost| cost.at_exec),
    ("live_blocks", "live_bytes", Cost::live),
    ("cpu_samples", "cpu_weight", |cost| cost.cpu),
];

/// One more if the stacks of frees were recorded.
const FREES: Columns = ("frees_here", "freed_here_bytes", |cost| cost.frees);

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
