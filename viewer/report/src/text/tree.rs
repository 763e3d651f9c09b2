//! A call tree as indented text.
//!
//! A single child follows its parent in the same column; text is indented only where the tree branches, so that a
//! stack of hundreds of frames stays readable:
//!
//! ```text
//!     bytes    share      blocks        self  function
//!     350 B    100 %           4         0 B  [Everything]
//!     350 B    100 %           4         0 B  app
//!     350 B    100 %           4         0 B  main
//!     300 B   85.7 %           3       300 B  ├─ b
//!      50 B   14.3 %           1        50 B  └─ c
//! ```
//!
//! A function that only calls itself is written once, as `parse ×30`. Hidden children share a row of their own, so
//! that the rows below a function and its own part add up to its total.

use super::columns::Columns;
use super::escape::columns;
use super::place::fit_name;
use super::stack_line::smaller_ones;
use super::style::{Role, Style};
use super::tree_lines::Rows;
use analysis::{Amount, Cutoff, Metric, Shown, Spread, Tree};
use engine::Loaded;
use std::io::{self, Write};

/// Writes a tree.
pub(super) fn tree(
    out: &mut dyn Write,
    loaded: &Loaded,
    tree: &Tree,
    metric: Metric,
    cutoff: Cutoff,
    style: &Style,
) -> io::Result<()> {
    let numbers = Columns::new(loaded, metric, tree.node(Tree::ROOT).total, style);
    let header = format!("{}{}  function", numbers.header(), Columns::single_header("self"));
    writeln!(out, "{}", style.paint(Role::Detail, header))?;
    let mut rows = Rows::new(What::Node(Tree::ROOT));
    while let Some((what, above, branch)) = rows.pop() {
        let lead = above.text(branch, levels(style));
        match what {
            What::Hidden(number, option, total, spread) => {
                let text = smaller_ones(
                    number,
                    option,
                    style.room(Columns::WIDTH + Columns::SINGLE + 2 + columns(&lead)),
                );
                let blank = Columns::single_header("");
                let text = style.paint(Role::Detail, text);
                writeln!(out, "{}{blank}  {lead}{text}", numbers.row(total, spread))?;
            }
            What::Node(id) => {
                let (id, times, shown) =
                    unroll(tree, id, |id| Shown::of(tree, id, &loaded.names, metric, cutoff));
                let times = if times > 1 { format!(" ×{times}") } else { String::new() };
                let used = Columns::WIDTH + Columns::SINGLE + 2 + columns(&lead) + columns(&times);
                let name = fit_name(&loaded.names, tree.node(id).label, style.room(used));
                let name = style.paint(Role::Function, name);
                let own = numbers.single(tree.own(id), tree.own_spread(id));
                writeln!(
                    out,
                    "{}{own}  {lead}{name}{times}",
                    numbers.row(tree.node(id).total, tree.spread(id))
                )?;
                let Shown { hidden, option, hidden_total, hidden_spread, children } = shown;
                let hidden =
                    (hidden > 0).then_some(What::Hidden(hidden, option, hidden_total, hidden_spread));
                rows.push_below((above, branch), children.into_iter().map(What::Node), hidden);
            }
        }
    }
    Ok(())
}

/// Follows a function that does nothing but call itself; returns the innermost such node, the number of nodes, and
/// what is below it.
fn unroll(tree: &Tree, mut id: u32, shown_of: impl Fn(u32) -> Shown) -> (u32, usize, Shown) {
    let mut times = 1;
    loop {
        let shown = shown_of(id);
        let next = shown.children.first().copied();
        let next = next.filter(|_| shown.children.len() == 1 && shown.hidden == 0 && tree.own(id).is_zero());
        match next.filter(|&child| tree.node(child).label == tree.node(id).label) {
            Some(child) => id = child,
            None => return (id, times, shown),
        }
        times += 1;
    }
}

/// At most half of the space that numbers leave is used for lines.
fn levels(style: &Style) -> u32 {
    let room = style.room(Columns::WIDTH + Columns::SINGLE + 2) / 2;
    u32::try_from(room / 3).unwrap_or(u32::MAX).max(4)
}

/// A row.
enum What {
    Node(u32),
    /// The number of hidden children, and the option that shows them.
    Hidden(usize, &'static str, Amount, Spread),
}
