//! The marks of the programs, by name.

use super::stack_list::{MarkedRow, StackList, StackRow};
use crate::catalogue;
use analysis::format::{count, counted, duration};
use analysis::{Lengths, MarkName, Region};
use engine::Loaded;
use report::text::escape;
use std::sync::Arc;

/// Most regions of a name that are listed.
const LISTED: usize = 500;

/// Rows of marks: how many, and how long their regions took.
pub(super) fn marks(loaded: Arc<Loaded>) -> StackList {
    let names = loaded.marks_by_name();
    let row = |row: &MarkName| {
        let name = loaded.tables.string(row.name);
        StackRow {
            numbers: numbers(row).into(),
            name: said(row, &escape(name)),
            mark: Some(MarkedRow {
                name: name.to_owned(),
                regions: row.regions.iter().take(LISTED).map(line).collect(),
                more: row.regions.len().saturating_sub(LISTED),
            }),
            ..StackRow::default()
        }
    };
    let rows = names.iter().map(row).collect();
    StackList {
        about: vec![catalogue::MARKS.to_owned()],
        heads: ["times", "shortest", "mean", "longest", "mark"].map(str::to_owned).into(),
        widths: vec![8, 10, 10, 10],
        narrow: 4,
        rows,
        left_out: 0,
        loaded: loaded.clone(),
    }
}

/// How many regions, if there are any, else how many moments, which have no length.
fn numbers(row: &MarkName) -> [String; 4] {
    let times = if row.regions.is_empty() { row.instants } else { row.regions.len() as u64 };
    let lengths = row.lengths();
    let length = |of: fn(Lengths) -> u64| lengths.map_or("-".to_owned(), |lengths| duration(of(lengths)));
    let [min, mean, max] = [length(|all| all.min), length(|all| all.mean), length(|all| all.max)];
    [count(times), min, mean, max]
}

/// The name, and whatever the numbers do not say.
fn said(row: &MarkName, name: &str) -> String {
    let mut said = name.to_owned();
    if row.regions.is_empty() {
        said += "  (moments)";
    }
    if row.unfinished() > 0 {
        said += &format!("  ({} {})", count(row.unfinished()), catalogue::NOT_ENDED);
    }
    if row.stray_ends > 0 {
        said += &format!("  ({} not begun)", counted(row.stray_ends, "end"));
    }
    said
}

fn line(region: &Region) -> String {
    let from = duration(region.from);
    match region.has_ended {
        true => format!("{from:>12}  for {}", duration(region.to - region.from)),
        false => format!("{from:>12}  {}", catalogue::NOT_ENDED),
    }
}
