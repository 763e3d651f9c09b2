//! `invalid-frees`: frees of addresses without a live block, and what had become of the block.
//!
//! ```text
//! 0x55d0c3a012c0 freed twice, after 27.9 ms by app (4082), thread 4082
//!     close_conn  conn.c:6
//!     main  conn.c:13
//!   first freed after 27.8 ms by thread 4082
//!     close_conn  conn.c:6
//!     main  conn.c:11
//!   a block of 3.91 KiB, allocated after 27.7 ms by thread 4082
//!     make_buffer  conn.c:5
//!     main  conn.c:10
//! ```

use super::escape::escape;
use super::headline::warnings;
use super::leaks::stack;
use super::stack_line::rest;
use super::style::{Role, Style};
use analysis::format::{bytes, counted, duration};
use analysis::lifetimes::{Block, Cause, InvalidFreeRow, Return};
use analysis::{Instant, InvalidFree, process_name};
use capture::{NodeId, ThreadId};
use engine::Loaded;
use std::io::{self, Write};

/// Writes at most `limit` frees, oldest first; `more` were not examined. `command` is how the user calls this
/// program.
///
/// # Errors
/// Those of the writer.
pub fn invalid_frees(
    out: &mut dyn Write,
    loaded: &Loaded,
    (rows, more): (&[InvalidFreeRow], u64),
    limit: usize,
    command: &str,
    style: &Style,
) -> io::Result<()> {
    let file = escape(&loaded.source.file);
    let number = counted(rows.len() as u64 + more, "invalid free");
    writeln!(out, "{}", style.paint(Role::Heading, format!("{file}: {number}")))?;
    limits(out, loaded)?;
    warnings(out, loaded, style)?;
    for row in rows.iter().take(limit) {
        writeln!(out)?;
        one(out, loaded, row, style)?;
    }
    let hidden = rows.len().saturating_sub(limit).saturating_add(usize::try_from(more).unwrap_or(usize::MAX));
    if hidden > 0 {
        writeln!(out)?;
    }
    rest(out, style, hidden, "more invalid free")?;
    if rows.iter().any(|row| row.free.stack == NodeId::ROOT) && !loaded.traces_frees() {
        writeln!(out, "\nNext\n  {command} run --free-stacks -- PROGRAM    also shows where it was freed")?;
    }
    Ok(())
}

/// What is not checked.
fn limits(out: &mut dyn Write, loaded: &Loaded) -> io::Result<()> {
    if loaded.profile.sampling.is_some() {
        writeln!(out, "  the capture is sampled: frees of blocks that are not samples are not recorded")?;
    }
    if loaded.tables.processes.iter().any(|process| process.attached) {
        writeln!(
            out,
            "  in processes older than the recording, unknown blocks are taken for blocks allocated before it"
        )?;
    }
    Ok(())
}

fn one(out: &mut dyn Write, loaded: &Loaded, row: &InvalidFreeRow, style: &Style) -> io::Result<()> {
    let InvalidFreeRow { at, free, cause } = row;
    let InvalidFree { process, thread, address, stack: node } = *free;
    let what = match cause {
        Cause::Twice(_, Return { moved_to: None, .. }) => "freed twice",
        Cause::Twice(_, Return { moved_to: Some(_), .. }) => "freed after realloc moved it",
        Cause::Inside(_) => "freed, but points inside a block",
        Cause::Unknown => "freed, but never allocated",
    };
    let process = loaded.tables.processes.get(process.index()).map_or(String::new(), |process| {
        let pid = process.pid;
        format!("{} ({pid}), ", escape(&process_name(process)))
    });
    let what = style.paint(Role::Heading, format!("{address:#x} {what}"));
    writeln!(out, "{what}, {} by {process}{}", when(*at), who(loaded, thread))?;
    known_stack(out, loaded, node, style)?;
    match cause {
        Cause::Twice(block, returned) => {
            let how = match returned.moved_to {
                None => "first freed".to_owned(),
                Some(to) => format!("moved to {to:#x}"),
            };
            writeln!(out, "  {how} {} by {}", when(returned.at), who(loaded, returned.thread))?;
            known_stack(out, loaded, returned.stack, style)?;
            self::block(out, loaded, block, style)
        }
        Cause::Inside(block) => {
            let offset = counted(address.saturating_sub(block.address), "byte");
            writeln!(out, "  {offset} past {:#x}, the start of the block", block.address)?;
            self::block(out, loaded, block, style)
        }
        Cause::Unknown => writeln!(
            out,
            "  no recorded call of this process returned it, and it was not inside a live block"
        ),
    }
}

fn block(out: &mut dyn Write, loaded: &Loaded, block: &Block, style: &Style) -> io::Result<()> {
    let size = bytes(i64::try_from(block.size).unwrap_or(i64::MAX));
    writeln!(out, "  a block of {size}, allocated {} by {}", when(block.at), who(loaded, block.thread))?;
    stack(out, loaded, block.stack, style)
}

/// A stack, if one was recorded.
fn known_stack(out: &mut dyn Write, loaded: &Loaded, node: NodeId, style: &Style) -> io::Result<()> {
    if node == NodeId::ROOT { Ok(()) } else { stack(out, loaded, node, style) }
}

fn when(at: Instant) -> String {
    format!("after {}", duration(at.time))
}

fn who(loaded: &Loaded, id: ThreadId) -> String {
    match loaded.tables.threads.get(id.index()) {
        Some(thread) if thread.name.is_empty() => format!("thread {}", thread.tid),
        Some(thread) => format!("thread {} {}", thread.tid, escape(&thread.name)),
        None => "an unknown thread".to_owned(),
    }
}
