//! The rows of what stacks, roots and classes retain, and of what is unreachable.

use super::stack_list::{LIST_ROWS, StackList, StackRow, WIDE, place_of};
use crate::catalogue;
use analysis::Amount;
use analysis::format::{bytes, count, counted, percent};
use capture::NodeId;
use engine::Loaded;
use heap_graph::{
    ClassRow, Holder, Pace, Retained, RetainedRow, RootRow, Scanned, Several, Unreachable, UnreachableRow,
};
use report::table::Value;
use report::text::{escape, words};
use report::views::{cycles, holder, kept_by, led_to, unreachable_too};
use std::sync::Arc;

/// Columns of all numbers, and of those shown on a narrow screen.
const NUMBERS: [usize; 2] = [43, 19];

/// `  12.3 MiB   45.6 %   1.20 MiB       1,234`: retained bytes, their share, and own blocks.
pub(crate) fn retained_numbers(retained: Amount, own: Amount, whole: Amount) -> String {
    let share = percent(retained.bytes, whole.bytes);
    format!("{:>10}  {share:>7}  {:>10}  {:>10}", bytes(retained.bytes), bytes(own.bytes), count(own.blocks))
}

/// The heading of these columns.
pub(crate) fn retained_header([first, second]: [&str; 2], name: &str) -> String {
    format!("{first:>10}  {:>7}  {second:>10}  {:>10}  {name}", "share", "blocks")
}

/// An amount in words.
pub(crate) fn sized(amount: Amount) -> String {
    format!("{} in {}", bytes(amount.bytes), counted(amount.blocks, "block"))
}

/// A value in words, not cut except at the edge of the screen.
pub(super) fn said(loaded: &Loaded, value: &Value) -> String {
    words(loaded, value, WIDE)
}

/// What stacks retain, and what keeps it.
pub(super) fn stacks(
    loaded: &Arc<Loaded>,
    scanned: &Scanned,
    found: &Retained,
    pace: &Pace<'_>,
) -> Option<StackList> {
    let row = |row: &RetainedRow| StackRow {
        about: std::iter::once(catalogue::own_and_retained(&sized(row.own), &sized(row.retained)))
            .chain(kept_by(row, &scanned.roots).iter().map(|line| said(loaded, line)))
            .collect(),
        ..of_stack(loaded, row.node, retained_numbers(row.retained, row.own, found.reachable))
    };
    let rows = at_pace(found.stacks.iter().map(row), pace)?;
    Some(list(loaded, found.stacks.len(), retained_header(["retained", "own"], "stack"), rows))
}

/// What roots retain, and what they refer to.
pub(super) fn roots(
    loaded: &Arc<Loaded>,
    scanned: &Scanned,
    found: &Retained,
    several: &Several,
    pace: &Pace<'_>,
) -> Option<StackList> {
    let row = |holder, retained, direct| StackRow {
        about: vec![catalogue::refers_and_retains(&sized(direct), &sized(retained))],
        ..of_no_stack(
            said(loaded, &self::holder(holder, &scanned.roots)),
            retained_numbers(retained, direct, found.reachable),
        )
    };
    let of_root = |found: &RootRow| row(Holder::Root(found.root), found.retained, found.direct);
    let several = (!found.several.is_zero()).then(|| StackRow {
        about: about_several(loaded, scanned, several),
        ..row(Holder::Several, found.several, Amount::ZERO)
    });
    let mut rows = at_pace(found.roots.iter().map(of_root), pace)?;
    rows.extend(several);
    Some(list(loaded, found.roots.len(), retained_header(["retained", catalogue::REFERS_TO], "root"), rows))
}

/// What is said about blocks that no single root keeps: which roots keep them together.
pub(super) fn about_several(loaded: &Loaded, scanned: &Scanned, several: &Several) -> Vec<String> {
    let roots = led_to(several, &scanned.roots);
    let roots = roots.iter().map(|line| said(loaded, line));
    std::iter::once(catalogue::SEVERAL.to_owned()).chain(roots).collect()
}

/// What the objects of each class retain.
pub(super) fn classes(
    loaded: &Arc<Loaded>,
    scanned: &Scanned,
    reachable: Amount,
    pace: &Pace<'_>,
) -> Option<StackList> {
    let found = scanned.classes.rows_at(&scanned.graph, pace)?;
    let row = |row: &ClassRow| StackRow {
        about: std::iter::once(catalogue::own_and_retained(&sized(row.own), &sized(row.retained)))
            .chain(unreachable_too(row).map(|line| said(loaded, &line)))
            .collect(),
        ..of_no_stack(
            escape(loaded.tables.string(row.name)).into_owned(),
            retained_numbers(row.retained, row.own, reachable),
        )
    };
    let rows = at_pace(found.iter().map(row), pace)?;
    Some(list(loaded, found.len(), retained_header(["retained", "own"], "class"), rows))
}

/// What is no longer reachable, by the stacks of the blocks that lead to the rest.
pub(super) fn unreachable(loaded: &Arc<Loaded>, lost: &Unreachable, pace: &Pace<'_>) -> Option<StackList> {
    let row = |row: &UnreachableRow| StackRow {
        about: std::iter::once(catalogue::own_and_in_all(&sized(row.heads), &sized(row.claimed)))
            .chain(cycles(row).map(|line| said(loaded, &line)))
            .collect(),
        ..of_stack(loaded, row.node, retained_numbers(row.claimed, row.heads, lost.total))
    };
    let rows = at_pace(lost.stacks.iter().map(row), pace)?;
    Some(list(loaded, lost.stacks.len(), retained_header([catalogue::IN_ALL, "own"], "stack"), rows))
}

/// The rows that fit; none when nobody wants them any more.
fn at_pace(rows: impl Iterator<Item = StackRow>, pace: &Pace<'_>) -> Option<Vec<StackRow>> {
    rows.take(LIST_ROWS).map(|row| pace.steps(2 * Pace::ROW).map(|()| row)).collect()
}

fn of_stack(loaded: &Loaded, node: NodeId, numbers: String) -> StackRow {
    StackRow {
        node: Some(node),
        place: place_of(loaded, node),
        ..of_no_stack(said(loaded, &Value::Stack(node)), numbers)
    }
}

fn of_no_stack(name: String, numbers: String) -> StackRow {
    StackRow { numbers, name, node: None, place: None, mark: None, about: Vec::new() }
}

/// A list of these rows, of `all` that there are.
fn list(loaded: &Arc<Loaded>, all: usize, header: String, mut rows: Vec<StackRow>) -> StackList {
    let left_out = all.saturating_sub(LIST_ROWS);
    rows.extend(StackRow::of_others(left_out, catalogue::SEE_BY_COMMAND));
    StackList { about: Vec::new(), header, numbers: NUMBERS, rows, left_out, loaded: loaded.clone() }
}
