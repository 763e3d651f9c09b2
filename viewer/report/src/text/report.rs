//! `report`: the views of one capture.

use super::columns::Columns;
use super::document::write_tables;
use super::line::print;
use super::style::{Role, Style};
use super::words::words;
use super::{functions, headline, stacks, tree};
use crate::options::{ReportOptions, Shape};
use crate::views::{footnotes, nothing};
use analysis::format::counted;
use analysis::{Metric, Tree};
use engine::Loaded;
use engine::lens::owners_without;
use std::io::{self, Write};

/// Writes the view that the options ask for.
///
/// # Errors
/// Those of the writer.
pub fn report(
    out: &mut dyn Write,
    loaded: &Loaded,
    options: &ReportOptions,
    style: &Style,
) -> io::Result<()> {
    let metric = options.metric;
    print(out, &headline::lines(loaded, metric), style)?;
    let total = metric.of(&loaded.profile.total);
    if total.is_zero() {
        return writeln!(out, "{}", words(loaded, &nothing(loaded, metric), usize::MAX));
    }
    // Rows of a sampled capture have an additional column.
    let column = if loaded.profile.sampling.is_some() { Columns::ERROR } else { 0 };
    let of_rows = &Style { width: style.width.map(|width| width.saturating_sub(column)), ..*style };
    let cutoff = options.cutoff_for_text(loaded);
    writeln!(out)?;
    let Loaded { profile, tables, names, .. } = loaded;
    match options.shape {
        Shape::Stacks => stacks::stacks(out, loaded, metric, cutoff, of_rows)?,
        Shape::Functions => functions::functions(out, loaded, metric, cutoff, of_rows)?,
        Shape::Tree => {
            let tree = Tree::top_down(profile, tables, names, metric);
            tree::tree(out, loaded, &tree, metric, cutoff, of_rows)?;
        }
        Shape::Inverted => {
            let tree = Tree::inverted(profile, tables, names, metric, cutoff.least);
            tree::tree(out, loaded, &tree, metric, cutoff, of_rows)?;
        }
    }
    if let Some(text) = rowless(loaded, metric) {
        writeln!(out, "{}", style.paint(Role::Detail, text))?;
    }
    write_tables(out, loaded, &footnotes(loaded, metric), style)
}

/// The number of processes, commands or threads that have no row because they have nothing in this metric.
pub(crate) fn rowless(loaded: &Loaded, metric: Metric) -> Option<String> {
    let number = owners_without(loaded, metric);
    let noun = format!("more {}", stacks::row_noun(loaded));
    (number > 0)
        .then(|| format!("{} allocated memory, but none of this (--by bytes)", counted(number as u64, &noun)))
}
