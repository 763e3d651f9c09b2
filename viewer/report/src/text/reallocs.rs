//! `reallocs`: blocks that are resized again and again, by `realloc` or by replacing them with larger ones.

use super::escape::escape;
use super::headline::warnings;
use super::stack_line::{header, rest, stack_line};
use super::style::{Role, Style};
use analysis::format::{bytes, count, counted};
use analysis::lifetimes::ReallocRow;
use engine::Loaded;
use std::io::{self, Write};

/// Writes at most `limit` stacks that resize, those that copy most first.
///
/// # Errors
/// Those of the writer.
pub fn reallocs(
    out: &mut dyn Write,
    loaded: &Loaded,
    rows: &[ReallocRow],
    limit: usize,
    style: &Style,
) -> io::Result<()> {
    let sum = |of: fn(&ReallocRow) -> u64| rows.iter().map(of).fold(0, u64::saturating_add);
    let (chains, steps, copied) =
        (sum(|row| row.chains), sum(|row| row.steps), size(sum(|row| row.copied_bytes)));
    let file = escape(&loaded.source.file);
    let text = format!(
        "{file}: {} in {}, up to {copied} copied",
        counted(steps, "resize"),
        counted(chains, "chain")
    );
    writeln!(out, "{}", style.paint(Role::Heading, text))?;
    if loaded.profile.sampling.is_some() {
        writeln!(out, "  the capture is sampled: a block and its resized successor are separate samples")?;
    }
    warnings(out, loaded, style)?;
    writeln!(out)?;
    let titles = ["chains", "resizes", "longest", "moved", "copied", "first", "last"];
    header(out, style, &format!("{}  stack", titles.map(|title| format!("{title:>9}")).join("  ")))?;
    for row in rows.iter().take(limit) {
        let chains = row.chains.max(1);
        let numbers = [
            count(row.chains),
            count(row.steps),
            count(row.longest),
            count(row.moves),
            size(row.copied_bytes),
            size(row.first_bytes / chains),
            size(row.last_bytes / chains),
        ];
        let stack = stack_line(loaded, row.node, style, 77);
        writeln!(out, "{}  {stack}", numbers.map(|number| format!("{number:>9}")).join("  "))?;
        if row.is_replaced {
            let last = size(row.last_bytes / chains);
            let text = format!("grows without realloc, like a C++ vector: reserve {last} up front");
            writeln!(out, "{:77}{}", "", style.paint(Role::Detail, text))?;
        } else if let Some(advice) = row.advice() {
            let text = format!(
                "grows by ×{:.2} each time: reserve {} up front, or double: {} instead of {}",
                advice.factor,
                size(advice.last),
                counted(advice.doublings, "resize"),
                advice.steps
            );
            writeln!(out, "{:77}{}", "", style.paint(Role::Detail, text))?;
        }
    }
    rest(out, style, rows.len().saturating_sub(limit), "more stack")
}

fn size(value: u64) -> String {
    bytes(i64::try_from(value).unwrap_or(i64::MAX))
}
