//! `failed`: calls that should have returned memory and returned none.
//!
//! ```text
//! operator new of 1.00 TiB failed after 27.9 ms in app (4082), thread 4082: out of memory (ENOMEM)
//!   the process held 3.91 KiB in 12 blocks
//!     make_table  table.cpp:6
//!     main  table.cpp:13
//! ```

use super::escape::escape;
use super::headline::{span, warnings};
use super::leaks::stack;
use super::stack_line::rest;
use super::style::{Role, Style};
use analysis::format::{bytes, count, counted, duration};
use analysis::{Amount, Failure, Reason, call_of, process_name};
use engine::Loaded;
use std::io::{self, Write};

/// Most threads that a row names.
const THREADS: usize = 3;

/// Writes at most `limit` rows, the most recent failure first.
///
/// # Errors
/// Those of the writer.
pub fn failed(out: &mut dyn Write, loaded: &Loaded, limit: usize, style: &Style) -> io::Result<()> {
    let file = escape(&loaded.source.file);
    let part = span(loaded.profile.span);
    let calls = counted(loaded.profile.failed_calls(), "failed allocation");
    let title = format!("{file}{part}: {calls}");
    writeln!(out, "{}", style.paint(Role::Heading, title))?;
    limits(out, loaded)?;
    warnings(out, loaded, style)?;
    let rows = loaded.failures();
    for row in rows.iter().take(limit) {
        writeln!(out)?;
        one(out, loaded, row, style)?;
    }
    let hidden = rows.len().saturating_sub(limit);
    if hidden > 0 {
        writeln!(out)?;
    }
    rest(out, style, hidden, "more stack")
}

/// The number of such calls and their sizes in words; none if there were none.
pub(super) fn failed_text(loaded: &Loaded) -> Option<String> {
    let failures = &loaded.profile.failures;
    let calls = |is_wanted: fn(&Failure) -> bool| {
        failures.iter().filter(|one| is_wanted(one)).fold(0_u64, |sum, one| sum.saturating_add(one.calls))
    };
    let (refused, invalid) =
        (calls(|one| one.reason != Reason::Alignment), calls(|one| one.reason == Reason::Alignment));
    let largest = failures.iter().filter(|one| one.reason != Reason::Alignment);
    let largest = largest.filter_map(|one| Some((one, one.sizes?.1)));
    // Sizes that are negative as signed numbers are usually mistakes, and so are products that overflow.
    let largest = largest.max_by_key(|(_, size)| (i64::try_from(*size).is_ok(), *size));
    let mut texts = Vec::new();
    if refused > 0 {
        let most =
            largest.map_or(String::new(), |(one, most)| format!(", the largest of {}", asked_for(one, most)));
        texts.push(format!("{}{most}", counted(refused, "allocation")));
    }
    if invalid > 0 {
        texts.push(format!("{} with an invalid alignment", counted(invalid, "call")));
    }
    (!texts.is_empty()).then(|| texts.join("; "))
}

/// What the list lacks.
fn limits(out: &mut dyn Write, loaded: &Loaded) -> io::Result<()> {
    let Loaded { profile, tables, .. } = loaded;
    if !tables.metadata.tells_failed_calls() {
        writeln!(out, "  the capture does not record them: an earlier version made it, or it was imported")?;
    }
    if profile.sampling.is_some() {
        writeln!(
            out,
            "  the capture is sampled: of failed calls for less than 128 KiB, only some are recorded"
        )?;
    }
    if profile.snapshots.is_some() {
        writeln!(
            out,
            "  the capture is aggregated: times and held memory are those of snapshots; threads and individual sizes are not kept"
        )?;
    }
    Ok(())
}

fn one(out: &mut dyn Write, loaded: &Loaded, row: &Failure, style: &Style) -> io::Result<()> {
    let call = call_of(&loaded.tables, row.node);
    let what = match (row.calls, row.sizes) {
        (1, _) => format!("{call} of {} failed", asked_for(row, row.bytes)),
        (calls, Some((least, most))) if least == most => {
            format!("{} to {call} for {} failed", counted(calls, "call"), asked_for(row, most))
        }
        (calls, Some((least, most))) => {
            format!(
                "{} to {call} for {} to {} failed",
                counted(calls, "call"),
                size_asked_for(least),
                asked_for(row, most)
            )
        }
        (calls, None) => {
            format!("{} to {call} for {} in total failed", counted(calls, "call"), size_asked_for(row.bytes))
        }
    };
    let what = style.paint(Role::Heading, what);
    let when = match row.calls {
        1 => format!("after {}", duration(row.first.time)),
        _ => format!("after {} to {}", duration(row.first.time), duration(row.last.time)),
    };
    let process =
        loaded.tables.processes.get(row.process.index()).map_or(String::new(), |process| {
            format!(" in {} ({})", escape(&process_name(process)), process.pid)
        });
    writeln!(out, "{what} {when}{process}{}{}", threads(loaded, row), reason(row))?;
    let held = match row.calls {
        1 => held(row.held_first),
        _ => format!("{} at the first failure, {} at the last", held(row.held_first), held(row.held_last)),
    };
    writeln!(out, "  the process held {held}")?;
    stack(out, loaded, row.node, style)
}

fn held(Amount { blocks, bytes: held }: Amount) -> String {
    format!("{} in {}", bytes(held), counted(blocks, "block"))
}

fn threads(loaded: &Loaded, row: &Failure) -> String {
    let rows = row.threads.iter().filter_map(|thread| loaded.tables.threads.get(thread.index()));
    let name = |thread: &capture::Thread| match thread.name.as_str() {
        "" => format!("thread {}", thread.tid),
        name => format!("thread {} {}", thread.tid, escape(name)),
    };
    let named: String = rows.take(THREADS).map(|thread| format!(", {}", name(thread))).collect();
    match row.threads.len().saturating_sub(THREADS) {
        0 => named,
        more => format!("{named} and {}", counted(more as u64, "other")),
    }
}

fn reason(row: &Failure) -> String {
    let what = match row.reason {
        Reason::Unknown => return String::new(),
        Reason::NoMemory => "out of memory".to_owned(),
        Reason::Locked => "over the limit of locked memory".to_owned(),
        Reason::Alignment => format!("invalid alignment {}", count(row.alignment)),
        Reason::Overflow => "size overflow".to_owned(),
    };
    format!(": {what} ({})", row.reason.name().unwrap_or_default())
}

/// The size of a request: of a product that overflows, the last count and size.
pub(super) fn asked_for(row: &Failure, size: u64) -> String {
    match row.factors {
        Some((number, each)) if size == u64::MAX => format!("{} × {} B", count(number), count(each)),
        _ => size_asked_for(size),
    }
}

/// A size that may be a mistake: a negative number passed as a size.
fn size_asked_for(size: u64) -> String {
    match i64::try_from(size) {
        Ok(size) => bytes(size),
        // The result of subtracting a larger number from a smaller one.
        Err(_) if size > i64::MAX.cast_unsigned() + (1 << 62) => format!("{} B", count(size.cast_signed())),
        Err(_) => format!("{} B", count(size)),
    }
}
