//! `retained` as a tree: what keeps what, from the roots down.
//!
//! ```text
//!    retained    share          own      blocks  kept
//!       135 B    100 %          0 B           0  [Reachable]
//!       120 B   88.9 %          0 B           0  ├─ cache
//!       120 B   88.9 %        100 B           1  │  insert (cache.c:12) < main
//!        20 B   14.8 %         20 B           2  │  push (list.c:7) < main
//!        15 B   11.1 %          0 B           0  └─ several roots: index, stack of thread 1000 (app)
//! ```

use super::document::document;
use super::escape::columns;
use super::extent::Extent;
use super::stack_line::header;
use super::style::{Role, Style};
use super::tree_lines::Rows;
use super::words::words;
use crate::views::{head_of_scan, holder, several_name};
use analysis::Amount;
use analysis::format::{bytes, count, percent};
use engine::Loaded;
use heap_graph::{Holder, RetainedTree, Scanned};
use std::io::{self, Write};

/// Width of the numbers before a name.
const WIDTH: usize = 45;

/// Most levels with lines.
const LEVELS: u32 = 20;

/// Writes the tree, without rows that retain less than `least` bytes, and at most `levels` deep.
///
/// # Errors
/// Those of the writer.
pub fn retained_tree(
    out: &mut dyn Write,
    loaded: &Loaded,
    scanned: &Scanned,
    (least, levels): (i64, usize),
    style: &Style,
) -> io::Result<()> {
    document(out, loaded, &head_of_scan(loaded, scanned), Extent::of_command(0), style)?;
    writeln!(out)?;
    let Scanned { graph, roots: names, .. } = scanned;
    header(
        out,
        style,
        &format!("{:>10}  {:>7}  {:>10}  {:>10}  kept", "retained", "share", "own", "blocks"),
    )?;
    let tree = graph.tree(least, levels);
    let below = below(&tree);
    let mut rows = Rows::new(Row::Of(0));
    while let Some((row, lead, branch)) = rows.pop() {
        let lines = lead.text(branch, LEVELS);
        let (retained, own, text) = match row {
            Row::Hidden(number, retained) => {
                let text = format!("{} more not shown (--json)", count(number as u64));
                (retained, Amount::ZERO, style.paint(Role::Detail, text))
            }
            Row::Of(place) => {
                let of = place.checked_sub(1).map(|place| &tree.rows[place]);
                let (hidden, retained) =
                    of.map_or((tree.hidden, tree.hidden_retained), |row| (row.hidden, row.hidden_retained));
                let hidden = (hidden > 0).then_some(Row::Hidden(hidden, retained));
                let below: Vec<Row> = below[place].iter().copied().map(Row::Of).chain(hidden).collect();
                rows.push_below((lead, branch), below.into_iter(), None);
                match of {
                    None => {
                        let text = style.paint(Role::Detail, "[Reachable]".to_owned());
                        (tree.reachable, Amount::ZERO, text)
                    }
                    Some(row) => {
                        let name = match row.holder {
                            Holder::Several => several_name(&graph.several(), names),
                            one => self::holder(one, names),
                        };
                        let room = style.room(WIDTH + columns(&lines));
                        (row.retained, row.own, style.paint(Role::Function, words(loaded, &name, room)))
                    }
                }
            }
        };
        writeln!(out, "{}{lines}{text}", numbers(retained, own, tree.reachable, style))?;
    }
    Ok(())
}

/// A row: all that is reachable, those of the tree from 1 on, or how many are too small or too deep and what they retain.
enum Row {
    Of(usize),
    Hidden(usize, Amount),
}

/// By row, those directly below it.
fn below(tree: &RetainedTree) -> Vec<Vec<usize>> {
    let mut below = vec![Vec::new(); tree.rows.len() + 1];
    let mut above = vec![0];
    for (place, row) in (1..).zip(&tree.rows) {
        above.truncate(row.level + 1);
        below[above[row.level]].push(place);
        above.push(place);
    }
    below
}

/// `       120 B   88.9 %        100 B           1  `: retained bytes, their share, and the row's own blocks.
fn numbers(retained: Amount, own: Amount, whole: Amount, style: &Style) -> String {
    let first = style.paint(Role::Value, format!("{:>10}", bytes(retained.bytes)));
    let share = percent(retained.bytes, whole.bytes);
    format!("{first}  {share:>7}  {:>10}  {:>10}  ", bytes(own.bytes), count(own.blocks))
}
