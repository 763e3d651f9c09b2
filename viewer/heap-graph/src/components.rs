//! Strongly connected components: sets of vertices that all lead to each other.
//!
//! ```text
//!  links                       components, and links between them
//!
//!  0 → 1    1 → 2    2 → 1     0: {0}   1: {1, 2}   2: {3}      0 → 1 → 2
//!  2 → 3
//! ```
//!
//! By Tarjan, *Depth-first search and linear graph algorithms* (SIAM Journal on Computing 1, 1972), without
//! recursion: a cycle of 10⁶ blocks would make it that deep.

use super::links::Links;
use super::pace::Pace;

/// No number.
const NONE: u32 = u32::MAX;

/// The components of a graph, numbered so that links lead to greater numbers only.
#[derive(Debug)]
pub(super) struct Components {
    /// The component of each vertex.
    pub(super) of: Vec<u32>,
    /// For each component, the components that its links lead to, once per link.
    pub(super) links: Links,
}

impl Components {
    /// The components of a graph; `None` when the caller gives up.
    // Cost: linear in vertices and links; most accesses are to a vertex far from the previous one, one cache line
    // each.
    pub(super) fn new(links: &Links, pace: &Pace<'_>) -> Option<Self> {
        let mut search = Search { vertices: vec![Vertex::default(); links.len()], ..Search::default() };
        for start in 0..links.len() as u32 {
            search.from(start, links, pace)?;
        }
        let Search { vertices, crossing, ended, .. } = search;
        // A component is completed after all those that it leads to.
        let number = |ended_before: u32| ended - 1 - ended_before;
        let of: Vec<u32> = vertices.iter().map(|vertex| number(vertex.of)).collect();
        let between = || crossing.iter().map(|&(vertex, to)| Some((of[vertex as usize], number(to))));
        let links = Links::gather(ended as usize, between, pace)?;
        Some(Self { of, links })
    }
}

/// The state of a vertex; fields used together share a cache line.
#[derive(Clone, Copy)]
#[repr(align(16))]
struct Vertex {
    /// When it was found, as a number.
    found: u32,
    /// The number of the earliest known vertex of its component.
    least: u32,
    /// How many components had been completed before its own.
    of: u32,
}

impl Default for Vertex {
    fn default() -> Self {
        Self { found: NONE, least: NONE, of: NONE }
    }
}

/// A depth-first search.
#[derive(Default)]
struct Search {
    vertices: Vec<Vertex>,
    /// Vertices that were found, but whose component is not complete.
    open: Vec<u32>,
    /// The current path, each vertex with its links that remain to be followed.
    way: Vec<(u32, (u32, u32))>,
    /// Links out of a component: the vertex, and how many components had been completed before the target's.
    crossing: Vec<(u32, u32)>,
    count: u32,
    ended: u32,
}

impl Search {
    fn from(&mut self, start: u32, links: &Links, pace: &Pace<'_>) -> Option<()> {
        pace.step()?;
        if self.vertices[start as usize].found == NONE {
            self.find(start, links);
        }
        while let Some((vertex, (next, end))) = self.way.last_mut() {
            pace.step()?;
            let vertex = *vertex;
            if next == end {
                self.way.pop();
                self.leave(vertex);
                continue;
            }
            let target = links.target(*next);
            *next += 1;
            let Vertex { found, of, .. } = self.vertices[target as usize];
            if found == NONE {
                self.find(target, links);
            } else if of == NONE {
                self.leads_back(vertex, found);
            } else {
                self.crossing.push((vertex, of));
            }
        }
        Some(())
    }

    fn find(&mut self, vertex: u32, links: &Links) {
        self.vertices[vertex as usize] = Vertex { found: self.count, least: self.count, of: NONE };
        self.count += 1;
        self.open.push(vertex);
        self.way.push((vertex, links.span(vertex)));
    }

    fn leads_back(&mut self, vertex: u32, to: u32) {
        let least = &mut self.vertices[vertex as usize].least;
        *least = to.min(*least);
    }

    /// All links of a vertex were followed: its component is complete, unless an earlier vertex belongs to it.
    fn leave(&mut self, vertex: u32) {
        let Vertex { found, least, .. } = self.vertices[vertex as usize];
        let above = self.way.last().map(|&(above, _)| above);
        if least < found {
            above.into_iter().for_each(|above| self.leads_back(above, least));
            return;
        }
        while let Some(member) = self.open.pop() {
            self.vertices[member as usize].of = self.ended;
            if member == vertex {
                break;
            }
        }
        self.crossing.extend(above.map(|above| (above, self.ended)));
        self.ended += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::dominators::tests::reached;
    use super::super::links::LinksBuilder;
    use super::*;
    use proptest::prelude::*;

    fn made(vertices: usize, pairs: &[(u32, u32)]) -> (Links, Components) {
        let mut builder = LinksBuilder::default();
        pairs.iter().for_each(|&(vertex, target)| builder.add(vertex, target));
        let links = builder.finish(vertices);
        let components = Components::new(&links, &Pace::default()).unwrap();
        (links, components)
    }

    /// Check the drawing.
    #[test]
    fn components_are_as_drawn() {
        let (_, components) = made(4, &[(0, 1), (1, 2), (2, 1), (2, 3)]);
        assert_eq!(components.of, [0, 1, 1, 2]);
        assert_eq!((0..3).map(|one| components.links.of(one)).collect::<Vec<_>>(), [&[1][..], &[2], &[]]);
    }

    /// Check that a cycle of a million needs no recursion.
    #[test]
    fn long_circles_are_walked() {
        let count = 1_000_000;
        let mut pairs: Vec<(u32, u32)> = (0..count - 1).map(|vertex| (vertex, vertex + 1)).collect();
        assert_eq!(made(count as usize, &pairs).1.links.len(), count as usize);
        pairs.push((count - 1, 0));
        assert_eq!(made(count as usize, &pairs).1.links.len(), 1);
    }

    proptest! {
        /// Check that vertices are together if they lead to each other, and that links lead to greater numbers.
        #[test]
        fn components_equal_circles(pairs in prop::collection::vec((0..16_u32, 0..16_u32), 0..50)) {
            let (links, components) = made(16, &pairs);
            let ways: Vec<Vec<bool>> = (0..16).map(|one| reached(&links, one, None)).collect();
            for (one, other) in (0..16).flat_map(|one| (0..16).map(move |other| (one, other))) {
                let is_circle = ways[one][other] && ways[other][one];
                prop_assert_eq!(components.of[one] == components.of[other], is_circle);
                prop_assert!(!ways[one][other] || components.of[one] <= components.of[other]);
            }
            let between = |one: u32| components.links.of(one).iter().all(|&other| one < other);
            prop_assert!((0..components.links.len() as u32).all(between));
            let crossing = (0..16).flat_map(|one| links.of(one).iter().map(move |&other| (one, other)));
            let crossing = crossing.filter(|&(one, other)| components.of[one as usize] != components.of[other as usize]);
            prop_assert_eq!(components.links.count(), crossing.count());
        }
    }
}
