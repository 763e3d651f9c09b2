//! `check`: one line per rule.
//!
//! ```text
//! ok    peak         1.20 MiB, limit 512 MiB
//! FAIL  leaked       1.50 KiB, limit 0 B
//! FAIL  allocations  1,200, limit 1,050 (baseline 1,000 + 5 %)
//! ok    growth       0 B, limit 64.0 KiB: the parser keeps nothing
//! ?     leaked       0 B, limit 0 B; undecided: the capture lost 12 events
//! ```

use super::escape::escape;
use super::style::{Role, Style};
use analysis::format::count;
use engine::check::{Outcome, Report, Verdict};
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
        let (word, role) = match verdict.outcome() {
            Outcome::Kept => ("ok", Role::Detail),
            Outcome::Untold => ("?", Role::Warning),
            Outcome::Broken => ("FAIL", Role::Warning),
        };
        let word = style.paint(role, format!("{word:<4}"));
        let name = title(verdict).map_or(String::new(), |title| format!(": {}", escape(title)));
        writeln!(out, "{word}  {:<width$}  {}{name}", verdict.measure.name(), result(verdict))?;
    }
    Ok(())
}

/// The user's name for the rule, or the stacks it is about.
pub(crate) fn title(verdict: &Verdict) -> Option<&str> {
    verdict.name.as_deref().or(verdict.filter.as_deref())
}

/// The numbers in words; exact where rounding would hide a difference.
pub(crate) fn result(verdict: &Verdict) -> String {
    let number = |value| verdict.measure.text(value);
    let (mut actual, mut limit) = (number(verdict.actual), number(verdict.limit));
    if actual == limit && verdict.actual != verdict.limit {
        actual += &format!(" ({} bytes)", count(verdict.actual));
        limit += &format!(" ({} bytes)", count(verdict.limit));
    }
    let baseline = verdict.baseline.map_or(String::new(), |(before, tolerance)| {
        let before = number(before);
        format!(" (baseline {before} + {} %)", tolerance.as_percent())
    });
    let doubt = match (verdict.outcome(), &verdict.doubt) {
        (Outcome::Untold, Some(doubt)) => format!("; undecided: {doubt}"),
        _ => String::new(),
    };
    format!("{actual}, limit {limit}{baseline}{doubt}")
}
