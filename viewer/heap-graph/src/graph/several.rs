//! What several roots keep together, and how much of it each of them leads to.
//!
//! In the dominator tree this hangs on *tops*: blocks that several roots lead to, while no single block or root is on
//! all the paths. A root leads to what a top keeps if and only if it leads to the top. So a graph of roots and tops
//! alone has the answer, and these are far fewer than blocks:
//!
//! ```text
//!  pointers                     roots and tops       of 5 blocks that no single root keeps
//!
//!  cache ─► A ──► T ─► B, C     cache ─► T           cache leads to 5
//!  index ─► D ──► T             index ─► T           index leads to 5
//!  T ─► U       U ─► E          T ─► U               log   leads to 2: U and E
//!  log ─► U                     log ─► U
//! ```
//!
//! Tops on a cycle are led to by the same roots, so cycles are contracted to one vertex. Then each vertex can be
//! visited before those that it leads to, for 64 roots at a time, with one bit each.

use crate::amounts::most_first;
use crate::components::Components;
use crate::graph::HeapGraph;
use crate::holder::RootId;
use crate::links::Links;
use crate::pace::Pace;
use analysis::Amount;

/// Roots that are followed at a time.
const TOGETHER: usize = u64::BITS as usize;

/// Vertices and links that are visited, unless the first 64 roots alone need more: at most a second's work, if all of
/// them are far apart in memory.
const MOST_LOOKS: usize = 1 << 26;

/// No top.
const NONE: u32 = u32::MAX;

/// What no single root keeps, by the roots that keep it together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Several {
    /// The total.
    pub retained: Amount,
    /// Roots that lead to any of it, each with how much, the most first. What several lead to counts for each of
    /// them.
    pub roots: Vec<(RootId, Amount)>,
    /// Number of further such roots that were not followed because of the limit: those that refer to least.
    pub not_followed: usize,
}

impl Several {
    pub(super) fn new(graph: &HeapGraph, pace: &Pace<'_>) -> Option<Self> {
        Self::with_looks(graph, MOST_LOOKS, pace)
    }

    /// The same with a limit on visits, unless 64 roots need more.
    fn with_looks(graph: &HeapGraph, most: usize, pace: &Pace<'_>) -> Option<Self> {
        let Tops { held, links } = Tops::new(graph, pace)?;
        let roots: Vec<RootId> = graph.roots().map(|(root, _)| root).collect();
        let vertex_of = |root: usize| (held.len() + root) as u32;
        let refers = |root: usize| {
            let mut tops = links.of(vertex_of(root)).to_vec();
            tops.sort_unstable();
            tops.dedup();
            (root, tops.iter().map(|&top| held[top as usize]).sum::<Amount>())
        };
        let mut followed: Vec<(usize, Amount)> =
            (0..roots.len()).map(refers).filter(|(_, direct)| !direct.is_zero()).collect();
        if followed.is_empty() {
            return Some(Self::default());
        }
        followed.sort_by_key(|&(root, direct)| (most_first(direct), root));
        let components = Components::new(&links, pace)?;
        let looks = components.links.len() + components.links.count();
        let not_followed =
            followed.split_off((most / looks).max(1).saturating_mul(TOGETHER).min(followed.len()));

        let mut weights = vec![Amount::ZERO; components.links.len()];
        for (&held, &component) in held.iter().zip(&components.of) {
            pace.step()?;
            weights[component as usize] += held;
        }
        let mut found = Vec::new();
        for some in followed.chunks(TOGETHER) {
            let starts = some.iter().map(|&(root, _)| components.of[vertex_of(root) as usize]);
            let reached = reached(&components.links, &weights, starts, pace)?;
            found.extend(some.iter().map(|&(root, _)| roots[root]).zip(reached));
        }
        found.sort_unstable_by_key(|&(root, amount)| (most_first(amount), root));
        Some(Self {
            retained: held.into_iter().sum::<Amount>(),
            roots: found,
            not_followed: not_followed.len(),
        })
    }
}

/// The graph of tops and roots.
struct Tops {
    /// What each top retains.
    held: Vec<Amount>,
    /// Tops that each top, and then each root, leads to along a path through what it keeps. May contain duplicates.
    links: Links,
}

impl Tops {
    fn new(graph: &HeapGraph, pace: &Pace<'_>) -> Option<Self> {
        let HeapGraph { dominators, links, .. } = graph;
        let (blocks, roots) = (graph.blocks().len() as u32, graph.roots().count() as u32);
        let top = |vertex: u32| {
            let number = dominators.number(vertex)?;
            (dominators.above(number) == 0).then_some(number)
        };
        let (mut held, mut tops) = (Vec::new(), vec![NONE; blocks as usize]);
        // A bit set of tops takes a fraction of the memory: most links do not lead to a top.
        let mut some = vec![0_u64; blocks as usize / 64 + 1];
        for vertex in 0..blocks {
            pace.step()?;
            if let Some(number) = top(vertex) {
                tops[vertex as usize] = held.len() as u32;
                some[vertex as usize / 64] |= 1 << (vertex % 64);
                held.push(graph.held(number));
            }
        }
        // By number, the vertex of the top or root that keeps it.
        let mut keepers: Vec<u32> = Vec::with_capacity(dominators.len());
        let first_root = held.len() as u32;
        for number in 0..dominators.len() as u32 {
            pace.step()?;
            let vertex = dominators.vertex(number);
            keepers.push(match dominators.above(number) {
                0 => tops.get(vertex as usize).copied().unwrap_or_else(|| first_root + vertex - blocks),
                above => keepers[above as usize],
            });
        }
        let mut pairs = Vec::new();
        for vertex in (0..blocks + roots).filter(|_| !held.is_empty()) {
            pace.step()?;
            let Some(number) = dominators.number(vertex) else { continue };
            let leads = links.of(vertex).iter().filter(|&&to| some[to as usize / 64] >> (to % 64) & 1 == 1);
            let keeper = keepers[number as usize];
            let counted = leads.filter(|&&target| dominators.counts(target, number));
            pairs.extend(
                counted.map(|&target| (keeper, tops[target as usize])).filter(|(from, to)| from != to),
            );
        }
        let links = Links::gather(held.len() + roots as usize, || pairs.iter().copied().map(Some), pace)?;
        Some(Self { held, links })
    }
}

/// The sum of the weights of all vertices that each of up to 64 starts leads to. Links lead to greater numbers only.
fn reached(
    links: &Links,
    weights: &[Amount],
    starts: impl Iterator<Item = u32>,
    pace: &Pace<'_>,
) -> Option<Vec<Amount>> {
    let mut by = vec![0_u64; links.len()];
    let mut count = 0;
    for (start, bit) in starts.zip(0..) {
        by[start as usize] |= 1 << bit;
        count = bit + 1;
    }
    // One table per byte of the bit set, indexed by its value: one addition per byte instead of one per bit.
    let mut sums = vec![[Amount::ZERO; 256]; 8];
    for (vertex, &weight) in (0..).zip(weights) {
        pace.step()?;
        let by_whom = by[vertex as usize];
        for (sums, byte) in sums.iter_mut().zip(by_whom.to_le_bytes()).filter(|(_, byte)| *byte != 0) {
            sums[usize::from(byte)] += weight;
        }
        for &target in links.of(vertex) {
            pace.step()?;
            by[target as usize] |= by_whom;
        }
    }
    let of_bit = |bit: usize| {
        let values = (0..).zip(&sums[bit / 8]);
        values.filter(|(value, _)| value >> (bit % 8) & 1 == 1).map(|(_, amount)| *amount).sum::<Amount>()
    };
    Some((0..count).map(of_bit).collect())
}

#[cfg(test)]
mod tests {
    use crate::drawn::{ROOTS_OF_PARTS, amount, graph, numbered, parts, reached, reached_by};
    use crate::graph::several::*;
    use proptest::prelude::*;

    /// Check the drawing: A, D, T, B, C, U and E are the blocks A to G here, and cache, index and log the roots 0 to
    /// 2.
    #[test]
    fn roots_are_as_drawn() {
        let blocks = [1, 2, 4, 8, 16, 32, 64].map(|size| (size, 1));
        let several = graph(&blocks, "0A AC 1B BC CD CE CF FG 2F").several();
        let all = amount(5, 124);
        let expected = [(RootId(0), all), (RootId(1), all), (RootId(2), amount(2, 96))];
        assert_eq!((several.retained, several.roots, several.not_followed), (all, expected.to_vec(), 0));
        assert_eq!(graph(&blocks, "0A AB 1C").several(), Several::default());
    }

    /// Check that of more roots than can be followed quickly, those that refer to most are followed, that all are if
    /// time allows, and that the number of the others is reported.
    #[test]
    fn roots_that_refer_to_most_are_followed() {
        let blocks: Vec<(u64, u32)> = (0..200).map(|block| (1 + block, 1)).collect();
        // Each root refers to its own block and to that of the next root; all have the same rank.
        let direct: Vec<(u32, u32)> =
            (0..200).flat_map(|root| [(5 + root, root), (5 + root, (root + 1) % 200)]).collect();
        let graph = numbered(&blocks, &direct, &[]);
        let all = Several::with_looks(&graph, usize::MAX, &Pace::default()).unwrap();
        assert_eq!((all.roots.len(), all.not_followed), (200, 0));
        let of = |root: u32| amount(2, i64::from(root + 1 + (root + 1) % 200 + 1));
        assert!(all.roots.iter().all(|&(root, reached)| reached == of(root.0 - 5)));
        let few = Several::with_looks(&graph, 0, &Pace::default()).unwrap();
        assert_eq!((few.roots.len(), few.not_followed), (64, 136));
        assert_eq!(few.roots, all.roots[..64]);
    }

    proptest! {
        /// Check what each root leads to, against what no single root keeps and is reachable from this root.
        #[test]
        fn sums_equal_what_each_root_reaches(parts in parts()) {
            let several = numbered(&parts.0, &parts.1, &parts.2).several();
            let all = reached(&parts, |_| false, None);
            let without: Vec<Vec<bool>> =
                ROOTS_OF_PARTS.iter().map(|&root| reached(&parts, |_| false, Some(root))).collect();
            let is_shared = |&block: &usize| all[block] && without.iter().all(|reached| reached[block]);
            let size = |block: usize| Amount::block(parts.0[block].0);
            prop_assert_eq!(several.retained, (0..all.len()).filter(is_shared).map(size).sum::<Amount>());
            for root in ROOTS_OF_PARTS {
                let its = reached_by(&parts, root);
                let expected = (0..all.len()).filter(is_shared).filter(|&block| its[block]).map(size).sum::<Amount>();
                let found = several.roots.iter().find(|(of, _)| of.0 == root).map(|(_, amount)| *amount);
                prop_assert_eq!(found.unwrap_or_default(), expected);
                prop_assert_eq!(found.is_none(), expected.is_zero());
            }
            prop_assert!(several.roots.is_sorted_by_key(|(root, amount)| (most_first(*amount), *root)));
        }
    }
}
