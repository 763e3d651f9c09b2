//! `retained`: what stacks, roots and classes keep alive, and what has become unreachable.
//!
//! ```text
//!    retained    share          own      blocks  stack
//!       120 B   88.9 %        100 B           1  insert (cache.c:12) < main
//!                                                  kept by cache
//!        35 B   25.9 %         30 B           3  push (list.c:7) < main
//!                                                  20 B kept by insert (cache.c:12) < main
//!                                                  15 B kept by several roots
//! ```

use super::holder::{cycles, holder, kept_by, led_to, name_of_root, unreachable_too};
use super::scan::{ScanHead, scanned_fields};
use crate::table::{Below, Column, Document, Most, Readers, Row, Table, Title, Value, phrase};
use analysis::Amount;
use engine::Loaded;
use heap_graph::{
    ClassRow, Holder, Pace, Retained, RetainedRow, RootRow, Scanned, Several, Unreachable, UnreachableRow,
};

/// What rows of unreachable blocks mean.
pub const UNREACHABLE: &str =
    "total: these blocks and all that is unreachable with them; each block counts once";

/// The stacks that retain most, each with what keeps it, then roots, classes, and stacks of unreachable blocks.
pub fn retained(loaded: &Loaded, scanned: &Scanned) -> Document {
    retained_at(loaded, scanned, &Pace::default()).expect("nobody gives up")
}

/// The same; none when nobody wants it any more.
// Cost: linear in blocks, two to three seconds for five million; it can be cancelled at any time.
pub fn retained_at(loaded: &Loaded, scanned: &Scanned, pace: &Pace<'_>) -> Option<Document> {
    let Scanned { graph, roots: names, classes, .. } = scanned;
    let found = graph.retained_at(pace)?;
    let (several, lost) = (graph.several_at(pace)?, graph.unreachable_at(pace)?);
    let classes = classes.rows_at(graph, pace)?;
    let from = several
        .roots
        .iter()
        .map(|&(root, amount)| Value::Record(vec![("name", name_of_root(root, names)), ("", amount.into())]));
    let mut document = head_of_scan(loaded, scanned);
    document.fields = scanned_fields(loaded, scanned);
    document.fields.extend([
        ("several_roots", found.several.into()),
        ("several_roots_from", Value::List(from.collect())),
        ("several_roots_not_followed", Value::count(several.not_followed as u64)),
    ]);
    document.notes.extend(lost.total.is_zero().then(|| "all blocks are reachable".into()));
    document.tables = vec![
        by_stack(&found, names),
        by_root(&found, names),
        roots(&found, &several, names),
        by_class(loaded, &classes, found.reachable),
        unreachable(&lost),
    ];
    Some(document)
}

/// The head of all views of a scan.
pub(crate) fn head_of_scan(loaded: &Loaded, scanned: &Scanned) -> Document {
    let ScanHead { held, warnings, explained } = ScanHead::new(loaded, scanned);
    let title = Title::Words(phrase!["at ", held]);
    Document { warnings, notes: explained, ..Document::new("retained", title, []) }
}

/// Columns of what rows retain and have, after these fields for programs.
fn columns(fields: &[&'static str], [first, second]: [&'static str; 2]) -> Vec<Column> {
    let numbers = [
        Column::shown(first),
        Column::shown("share").width(7),
        Column::shown(second),
        Column::shown("blocks"),
    ];
    fields.iter().copied().map(Column::field).chain(numbers).collect()
}

fn cells(
    fields: impl IntoIterator<Item = Value>,
    retained: Amount,
    own: Amount,
    whole: Amount,
) -> Vec<Value> {
    let share = Value::Share(retained.bytes, whole.bytes);
    let numbers = [Value::bytes(retained.bytes), share, Value::bytes(own.bytes), Value::count(own.blocks)];
    fields.into_iter().chain(numbers).collect()
}

fn said(lines: impl IntoIterator<Item = Value>) -> impl Iterator<Item = Row> {
    lines.into_iter().map(|line| Row::new([], line))
}

/// All that is said about rows is shown.
const ALL: Below = Below { id: None, key: None, noun: "", most: Most::All };

fn by_stack(found: &Retained, names: &[String]) -> Table {
    let fields = ["own", "retained", "retained_is_least", "direct_blocks", "kept_by", "other_holders"];
    let record = |&(one, amount): &(Holder, Amount)| {
        let (kind, root, stack) = match one {
            Holder::Root(root) => ("root", name_of_root(root, names), Value::Unknown),
            Holder::Several => ("several_roots", Value::Unknown, Value::Unknown),
            Holder::Stack(node) => ("stack", Value::Unknown, Value::Stack(node)),
        };
        Value::Record(vec![("kind", kind.into()), ("root", root), ("stack", stack), ("", amount.into())])
    };
    let row = |row: &RetainedRow| {
        let fields = [
            row.own.into(),
            row.retained.into(),
            Value::Flag(row.is_least),
            Value::count(row.direct),
            Value::List(row.holders.iter().map(record).collect()),
            Value::count(row.more_holders as u64),
        ];
        let cells = cells(fields, row.retained, row.own, found.reachable);
        Row::new(cells, Value::Stack(row.node)).below(said(kept_by(row, names)))
    };
    let table = Table::new("stacks", columns(&fields, ["retained", "own"]), "stack").named("stack");
    Table { below: ALL, ..table }.rows(found.stacks.iter().map(row))
}

/// Fields of roots.
const OF_ROOTS: [&str; 2] = ["direct", "retained"];

fn by_root(found: &Retained, names: &[String]) -> Table {
    let row = |row: &RootRow| {
        let cells =
            cells([row.direct.into(), row.retained.into()], row.retained, row.direct, found.reachable);
        Row::new(cells, name_of_root(row.root, names))
    };
    let columns = columns(&OF_ROOTS, ["retained", "refers to"]);
    let table = Table::new("roots", columns, "root").named("name").titled("By root");
    Table { noun: "more root", ..table }.rows(found.roots.iter().map(row))
}

/// What no single root keeps.
fn roots(found: &Retained, several: &Several, names: &[String]) -> Table {
    let none = [Value::Empty, Value::Empty];
    let cells = cells(none, found.several, Amount::ZERO, found.reachable);
    let each = std::iter::once("what each of them leads to, counted for each:".into());
    let row = Row::new(cells, holder(Holder::Several, names)).below(said(each.chain(led_to(several, names))));
    let table = Table::new("several", columns(&OF_ROOTS, ["retained", "refers to"]), "roots")
        .titled("By several roots");
    let rows = (!found.several.is_zero()).then_some(row);
    Table { below: ALL, ..table }.only(Readers::People).rows(rows)
}

fn by_class(loaded: &Loaded, rows: &[ClassRow], reachable: Amount) -> Table {
    let row = |row: &ClassRow| {
        let fields = [row.own.into(), row.retained.into(), Value::Flag(row.is_least), row.unreachable.into()];
        let name = loaded.tables.string(row.name).to_owned();
        Row::new(cells(fields, row.retained, row.own, reachable), name).below(said(unreachable_too(row)))
    };
    let columns = columns(&["own", "retained", "retained_is_least", "unreachable"], ["retained", "own"]);
    let table = Table::new("classes", columns, "class").named("name").titled("By class");
    Table { noun: "more class", below: ALL, ..table }.rows(rows.iter().map(row))
}

fn unreachable(lost: &Unreachable) -> Table {
    let row = |row: &UnreachableRow| {
        let leads_to = row
            .leads_to
            .iter()
            .map(|&(node, amount)| Value::Record(vec![("stack", Value::Stack(node)), ("", amount.into())]));
        let fields =
            [row.heads.into(), row.claimed.into(), Value::count(row.cycles), Value::List(leads_to.collect())];
        let cells = cells(fields, row.claimed, row.heads, lost.total);
        Row::new(cells, Value::Stack(row.node)).below(said(cycles(row)))
    };
    let columns = columns(&["own", "claimed", "cycles", "leads_to"], ["total", "own"]);
    let table = Table::new("unreachable_stacks", columns, "stack").named("stack").titled("Unreachable");
    Table { below: ALL, notes: vec![UNREACHABLE.into()], ..table }.rows(lost.stacks.iter().map(row))
}
