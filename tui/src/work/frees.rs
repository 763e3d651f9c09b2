//! Who frees whose blocks: a row for each stack of one side, and below it the stacks of the other side.

use super::stack_list::{LIST_ROWS, StackList, StackRow, WIDE, place_of};
use crate::catalogue;
use analysis::Amount;
use analysis::format::{bytes, count};
use analysis::lifetimes::{BlockStats, Endpoint, FreesRow, Side};
use engine::Loaded;
use report::text::{Style, by_others, stack_line, what_became};
use std::sync::Arc;

/// Most stacks of the other side in the details of a row.
const OTHERS: usize = 5;

/// Rows of a side.
pub(super) fn frees(loaded: Arc<Loaded>, rows: &[FreesRow], side: Side) -> StackList {
    let style = Style { color: false, width: Some(WIDE) };
    let row = |row: &FreesRow| {
        let node = row.endpoint.stack();
        let name = |node| stack_line(&loaded, node, &style, 0);
        StackRow {
            numbers: numbers(&row.sum),
            name: node.map_or_else(|| what_became(&loaded, row.endpoint, &style, 0), name),
            node,
            place: node.and_then(|node| place_of(&loaded, node)),
            mark: None,
            about: others(&loaded, row, &style),
        }
    };
    let left_out = rows.len().saturating_sub(LIST_ROWS);
    let more = StackRow::of_others(left_out, catalogue::SEE_BY_CHOOSING);
    let of = match side {
        Side::Allocations => catalogue::ALLOCATED_BY,
        Side::Frees => catalogue::FREED_BY,
    };
    let header =
        format!("{:>10}  {:>10}  {:>9}  {:>8}  {of}", "bytes", "blocks", catalogue::BY_OTHERS, "lifetime");
    StackList {
        about: vec![about(rows, side), catalogue::MEANING_OF_OTHERS.to_owned()],
        header,
        numbers: [43, 22],
        rows: rows.iter().take(LIST_ROWS).map(row).chain(more).collect(),
        left_out,
        loaded: loaded.clone(),
    }
}

/// `  12.3 MiB       1,234     50.0 %    < 1 ms`.
fn numbers(stats: &BlockStats) -> String {
    let Amount { blocks, bytes: size } = stats.blocks;
    let lifetime = stats.median().map_or(String::new(), |age| age.to_string());
    format!("{:>10}  {:>10}  {:>9}  {lifetime:>8}", bytes(size), count(blocks), by_others(stats))
}

/// What is shown, in one line.
fn about(rows: &[FreesRow], side: Side) -> String {
    let sum = rows.iter().fold(Amount::ZERO, |sum, row| sum + row.sum.blocks);
    let left = rows.iter().flat_map(|row| &row.with).filter(|(endpoint, _)| *endpoint == Endpoint::Left);
    let left = left.fold(Amount::ZERO, |sum, (_, stats)| sum + stats.blocks);
    match side {
        Side::Allocations => catalogue::never_freed(&bytes(left.bytes), &bytes(sum.bytes)),
        Side::Frees => catalogue::freed_by_stacks(&bytes(sum.bytes), rows.len()),
    }
}

/// The stacks that freed a row's blocks, or that allocated them, one per line.
fn others(loaded: &Loaded, row: &FreesRow, style: &Style) -> Vec<String> {
    let said = |(endpoint, stats): &(Endpoint, BlockStats)| {
        let what = what_became(loaded, *endpoint, style, 0);
        let lifetime = stats.median().map(|age| age.to_string());
        let by_others = Some(by_others(stats)).filter(|share| !share.is_empty());
        catalogue::of_blocks(&bytes(stats.blocks.bytes), stats.blocks.blocks, &what, lifetime, by_others)
    };
    let more = row.with.len().saturating_sub(OTHERS);
    let rest = (more > 0).then(|| catalogue::more_stacks(more));
    row.with.iter().take(OTHERS).map(said).chain(rest).collect()
}
