//! The links between vertices, as compressed sparse rows.
//!
//! ```text
//!  0 → 2, 3                 begins   0    2    2    3
//!  2 → 0                    targets  2 3       0
//! ```

use super::pace::Pace;

/// For each vertex, the vertices that it refers to: in order, without duplicates.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// Where each row begins, followed by the end of the last.
    begins: Vec<u32>,
    targets: Vec<u32>,
}

impl Links {
    /// Number of vertices.
    pub(super) fn len(&self) -> usize {
        self.begins.len().saturating_sub(1)
    }

    /// Number of links.
    pub(super) fn count(&self) -> usize {
        self.targets.len()
    }

    /// The range of a vertex's targets among all targets.
    pub(super) fn span(&self, vertex: u32) -> (u32, u32) {
        (self.begins[vertex as usize], self.begins[vertex as usize + 1])
    }

    /// One of all targets.
    pub(super) fn target(&self, place: u32) -> u32 {
        self.targets[place as usize]
    }

    /// The targets of a vertex.
    pub(super) fn of(&self, vertex: u32) -> &[u32] {
        let (begin, end) = self.span(vertex);
        &self.targets[begin as usize..end as usize]
    }

    /// Rows made from pairs `(vertex, target)`, in the given order. `pairs` is called twice. It yields `None` for a
    /// candidate that it skips, so that this counts as a step of `pace`.
    pub(super) fn gather<I: Iterator<Item = Option<(u32, u32)>>>(
        vertices: usize,
        pairs: impl Fn() -> I,
        pace: &Pace<'_>,
    ) -> Option<Self> {
        let mut begins = vec![0_u32; vertices + 1];
        for pair in pairs() {
            pace.step()?;
            if let Some((vertex, _)) = pair {
                begins[vertex as usize] += 1;
            }
        }
        let mut sum = 0;
        for begin in &mut begins {
            sum += std::mem::replace(begin, sum);
        }
        let mut targets = vec![0; sum as usize];
        for pair in pairs() {
            pace.step()?;
            let Some((vertex, target)) = pair else { continue };
            let next = &mut begins[vertex as usize];
            targets[*next as usize] = target;
            *next += 1;
        }
        // Now each entry is the end of its row, which is the beginning of the next: shift them by one.
        begins.rotate_right(1);
        begins[0] = 0;
        Some(Self { begins, targets })
    }
}

/// Takes links in any order. Links ordered by vertex, as memory yields them, are cheapest.
#[derive(Debug, Default)]
pub(super) struct LinksBuilder {
    /// Vertices, each with where its targets begin. A vertex occurs once for each run of consecutive links.
    runs: Vec<(u32, u32)>,
    targets: Vec<u32>,
}

impl LinksBuilder {
    /// Most links that are kept, so that their indices fit into 32 bits.
    pub(super) const MOST: usize = 1 << 30;

    /// Links so far, including duplicates.
    pub(super) fn len(&self) -> usize {
        self.targets.len()
    }

    /// Adds a link. A link to itself is dropped.
    pub(super) fn add(&mut self, vertex: u32, target: u32) {
        if vertex == target {
            return;
        }
        if self.runs.last().is_none_or(|&(last, _)| last != vertex) {
            self.close();
            self.runs.push((vertex, place(self.targets.len())));
        }
        self.targets.push(target);
    }

    /// Sorts the last run, and drops its duplicates.
    fn close(&mut self) {
        let Some(&(_, begin)) = self.runs.last() else { return };
        order(&mut self.targets, begin as usize);
    }

    /// Finishes the rows, for this many vertices.
    pub(super) fn finish(mut self, vertices: usize) -> Links {
        self.close();
        let Self { mut runs, targets: given } = self;
        // Each run ends where the next one began before they were sorted.
        let end = place(given.len());
        let ends: Vec<u32> = runs.iter().skip(1).map(|&(_, begin)| begin).chain([end]).collect();
        let is_ordered = runs.is_sorted_by(|before, run| before.0 < run.0);
        if is_ordered {
            return Links { begins: begins(vertices, &runs, end), targets: given };
        }
        let mut places: Vec<u32> = (0..place(runs.len())).collect();
        places.sort_by_key(|&place| runs[place as usize].0);
        let mut targets: Vec<u32> = Vec::with_capacity(given.len());
        let mut rows: Vec<(u32, u32)> = Vec::new();
        for at in places {
            let (vertex, begin) = runs[at as usize];
            if rows.last().is_none_or(|&(last, _)| last != vertex) {
                if let Some(&(_, begin)) = rows.last() {
                    order(&mut targets, begin as usize);
                }
                rows.push((vertex, place(targets.len())));
            }
            targets.extend_from_slice(&given[begin as usize..ends[at as usize] as usize]);
        }
        if let Some(&(_, begin)) = rows.last() {
            order(&mut targets, begin as usize);
        }
        runs = rows;
        Links { begins: begins(vertices, &runs, place(targets.len())), targets }
    }
}

/// Where each row begins, given the rows that are not empty.
fn begins(vertices: usize, rows: &[(u32, u32)], end: u32) -> Vec<u32> {
    let mut begins = Vec::with_capacity(vertices + 1);
    for &(vertex, begin) in rows {
        begins.resize((vertex as usize + 1).max(begins.len()), begin);
    }
    begins.resize(vertices + 1, end);
    begins
}

fn place(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// Sorts the targets from `begin` on, and drops duplicates.
fn order(targets: &mut Vec<u32>, begin: usize) {
    targets[begin..].sort_unstable();
    let mut kept = begin;
    for place in begin..targets.len() {
        if kept == begin || targets[kept - 1] != targets[place] {
            targets[kept] = targets[place];
            kept += 1;
        }
    }
    targets.truncate(kept);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn rows(links: &Links) -> Vec<&[u32]> {
        (0..links.len() as u32).map(|vertex| links.of(vertex)).collect()
    }

    fn built(vertices: usize, pairs: &[(u32, u32)]) -> Links {
        let mut builder = LinksBuilder::default();
        pairs.iter().for_each(|&(vertex, target)| builder.add(vertex, target));
        builder.finish(vertices)
    }

    /// Check the drawing, and that duplicates and links to the vertex itself are dropped.
    #[test]
    fn rows_are_as_drawn() {
        let links = built(4, &[(0, 3), (0, 2), (0, 3), (1, 1), (2, 0)]);
        assert_eq!(rows(&links), [&[2, 3][..], &[], &[0], &[]]);
        assert_eq!(links.begins, [0, 2, 2, 3, 3]);
        assert_eq!(rows(&built(0, &[])), [&[0_u32; 0]; 0]);
        assert_eq!(rows(&built(2, &[])), [&[0_u32; 0]; 2]);
    }

    proptest! {
        /// Check that rows are the sets of what was given, in any order, and that gathering transposes them.
        #[test]
        fn rows_are_sets(mut pairs in prop::collection::vec((0..12_u32, 0..12_u32), 0..80), is_ordered: bool) {
            if is_ordered {
                pairs.sort_by_key(|pair| pair.0);
            }
            let links = built(12, &pairs);
            let found: Vec<(u32, u32)> =
                (0..12).flat_map(|vertex| links.of(vertex).iter().map(move |&target| (vertex, target))).collect();
            let expected: BTreeSet<_> = pairs.iter().copied().filter(|(vertex, target)| vertex != target).collect();
            prop_assert_eq!(&found, &expected.iter().copied().collect::<Vec<_>>());
            let turned = || found.iter().map(|&(vertex, target)| Some((target, vertex)));
            let turned = Links::gather(12, turned, &Pace::default()).unwrap();
            let back: BTreeSet<(u32, u32)> =
                (0..12).flat_map(|target| turned.of(target).iter().map(move |&vertex| (vertex, target))).collect();
            prop_assert_eq!((back, turned.count()), (expected, found.len()));
        }
    }
}
