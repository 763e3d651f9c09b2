//! Which part of a tree fits into a page.
//!
//! Nodes are kept by *weight*: their largest share, including what is below them, of anything that a page shows.
//! Everything else is folded into one node below the nearest caller that is kept, so that sums stay right:
//!
//! ```text
//!  main ──┬─ a ── b                      main ──┬─ a ── b
//!         ├─ c ── d       a, b fit:             └─ [folded]   with the rows of c, d and e
//!         └─ e
//! ```

use super::call_tree::{CallTree, ROOT, Row};
use analysis::{Amount, Cost, Flow};
use hashbrown::HashMap;

/// How much may be kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) nodes: usize,
    /// Limit on the rows' numbers other than costs: changes in slices, regions, sizes, lifetimes.
    pub(super) changes: usize,
}

/// A node of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageNode {
    pub(super) parent: u32,
    /// Its index in the tree's table of places; none for what was folded.
    pub(super) place: Option<u32>,
}

/// The part of a tree that is kept.
#[derive(Debug, Default)]
pub(super) struct Folded {
    /// From the root down, each followed by what is below it.
    pub(super) nodes: Vec<PageNode>,
    /// In the order of nodes.
    pub(super) rows: Vec<Row>,
    /// By row of the tree, the index of the row that contains it.
    pub(super) row_of: Vec<u32>,
    /// Number of stacks without a node of their own.
    pub(super) stacks: usize,
    /// What they cost.
    pub(super) cost: Cost,
}

impl Folded {
    /// Keeps the weightiest nodes of a tree.
    pub(super) fn new(call_tree: &CallTree, total: &Cost, limits: Limits) -> Self {
        let entries = call_tree.rows.iter().map(Row::entries).sum::<usize>();
        if call_tree.nodes.len() <= limits.nodes && entries <= limits.changes {
            return Self::whole(call_tree);
        }
        Self::keeping(call_tree, &kept(call_tree, &weights(call_tree, total), limits))
    }

    /// Keeps the whole tree, in the order of a page.
    pub(super) fn whole(call_tree: &CallTree) -> Self {
        Self::keeping(call_tree, &vec![true; call_tree.nodes.len()])
    }

    fn keeping(call_tree: &CallTree, kept: &[bool]) -> Self {
        let mut folded = Self { row_of: vec![0; call_tree.rows.len()], ..Self::default() };
        let page_node = folded.take_nodes(call_tree, kept);
        // Folded stacks share one row, whichever function was called.
        let call = |row: &Row| if kept[row.node as usize] { row.call } else { 0 };
        let places = call_tree.rows.iter().enumerate();
        let mut places: Vec<(u32, u8, usize)> =
            places.map(|(place, row)| (page_node[row.node as usize], call(row), place)).collect();
        places.sort_unstable();
        for of_row in places.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let number = u32::try_from(folded.rows.len()).expect("fewer rows than the tree has");
            let (node, call, _) = of_row[0];
            let mut sum = Row { node, call, ..Row::default() };
            for &(_, _, place) in of_row {
                let row = &call_tree.rows[place];
                folded.row_of[place] = number;
                sum.absorb(row);
                if !kept[row.node as usize] {
                    folded.stacks += 1;
                    folded.cost += row.cost;
                }
            }
            folded.rows.push(sum);
        }
        folded
    }

    /// Puts the nodes into order, and returns where each node of the tree went.
    fn take_nodes(&mut self, call_tree: &CallTree, kept: &[bool]) -> Vec<u32> {
        let children = Children::new(call_tree, kept);
        let mut page_node = vec![ROOT; call_tree.nodes.len()];
        let mut ahead = vec![(ROOT, ROOT)];
        while let Some((id, parent)) = ahead.pop() {
            let here = u32::try_from(self.nodes.len()).expect("fewer nodes than the tree has");
            self.nodes.push(PageNode { parent, place: Some(call_tree.nodes[id as usize].1) });
            page_node[id as usize] = here;
            ahead.extend(children.of(id).map(|child| (child, here)));
        }
        // Parents come first, so it is already known where each one went.
        let mut remainders: HashMap<u32, u32> = HashMap::new();
        for (id, &(parent, _)) in call_tree.nodes.iter().enumerate() {
            if kept[id] {
                continue;
            }
            let above = page_node[parent as usize];
            page_node[id] = match kept[parent as usize] {
                false => above,
                true => *remainders.entry(above).or_insert_with(|| {
                    self.nodes.push(PageNode { parent: above, place: None });
                    u32::try_from(self.nodes.len() - 1).expect("fewer nodes than the tree has")
                }),
            };
        }
        page_node
    }
}

/// The kept nodes below each node.
struct Children {
    first: Vec<u32>,
    next: Vec<u32>,
}

impl Children {
    fn new(call_tree: &CallTree, kept: &[bool]) -> Self {
        let mut children =
            Self { first: vec![ROOT; call_tree.nodes.len()], next: vec![ROOT; call_tree.nodes.len()] };
        for (id, &(parent, _)) in (0_u32..).zip(&call_tree.nodes).skip(1) {
            if kept[id as usize] {
                children.next[id as usize] = children.first[parent as usize];
                children.first[parent as usize] = id;
            }
        }
        children
    }

    /// The root is never a child, so it ends the list.
    fn of(&self, id: u32) -> impl Iterator<Item = u32> + '_ {
        let child = |id: u32| Some(id).filter(|&id| id != ROOT);
        std::iter::successors(child(self.first[id as usize]), move |&id| child(self.next[id as usize]))
    }
}

/// Which nodes are kept: as many as fit, the weightiest first, callers before their callees.
fn kept(call_tree: &CallTree, weights: &[f64], limits: Limits) -> Vec<bool> {
    let mut changes = vec![0_usize; call_tree.nodes.len()];
    for row in &call_tree.rows {
        changes[row.node as usize] += row.entries();
    }
    let mut order: Vec<usize> = (1..call_tree.nodes.len()).collect();
    order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]).then(a.cmp(&b)));
    let mut kept = vec![false; call_tree.nodes.len()];
    kept[0] = true;
    let mut sum = changes[0];
    for id in order.into_iter().take(limits.nodes.saturating_sub(1)) {
        sum = sum.saturating_add(changes[id]);
        if sum > limits.changes {
            break;
        }
        kept[id] = true;
    }
    kept
}

/// The weight of every node: that of its rows and of everything below it. A caller weighs at least as much as its
/// callees.
fn weights(call_tree: &CallTree, total: &Cost) -> Vec<f64> {
    let mut weights = vec![0.0_f64; call_tree.nodes.len()];
    for row in &call_tree.rows {
        weights[row.node as usize] += weight(row, total);
    }
    for id in (1..call_tree.nodes.len()).rev() {
        let (parent, _) = call_tree.nodes[id];
        weights[parent as usize] += weights[id];
    }
    weights
}

fn weight(row: &Row, total: &Cost) -> f64 {
    let share = |part: i64, whole: i64| part.unsigned_abs() as f64 / whole.unsigned_abs().max(1) as f64;
    let both =
        |part: Amount, whole: Amount| share(part.bytes, whole.bytes).max(share(part.blocks, whole.blocks));
    let mut live = Amount::ZERO;
    let mut most = 0.0_f64;
    for (_, Flow { live: change, .. }) in &row.changes {
        live += *change;
        most = most.max(share(live.bytes, total.peak.bytes));
    }
    // What is gone since the older capture matters as much as what is new.
    let before = row.change.iter().map(|change| &change.before);
    before.chain([&row.cost]).fold(most, |most, cost| {
        most.max(both(cost.peak, total.peak))
            .max(both(cost.live(), total.live()))
            .max(both(cost.allocated, total.allocated))
            .max(both(cost.temporary, total.temporary))
            .max(both(cost.cpu, total.cpu))
            .max(both(cost.frees, total.frees))
    })
}
