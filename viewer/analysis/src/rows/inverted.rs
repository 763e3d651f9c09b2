//! Builds the tree from the allocations up to the root.
//!
//! In storage stacks share their outer frames, not the inner ones, so every stack becomes a cursor that starts at its
//! innermost function. A node holds a range of cursors; opening it moves each one step outwards and sorts the range
//! by the function reached, which yields the children:
//!
//! ```text
//!  [malloc: s1 s2 s3 s4]  ── one step ──►  [parse: s2 s4] [read: s1 s3]
//! ```
//!
//! Only nodes that will be shown are opened: a full inverted tree has as many nodes as all stacks have frames.

use super::tree::Tree;
use crate::base::cost::Amount;
use crate::base::metric::Metric;
use crate::base::spread::Spread;
use crate::count::profile::Profile;
use crate::names::table::{LabelId, Names};
use capture::{NodeId, ProcessId, Tables};
use std::collections::VecDeque;
use std::ops::Range;

#[derive(Clone, Copy)]
struct Cursor {
    amount: Amount,
    spread: Spread,
    /// The function reached last.
    label: LabelId,
    /// The rest of the stack, whose `step` innermost functions are passed.
    stack: NodeId,
    step: u32,
    process: ProcessId,
}

/// Most steps of all cursors together: some seconds, and at most this many nodes. Real stacks of a thousand frames
/// come nowhere near; of a file that claims far more, the innermost part is shown.
const MAX_STEPS: usize = 1 << 28;

/// `step` of a cursor that has reached its process.
const ENDED: u32 = u32::MAX;

pub(crate) fn build(profile: &Profile, tables: &Tables, names: &Names, metric: Metric, least: i64) -> Tree {
    let cursors = cursors(profile, metric);
    let mut tree = grow(cursors, tables, names, MAX_STEPS, |total| metric.rank(total) >= least);
    if profile.sampling.is_none() {
        tree.spreads = Vec::new();
    }
    tree
}

fn cursors(profile: &Profile, metric: Metric) -> Vec<Cursor> {
    let cursors = profile.sites_with_spread().map(|(site, spread)| Cursor {
        amount: metric.of(&site.cost),
        spread: metric.of(&spread),
        label: LabelId::EVERYTHING,
        stack: site.node,
        step: 0,
        process: site.process,
    });
    cursors.filter(|cursor| !cursor.amount.is_zero()).collect()
}

/// Opens nodes level by level, as long as they are large enough and steps are left.
fn grow(
    mut cursors: Vec<Cursor>,
    tables: &Tables,
    names: &Names,
    mut steps: usize,
    is_large: impl Fn(Amount) -> bool,
) -> Tree {
    let mut tree = Tree::new();
    let (total, spread) = sum(&cursors);
    tree.nodes[0].total = total;
    tree.spreads.push(spread);
    let mut open = VecDeque::from([(Tree::ROOT, 0..cursors.len())]);
    while let Some((parent, range)) = open.pop_front() {
        let Some(rest) = steps.checked_sub(range.len()) else { continue };
        steps = rest;
        let start = partition(&mut cursors[range.clone()], tables, names) + range.start;
        for children in runs(&cursors, start..range.end) {
            let of_child = &cursors[children.clone()];
            let (total, spread) = sum(of_child);
            let id = tree.push(of_child[0].label, parent, total);
            tree.spreads.push(spread);
            if is_large(total) {
                open.push_back((id, children));
            }
        }
    }
    tree
}

/// Moves every cursor one function outwards and sorts them by it. Cursors that were at the end already come first;
/// returns their number.
fn partition(cursors: &mut [Cursor], tables: &Tables, names: &Names) -> usize {
    let mut ended = 0;
    for index in 0..cursors.len() {
        let cursor = &mut cursors[index];
        if cursor.step == ENDED {
            cursors.swap(ended, index);
            ended += 1;
        } else {
            cursor.label = advance(cursor, tables, names);
        }
    }
    cursors[ended..].sort_unstable_by_key(|cursor| cursor.label);
    ended
}

/// The next function outwards; after the outermost one, the process.
fn advance(cursor: &mut Cursor, tables: &Tables, names: &Names) -> LabelId {
    while let Some((id, node)) = tables.stack(cursor.stack).next() {
        let steps = names.steps(node.frame);
        if let Some(step) = steps.get(cursor.step as usize) {
            cursor.step += 1;
            return step.label;
        }
        cursor.step = 0;
        cursor.stack = if node.parent < id { node.parent } else { NodeId::ROOT };
    }
    cursor.step = ENDED;
    names.process(cursor.process)
}

fn runs(cursors: &[Cursor], range: Range<usize>) -> Vec<Range<usize>> {
    let mut start = range.start;
    let chunks = cursors[range].chunk_by(|a, b| a.label == b.label);
    chunks
        .map(|chunk| {
            let run = start..start + chunk.len();
            start = run.end;
            run
        })
        .collect()
}

fn sum(cursors: &[Cursor]) -> (Amount, Spread) {
    (cursors.iter().map(|cursor| cursor.amount).sum(), cursors.iter().map(|cursor| cursor.spread).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use capture::{Frame, FrameId, Node, Process};

    /// Check that of a file that claims stacks of any depth, the innermost part is shown within the allowed steps,
    /// and nothing of the sum is lost.
    #[test]
    fn claimed_depth_is_bounded() {
        let mut tables = Tables::default();
        tables.processes.push(Process::default());
        tables.frames.push(Frame::Code { module: None, address: 1, exact: false });
        let node = |parent| Node { parent: NodeId::from_index(parent), frame: FrameId(0) };
        tables.nodes.extend((0..=2000_usize).map(|parent| node(parent.saturating_sub(1))));
        let names = Names::new(&tables);
        let cursor = |stack| Cursor {
            amount: Amount::block(1),
            spread: Spread::ZERO,
            label: LabelId::EVERYTHING,
            stack: NodeId::from_index(stack),
            step: 0,
            process: ProcessId(0),
        };
        let cursors: Vec<Cursor> = (1..=2000).map(cursor).collect();
        let tree = grow(cursors.clone(), &tables, &names, 100_000, |_| true);
        assert_eq!(tree.node(Tree::ROOT).total, Amount { blocks: 2000, bytes: 2000 });
        assert!((50..500).contains(&tree.len()), "{} nodes", tree.len());
        let whole = grow(cursors, &tables, &names, MAX_STEPS, |_| true);
        assert_eq!(whole.len(), 1 + 2000 + 2000, "each depth has its function and its end in the process");
    }
}
