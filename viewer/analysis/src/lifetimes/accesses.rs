//! Attributes shared things to the branches of a tree.
//!
//! An *access* says that a stack used a thing: a block on a page, a sample, a read of a file. The thing has a unique
//! number, the *cookie*, and a *badness*, its cost. So the same code serves whatever is counted: if each cookie
//! occurs once, the sums are those of an ordinary call tree.
//!
//! ```text
//!          root      total 3, alone 3          thing 1: p
//!         /    \                               thing 2: p and q
//!        a      r    a: total 3, alone 2       thing 3: q and r
//!       / \          r: total 1, alone 0
//!      p   q         p: total 2, alone 1       q: total 2, alone 0
//! ```
//!
//! - A branch's *total* counts each thing once that anything in the branch used.
//! - *Alone* counts those of them that nothing outside of the branch used. This much would be saved without the
//!   branch.
//!
//! Both take one pass over the accesses of a thing in the order of a walk through the tree: the branches that contain
//! both of two neighbours are those above their lowest common ancestor, so there the second one is subtracted again.
//! (This is the *virtual tree* of competitive programming.)

/// An access of a node to a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Which thing.
    pub cookie: u64,
    /// The place, a node of the tree.
    pub node: u32,
    /// What the thing costs. Should its accesses differ, the largest counts.
    pub badness: i64,
}

/// What a branch uses. Sums wrap, as those of [`Amount`](crate::base::cost::Amount) do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// The badness of all things, each counted once.
    pub total: i64,
    /// Of these, the things that nothing outside of the branch uses.
    pub alone: i64,
}

/// By node of a tree, what it and everything below it use. Nodes come after their parents; the first one is the root.
/// Sorts the accesses.
///
/// # Panics
/// When an access names a node that the tree does not have.
// Cost: a sort of the accesses, and for each the path from its node to the ancestor shared with the previous one.
pub fn uses(parents: &[u32], accesses: &mut [Access]) -> Vec<Use> {
    let tree = Walk::new(parents);
    accesses.sort_unstable_by_key(|access| (access.cookie, tree.order[access.node as usize]));
    let mut uses = vec![Use::default(); parents.len()];
    for of_thing in accesses.chunk_by(|a, b| a.cookie == b.cookie) {
        let badness = of_thing.iter().map(|access| access.badness).max().unwrap_or(0);
        let mut before = None;
        for node in of_thing.iter().map(|access| access.node) {
            uses[node as usize].total = uses[node as usize].total.wrapping_add(badness);
            if let Some(before) = before.replace(node) {
                let both = &mut uses[tree.common(before, node) as usize].total;
                *both = both.wrapping_sub(badness);
            }
        }
        if let [first, .., last] | [first @ last] = of_thing {
            let whole = &mut uses[tree.common(first.node, last.node) as usize].alone;
            *whole = whole.wrapping_add(badness);
        }
    }
    for node in (1..uses.len()).rev() {
        let below = uses[node];
        let above = &mut uses[parents[node] as usize];
        above.total = above.total.wrapping_add(below.total);
        above.alone = above.alone.wrapping_add(below.alone);
    }
    uses
}

/// The order in which a walk through a tree visits its nodes.
struct Walk<'a> {
    parents: &'a [u32],
    depths: Vec<u32>,
    order: Vec<u32>,
}

impl<'a> Walk<'a> {
    fn new(parents: &'a [u32]) -> Self {
        let mut sizes = vec![1_u32; parents.len()];
        for node in (1..parents.len()).rev() {
            sizes[parents[node] as usize] += sizes[node];
        }
        let (mut depths, mut order) = (vec![0; parents.len()], vec![0; parents.len()]);
        // Where the next child of each node begins.
        let mut next = vec![1_u32; parents.len()];
        for node in 1..parents.len() {
            let parent = parents[node] as usize;
            depths[node] = depths[parent] + 1;
            order[node] = next[parent];
            next[parent] += sizes[node];
            next[node] = order[node] + 1;
        }
        Self { parents, depths, order }
    }

    /// The lowest common ancestor.
    fn common(&self, mut a: u32, mut b: u32) -> u32 {
        while a != b {
            if self.depths[a as usize] >= self.depths[b as usize] {
                a = self.parents[a as usize];
            } else {
                b = self.parents[b as usize];
            }
        }
        a
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn access(cookie: u64, node: u32) -> Access {
        Access { cookie, node, badness: 1 }
    }

    /// Check the picture: a shared thing counts once in each branch, and is saved only with all that share it.
    #[test]
    fn shared_things_count_once_and_belong_to_who_has_all_of_them() {
        //             root a  p  q  r
        let parents = [0, 0, 1, 1, 0];
        let mut accesses = [access(1, 2), access(2, 2), access(2, 3), access(3, 4), access(3, 3)];
        let found: Vec<_> = uses(&parents, &mut accesses).iter().map(|of| (of.total, of.alone)).collect();
        assert_eq!(found, [(3, 3), (3, 2), (2, 1), (2, 0), (1, 0)]);
    }

    /// Check that two places with one cookie are charged once each, and the root once in all.
    #[test]
    fn equal_cookies_count_once() {
        let mut accesses = [access(7, 1), access(7, 2), access(7, 1)];
        let found = uses(&[0, 0, 0], &mut accesses);
        assert_eq!(found.iter().map(|of| of.total).collect::<Vec<_>>(), [1, 1, 1]);
        assert_eq!(found.iter().map(|of| of.alone).collect::<Vec<_>>(), [1, 0, 0]);
    }

    /// Check that the sums of cookies that come once are those of a call tree.
    #[test]
    fn fresh_cookies_add_up() {
        let parents = [0, 0, 1, 1];
        let costs = [(1, 5), (2, 70), (3, 300)];
        let access = |(cookie, (node, badness))| Access { cookie, node, badness };
        let mut accesses: Vec<_> = (0..).zip(costs).map(access).collect();
        let found = uses(&parents, &mut accesses);
        assert!(found.iter().all(|of| of.total == of.alone));
        assert_eq!(found.iter().map(|of| of.total).collect::<Vec<_>>(), [375, 375, 70, 300]);
    }

    /// Check that a tree without accesses uses nothing.
    #[test]
    fn no_access_is_no_use() {
        assert_eq!(uses(&[0], &mut []), [Use::default()]);
    }

    /// The nodes from this one to the root.
    fn way(parents: &[u32], mut node: u32) -> BTreeSet<u32> {
        let mut way = BTreeSet::from([node]);
        while node != 0 {
            node = parents[node as usize];
            way.insert(node);
        }
        way
    }

    /// The same by its definition.
    fn by_definition(parents: &[u32], accesses: &[Access]) -> Vec<Use> {
        let mut things: BTreeMap<u64, Vec<&Access>> = BTreeMap::new();
        accesses.iter().for_each(|access| things.entry(access.cookie).or_default().push(access));
        let mut uses = vec![Use::default(); parents.len()];
        for of_thing in things.values() {
            let badness = of_thing.iter().map(|access| access.badness).max().unwrap();
            for (node, of) in (0..).zip(&mut uses) {
                let inside =
                    of_thing.iter().filter(|access| way(parents, access.node).contains(&node)).count();
                of.total += if inside > 0 { badness } else { 0 };
                of.alone += if inside == of_thing.len() { badness } else { 0 };
            }
        }
        uses
    }

    proptest! {
        /// Check random trees and accesses against the definition.
        #[test]
        fn uses_are_those_of_the_definition(
            above in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
            made in prop::collection::vec((0_u64..12, any::<prop::sample::Index>(), 0_i64..100), 0..120),
        ) {
            let mut parents = vec![0];
            for index in above {
                parents.push(index.index(parents.len()) as u32);
            }
            let access = |&(cookie, node, badness): &(u64, prop::sample::Index, i64)| Access {
                cookie,
                node: node.index(parents.len()) as u32,
                badness,
            };
            let mut accesses: Vec<Access> = made.iter().map(access).collect();
            let expected = by_definition(&parents, &accesses);
            prop_assert_eq!(uses(&parents, &mut accesses), expected);
        }
    }
}
