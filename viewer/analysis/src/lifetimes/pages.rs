//! Whose blocks lie on which pages of memory, and what a single stack keeps from going back to the system.
//!
//! An allocator can give a page back once no block lies on it. A page with a few scattered long-lived blocks stays,
//! however little they hold:
//!
//! ```text
//!  page   |■ ■ ■ ■ ■ ■ ■ ■|■ · · · · · · ·|· · · · · · · ■|■■■■■■■■■■■■■■■|
//!          a a a a a a a a b               a             b c               a is on three pages, alone on two of them
//! ```
//!
//! So each page is a thing that stacks share: see [`uses`]. The part of it that no block fills is split evenly among
//! the stacks on it: it goes back when the last of them leaves, so each is as responsible as any other (this is the
//! Shapley value), and the parts add up. Free pages between them, without any block, are reported by [`Heap`].

use super::freed::{Freed, is_mapped, pages_of};
use super::heaps::{Heap, HighestBlock, PageRun, heaps};
use crate::base::cost::Amount;
use crate::count::watch::{Birth, Death, End, Instant, Left, Life, Watch};
use crate::lifetimes::accesses::{Access, Use, uses};
use capture::{Action, Ended, Event, NodeId, ProcessId, Tables};
use hashbrown::HashMap;
use std::cmp::Reverse;

/// Bytes per page, on all processors that we support.
pub const PAGE: u64 = 4096;

/// Number of entries that are kept uncondensed: small in tests, so that these condense.
const FEW: usize = if cfg!(test) { 4 } else { 1 << 16 };

/// Observes a pass for the pages that blocks lie on at its end. Keeps about two entries for each stack and page, and
/// one for each block of many pages, which has its inner pages to itself.
#[derive(Debug)]
pub struct Pages {
    with_ended: bool,
    rows: HashMap<(ProcessId, NodeId), u32>,
    stacks: Vec<StackPages>,
    entries: Vec<Entry>,
    /// Number of entries when they were last condensed.
    condensed: usize,
    freed: Freed,
    /// By thread, its process.
    owners: Vec<ProcessId>,
    /// By process, whether it ends in an exec.
    becomes_another: Vec<bool>,
}

/// Blocks of a row that lie on the same pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    process: ProcessId,
    /// The first page.
    page: u64,
    row: u32,
    /// Number of pages; more than one only inside a block.
    pages: u64,
    /// Bytes of them that the blocks fill.
    filled: u64,
    /// Address of the highest of the blocks.
    address: u64,
    size: u64,
    /// The allocator has mapped them separately, so they are in no heap.
    is_mapped: bool,
}

/// Upper bounds, in percent of a page, of the classes of [`PageTable::by_fullness`] except the last.
pub const FULLNESS: [u64; 4] = [10, 25, 50, 75];

/// A stack with blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackPages {
    /// The process.
    pub process: ProcessId,
    /// The stack that allocated them.
    pub node: NodeId,
    /// The blocks.
    pub held: Amount,
    /// Bytes of the pages that they lie on.
    pub pages: Use,
    /// Bytes of these pages that no block fills, split evenly among the stacks on each page: external fragmentation.
    pub empty: i64,
}

/// The result.
#[derive(Clone, Debug, Default)]
pub struct PageTable {
    /// All blocks.
    pub held: Amount,
    /// Bytes of all pages with a block on them.
    pub pages: i64,
    /// Bytes of these pages that no block fills.
    pub empty: i64,
    /// Bytes of all these pages by how full they are, see [`FULLNESS`].
    pub by_fullness: [i64; FULLNESS.len() + 1],
    /// By stack, those responsible for most empty bytes first.
    pub stacks: Vec<StackPages>,
    /// Free memory between and above the blocks, by heap, the most first.
    pub heaps: Vec<Heap>,
    pub(crate) accesses: Vec<Access>,
}

impl Pages {
    /// For processes that run at the end of the pass and, if `with_ended`, for those that have ended: what they never
    /// freed.
    pub fn new(with_ended: bool, tables: &Tables) -> Self {
        let ends_in_exec = |end: &capture::ProcessEnd| end.ended == Ended::Exec;
        Self {
            with_ended,
            rows: HashMap::new(),
            stacks: Vec::new(),
            entries: Vec::new(),
            condensed: 0,
            freed: Freed::default(),
            owners: tables.threads.iter().map(|thread| thread.process).collect(),
            becomes_another: tables
                .processes
                .iter()
                .map(|process| process.end.as_ref().is_some_and(ends_in_exec))
                .collect(),
        }
    }

    /// Finishes the table.
    pub fn finish(mut self) -> PageTable {
        self.number_rows();
        self.condense();
        let heaps = self.heaps();
        let mut accesses = Vec::with_capacity(self.entries.len());
        let mut by_fullness = [0; FULLNESS.len() + 1];
        for (cookie, of_page) in
            (0..).zip(self.entries.chunk_by(|a, b| (a.process, a.page) == (b.process, b.page)))
        {
            // In a flat tree of stacks, the root is node 0.
            accesses.extend(of_page.iter().map(|entry| Access {
                cookie,
                node: entry.row + 1,
                badness: signed(entry.pages.saturating_mul(PAGE)),
            }));
            let pages = of_page.iter().map(|entry| entry.pages).max().unwrap_or(0).saturating_mul(PAGE);
            // Overlapping blocks, which no allocator hands out, fill no more than the page.
            let filled = of_page.iter().fold(0_u64, |sum, entry| sum.saturating_add(entry.filled)).min(pages);
            by_fullness[class(filled, pages)] += signed(pages);
            for (entry, part) in of_page.iter().zip(parts(pages - filled, of_page.len() as u64)) {
                self.stacks[entry.row as usize].empty += signed(part);
            }
        }
        let found = uses(&vec![0; self.stacks.len() + 1], &mut accesses);
        let (mut held, mut empty) = (Amount::ZERO, 0);
        for (row, pages) in self.stacks.iter_mut().zip(&found[1..]) {
            row.pages = *pages;
            held += row.held;
            empty += row.empty;
        }
        // Renumbers rows in order, and everything that refers to their old numbers.
        let mut order: Vec<u32> = (0..).take(self.stacks.len()).collect();
        order.sort_by_key(|&row| {
            let row = &self.stacks[row as usize];
            (Reverse((row.empty, row.pages.alone, row.pages.total, row.held.bytes)), row.process, row.node)
        });
        let places = places_of(&order);
        accesses.iter_mut().for_each(|access| access.node = places[access.node as usize - 1]);
        let stacks = order.iter().map(|&row| self.stacks[row as usize].clone()).collect();
        PageTable { held, pages: found[0].total, empty, by_fullness, stacks, heaps, accesses }
    }

    /// Numbers rows by their stacks. Blocks left at the end come in any order, and the remainder of an uneven split
    /// goes to the first.
    fn number_rows(&mut self) {
        let mut order: Vec<u32> = (0..).take(self.stacks.len()).collect();
        order.sort_by_key(|&row| (self.stacks[row as usize].process, self.stacks[row as usize].node));
        let places = places_of(&order);
        self.entries.iter_mut().for_each(|entry| entry.row = places[entry.row as usize]);
        self.stacks.sort_by_key(|row| (row.process, row.node));
    }

    /// Merges entries of the same stack and page, and sorts them.
    fn condense(&mut self) {
        self.entries.sort_unstable();
        self.entries.dedup_by(|next, entry| {
            let place = |entry: &Entry| (entry.process, entry.page, entry.row, entry.pages, entry.is_mapped);
            let is_same = place(next) == place(entry);
            if is_same {
                entry.filled = entry.filled.saturating_add(next.filled);
                (entry.address, entry.size) = (entry.address, entry.size).max((next.address, next.size));
            }
            is_same
        });
        self.condensed = self.entries.len();
    }

    /// What lies free in heaps; entries are in page order.
    fn heaps(&mut self) -> Vec<Heap> {
        for entry in &self.entries {
            self.freed.take(entry.process, entry.range());
        }
        let used = self.entries.iter().filter(|entry| !entry.is_mapped).map(|entry| PageRun {
            process: entry.process,
            pages: entry.range(),
            highest: Some(HighestBlock {
                address: entry.address,
                size: entry.size,
                node: self.stacks[entry.row as usize].node,
            }),
        });
        heaps(used, &self.freed)
    }

    fn add(&mut self, process: ProcessId, node: NodeId, address: u64, size: u64) {
        let next = u32::try_from(self.stacks.len()).unwrap_or(u32::MAX);
        let row = *self.rows.entry((process, node)).or_insert(next);
        // A stack usually has many blocks on a page.
        if self.entries.len() > 2 * self.condensed + FEW {
            self.condense();
        }
        if row == next {
            let (held, pages) = (Amount::ZERO, Use::default());
            self.stacks.push(StackPages { process, node, held, pages, empty: 0 });
        }
        self.stacks[row as usize].held += Amount::block(size);
        let end = address.saturating_add(size);
        let is_mapped = is_mapped(address, size);
        let on = pages_of(address, size);
        let (first, last) = (on.start, on.end - 1);
        let mut put = |page: u64, pages: u64| {
            let begin = page.saturating_mul(PAGE);
            let filled =
                end.min(begin.saturating_add(pages.saturating_mul(PAGE))).saturating_sub(address.max(begin));
            self.entries.push(Entry { process, page, row, pages, filled, address, size, is_mapped });
        };
        put(first, 1);
        if last > first {
            put(last, 1);
        }
        if last - first > 1 {
            put(first + 1, last - first - 1);
        }
    }
}

impl Entry {
    fn range(&self) -> std::ops::Range<u64> {
        self.page..self.page.saturating_add(self.pages)
    }
}

/// The inverse of a permutation.
fn places_of(order: &[u32]) -> Vec<u32> {
    let mut places = vec![0; order.len()];
    (0..).zip(order).for_each(|(place, &row)| places[row as usize] = place);
    places
}

pub(super) fn signed(bytes: u64) -> i64 {
    bytes.min(i64::MAX as u64).cast_signed()
}

/// The index in [`PageTable::by_fullness`] of pages with this many bytes filled.
fn class(filled: u64, pages: u64) -> usize {
    FULLNESS
        .iter()
        .filter(|percent| u128::from(filled) * 100 >= u128::from(pages) * u128::from(**percent))
        .count()
}

/// Splits a number into `count` whole parts, as equal as possible.
fn parts(whole: u64, count: u64) -> impl Iterator<Item = u64> {
    (0..count).map(move |part| whole / count + u64::from(part < whole % count))
}

impl Watch for Pages {
    type Attached = ();

    fn born(&mut self, _: &Birth, _: Option<&Life<()>>) {}

    fn died(&mut self, life: &Life<()>, death: &Death) {
        match death.end {
            End::Freed { .. } | End::Resized { .. } => self.freed.note(life.process, life.address, life.size),
            End::Left { left: Left::Leaked | Left::Uncertain, ended, .. } => {
                if self.with_ended || ended == Ended::Running {
                    self.add(life.process, life.node, life.address, life.size);
                }
            }
            End::Left { left: Left::AtExec, .. } | End::Displaced { .. } => {}
        }
    }

    fn event(&mut self, _: Instant, event: &Event) {
        match event.action {
            Action::ProcessEnd { process } => {
                let is_another = self.becomes_another.get(process.index()) == Some(&true);
                if is_another || !self.with_ended {
                    self.freed.forget(process);
                }
            }
            ref action => {
                if let Some(&process) = self.owners.get(event.thread.index()) {
                    self.freed.follow(process, action);
                }
            }
        }
    }
}

impl PageTable {
    /// Bytes of pages without a block below the highest block of their heap, and above it.
    pub fn freed(&self) -> (i64, i64) {
        self.heaps.iter().fold((0, 0), |(under, above), heap| (under + heap.under, above + heap.above))
    }

    /// For each of the first `rows` stacks, at most `most` others that share most of its pages, with the bytes of
    /// these pages.
    pub fn sharers(&self, rows: usize, most: usize) -> Vec<Vec<(usize, i64)>> {
        let mut shared: Vec<HashMap<u32, i64>> = vec![HashMap::new(); rows.min(self.stacks.len())];
        for of_page in self.accesses.chunk_by(|a, b| a.cookie == b.cookie).filter(|all| all.len() > 1) {
            for row in of_page.iter().map(|access| access.node) {
                let Some(shared) = shared.get_mut(row as usize) else { continue };
                for other in of_page.iter().filter(|other| other.node != row) {
                    *shared.entry(other.node).or_default() += PAGE.cast_signed();
                }
            }
        }
        let sorted = shared.into_iter().map(|others| {
            let mut others: Vec<(usize, i64)> =
                others.into_iter().map(|(row, bytes)| (row as usize, bytes)).collect();
            others.sort_unstable_by_key(|&(row, bytes)| (Reverse(bytes), row));
            others.truncate(most);
            others
        });
        sorted.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Check empty bytes, fullness and shares of pages against a byte-by-byte count.
        #[test]
        fn each_byte_is_accounted_for(
            made in prop::collection::vec((0_u64..3000, 0_u64..9000, 0_u32..5), 0..20),
        ) {
            let mut pages = Pages::new(true, &Tables::default());
            let (mut owner, mut on, mut next) = (HashMap::new(), HashMap::<u64, Vec<u32>>::new(), 0x7000_u64);
            for (gap, size, node) in made {
                let address = next + gap;
                next = address + size.max(1);
                pages.add(ProcessId(0), NodeId(node), address, size);
                (address..address + size).for_each(|byte| {
                    owner.insert(byte, node);
                });
                for page in address / PAGE..=(next - 1) / PAGE {
                    on.entry(page).or_default().push(node);
                }
            }
            let mut empty = [0.0; 5];
            let mut by_fullness = [0; FULLNESS.len() + 1];
            for (page, nodes) in &mut on {
                nodes.sort_unstable();
                nodes.dedup();
                let free = (page * PAGE..(page + 1) * PAGE).filter(|byte| !owner.contains_key(byte)).count();
                let filled = (PAGE - free as u64) as f64 / PAGE as f64 * 100.0;
                by_fullness[FULLNESS.iter().filter(|percent| filled >= **percent as f64).count()] += PAGE.cast_signed();
                nodes.iter().for_each(|node| empty[*node as usize] += free as f64 / nodes.len() as f64);
            }
            let table = pages.finish();
            prop_assert_eq!(table.pages, on.len() as i64 * PAGE.cast_signed());
            prop_assert_eq!(table.empty, table.pages - owner.len() as i64);
            prop_assert_eq!(table.by_fullness, by_fullness);
            for row in &table.stacks {
                // Each page is split into whole bytes.
                let expected = empty[row.node.0 as usize];
                prop_assert!((row.empty as f64 - expected).abs() <= on.len() as f64, "{row:?}, not {expected}");
            }
            prop_assert_eq!(table.stacks.iter().map(|row| row.empty).sum::<i64>(), table.empty);
        }
    }
}
