//! Folded stacks: one line each, from the process to the innermost function, with what that costs itself.
//!
//! ```text
//! server;_start;main;parse;push 1048576
//! server;_start;main 64
//! ```
//!
//! The format is that of `stackcollapse` and related tools; it cannot represent a `;` in a name, so that becomes a
//! `:`, as in those tools.

use super::walk::walk;
use analysis::{Metric, Tree};
use engine::Loaded;
use report::csv::folded;
use std::io::{self, Write};

/// Writes the stacks that cost anything in this metric: bytes, or blocks for metrics that count those.
pub(super) fn write(out: &mut dyn Write, loaded: &Loaded, metric: Metric) -> io::Result<()> {
    let Loaded { profile, tables, names, .. } = loaded;
    let tree = Tree::top_down(profile, tables, names, metric);
    let mut path = String::new();
    // The length of the path at each depth.
    let mut ends = vec![0];
    walk(&tree, names, metric, i64::MIN, |depth, id| {
        // The root stands for all processes and is not part of any stack.
        let Some(above) = depth.checked_sub(1) else { return Ok(()) };
        ends.truncate(above + 1);
        path.truncate(ends[above]);
        if !path.is_empty() {
            path.push(';');
        }
        path.push_str(&folded(&names.label(tree.node(id).label).name));
        ends.push(path.len());
        match metric.rank(tree.own(id)) {
            0 => Ok(()),
            own => writeln!(out, "{path} {own}"),
        }
    })
}
