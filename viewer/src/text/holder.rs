//! Who keeps blocks, in words.

use super::escape::{escape, fit};
use super::stack_line::stack_line;
use super::style::Style;
use crate::analysis::Amount;
use crate::format::{bytes, count, counted};
use crate::graph::{Holder, RetainedRow, RootId, UnreachableRow, root_name};
use crate::loaded::Loaded;

/// What rows of unreachable blocks stand for.
pub const UNREACHABLE: &str =
    "each with what it alone leads to: a program that freed these as it frees others would free all";

/// What is said of blocks that no single root keeps.
pub(super) const SEVERAL: &str = "several roots";

/// Who keeps, cut to the columns that are left.
pub fn holder_name(loaded: &Loaded, holder: Holder, names: &[String], style: &Style, used: usize) -> String {
    match holder {
        Holder::Root(root) => name_of_root(root, names, style, used),
        Holder::Several => SEVERAL.to_owned(),
        Holder::Stack(node) => stack_line(loaded, node, style, used),
    }
}

/// What keeps the blocks of a stack, a line for each, with how much where there is more than one.
pub fn kept_by(
    loaded: &Loaded,
    row: &RetainedRow,
    names: &[String],
    style: &Style,
    used: usize,
) -> Vec<String> {
    let line = |(holder, amount): &(Holder, Amount)| {
        let kept = match row.holders.len() {
            1 => "kept by ".to_owned(),
            _ => format!("{} kept by ", bytes(amount.bytes)),
        };
        let name = holder_name(loaded, *holder, names, style, used + kept.len());
        format!("{kept}{name}")
    };
    let mut lines: Vec<String> = row.holders.iter().map(line).collect();
    if row.more_holders > 0 {
        let named = row.holders.iter().fold(row.retained, |left, (_, amount)| left - *amount);
        lines.push(format!("{} kept by {}", bytes(named.bytes), counted(row.more_holders as u64, "other")));
    }
    lines
}

/// How many of the unreachable blocks of a stack are held by what they hold.
pub fn cycles(row: &UnreachableRow) -> Option<String> {
    (row.cycles > 0)
        .then(|| format!("{} of these in a cycle of blocks that hold each other", count(row.cycles)))
}

fn name_of_root(root: RootId, names: &[String], style: &Style, used: usize) -> String {
    fit(&escape(&root_name(names, root)), style.room(used)).into_owned()
}
