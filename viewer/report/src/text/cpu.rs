//! CPU samples in text: their unit, and the time spent in the allocator.

use super::headline::{nothing, unsampled, warnings};
use super::place::fit_name;
use super::stack_line::not_shown;
use super::style::{Role, Style};
use analysis::format::{bytes, count, counted, duration, percent};
use analysis::{Amount, Metric, allocator_time};
use engine::Loaded;
use std::io::{self, Write};

/// What the weight of a sample means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CpuUnit {
    Nanoseconds,
    Cycles,
}

impl CpuUnit {
    pub(super) fn of(loaded: &Loaded) -> CpuUnit {
        match loaded.tables.summary.as_ref().map(|summary| summary.cpu.event.as_str()) {
            Some("cycles") => CpuUnit::Cycles,
            _ => CpuUnit::Nanoseconds,
        }
    }

    /// The header of a column of weights.
    pub(super) fn head(self) -> &'static str {
        match self {
            CpuUnit::Nanoseconds => "time",
            CpuUnit::Cycles => "cycles",
        }
    }

    /// A weight for people.
    pub(super) fn of_weight(self, weight: i64) -> String {
        let weight = weight.max(0).unsigned_abs();
        match self {
            CpuUnit::Nanoseconds => duration(weight),
            CpuUnit::Cycles => format!("{} M", count(weight / 1_000_000)),
        }
    }
}

/// Writes the time in `malloc` and `free`, by the functions that call them.
///
/// # Errors
/// Those of the writer.
pub fn allocator(
    out: &mut dyn Write,
    loaded: &Loaded,
    limit: Option<usize>,
    style: &Style,
) -> io::Result<()> {
    warnings(out, loaded, style)?;
    unsampled(out, loaded, style)?;
    let Loaded { profile, tables, names, .. } = loaded;
    let rows = allocator_time(profile, tables, names);
    let total = profile.total.cpu;
    if total.is_zero() {
        return nothing(out, loaded, Metric::Cpu);
    }
    let sum = rows.iter().fold(Amount::ZERO, |sum, (_, row)| sum + row.total());
    let hooks = rows.iter().fold(Amount::ZERO, |sum, (_, row)| sum + row.hooks);
    let unit = CpuUnit::of(loaded);
    writeln!(
        out,
        "{} of {} in the allocator ({}), {} of these in the agent's hooks",
        count(sum.blocks),
        counted(total.blocks.unsigned_abs(), "sample"),
        percent(sum.blocks, total.blocks),
        percent(hooks.blocks, sum.blocks),
    )?;
    let header = format!(
        "\n{:>10}  {:>7}  {:>10}  {:>10}  {:>10}  {:>12}  {:>10}  caller",
        "samples", "share", "time", "in malloc", "in free", "allocations", "bytes"
    );
    writeln!(out, "{}", style.paint(Role::Detail, header))?;
    let shown = rows.len().min(limit.unwrap_or(20));
    for (label, row) in &rows[..shown] {
        let total_of = row.total();
        writeln!(
            out,
            "{:>10}  {:>7}  {:>10}  {:>10}  {:>10}  {:>12}  {:>10}  {}",
            count(total_of.blocks),
            percent(total_of.blocks, total.blocks),
            unit.of_weight(total_of.bytes),
            count(row.allocate.blocks),
            count(row.free.blocks),
            count(row.allocated.blocks),
            bytes(row.allocated.bytes),
            style.paint(Role::Function, fit_name(names, *label, style.room(82)))
        )?;
    }
    match rows.len() - shown {
        0 => Ok(()),
        hidden => writeln!(out, "{}", not_shown(hidden, "more caller", "--limit")),
    }
}
