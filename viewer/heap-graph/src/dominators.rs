//! Immediate dominators: the vertices through which all paths lead.
//!
//! This is the simple version of the algorithm in Lengauer and Tarjan, *A fast algorithm for finding dominators in a
//! flowgraph* (TOPLAS 1, 1979), with buckets emptied as in Georgiadis, Tarjan and Werneck, *Finding dominators in
//! practice* (JGAA 10, 2006). It takes O(m log n) for any graph. Semi-NCA from the latter paper is as fast on the
//! graphs of real programs, but takes n² on adversarial ones.
//!
//! ```text
//!  links          in depth-first order                       dominators
//!
//!  0 → 4, 5       0:0  1:4  2:6  3:5                         0
//!  4 → 6          0 → 1 → 2                                  ├─ 4
//!  5 → 6          0 → 3 → 2                                  ├─ 6    two paths lead to it
//!                                                            └─ 5
//! ```
//!
//! Nothing is recursive: a list of 10⁶ blocks is a graph of that depth.

use super::links::Links;
use super::pace::Pace;
use std::sync::OnceLock;

/// No vertex.
const NONE: u32 = u32::MAX;

/// The dominator tree of everything reachable from a vertex.
///
/// Reachable vertices have *numbers*, in the order in which they were found; a dominator has a smaller number than
/// whatever it dominates.
#[derive(Debug)]
pub(super) struct Dominators {
    /// The vertex of each number.
    order: Vec<u32>,
    /// The number of each vertex, [`NONE`] if it is not reachable.
    numbers: Vec<u32>,
    /// The number of the immediate dominator of each number. The first one is its own.
    above: Vec<u32>,
    /// The inverse, computed on first use: trees, tables and classes of a graph share it.
    below: OnceLock<Links>,
    /// The first number that only passing roots lead to.
    others: u32,
}

impl Dominators {
    /// The tree below `start`. Links from the vertices from `passing` on count only for what no earlier vertex leads
    /// to.
    pub(super) fn new(links: &Links, start: u32, passing: u32, pace: &Pace<'_>) -> Option<Self> {
        let Search { order, numbers, parents } = Search::new(links, start, pace)?;
        // The search has first visited everything that others lead to.
        let others = numbers.get(passing as usize).copied().unwrap_or(NONE);
        let counts = &|target: u32, number: u32| is_counted(&numbers, others, target, number);
        // Grouped by vertex, so that its number is looked up once and not for each link.
        let row = |(number, &vertex)| {
            links.of(vertex).iter().map(move |&target| counts(target, number).then_some((target, number)))
        };
        let before = Links::gather(links.len(), || (0..).zip(&order).flat_map(row), pace)?;
        let above = dominators(&order, &before, parents, pace)?;
        Some(Self { order, numbers, above, below: OnceLock::new(), others })
    }

    /// Number of reachable vertices.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// The vertex with this number.
    pub(super) fn vertex(&self, number: u32) -> u32 {
        self.order[number as usize]
    }

    /// The number of a vertex, if it is reachable.
    pub(super) fn number(&self, vertex: u32) -> Option<u32> {
        self.numbers.get(vertex as usize).copied().filter(|&number| number != NONE)
    }

    /// The number of the immediate dominator.
    pub(super) fn above(&self, number: u32) -> u32 {
        self.above[number as usize]
    }

    /// True when the link from the vertex with this number to `target` counts.
    pub(super) fn counts(&self, target: u32, number: u32) -> bool {
        is_counted(&self.numbers, self.others, target, number)
    }

    /// For each number, those that it immediately dominates, in order. Computed on first use.
    pub(super) fn below(&self, pace: &Pace<'_>) -> Option<&Links> {
        if let Some(below) = self.below.get() {
            return Some(below);
        }
        let above = || self.above.iter().copied().zip(0..).skip(1).map(Some);
        let below = Links::gather(self.len(), above, pace)?;
        Some(self.below.get_or_init(|| below))
    }
}

/// Whether a link counts; `others` is the first number that only passing roots lead to.
fn is_counted(numbers: &[u32], others: u32, target: u32, number: u32) -> bool {
    number < others || numbers[target as usize] >= others
}

/// A depth-first search.
struct Search {
    order: Vec<u32>,
    numbers: Vec<u32>,
    /// The number from which each number was found.
    parents: Vec<u32>,
}

impl Search {
    fn new(links: &Links, start: u32, pace: &Pace<'_>) -> Option<Self> {
        let (mut order, mut parents) = (vec![start], vec![0]);
        let mut numbers = vec![NONE; links.len()];
        numbers[start as usize] = 0;
        // The current path, each vertex with its links that remain to be followed.
        let mut way = vec![(0, links.span(start))];
        while let Some((number, (next, end))) = way.last_mut() {
            pace.step()?;
            if next == end {
                way.pop();
                continue;
            }
            let target = links.target(*next);
            *next += 1;
            if numbers[target as usize] == NONE {
                let found = order.len() as u32;
                numbers[target as usize] = found;
                parents.push(*number);
                order.push(target);
                way.push((found, links.span(target)));
            }
        }
        Some(Self { order, numbers, parents })
    }
}

/// The immediate dominator of each number, given the vertices in order of their numbers, the numbers from which links
/// lead to each vertex, and the tree of the search.
fn dominators(order: &[u32], before: &Links, parents: Vec<u32>, pace: &Pace<'_>) -> Option<Vec<u32>> {
    let mut forest = Forest::new(parents);
    let mut above = vec![0; order.len()];
    // Numbers grouped by their semidominator: a linked list for each.
    let (mut first, mut next) = (vec![NONE; order.len()], vec![NONE; order.len()]);
    for number in (0..order.len() as u32).rev() {
        pace.step()?;
        let mut waiting = first[number as usize];
        while waiting != NONE {
            pace.step()?;
            let (least, semi) = forest.least(waiting, number);
            above[waiting as usize] = if semi < number { least } else { number };
            waiting = next[waiting as usize];
        }
        if number == 0 {
            break;
        }
        let semi = before.of(order[number as usize]).iter().fold(number, |semi, &from| {
            semi.min(if from > number { forest.least(from, number).1 } else { from })
        });
        if forest.settle(number, semi) == semi {
            above[number as usize] = semi;
        } else {
            next[number as usize] = first[semi as usize];
            first[semi as usize] = number;
        }
    }
    // So far, some have only a vertex with the same dominator.
    for number in 1..above.len() {
        pace.step()?;
        let found = above[number];
        if found != forest.semi(number) {
            above[number] = above[found as usize];
        }
    }
    Some(above)
}

/// The search tree, as far as it was processed: all numbers after the current one. Paths up are compressed as they
/// are walked.
struct Forest {
    nodes: Vec<ForestNode>,
    way: Vec<u32>,
}

/// Fields used together share a cache line: most accesses are far from the previous one.
#[derive(Clone, Copy)]
#[repr(align(16))]
struct ForestNode {
    /// An ancestor: initially the parent.
    up: u32,
    /// The number with the least semidominator on the path from here up to, but excluding, `up`.
    least: u32,
    /// The semidominator of `least`.
    least_semi: u32,
    /// Its own semidominator; itself until that is known.
    semi: u32,
}

impl Forest {
    fn new(parents: Vec<u32>) -> Self {
        let node = |(up, number)| ForestNode { up, least: number, least_semi: number, semi: number };
        Self { nodes: parents.into_iter().zip(0..).map(node).collect(), way: Vec::new() }
    }

    fn semi(&self, number: usize) -> u32 {
        self.nodes[number].semi
    }

    /// Sets the semidominator of the current number; returns its parent.
    fn settle(&mut self, number: u32, semi: u32) -> u32 {
        let node = &mut self.nodes[number as usize];
        (node.semi, node.least_semi) = (semi, semi);
        node.up
    }

    /// On the path from a number after `current` up to, but excluding, the first ancestor not after it: the number
    /// with the least semidominator, and that semidominator.
    fn least(&mut self, number: u32, current: u32) -> (u32, u32) {
        let mut top = number;
        let mut above = self.nodes[top as usize];
        while above.up > current {
            self.way.push(top);
            top = above.up;
            above = self.nodes[top as usize];
        }
        while let Some(below) = self.way.pop() {
            let node = &mut self.nodes[below as usize];
            node.up = above.up;
            if above.least_semi < node.least_semi {
                (node.least, node.least_semi) = (above.least, above.least_semi);
            }
            above = *node;
        }
        (above.least, above.least_semi)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::links::LinksBuilder;
    use super::*;
    use proptest::prelude::*;

    fn links(vertices: usize, pairs: &[(u32, u32)]) -> Links {
        let mut builder = LinksBuilder::default();
        pairs.iter().for_each(|&(vertex, target)| builder.add(vertex, target));
        builder.finish(vertices)
    }

    fn made(links: &Links, start: u32) -> Dominators {
        Dominators::new(links, start, NONE, &Pace::default()).unwrap()
    }

    /// What is reachable from a vertex when another one is removed.
    pub(crate) fn reached(links: &Links, start: u32, without: Option<u32>) -> Vec<bool> {
        let mut reached = vec![false; links.len()];
        let mut open = vec![start];
        while let Some(vertex) = open.pop() {
            if Some(vertex) != without && !std::mem::replace(&mut reached[vertex as usize], true) {
                open.extend(links.of(vertex));
            }
        }
        reached
    }

    /// The immediate dominator of each reachable vertex, by removing one vertex at a time: it is the dominator that
    /// is itself dominated by most others.
    fn by_removal(links: &Links, start: u32) -> Vec<Option<u32>> {
        let all = reached(links, start, None);
        let without: Vec<Vec<bool>> =
            (0..links.len() as u32).map(|one| reached(links, start, Some(one))).collect();
        let dominates = |one: u32, vertex: u32| {
            one != vertex
                && all[vertex as usize]
                && all[one as usize]
                && !without[one as usize][vertex as usize]
        };
        let vertices = 0..links.len() as u32;
        let depth = |vertex: u32| vertices.clone().filter(|&one| dominates(one, vertex)).count();
        let nearest = |vertex: u32| {
            vertices.clone().filter(|&one| dominates(one, vertex)).max_by_key(|&one| depth(one))
        };
        vertices.clone().map(nearest).collect()
    }

    fn found(links: &Links, start: u32) -> Vec<Option<u32>> {
        let dominators = made(links, start);
        let above = |vertex| {
            let number = dominators.number(vertex).filter(|&number| number > 0)?;
            Some(dominators.vertex(dominators.above(number)))
        };
        (0..links.len() as u32).map(above).collect()
    }

    /// Check the example of the paper: its flowgraph and its tree.
    #[test]
    fn the_graph_of_the_paper_has_its_tree() {
        let name = |letter: char| "RABCDEFGHIJKL".find(letter).unwrap() as u32;
        let drawn = "RA RB RC AD BA BD BE CF CG DL EH FI GI GJ HE HK IK JI KI KR LH";
        let pairs: Vec<_> = drawn
            .split(' ')
            .map(|pair| (name(pair.chars().next().unwrap()), name(pair.chars().nth(1).unwrap())))
            .collect();
        let links = links(13, &pairs);
        let expected = "RRRRRCCRRGRD".chars().map(|letter| Some(name(letter)));
        assert_eq!(found(&links, 0), [None].into_iter().chain(expected).collect::<Vec<_>>());
    }

    /// Check that a list of a million needs no recursion, in either order, and that a shortcut from its start to its
    /// middle makes the start dominate the middle.
    #[test]
    fn long_lists_are_walked() {
        let count = 1_000_000;
        let mut pairs: Vec<(u32, u32)> = (0..count - 1).map(|vertex| (vertex, vertex + 1)).collect();
        let dominators = made(&links(count as usize, &pairs), 0);
        assert!((1..count).all(|number| dominators.above(number) == number - 1));
        pairs.push((0, count / 2));
        let dominators = made(&links(count as usize, &pairs), 0);
        assert_eq!(dominators.above(dominators.number(count / 2).unwrap()), 0);
        let pairs: Vec<(u32, u32)> = (1..count).map(|vertex| (vertex, vertex - 1)).collect();
        assert_eq!(made(&links(count as usize, &pairs), count - 1).len(), count as usize);
    }

    proptest! {
        /// Check dominators against what is no longer reachable when a vertex is removed.
        #[test]
        fn dominators_equal_removal(
            pairs in prop::collection::vec((0..16_u32, 0..16_u32), 0..50),
            start in 0..16_u32,
        ) {
            let links = links(16, &pairs);
            prop_assert_eq!(found(&links, start), by_removal(&links, start));
            let dominators = made(&links, start);
            let below = dominators.below(&Pace::default()).unwrap();
            for number in 1..dominators.len() as u32 {
                prop_assert!(dominators.above(number) < number);
                prop_assert!(below.of(dominators.above(number)).contains(&number));
            }
            prop_assert_eq!(below.count() + 1, dominators.len());
        }
    }
}
