//! Whose blocks lie on which pages of memory, and what a stack alone keeps from going back to the system.
//!
//! An allocator can give a page back when no block lies on it. One that few long-lived blocks are strewn over stays, however
//! little they hold:
//!
//! ```text
//!  page   |■ ■ ■ ■ ■ ■ ■ ■|■ · · · · · · ·|· · · · · · · ■|■■■■■■■■■■■■■■■|
//!          a a a a a a a a b               a             b c               a is on three pages, on two of them alone
//! ```
//!
//! So each page is a thing that stacks share: see [`uses`]. What lies between blocks, and what the allocator keeps without
//! a block on it, is not seen here.

use crate::analysis::{
    Access, Amount, Birth, Cost, Death, End, Left, Life, Metric, Names, Profile, Site, Tree, Use, Watch, uses,
};
use capture::{Ended, NodeId, ProcessId, Tables};
use std::cmp::Reverse;
use std::collections::HashMap;

/// Bytes of a page, on all processors that we record on.
pub const PAGE: u64 = 4096;

/// Observes a pass for the pages on which blocks lie at its end. Keeps one entry for each block and page, but for blocks of
/// many pages, which have those within them to themselves.
#[derive(Debug)]
pub struct Pages {
    with_ended: bool,
    rows: HashMap<(ProcessId, NodeId), u32>,
    stacks: Vec<StackPages>,
    entries: Vec<Entry>,
}

/// That blocks of a row lie on pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    process: ProcessId,
    /// The first one.
    page: u64,
    row: u32,
    /// How many; more than one only within a block.
    pages: u64,
}

/// A stack with blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackPages {
    /// Whose.
    pub process: ProcessId,
    /// Who allocated them.
    pub node: NodeId,
    /// The blocks.
    pub held: Amount,
    /// Bytes of the pages on which they lie.
    pub pages: Use,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct PageTable {
    /// All blocks.
    pub held: Amount,
    /// Bytes of all pages with a block on them.
    pub pages: i64,
    /// By stack, those that keep most pages alone first.
    pub stacks: Vec<StackPages>,
    accesses: Vec<Access>,
}

impl Pages {
    /// Of processes that run at the end of the pass, and of those that had ended if that is wanted: what they never freed.
    pub fn new(with_ended: bool) -> Self {
        Self { with_ended, rows: HashMap::new(), stacks: Vec::new(), entries: Vec::new() }
    }

    /// The table.
    pub fn finish(mut self) -> PageTable {
        self.entries.sort_unstable();
        // A stack has as a rule many blocks on a page.
        self.entries.dedup();
        let mut accesses = Vec::with_capacity(self.entries.len());
        let mut cookie = 0;
        let mut before: Option<(ProcessId, u64)> = None;
        for entry in &self.entries {
            let place = (entry.process, entry.page);
            cookie += u64::from(before.replace(place).is_some_and(|before| before != place));
            let badness = entry.pages.saturating_mul(PAGE).min(i64::MAX as u64).cast_signed();
            // The root of a tree of stacks side by side is node 0.
            accesses.push(Access { cookie, node: entry.row + 1, badness });
        }
        let found = uses(&vec![0; self.stacks.len() + 1], &mut accesses);
        let mut held = Amount::ZERO;
        for (row, pages) in self.stacks.iter_mut().zip(&found[1..]) {
            row.pages = *pages;
            held += row.held;
        }
        // Rows in their order, and what was known by the old one.
        let mut order: Vec<u32> = (0..).take(self.stacks.len()).collect();
        order.sort_by_key(|&row| {
            let row = &self.stacks[row as usize];
            (Reverse((row.pages.alone, row.pages.total, row.held.bytes)), row.process, row.node)
        });
        let mut places = vec![0; order.len()];
        (0..).zip(&order).for_each(|(place, &row)| places[row as usize] = place);
        accesses.iter_mut().for_each(|access| access.node = places[access.node as usize - 1]);
        let stacks = order.iter().map(|&row| self.stacks[row as usize].clone()).collect();
        PageTable { held, pages: found[0].total, stacks, accesses }
    }

    fn add(&mut self, process: ProcessId, node: NodeId, address: u64, size: u64) {
        let next = u32::try_from(self.stacks.len()).unwrap_or(u32::MAX);
        let row = *self.rows.entry((process, node)).or_insert(next);
        if row == next {
            let (held, pages) = (Amount::ZERO, Use::default());
            self.stacks.push(StackPages { process, node, held, pages });
        }
        self.stacks[row as usize].held += Amount::block(size);
        let (first, last) = (address / PAGE, address.saturating_add(size.max(1) - 1) / PAGE);
        let mut put = |page, pages| self.entries.push(Entry { process, page, row, pages });
        put(first, 1);
        if last > first {
            put(last, 1);
        }
        if last - first > 1 {
            put(first + 1, last - first - 1);
        }
    }
}

impl Watch for Pages {
    type Kept = ();

    fn born(&mut self, _: &Birth, _: Option<&Life<()>>) {}

    fn died(&mut self, life: &Life<()>, death: &Death) {
        let End::Left { left: Left::Leaked | Left::Uncertain, ended, .. } = death.end else { return };
        if self.with_ended || ended == Ended::Running {
            self.add(life.process, life.node, life.address, life.size);
        }
    }
}

impl PageTable {
    /// The stacks as a call tree, and what each of its branches has to do with, by node.
    pub fn tree(&self, tables: &Tables, names: &Names) -> (Tree, Vec<Use>) {
        let site = |row: &StackPages| Site {
            process: row.process,
            thread: None,
            node: row.node,
            cost: Cost { leaked: row.held, ..Cost::default() },
        };
        let profile = Profile { sites: self.stacks.iter().map(site).collect(), ..Profile::default() };
        let (tree, places) = Tree::placed(&profile, tables, names, Metric::Live);
        let at = |access: &Access| Access { node: places[access.node as usize], ..*access };
        let mut accesses: Vec<Access> = self.accesses.iter().map(at).collect();
        let uses = uses(&tree.parents(), &mut accesses);
        (tree, uses)
    }

    /// For each of the first `rows` stacks, the others that lie on most of its pages, at most `most` of them, with the
    /// bytes of these pages.
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
