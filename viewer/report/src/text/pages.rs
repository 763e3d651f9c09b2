//! `pages`: whose blocks lie on which pages.

use super::document::document;
use super::escape::columns;
use super::extent::Extent;
use super::place::fit_name;
use super::stack_line::header;
use super::style::{Role, Style};
use super::tree_lines::Rows;
use crate::views::head_of_pages;
use analysis::format::{bytes, count, counted, percent};
use analysis::lifetimes::PageTable;
use analysis::{Amount, Tree, Use, natural, page_tree};
use engine::Loaded;
use std::cmp::Reverse;
use std::io::{self, Write};

/// Width of the numbers before a name.
const WIDTH: usize = 64;

/// Writes them as a call tree, without branches on less than `least` bytes of pages. Branches share pages, so their
/// numbers add up to more than those of the branch above.
///
/// # Errors
/// Those of the writer.
pub fn pages_tree(
    out: &mut dyn Write,
    loaded: &Loaded,
    table: &PageTable,
    least: i64,
    style: &Style,
) -> io::Result<()> {
    document(out, loaded, &head_of_pages(loaded, table, Vec::new()), Extent::of_command(usize::MAX), style)?;
    let titles = ["empty", "alone", "pages", "held", "blocks"].map(|title| format!("{title:>10}")).concat();
    writeln!(out)?;
    header(out, style, &format!("{titles}  {:>10}  function", "filled"))?;
    let (tree, uses) = page_tree(table, &loaded.tables, &loaded.names);
    let name = |node: u32| loaded.names.label(tree.node(node).label).name.as_str();
    let of = |node: u32| uses[node as usize].0;
    let empty = |node: u32| uses[node as usize].1;
    let mut rows = Rows::new(Row::Node(Tree::ROOT));
    while let Some((row, lead, branch)) = rows.pop() {
        let lines = lead.text(branch, 20);
        let node = match row {
            Row::Node(node) => node,
            Row::Hidden(number) => {
                let text = format!("{} not shown", counted(number as u64, "smaller one"));
                writeln!(out, "{:WIDTH$}{lines}{}", "", style.paint(Role::Detail, text))?;
                continue;
            }
        };
        let room = style.room(WIDTH + columns(&lines));
        let function = style.paint(Role::Function, fit_name(&loaded.names, tree.node(node).label, room));
        writeln!(out, "{}{lines}{function}", numbers(empty(node), of(node), tree.node(node).total, style))?;
        let (mut children, small): (Vec<u32>, Vec<u32>) =
            tree.children(node).partition(|&child| of(child).total >= least);
        children.sort_by(|&a, &b| {
            let size = |node| Reverse((of(node).total, of(node).alone));
            size(a).cmp(&size(b)).then_with(|| natural(name(a), name(b)))
        });
        let hidden = (!small.is_empty()).then_some(Row::Hidden(small.len()));
        rows.push_below((lead, branch), children.into_iter().map(Row::Node), hidden);
    }
    Ok(())
}

/// A row of the tree.
enum Row {
    Node(u32),
    /// The number of branches that are too small.
    Hidden(usize),
}

/// `  38.8 KiB  12.0 KiB  40.0 KiB   1.20 KiB        60      3.0 %  `.
fn numbers(empty: i64, pages: Use, held: Amount, style: &Style) -> String {
    let empty = style.paint(Role::Value, format!("{:>10}", bytes(empty)));
    let rest = [bytes(pages.alone), bytes(pages.total), bytes(held.bytes), count(held.blocks)];
    let rest = rest.map(|number| format!("{number:>10}")).concat();
    format!("{empty}{rest}  {:>10}  ", percent(held.bytes, pages.total))
}
