//! Functions by heat, one name per line, for a linker that places code that runs together close together.
//!
//! ```text
//! # Functions by cpu, hottest first, for ld.lld --symbol-ordering-file.
//! _ZN4Pool4growEm
//! main
//! ```
//!
//! Only functions of the programs themselves are listed, or of one library: each is linked separately. What a
//! function has libraries do counts as its own; functions that do nothing themselves are ordered by what is done
//! through them. Functions that were only seen to allocate follow, those that do so most often first. Ties are
//! ordered by name, so a program that is relinked in this order and does the same gets the same order again.

use analysis::Metric;
use analysis::query::Module;
use capture::{Frame, FrameId, Process, Tables};
use engine::Loaded;
use report::text::escape;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::{self, Write};

/// How much a function does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Heat {
    /// Itself, or through libraries that it calls.
    own: i64,
    /// Including all its callees.
    total: i64,
    /// Allocations of its own, which break ties.
    allocations: i64,
}

/// Writes the functions of these files, or of the programs themselves if there are none, by this metric; ties are
/// broken by allocations.
pub(super) fn write(
    out: &mut dyn Write,
    loaded: &Loaded,
    metric: Metric,
    modules: &[Module],
) -> io::Result<()> {
    let heats = heats(loaded, metric, modules);
    let mut order: Vec<(Reverse<Heat>, &str)> = Vec::with_capacity(heats.len());
    let mut unknown = 0_u64;
    for (name, heat) in heats {
        match name {
            Some(name) => order.push((Reverse(heat), name)),
            None => unknown += 1,
        }
    }
    order.sort_unstable();
    let files: Vec<_> = modules.iter().map(|module| escape(&module.0)).collect();
    let whose = if files.is_empty() { String::new() } else { format!(" of {}", files.join(" and ")) };
    let by = metric.name();
    writeln!(out, "# Functions{whose} by {by}, hottest first, for ld.lld --symbol-ordering-file.")?;
    if unknown > 0 {
        writeln!(out, "# Some code had no name that a linker knows.")?;
    }
    order.into_iter().try_for_each(|(_, name)| writeln!(out, "{name}"))
}

/// The heat of each function by linkage name; functions without one are merged under none.
fn heats<'a>(loaded: &'a Loaded, metric: Metric, modules: &[Module]) -> HashMap<Option<&'a str>, Heat> {
    let Loaded { tables, profile, .. } = loaded;
    let is_chosen: Vec<bool> =
        tables.modules.iter().map(|row| modules.iter().any(|module| module.is(&row.path))).collect();
    let is_of = |frame: FrameId, process: &Process| match tables.frames.get(frame.index()) {
        Some(Frame::Code { module: Some(module), .. }) if modules.is_empty() => {
            tables.modules.get(module.index()).is_some_and(|module| is_program(&module.path, process))
        }
        Some(Frame::Code { module: Some(module), .. }) => is_chosen.get(module.index()) == Some(&true),
        _ => false,
    };
    let mut heats: HashMap<Option<&str>, Heat> = HashMap::new();
    let mut seen: Vec<Option<&str>> = Vec::new();
    for site in &profile.sites {
        let rank = metric.rank(metric.of(&site.cost));
        let Some(process) = tables.processes.get(site.process.index()) else { continue };
        let frames = tables.stack(site.node).map(|(_, node)| node.frame);
        let names = frames.filter(|&frame| is_of(frame, process)).map(|frame| linkage(tables, frame));
        seen.clear();
        seen.extend(names);
        if let Some(innermost) = seen.first() {
            let heat = heats.entry(*innermost).or_default();
            heat.own = heat.own.saturating_add(rank);
            heat.allocations = heat.allocations.saturating_add(site.cost.allocated.blocks);
        }
        // A recursive function does the work once.
        seen.sort_unstable();
        seen.dedup();
        for &name in &seen {
            let heat = heats.entry(name).or_default();
            heat.total = heat.total.saturating_add(rank);
        }
    }
    heats
}

/// Whether a file is the one that the process runs. Paths differ if the process has another root.
fn is_program(path: &str, process: &Process) -> bool {
    path.rsplit('/').next().is_some_and(|file| !file.is_empty() && file == process.name)
}

/// The linkage name of the function that contains a frame's code.
fn linkage(tables: &Tables, frame: FrameId) -> Option<&str> {
    let symbol = tables.symbol(frame)?;
    let name = symbol.linkage.or(symbol.names.last()?.function).map(|name| tables.string(name))?;
    is_linkage(name).then_some(name)
}

/// False for demangled names, the only ones that captures before format 1.4 have of C++ and Rust.
fn is_linkage(name: &str) -> bool {
    !name.is_empty() && !name.contains(|letter: char| letter.is_whitespace() || "()<>:#".contains(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check which names can be linkage names.
    #[test]
    fn names_for_people_are_told_apart() {
        for name in ["main", "_ZN4Pool4growEm", "_RNvC1a1b", "f.cold", "f.isra.0", "_Z1fi.part.0", "é$"] {
            assert!(is_linkage(name), "{name}");
        }
        for name in ["", "Pool::grow", "f(int)", "operator new", "Vec<T>", "a\nb", "#"] {
            assert!(!is_linkage(name), "{name}");
        }
    }
}
