//! Footnote about functions without a name.

use super::escape::{escape, fit};
use super::style::{Role, Style};
use analysis::format::{count, listed, percent};
use analysis::{Metric, Nameless, file_name, nameless};
use engine::Loaded;
use std::io::{self, Write};
use symbols::Reason;

/// Most files that are named for one reason.
const FILES: usize = 4;

/// Width of the columns before the reason.
const WIDTH: usize = 35;

/// Indentation of the advice, which is never cut.
const INDENT: usize = 12;

/// Writes a row for each reason and what to do about it, or nothing if all functions have names.
///
/// ```text
/// Functions without a name
///  addresses  allocating  on stacks  reason
///        412      52.1 %     98.2 %  No symbols in binary file: git, libpcre2-8.so.0
///             Install debug symbols (docs/symbols.md has the commands), or build without stripping.
/// ```
pub(super) fn footnote(
    out: &mut dyn Write,
    loaded: &Loaded,
    metric: Metric,
    style: &Style,
) -> io::Result<()> {
    let reasons = nameless(&loaded.profile, &loaded.tables, &loaded.names, metric);
    if reasons.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", style.paint(Role::Heading, "Functions without a name"))?;
    let header = format!("{:>10}  {:>10}  {:>9}  reason", "addresses", "allocating", "on stacks");
    writeln!(out, "{}", style.paint(Role::Detail, header))?;
    let whole = metric.rank(metric.of(&loaded.profile.total));
    let share = |amount| percent(metric.rank(amount), whole);
    let room = style.room(WIDTH);
    for (index, reason) in reasons.iter().enumerate() {
        let (own, all) = (share(reason.own), share(reason.cost));
        let text = what(loaded, reason);
        writeln!(out, "{:>10}  {own:>10}  {all:>9}  {}", count(reason.frames), fit(&text, room))?;
        // Reasons with the same remedy share one line of advice.
        let is_last = reasons.get(index + 1).is_none_or(|next| advice(next) != advice(reason));
        if is_last {
            writeln!(out, "{:INDENT$}{}", "", style.paint(Role::Detail, advice(reason)))?;
        }
    }
    Ok(())
}

/// The reason and the files.
fn what(loaded: &Loaded, nameless: &Nameless) -> String {
    let modules = nameless.modules.iter().filter_map(|module| loaded.tables.modules.get(module.index()));
    let mut files: Vec<&str> = modules.map(|module| file_name(&module.path)).collect();
    files.sort_unstable();
    files.dedup();
    let reason = nameless.reason.as_deref().unwrap_or("Names were not looked up");
    let mut text = reason.to_owned();
    if !files.is_empty() {
        text += &format!(": {}", listed(&files, FILES));
    }
    escape(&text).into_owned()
}

fn advice(nameless: &Nameless) -> &'static str {
    match nameless.reason.as_deref().map(Reason::from_text) {
        Some(Some(reason)) => reason.advice(),
        Some(None) => "A newer version of sysprof-memprof may know more.",
        None => "Open the capture on the machine that has the programs, without --no-symbolize.",
    }
}
