//! Pages of memory by call tree.

use super::tree::Tree;
use crate::base::cost::Cost;
use crate::base::metric::Metric;
use crate::count::profile::{Profile, Site};
use crate::lifetimes::accesses::{Access, Use, uses};
use crate::lifetimes::pages::{PageTable, StackPages};
use crate::names::table::Names;
use capture::Tables;

/// The stacks of a table of pages as a call tree, and by node what its branch uses, and how much empty memory it is
/// responsible for.
pub fn page_tree(table: &PageTable, tables: &Tables, names: &Names) -> (Tree, Vec<(Use, i64)>) {
    let site = |row: &StackPages| Site {
        process: row.process,
        thread: None,
        node: row.node,
        cost: Cost { leaked: row.held, ..Cost::default() },
    };
    let profile = Profile { sites: table.stacks.iter().map(site).collect(), ..Profile::default() };
    let (tree, places) = Tree::placed(&profile, tables, names, Metric::Live);
    let at = |access: &Access| Access { node: places[access.node as usize], ..*access };
    let mut accesses: Vec<Access> = table.accesses.iter().map(at).collect();
    let parents = tree.parents();
    let uses = uses(&parents, &mut accesses);
    let mut empty = vec![0; parents.len()];
    for (row, &node) in table.stacks.iter().zip(&places) {
        empty[node as usize] += row.empty;
    }
    for node in (1..parents.len()).rev() {
        empty[parents[node] as usize] += empty[node];
    }
    (tree, uses.into_iter().zip(empty).collect())
}
