//! What keeps blocks, in words.

use crate::table::{Value, phrase};
use heap_graph::{ClassRow, Holder, RetainedRow, RootId, Several, UnreachableRow, root_name};

/// The holder of blocks that no single root keeps.
const SEVERAL: &str = "several roots";

/// Most roots that are named for what several keep together: the first ones, where space is short.
const NAMED: usize = 5;
const NAMED_IN_A_LINE: usize = 3;

/// Before what there are too many of to find out what the blocks of each retain together.
const AT_LEAST: &str = "retains at least this: what blocks keep together was not computed for all of so many";

/// A holder.
pub fn holder(holder: Holder, names: &[String]) -> Value {
    match holder {
        Holder::Root(root) => name_of_root(root, names),
        Holder::Several => SEVERAL.into(),
        Holder::Stack(node) => Value::Stack(node),
    }
}

/// The name of a root.
pub(super) fn name_of_root(root: RootId, names: &[String]) -> Value {
    root_name(names, root).into_owned().into()
}

/// What keeps the blocks of a stack, with amounts if there are several.
pub(super) fn kept_by(row: &RetainedRow, names: &[String]) -> Vec<Value> {
    let amount =
        |bytes| if row.holders.len() == 1 { Value::Empty } else { phrase![Value::bytes(bytes), " "] };
    let kept = |(one, of)| phrase![amount(of), "kept by ", holder(one, names)];
    let mut lines: Vec<Value> = row.holders.iter().map(|(one, of)| kept((*one, of.bytes))).collect();
    if row.more_holders > 0 {
        let named = row.holders.iter().fold(row.retained, |left, (_, amount)| left - *amount);
        let others = Value::counted(row.more_holders as u64, "other");
        lines.push(phrase![Value::bytes(named.bytes), " kept by ", others]);
    }
    lines.extend(row.is_least.then(|| phrase![AT_LEAST, " stacks"]));
    lines
}

/// The roots that together keep what no single one does, each with how much of it they lead to, and the number of others.
pub fn led_to(several: &Several, names: &[String]) -> Vec<Value> {
    let (named, others) = several.roots.split_at(several.roots.len().min(NAMED));
    let named = named
        .iter()
        .map(|(root, amount)| phrase![Value::bytes(amount.bytes), " from ", name_of_root(*root, names)]);
    let most = others.first().map(|(_, amount)| {
        let others = Value::counted(others.len() as u64, "other");
        phrase![Value::bytes(amount.bytes), " or less from each of ", others]
    });
    let unknown = several.not_followed as u64;
    let unknown =
        (unknown > 0).then(|| phrase![Value::counted(unknown, "other"), " not followed (too many)"]);
    named.chain(most).chain(unknown).collect()
}

/// What no single root keeps, with the first of the roots that keep it together.
pub(crate) fn several_name(several: &Several, names: &[String]) -> Value {
    let named = several.roots.iter().take(NAMED_IN_A_LINE).map(|(root, _)| name_of_root(*root, names));
    let others = several.roots.len().saturating_sub(NAMED_IN_A_LINE) + several.not_followed;
    let others = (others > 0).then(|| Value::counted(others as u64, "other"));
    let all = named.chain(others).enumerate();
    let parts = all.map(|(place, name)| phrase![if place == 0 { ": " } else { ", " }, name]);
    Value::Phrase(std::iter::once(SEVERAL.into()).chain(parts).collect())
}

/// How much of a class is unreachable, in addition to what its row counts, and whether that is all of it.
pub(super) fn unreachable_too(row: &ClassRow) -> Option<Value> {
    let lost = (!row.unreachable.is_zero()).then(|| phrase!["another ", row.unreachable, " unreachable"]);
    let least = row.is_least.then(|| phrase![AT_LEAST, " classes"]);
    match (lost, least) {
        (Some(lost), Some(least)) => Some(phrase![lost, "; ", least]),
        (lost, least) => lost.or(least),
    }
}

/// How many unreachable blocks of a stack are on a cycle.
pub(super) fn cycles(row: &UnreachableRow) -> Option<Value> {
    (row.cycles > 0).then(|| phrase![Value::count(row.cycles), " of these in reference cycles"])
}
