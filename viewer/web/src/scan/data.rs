//! The data of a scan: tables of stacks, roots and classes, the tree of what keeps what, and what was unreachable.
//!
//! `assets/scan.js` reads it.

use super::found::{Found, LeftOut};
use super::numbering::Numbering;
use crate::call_tree::CallTree;
use crate::columns::{Column, Columns};
use crate::data::{Stacks, headed};
use crate::fold::Folded;
use crate::texts::Texts;
use analysis::{Amount, called_of, library_frames};
use engine::Loaded;
use heap_graph::{ClassRow, Holder, RetainedTree, Scanned, UnreachableRow, root_name};
use report::json::Fields;
use report::views::scanned_fields;
use serde::Serialize;
use std::io;

/// Most roots named for what several keep together, and most stacks that one leads to, the largest.
const MOST_NAMED: usize = 50;

/// Version of the data. The scripts come with it, so nothing else needs to read it.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Head<'a> {
    version: u32,
    #[serde(flatten)]
    scanned: Fields<'a>,
    several_bytes: i64,
    several_blocks: i64,
    /// Number of further roots that lead to these, and of those that were not followed.
    several_more: usize,
    several_not_followed: usize,
    left_out: LeftOutFields,
    texts: &'a [String],
    columns: &'a [Column],
}

/// What is missing from each part of the data.
#[derive(Serialize)]
struct LeftOutFields {
    /// At the top of the tree; what is left out further down is noted in its rows.
    tree: LeftOut,
    /// With their own blocks.
    stacks: LeftOut,
    /// With what they retain.
    roots: LeftOut,
    /// With what they retain.
    classes: LeftOut,
    /// With what they claim.
    unreachable: LeftOut,
}

/// Everything but the head, as far as it is written.
#[derive(Default)]
struct Parts {
    columns: Columns,
    texts: Texts,
    numbers: Numbering,
}

/// The data with at most `most` rows of the tree and of each table, the first ones.
pub(super) fn data(loaded: &Loaded, scanned: &Scanned, found: &Found, most: usize) -> io::Result<Vec<u8>> {
    let Found { retained, several, classes, unreachable, tree } = found;
    let tree = tree.clone().largest(most);
    let mut parts = Parts::default();
    parts.stacks(found, most);
    parts.roots(found, most);
    parts.several(found);
    parts.classes(loaded, found, most);
    parts.unreachable(found, most);
    parts.tree(&tree);
    let Parts { mut columns, mut texts, numbers } = parts;
    let names = numbers.roots.iter().map(|root| i64::from(texts.number(&root_name(&scanned.roots, *root))));
    columns.numbers("root.name", names);
    let call_tree = CallTree::of_stacks(loaded, scanned.scan.process, &numbers.stacks);
    let folded = Folded::whole(&call_tree);
    Stacks { loaded, call_tree: &call_tree, sources: None }.write(&mut columns, &mut texts, &folded);
    let (tables, all) = (&loaded.tables, &loaded.names);
    let library_frames = numbers.stacks.iter().map(|&node| library_frames(tables, all, node) as i64);
    columns.numbers("stack.library_frames", library_frames);
    let called = numbers.stacks.iter().map(|&node| i64::from(called_of(tables, all, node).is_some()));
    columns.numbers("stack.called", called);
    let rows = call_tree.of_sites.iter().map(|&row| &folded.rows[folded.row_of[row] as usize]);
    columns.numbers("stack.node", rows.map(|row| i64::from(row.node)));
    let head = Head {
        version: VERSION,
        scanned: Fields { loaded, fields: scanned_fields(loaded, scanned) },
        several_bytes: retained.several.bytes,
        several_blocks: retained.several.blocks,
        several_more: several.roots.len().saturating_sub(MOST_NAMED),
        several_not_followed: several.not_followed,
        left_out: LeftOutFields {
            tree: LeftOut { rows: tree.hidden, amount: tree.hidden_retained },
            stacks: LeftOut::of(&retained.stacks, most, |row| row.own),
            roots: LeftOut::of(&retained.roots, most, |row| row.retained),
            classes: LeftOut::of(classes, most, |row| row.retained),
            unreachable: LeftOut::of(&unreachable.stacks, most, |row| row.claimed),
        },
        texts: &texts.texts,
        columns: &columns.table,
    };
    Ok([&headed(&head)?, &columns.bytes[..]].concat())
}

impl Parts {
    /// The stacks that retain most, which get the first numbers, each with what keeps it.
    fn stacks(&mut self, found: &Found, most: usize) {
        let rows = || found.retained.stacks.iter().take(most);
        rows().for_each(|row| {
            self.numbers.stack(row.node);
        });
        self.columns.amounts("retained.own", rows().map(|row| row.own));
        self.columns.amounts("retained.all", rows().map(|row| row.retained));
        self.columns.numbers("retained.direct.blocks", rows().map(|row| row.direct));
        self.columns.numbers("retained.holders", rows().map(|row| row.holders.len() as i64));
        self.columns.numbers("retained.others", rows().map(|row| row.more_holders as i64));
        let holders = || rows().flat_map(|row| &row.holders);
        let numbers = &mut self.numbers;
        self.columns.numbers("holder.number", holders().map(|(holder, _)| numbers.holder(*holder)));
        self.columns.amounts("holder", holders().map(|(_, amount)| *amount));
    }

    /// The roots that retain most, in order.
    fn roots(&mut self, found: &Found, most: usize) {
        let rows = || found.retained.roots.iter().take(most);
        let numbers = &mut self.numbers;
        let number = rows().map(|row| numbers.holder(Holder::Root(row.root)) - 1);
        self.columns.numbers("kept_by_root.number", number);
        self.columns.amounts("kept_by_root.direct", rows().map(|row| row.direct));
        self.columns.amounts("kept_by_root.all", rows().map(|row| row.retained));
    }

    /// The classes that retain most.
    fn classes(&mut self, loaded: &Loaded, found: &Found, most: usize) {
        let rows = || found.classes.iter().take(most);
        let texts = &mut self.texts;
        let name = |row: &ClassRow| loaded.tables.string(row.name);
        self.columns.numbers("class.name", rows().map(|row| i64::from(texts.number(name(row)))));
        self.columns.amounts("class.own", rows().map(|row| row.own));
        self.columns.amounts("class.all", rows().map(|row| row.retained));
        self.columns.amounts("class.lost", rows().map(|row| row.unreachable));
    }

    /// The first roots that lead to what no single one keeps.
    fn several(&mut self, found: &Found) {
        let rows = || found.several.roots.iter().take(MOST_NAMED);
        let numbers = &mut self.numbers;
        let number = rows().map(|(root, _)| numbers.holder(Holder::Root(*root)) - 1);
        self.columns.numbers("several.number", number);
        self.columns.amounts("several", rows().map(|(_, amount)| *amount));
    }

    /// Stacks of the heads of unreachable blocks, each with what it leads to.
    fn unreachable(&mut self, found: &Found, most: usize) {
        let rows = || found.unreachable.stacks.iter().take(most);
        let numbers = &mut self.numbers;
        self.columns.numbers("unreachable.stack", rows().map(|row| numbers.stack(row.node)));
        self.columns.amounts("unreachable.own", rows().map(|row| row.heads));
        self.columns.amounts("unreachable.all", rows().map(|row| row.claimed));
        self.columns.numbers("unreachable.cycles", rows().map(|row| row.cycles));
        let shown = most.min(MOST_NAMED);
        let left = |row: &UnreachableRow| row.leads_to.len().saturating_sub(shown);
        self.columns.numbers("unreachable.led", rows().map(|row| (row.leads_to.len() - left(row)) as i64));
        self.columns.numbers("unreachable.hidden", rows().map(|row| left(row) as i64));
        let hidden =
            |row: &UnreachableRow| row.leads_to.iter().skip(shown).map(|(_, amount)| *amount).sum::<Amount>();
        self.columns.amounts("unreachable.hidden", rows().map(hidden));
        let led = || rows().flat_map(|row| row.leads_to.iter().take(shown));
        let numbers = &mut self.numbers;
        self.columns.numbers("led.stack", led().map(|(node, _)| numbers.stack(*node)));
        self.columns.amounts("led", led().map(|(_, amount)| *amount));
    }

    /// Rows of the tree, each before those below it. A row retains the sum of what is below it, of what is hidden,
    /// and of its own blocks.
    fn tree(&mut self, tree: &RetainedTree) {
        let rows = || tree.rows.iter();
        self.columns.rising("kept.level", rows().map(|row| row.level as i64));
        let numbers = &mut self.numbers;
        self.columns.numbers("kept.holder", rows().map(|row| numbers.holder(row.holder)));
        self.columns.amounts("kept.own", rows().map(|row| row.own));
        self.columns.numbers("kept.hidden", rows().map(|row| row.hidden as i64));
        self.columns.amounts("kept.hidden", rows().map(|row| row.hidden_retained));
    }
}
