//! Visits the nodes of a tree in the order in which they are written.

use analysis::{Metric, Names, Tree, natural};
use std::io;

/// Calls `visit` with each node and its depth, parents before children, siblings by name. Nodes that rank below
/// `least` are left out with everything below them. The root has depth 0.
///
/// This is a loop: a stack may be 10,000 frames deep.
pub(super) fn walk(
    tree: &Tree,
    names: &Names,
    metric: Metric,
    least: i64,
    mut visit: impl FnMut(usize, u32) -> io::Result<()>,
) -> io::Result<()> {
    let name = |id: &u32| names.label(tree.node(*id).label).name.as_str();
    let mut rest = vec![(0, Tree::ROOT)];
    while let Some((depth, id)) = rest.pop() {
        visit(depth, id)?;
        let large = tree.children(id).filter(|&child| metric.rank(tree.node(child).total) >= least);
        let mut children: Vec<u32> = large.collect();
        // The last one is popped first.
        children.sort_by(|a, b| {
            natural(name(b), name(a)).then_with(|| tree.node(*b).label.cmp(&tree.node(*a).label))
        });
        rest.extend(children.into_iter().map(|child| (depth + 1, child)));
    }
    Ok(())
}
