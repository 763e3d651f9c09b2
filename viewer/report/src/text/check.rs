//! `check`: one line per rule.
//!
//! ```text
//! ok    peak         1.20 MiB, limit 512 MiB
//! FAIL  leaked       1.50 KiB, limit 0 B
//! FAIL  allocations  1,200, limit 1,050 (baseline 1,000 + 5 %)
//! ok    growth       0 B, limit 64.0 KiB: the parser keeps nothing
//! ?     leaked       0 B, limit 0 B; undecided: the capture lost 12 events
//! ```
//!
//! Below a broken rule stand the stacks to blame:
//!
//! ```text
//! FAIL  leaked       1.50 KiB, limit 0 B
//!         1.00 KiB  remember (cache.c:12) < handle < main
//! ```

use super::escape::escape;
use super::stack_line::stack_line;
use super::style::{Role, Style};
use analysis::format::count;
use engine::check::{Outcome, Report, Verdict};
use std::io::{self, Write};

/// Columns of the numbers of stacks.
const INDENT: usize = 16;

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
        let role = if verdict.outcome() == Outcome::Kept { Role::Detail } else { Role::Warning };
        let word = style.paint(role, format!("{:<4}", word(verdict)));
        let name = title(verdict).map_or(String::new(), |title| format!(": {}", escape(title)));
        writeln!(out, "{word}  {:<width$}  {}{name}", verdict.measure.name(), result(verdict))?;
        for (amount, stack) in culprits(report, verdict, style, INDENT) {
            writeln!(out, "{}  {stack}", style.paint(Role::Value, format!("{amount:>INDENT$}")))?;
        }
    }
    Ok(())
}

/// The stacks to blame for a broken rule, each after its part of the number, for a line that begins with `used` columns.
pub(crate) fn culprits<'r>(
    report: &'r Report,
    verdict: &'r Verdict,
    style: &'r Style,
    used: usize,
) -> impl Iterator<Item = (String, String)> + 'r {
    report.culprits(verdict).map(move |(loaded, node, amount)| {
        let about = if loaded.profile.sampling.is_some() { "≈" } else { "" };
        let change = if verdict.blames_growth() { "+" } else { "" };
        let amount = format!("{about}{change}{}", verdict.measure.text(amount));
        (amount, stack_line(loaded, node, style, used + 2))
    })
}

/// How it went, in a word.
pub(crate) fn word(verdict: &Verdict) -> &'static str {
    match verdict.outcome() {
        Outcome::Kept => "ok",
        Outcome::Untold => "?",
        Outcome::Broken => "FAIL",
    }
}

/// The measure, and what it is of: a name for the rule that is the same in each recording.
pub(crate) fn case(verdict: &Verdict) -> String {
    let against = if verdict.baseline.is_some() { " against the baseline" } else { "" };
    let title = title(verdict).map_or(String::new(), |title| format!(" of {title}"));
    format!("{}{against}{title}", verdict.measure.name())
}

/// The user's name for the rule, or the stacks it is about.
fn title(verdict: &Verdict) -> Option<&str> {
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
