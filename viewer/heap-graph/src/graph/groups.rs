//! What the blocks of each group, a stack or a class, retain together: all that is unreachable without them.
//!
//! That is more than the sum of what each of them retains, where several of them keep something of which none is on
//! all paths:
//!
//! ```text
//!  links                        dominators             holders together
//!
//!  cache ─► holder ──► big      cache                  cache
//!  index ─► holder ──► big      index                  index
//!                               big                    holder ×2 ─► big
//! ```
//!
//! A vertex that its dominator refers to directly is unreachable without a group exactly if it belongs to it, or its
//! dominator is unreachable. Only at *joints*, those vertices whose dominator does not refer to them, do paths have to
//! be compared. So most links are left out, and what remains is visited for 64 groups at a time, with one bit each: a
//! vertex has the bits of the groups without which it is still reachable. Where joints lie on cycles, that is repeated
//! until nothing changes.

use crate::amounts::most_first;
use crate::graph::HeapGraph;
use crate::links::Links;
use crate::pace::Pace;
use analysis::Amount;
use std::collections::HashMap;

/// Groups that are followed at a time.
const TOGETHER: usize = u64::BITS as usize;

/// Vertices and links that are visited, unless the first groups alone need more: a few seconds' work, if all of them
/// are far apart in memory.
const MOST_LOOKS: usize = 1 << 28;

/// Rounds that the first groups may take in any case.
const ROUNDS: usize = 16;

/// What groups retain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Groups {
    /// By the group and the label of what keeps the topmost blocks: what these retain.
    pub(crate) retained: HashMap<(u32, u32), Amount>,
    /// For each group, whether it retains at least this, since it was not followed because of the limit.
    pub(crate) is_least: Vec<bool>,
}

/// Which group each number of the dominators belongs to, of so many. Roots may be groups, too.
#[derive(Clone, Copy)]
pub(crate) struct Labels<'l> {
    pub(crate) count: usize,
    pub(crate) of: &'l dyn Fn(u32) -> u32,
}

impl Groups {
    pub(crate) fn new(graph: &HeapGraph, labels: Labels<'_>, pace: &Pace<'_>) -> Option<Self> {
        Self::with_looks(graph, labels, MOST_LOOKS, pace)
    }

    /// The same with a limit on visits.
    fn with_looks(graph: &HeapGraph, labels: Labels<'_>, most: usize, pace: &Pace<'_>) -> Option<Self> {
        let Topmost { mut retained, counts } = Topmost::new(graph, labels, pace)?;
        let mut is_least = vec![false; labels.count];
        let Some(joints) = Joints::new(graph, pace)? else { return Some(Self { retained, is_least }) };
        let mut sums = vec![Amount::ZERO; labels.count];
        retained.iter().for_each(|(&(label, _), amount)| sums[label as usize] += *amount);
        // A single topmost block retains what its group does.
        let mut followed: Vec<u32> =
            (0..).zip(&counts).filter(|(_, count)| **count > 1).map(|(label, _)| label).collect();
        followed.sort_by_key(|&label| (most_first(sums[label as usize]), label));
        let mut looks = most.max(ROUNDS.saturating_mul(joints.looks()));
        let mut reach = vec![0_u64; graph.dominators.len()];
        for group in followed.chunks(TOGETHER) {
            let mut lanes = vec![0_u64; labels.count];
            group.iter().enumerate().for_each(|(bit, &label)| lanes[label as usize] = 1 << bit);
            let own = |number| lanes[(labels.of)(number) as usize];
            if !joints.follow(graph, &own, &mut reach, &mut looks, pace)? {
                group.iter().for_each(|&label| is_least[label as usize] = true);
                continue;
            }
            retained.retain(|&(label, _), _| lanes[label as usize] == 0);
            for number in 1..graph.dominators.len() as u32 {
                pace.step()?;
                let above = graph.dominators.above(number);
                let mut gone = reach[above as usize] & !reach[number as usize];
                while gone != 0 {
                    let label = group[gone.trailing_zeros() as usize];
                    *retained.entry((label, (labels.of)(above))).or_default() += graph.held(number);
                    gone &= gone - 1;
                }
            }
        }
        Some(Self { retained, is_least })
    }
}

/// What the topmost blocks of each group retain, each by itself: those that no other block of the group keeps.
struct Topmost {
    retained: HashMap<(u32, u32), Amount>,
    /// Number of them.
    counts: Vec<u32>,
}

impl Topmost {
    fn new(graph: &HeapGraph, labels: Labels<'_>, pace: &Pace<'_>) -> Option<Self> {
        let (below, label) = (graph.dominators.below(pace)?, labels.of);
        let mut retained: HashMap<(u32, u32), Amount> = HashMap::new();
        let mut counts = vec![0; labels.count];
        // Number of occurrences of each label on the path from the top to here.
        let mut inside = vec![0_u32; labels.count];
        inside[label(0) as usize] = 1;
        let mut way = vec![(0, below.span(0))];
        while let Some((number, (next, end))) = way.last_mut() {
            pace.step()?;
            if next == end {
                inside[label(*number) as usize] -= 1;
                way.pop();
                continue;
            }
            let (child, above) = (below.target(*next), *number);
            *next += 1;
            let own = label(child);
            if inside[own as usize] == 0 {
                *retained.entry((own, label(above))).or_default() += graph.held(child);
                counts[own as usize] += 1;
            }
            inside[own as usize] += 1;
            way.push((child, below.span(child)));
        }
        Some(Self { retained, counts })
    }
}

/// The graph without the links that decide nothing.
struct Joints {
    /// What refers to each joint; nothing for other numbers.
    before: Links,
    /// All numbers but the first, each after those that refer to it, unless these lie on a cycle.
    order: Vec<u32>,
    has_cycles: bool,
}

impl Joints {
    /// `None` inside if there are none.
    fn new(graph: &HeapGraph, pace: &Pace<'_>) -> Option<Option<Self>> {
        let dominators = &graph.dominators;
        let count = dominators.len();
        let row = |number: u32| {
            let links = graph.links.of(dominators.vertex(number)).iter();
            links.map(move |&vertex| {
                dominators
                    .number(vertex)
                    .filter(|_| dominators.counts(vertex, number))
                    .map(|target| (target, number))
            })
        };
        let links = || (0..count as u32).flat_map(row);
        let mut is_joint = vec![true; count];
        is_joint[0] = false;
        for (target, number) in links().flatten() {
            pace.step()?;
            if dominators.above(target) == number {
                is_joint[target as usize] = false;
            }
        }
        if !is_joint.contains(&true) {
            return Some(None);
        }
        let to_joints = || links().map(|link| link.filter(|&(target, _)| is_joint[target as usize]));
        let before = Links::gather(count, to_joints, pace)?;
        let from_above = || {
            (1..count as u32)
                .map(|number| (!is_joint[number as usize]).then(|| (dominators.above(number), number)))
        };
        let turned = || to_joints().map(|link| link.map(|(target, number)| (number, target)));
        let after = Links::gather(count, || from_above().chain(turned()), pace)?;
        let order = order(&after, pace)?;
        let mut places = vec![0_u32; count];
        order.iter().zip(0..).for_each(|(&number, place)| places[number as usize] = place);
        let leads_back = |&number: &u32| {
            before.of(number).iter().any(|&from| places[from as usize] >= places[number as usize])
        };
        let has_cycles = order.iter().any(leads_back);
        Some(Some(Self { before, order: order[1..].to_vec(), has_cycles }))
    }

    /// Visits of one round.
    fn looks(&self) -> usize {
        self.order.len() + self.before.count()
    }

    /// Computes which numbers are reachable without the groups of each bit; `own` is the bit of a number's own group.
    /// False if there were too many visits.
    fn follow(
        &self,
        graph: &HeapGraph,
        own: &dyn Fn(u32) -> u64,
        reach: &mut [u64],
        looks: &mut usize,
        pace: &Pace<'_>,
    ) -> Option<bool> {
        reach.fill(0);
        reach[0] = u64::MAX;
        loop {
            let Some(left) = looks.checked_sub(self.looks()) else { return Some(false) };
            *looks = left;
            let mut has_changed = false;
            for &number in &self.order {
                pace.step()?;
                let from = match self.before.of(number) {
                    [] => reach[graph.dominators.above(number) as usize],
                    before => before.iter().fold(0, |reached, &from| reached | reach[from as usize]),
                };
                let reached = from & !own(number);
                has_changed |= std::mem::replace(&mut reach[number as usize], reached) != reached;
            }
            if !has_changed || !self.has_cycles {
                return Some(true);
            }
        }
    }
}

/// The numbers that the first one leads to, each after those that lead to it, unless these lie on a cycle.
fn order(after: &Links, pace: &Pace<'_>) -> Option<Vec<u32>> {
    let mut order = Vec::with_capacity(after.len());
    let mut is_known = vec![false; after.len()];
    is_known[0] = true;
    let mut way = vec![(0, after.span(0))];
    while let Some((number, (next, end))) = way.last_mut() {
        pace.step()?;
        if next == end {
            order.push(*number);
            way.pop();
            continue;
        }
        let target = after.target(*next);
        *next += 1;
        if !std::mem::replace(&mut is_known[target as usize], true) {
            way.push((target, after.span(target)));
        }
    }
    order.reverse();
    Some(order)
}

#[cfg(test)]
mod tests {
    use crate::drawn::{graph, numbered, parts, reached};
    use crate::graph::groups::*;
    use proptest::prelude::*;

    fn by_stack(graph: &HeapGraph, most: usize) -> Groups {
        let labels = Labels { count: graph.labels(), of: &|number| graph.label(number) };
        Groups::with_looks(graph, labels, most, &Pace::default()).unwrap()
    }

    fn bytes(graph: &HeapGraph, groups: &Groups, stack: u32) -> i64 {
        let label = graph.stacks().iter().position(|node| node.0 == stack).unwrap() as u32;
        groups.retained.iter().filter(|((of, _), _)| *of == label).map(|(_, amount)| amount.bytes).sum()
    }

    /// Check the drawing, and two blocks that hold each other at the ends of a chain, of which the group keeps both
    /// ends.
    #[test]
    fn groups_keep_what_no_block_keeps() {
        for (drawn, expected) in [
            ("0A 1B AC BC", 1 + 2 + 4),
            ("0A 1B AC BD CD DC", 1 + 2 + 4 + 8),
            // Another root leads there, too.
            ("0A 1B AC BD CD DC 0D", 1 + 2),
            // A block of the group keeps the other one, which would be counted twice.
            ("0A AB AC BC 0D", 1 + 2 + 4),
            ("0A 1B AC BC CE DE 0D", 1 + 2 + 4),
        ] {
            let graph = graph(&[(1, 7), (2, 7), (4, 8), (8, 9), (16, 9)], drawn);
            let groups = by_stack(&graph, MOST_LOOKS);
            assert_eq!(bytes(&graph, &groups, 7), expected, "{drawn}");
            assert!(!groups.is_least.contains(&true));
        }
    }

    /// Check that more groups than have a bit are all followed, and that those which a limit leaves out have what
    /// each of their blocks keeps.
    #[test]
    fn groups_beyond_the_limit_are_lower_bounds() {
        let count = 3 * TOGETHER as u32;
        // Of each stack, two blocks that hold a third one.
        let blocks: Vec<_> = (0..count).flat_map(|stack| [(1, stack), (1, stack), (8, count)]).collect();
        let roots: Vec<_> = (0..count).flat_map(|stack| [(0, 3 * stack), (0, 3 * stack + 1)]).collect();
        let links: Vec<_> = (0..count)
            .flat_map(|stack| [(3 * stack, 3 * stack + 2), (3 * stack + 1, 3 * stack + 2)])
            .collect();
        let graph = numbered(&blocks, &roots, &links);
        let all = by_stack(&graph, MOST_LOOKS);
        assert!((0..count).all(|stack| bytes(&graph, &all, stack) == 10));
        assert!(!all.is_least.contains(&true));
        let some = by_stack(&graph, 0);
        let (most, least): (Vec<u32>, Vec<u32>) =
            (0..count).partition(|&stack| !some.is_least[stack as usize]);
        assert!(most.iter().all(|&stack| bytes(&graph, &some, stack) == 10) && !most.is_empty());
        assert_eq!(some.is_least.len(), graph.labels());
        assert!(least.iter().all(|&stack| bytes(&graph, &some, stack) == 2));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Check what groups retain against what is unreachable when all their blocks are removed.
        #[test]
        fn groups_retain_what_is_gone_without_them(parts in parts()) {
            let graph = numbered(&parts.0, &parts.1, &parts.2);
            let groups = by_stack(&graph, MOST_LOOKS);
            let all = reached(&parts, |_| false, None);
            for &stack in graph.stacks() {
                let left = reached(&parts, |block| parts.0.get(block as usize).is_some_and(|one| one.1 == stack.0), None);
                let gone = (0..all.len()).filter(|&block| all[block] && !left[block]);
                let expected = gone.map(|block| Amount::block(parts.0[block].0)).sum::<Amount>();
                prop_assert_eq!(bytes(&graph, &groups, stack.0), expected.bytes);
            }
        }
    }
}
