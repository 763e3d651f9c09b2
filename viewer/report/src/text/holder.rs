//! What keeps blocks, in words.

use super::escape::{escape, fit};
use super::stack_line::stack_line;
use super::style::Style;
use analysis::Amount;
use analysis::format::{bytes, count, counted};
use engine::Loaded;
use heap_graph::{ClassRow, Holder, RetainedRow, RootId, Several, UnreachableRow, root_name};

/// What rows of unreachable blocks mean.
pub const UNREACHABLE: &str =
    "total: these blocks and all that is unreachable with them; each block counts once";

/// The holder of blocks that no single root keeps.
pub(super) const SEVERAL: &str = "several roots";

/// The heading of the roots that lead to them.
pub(super) const LED_TO: &str = "what each of them leads to, counted for each:";

/// Most roots that are named for what several keep together: the first ones, where space is short.
const NAMED: usize = 5;
const NAMED_IN_A_LINE: usize = 3;

/// Before what there are too many of to find out what the blocks of each retain together.
const AT_LEAST: &str = "retains at least this: what blocks keep together was not computed for all of so many";

/// The name of a holder, cut to the remaining columns.
pub fn holder_name(loaded: &Loaded, holder: Holder, names: &[String], style: &Style, used: usize) -> String {
    match holder {
        Holder::Root(root) => name_of_root(root, names, style, used),
        Holder::Several => SEVERAL.to_owned(),
        Holder::Stack(node) => stack_line(loaded, node, style, used),
    }
}

/// What keeps the blocks of a stack, a line each, with amounts if there are several.
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
    lines.extend(row.is_least.then(|| format!("{AT_LEAST} stacks")));
    lines
}

/// The roots that together keep what no single one does, a line each with how much of it they lead to, and the number
/// of others.
pub fn led_to(several: &Several, names: &[String], style: &Style, used: usize) -> Vec<String> {
    let (named, others) = several.roots.split_at(several.roots.len().min(NAMED));
    let line = |(root, amount): &(RootId, Amount)| {
        let size = format!("{} from ", bytes(amount.bytes));
        let name = name_of_root(*root, names, style, used + size.len());
        size + &name
    };
    let most = others.first().map(|(_, amount)| {
        let others = counted(others.len() as u64, "other");
        format!("{} or less from each of {others}", bytes(amount.bytes))
    });
    let unknown = several.not_followed as u64;
    let unknown = (unknown > 0).then(|| format!("{} not followed (too many)", counted(unknown, "other")));
    named.iter().map(line).chain(most).chain(unknown).collect()
}

/// What no single root keeps, with the first of the roots that keep it together, in one line.
pub(super) fn several_name(several: &Several, names: &[String], style: &Style, used: usize) -> String {
    let named = several.roots.iter().take(NAMED_IN_A_LINE).map(|(root, _)| root_name(names, *root));
    let others = several.roots.len().saturating_sub(NAMED_IN_A_LINE) + several.not_followed;
    let others = (others > 0).then(|| counted(others as u64, "other").into());
    let all: Vec<_> = named.chain(others).collect();
    fit(&escape(&format!("{SEVERAL}: {}", all.join(", "))), style.room(used)).into_owned()
}

/// The name of a class, cut to the remaining columns.
pub fn class_name(loaded: &Loaded, row: &ClassRow, style: &Style, used: usize) -> String {
    let name = loaded.tables.string(row.name);
    fit(&escape(name), style.room(used)).into_owned()
}

/// How much of a class is unreachable, in addition to what its row counts, and whether that is all of it.
pub fn unreachable_too(row: &ClassRow) -> Option<String> {
    let Amount { blocks, bytes: size } = row.unreachable;
    let lost =
        (blocks > 0).then(|| format!("another {} in {} unreachable", bytes(size), counted(blocks, "block")));
    let least = row.is_least.then(|| format!("{AT_LEAST} classes"));
    let texts: Vec<String> = lost.into_iter().chain(least).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

/// How many unreachable blocks of a stack are on a cycle.
pub fn cycles(row: &UnreachableRow) -> Option<String> {
    (row.cycles > 0).then(|| format!("{} of these in reference cycles", count(row.cycles)))
}

fn name_of_root(root: RootId, names: &[String], style: &Style, used: usize) -> String {
    fit(&escape(&root_name(names, root)), style.room(used)).into_owned()
}
