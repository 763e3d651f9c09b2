//! `history`: everything that happened at one address.
//!
//! ```text
//!     0.002000000  1000/5000  allocated 0x1000 100  b < a < main
//!     0.006000000  1000/5000  freed 0x1000 100
//! ```

use super::escape::escape;
use super::headline::warnings;
use super::stack_line::{rest, stack_line};
use super::style::{Role, Style};
use analysis::format::counted;
use analysis::lifetimes::{Entry, Turn};
use capture::NodeId;
use engine::Loaded;
use std::io::{self, Write};

/// Writes the entries, oldest first; `forgotten` more came before them.
///
/// # Errors
/// Those of the writer.
pub fn history(
    out: &mut dyn Write,
    loaded: &Loaded,
    address: u64,
    (entries, forgotten): (&[Entry], u64),
    style: &Style,
) -> io::Result<()> {
    let file = escape(&loaded.source.file);
    let turns = counted(entries.len() as u64 + forgotten, "event");
    writeln!(out, "{}", style.paint(Role::Heading, format!("{file}: {turns} of blocks at {address:#x}")))?;
    warnings(out, loaded, style)?;
    if entries.is_empty() {
        return writeln!(out, "Nothing to show: no recorded block was at this address.");
    }
    rest(out, style, usize::try_from(forgotten).unwrap_or(usize::MAX), "earlier event")?;
    for entry in entries {
        let time = format!("{:>6}.{:09}", entry.at.time / 1_000_000_000, entry.at.time % 1_000_000_000);
        let who = who(loaded, entry);
        let what = what(entry);
        write!(
            out,
            "{}  {who:>15}  {}",
            style.paint(Role::Detail, time),
            style.paint(Role::Function, &what)
        )?;
        if entry.stack != NodeId::ROOT {
            write!(
                out,
                "  {}",
                style.paint(Role::Detail, stack_line(loaded, entry.stack, style, 38 + what.len()))
            )?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn who(loaded: &Loaded, entry: &Entry) -> String {
    let number = |number: Option<u32>| number.map_or("?".to_owned(), |number| number.to_string());
    let pid = loaded.tables.processes.get(entry.process.index()).map(|process| process.pid);
    let thread = entry.thread.and_then(|thread| loaded.tables.threads.get(thread.index()));
    format!("{}/{}", number(pid), number(thread.map(|thread| thread.tid)))
}

fn what(entry: &Entry) -> String {
    let block = format!("{:#x} {}", entry.address, entry.size);
    match entry.turn {
        Turn::Allocated => format!("allocated {block}"),
        Turn::ResizedFrom { address, size } => format!("resized {address:#x} {size} -> {block}"),
        Turn::ResizedTo { address, size } => format!("resized {block} -> {address:#x} {size}"),
        Turn::Freed => format!("freed {block}"),
        Turn::Displaced => format!("freed without a record {block}"),
        Turn::Left => format!("never freed {block}"),
        Turn::Uncertain => format!("possibly never freed {block}"),
        Turn::AtExec => format!("live at exec {block}"),
        Turn::FreedInvalid => format!("freed {:#x}, where no block began", entry.address),
    }
}
