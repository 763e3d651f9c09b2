//! Builds the tree from the root down to the allocations.
//!
//! Processes of the same name are merged: [`StackMap`] restarts for each of them.

use super::stack_map::StackMap;
use super::tree::{NONE, Tree};
use crate::base::cost::Amount;
use crate::base::metric::Metric;
use crate::base::spread::Spread;
use crate::count::profile::{Profile, Site};
use crate::names::table::{LabelId, Names};
use capture::Seed;
use capture::{NodeId, Tables};
use hashbrown::HashTable;

pub(crate) fn build(profile: &Profile, tables: &Tables, names: &Names, metric: Metric) -> Tree {
    placed(profile, tables, names, metric).0
}

/// The tree, and the node of each row of the profile; the root for rows that cost nothing.
pub(crate) fn placed(profile: &Profile, tables: &Tables, names: &Names, metric: Metric) -> (Tree, Vec<u32>) {
    let mut builder = Builder {
        names,
        tree: Tree::new(),
        own: vec![Own::default()],
        seed: Seed::random(),
        many: HashTable::new(),
    };
    let mut stacks = StackMap::new(tables);
    let own = |(row, (site, spread))| {
        let site: &Site = site;
        (row, site, Own { amount: metric.of(&site.cost), spread: metric.of(&spread) })
    };
    let rows = profile.sites_with_spread().enumerate().map(own);
    let mut sites: Vec<(usize, &Site, Own)> = rows.filter(|(.., own)| !own.amount.is_zero()).collect();
    sites.sort_by_key(|(_, site, _)| (names.process(site.process), site.node));
    let mut places = vec![Tree::ROOT; profile.sites.len()];
    let process = |(_, site, _): &(usize, &Site, Own)| names.process(site.process);
    for of_process in sites.chunk_by(|a, b| process(a) == process(b)) {
        builder.process(of_process, &mut stacks, &mut places);
    }
    (builder.sum(profile.sampling.is_some()), places)
}

/// What a node costs apart from its children, and the variances of that.
#[derive(Clone, Copy, Default)]
struct Own {
    amount: Amount,
    spread: Spread,
}

/// Most children that are searched linearly.
const LIST: usize = 8;

struct Builder<'a> {
    names: &'a Names,
    tree: Tree,
    own: Vec<Own>,
    seed: Seed,
    /// Nodes by parent and label, for parents with more than [`LIST`] children.
    many: HashTable<u32>,
}

impl Builder<'_> {
    fn process(&mut self, sites: &[(usize, &Site, Own)], stacks: &mut StackMap<'_>, places: &mut [u32]) {
        let Some((_, first, _)) = sites.first() else { return };
        stacks.restart(self.child(Tree::ROOT, self.names.process(first.process)));
        for (row, site, own) in sites {
            let node = self.place(site.node, stacks);
            places[*row] = node;
            self.own[node as usize].amount += own.amount;
            self.own[node as usize].spread += own.spread;
        }
    }

    fn place(&mut self, stack: NodeId, stacks: &mut StackMap<'_>) -> u32 {
        let names = self.names;
        stacks.place(stack, |caller, frame| {
            names.steps(frame).iter().rev().fold(caller, |at, step| self.child(at, step.label))
        })
    }

    /// The child of a node with this label, created if there is none.
    // Cost: nodes usually have few children, which are searched in their list; larger families are in the hash table.
    fn child(&mut self, parent: u32, label: LabelId) -> u32 {
        let mut next = self.tree.node(parent).first_child;
        let mut length = 0;
        while next != NONE && length < LIST {
            let child = self.tree.node(next);
            if child.label == label {
                return next;
            }
            next = child.next_sibling;
            length += 1;
        }
        if next != NONE {
            return self.child_of_many(parent, label);
        }
        if length == LIST {
            let children: Vec<u32> = self.tree.children(parent).collect();
            children.into_iter().for_each(|child| self.tabulate(child));
        }
        let child = self.push(parent, label);
        if length == LIST {
            self.tabulate(child);
        }
        child
    }

    fn child_of_many(&mut self, parent: u32, label: LabelId) -> u32 {
        let Self { tree, seed, many, .. } = self;
        let found = many.find(seed.pair(parent, label.0), |&id| {
            let node = tree.node(id);
            node.parent == parent && node.label == label
        });
        if let Some(&child) = found {
            return child;
        }
        let child = self.push(parent, label);
        self.tabulate(child);
        child
    }

    fn tabulate(&mut self, id: u32) {
        let Self { tree, seed, many, .. } = self;
        let hash = |id: u32| seed.pair(tree.node(id).parent, tree.node(id).label.0);
        many.insert_unique(hash(id), id, |&id| hash(id));
    }

    fn push(&mut self, parent: u32, label: LabelId) -> u32 {
        self.own.push(Own::default());
        self.tree.push(label, parent, Amount::ZERO)
    }

    /// Sums up totals from the last node to the first: children come after their parents.
    fn sum(mut self, is_sampled: bool) -> Tree {
        if is_sampled {
            self.tree.spreads = self.own.iter().map(|own| own.spread).collect();
        }
        for id in (0..self.own.len()).rev() {
            if let Some(&spread) = self.tree.spreads.get(id)
                && let Some(parent) = self.tree.spreads.get_mut(self.tree.nodes[id].parent as usize)
            {
                *parent += spread;
            }
            let node = &mut self.tree.nodes[id];
            node.total += self.own[id].amount;
            let (parent, total) = (node.parent, node.total);
            if let Some(parent) = self.tree.nodes.get_mut(parent as usize) {
                parent.total += total;
            }
        }
        self.tree
    }
}
