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
use super::tree_lines::{Branch, TreeLines};
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
    let rows = rows(&tree);
    let branches = branches(&rows);
    // The lead of the rows below the last row of each level.
    let mut above: Vec<TreeLines> = Vec::new();
    for (row, branch) in rows.iter().zip(branches) {
        above.truncate(row.level);
        let lead = above.last().copied().unwrap_or_default();
        above.push(lead.below(branch));
        let lines = lead.text(branch, LEVELS);
        let text = match row.what {
            What::All => style.paint(Role::Detail, "[Reachable]".to_owned()),
            What::Hidden(number) => {
                style.paint(Role::Detail, format!("{} more not shown (--json)", count(number as u64)))
            }
            What::Holder(holder) => {
                let used = WIDTH + columns(&lines);
                let name = match holder {
                    Holder::Several => several_name(&graph.several(), names),
                    one => self::holder(one, names),
                };
                style.paint(Role::Function, words(loaded, &name, style.room(used)))
            }
        };
        writeln!(out, "{}{lines}{text}", numbers(row.retained, row.own, tree.reachable, style))?;
    }
    Ok(())
}

/// `       120 B   88.9 %        100 B           1  `: retained bytes, their share, and the row's own blocks.
fn numbers(retained: Amount, own: Amount, whole: Amount, style: &Style) -> String {
    let first = style.paint(Role::Value, format!("{:>10}", bytes(retained.bytes)));
    let share = percent(retained.bytes, whole.bytes);
    format!("{first}  {share:>7}  {:>10}  {:>10}  ", bytes(own.bytes), count(own.blocks))
}

struct Row {
    what: What,
    level: usize,
    own: Amount,
    retained: Amount,
}

#[derive(Clone, Copy)]
enum What {
    All,
    Holder(Holder),
    /// The number of rows that are too small or too deep.
    Hidden(usize),
}

/// All lines in order: hidden ones come after their siblings.
fn rows(tree: &RetainedTree) -> Vec<Row> {
    let all = Row { what: What::All, level: 0, own: Amount::ZERO, retained: tree.reachable };
    let hidden =
        |number, retained, level| Row { what: What::Hidden(number), level, own: Amount::ZERO, retained };
    let mut rows = vec![all];
    // For each open row, what is hidden below it.
    let mut open = vec![hidden(tree.hidden, tree.hidden_retained, 1)];
    let close = |rows: &mut Vec<Row>, open: &mut Vec<Row>, level: usize| {
        while open.len() > level {
            rows.extend(open.pop().filter(|row| !matches!(row.what, What::Hidden(0))));
        }
    };
    for row in &tree.rows {
        close(&mut rows, &mut open, row.level + 1);
        let (level, own, retained) = (row.level + 1, row.own, row.retained);
        rows.push(Row { what: What::Holder(row.holder), level, own, retained });
        open.push(hidden(row.hidden, row.hidden_retained, level + 1));
    }
    close(&mut rows, &mut open, 0);
    rows
}

/// How each line is attached to the one above it.
fn branches(rows: &[Row]) -> Vec<Branch> {
    // By level, whether more rows follow.
    let mut follows: Vec<bool> = Vec::new();
    let mut branches = vec![Branch::Trunk; rows.len()];
    for (place, row) in rows.iter().enumerate().rev() {
        follows.truncate(row.level + 1);
        follows.resize(row.level + 1, false);
        let is_last = !std::mem::replace(&mut follows[row.level], true);
        let is_first = place == 0 || rows[place - 1].level < row.level;
        branches[place] = match (is_first, is_last) {
            (true, true) => Branch::Trunk,
            (_, false) => Branch::Fork,
            (false, true) => Branch::Last,
        };
    }
    branches
}
