//! `check`: one line per rule.
//!
//! ```text
//! ok    peak         1.20 MiB, at most 512 MiB
//! FAIL  leaked       1.50 KiB, at most 0 B
//! FAIL  allocations  1,200, at most 1,050 (1,000 before, and 5 %)
//! ok    growth       0 B, at most 64.0 KiB: the parser keeps nothing
//! ```

use super::escape::escape;
use super::style::{Role, Style};
use crate::check::{Measure, Report, Verdict};
use crate::format::{bytes, count};
use std::io::{self, Write};

/// Writes the report.
///
/// # Errors
/// Those of the writer.
pub fn check(out: &mut dyn Write, report: &Report, style: &Style) -> io::Result<()> {
    for warning in &report.warnings {
        writeln!(out, "{}", style.paint(Role::Warning, format!("warning: {}", escape(warning))))?;
    }
    let width = report.verdicts.iter().map(|verdict| verdict.measure.name().len()).max().unwrap_or(0);
    for verdict in &report.verdicts {
        let (word, role) = if verdict.is_kept() { ("ok", Role::Detail) } else { ("FAIL", Role::Warning) };
        let word = style.paint(role, format!("{word:<4}"));
        let name = title(verdict).map_or(String::new(), |title| format!(": {}", escape(title)));
        writeln!(out, "{word}  {:<width$}  {}{name}", verdict.measure.name(), result(verdict))?;
    }
    Ok(())
}

/// What the user calls it, or the stacks that it is about.
pub(crate) fn title(verdict: &Verdict) -> Option<&str> {
    verdict.name.as_deref().or(verdict.filter.as_deref())
}

/// The numbers in words: exact where rounding would hide a difference.
pub(crate) fn result(verdict: &Verdict) -> String {
    let (mut actual, mut limit) =
        (number(verdict.measure, verdict.actual), number(verdict.measure, verdict.limit));
    if actual == limit && verdict.actual != verdict.limit {
        actual += &format!(" ({} bytes)", count(verdict.actual));
        limit += &format!(" ({} bytes)", count(verdict.limit));
    }
    let baseline = verdict.baseline.map_or(String::new(), |(before, tolerance)| {
        let before = number(verdict.measure, before);
        format!(" ({before} before, and {} %)", tolerance.as_percent())
    });
    format!("{actual}, at most {limit}{baseline}")
}

fn number(measure: Measure, value: i64) -> String {
    if measure.counts_blocks() { count(value) } else { bytes(value) }
}
