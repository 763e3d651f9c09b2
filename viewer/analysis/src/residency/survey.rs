//! Adds up what processes have resident: by allocating stack, by touching stack, and the rest by kind.
//!
//! ```text
//!  pages    │         │         │         │         │
//!  blocks     ├─A─┤ ├────B────┤      (C was freed)    ├─D─┤
//!  resident │ A sl B  │ B  slack │  free   │ not     touched
//! ```

use super::memory::Page;
use crate::base::cost::Amount;
use crate::base::ranges::Ranges;
use crate::count::tally::{Tallies, Tally};
use capture::{NodeId, ProcessId, Region, Sampling};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// A block that is live at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) node: NodeId,
    pub(super) is_chosen: bool,
}

/// The result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResidencyTable {
    /// True when the capture has page faults.
    pub has_faults: bool,
    /// By allocating stack, most resident bytes first.
    pub held: Vec<HeldRow>,
    /// By touching stack, most bytes first.
    pub touched: Vec<TouchRow>,
    /// All of it, by kind.
    pub sums: ResidencySums,
    /// The same for each process that has any.
    pub processes: Vec<(ProcessId, ResidencySums)>,
    /// Bytes that may be resident in addition, because a fault may have brought in a huge page; 0 where none can
    /// have.
    pub huge_at_most: u64,
    /// Faults that the kernel lost for lack of buffer space: their pages are in no sum.
    pub lost: u64,
    /// Pages beyond the limit of those followed.
    pub beyond: u64,
    /// Faults of processes that the capture does not name.
    pub stray: u64,
}

/// What a stack allocated and still holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldRow {
    /// The process.
    pub process: ProcessId,
    /// The stack.
    pub node: NodeId,
    /// Its live blocks.
    pub held: Amount,
    /// The part of them on resident pages; the rest was never touched.
    pub resident: i64,
}

impl HeldRow {
    /// The bytes that were never touched.
    pub fn untouched(&self) -> i64 {
        self.held.bytes.saturating_sub(self.resident)
    }
}

/// What a stack touched first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TouchRow {
    /// The process.
    pub process: ProcessId,
    /// The stack; [`NodeId::ROOT`] if unknown.
    pub node: NodeId,
    /// Bytes of the pages.
    pub bytes: u64,
    /// Bytes of them in live blocks.
    pub in_blocks: u64,
}

/// Resident bytes by kind. Each byte of a resident page is in exactly one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResidencySums {
    /// Bytes of the selected live blocks, touched or not: not part of the total.
    pub held: i64,
    /// In selected live blocks.
    pub blocks: i64,
    /// In other live blocks.
    pub other_blocks: i64,
    /// On pages of the heap without a live block: freed, but kept by libc.
    pub free: i64,
    /// Between live blocks, on pages that hold one.
    pub slack: i64,
    /// Stacks of threads.
    pub stacks: i64,
    /// Files and shared memory.
    pub files: i64,
    /// Other memory without a file.
    pub anonymous: i64,
    /// Where no mapping is known.
    pub unknown: i64,
}

impl ResidencySums {
    /// The heap: blocks, the space between them, and what libc keeps.
    pub fn heap(&self) -> i64 {
        sum([self.blocks, self.other_blocks, self.free, self.slack])
    }

    /// All resident bytes.
    pub fn total(&self) -> i64 {
        sum([self.heap(), self.stacks, self.files, self.anonymous, self.unknown])
    }

    /// Bytes of live blocks that were never touched.
    pub fn untouched(&self) -> i64 {
        self.held.saturating_sub(self.blocks)
    }

    fn add(&mut self, other: &Self) {
        for (sum, part) in [
            (&mut self.held, other.held),
            (&mut self.blocks, other.blocks),
            (&mut self.other_blocks, other.other_blocks),
            (&mut self.free, other.free),
            (&mut self.slack, other.slack),
            (&mut self.stacks, other.stacks),
            (&mut self.files, other.files),
            (&mut self.anonymous, other.anonymous),
            (&mut self.unknown, other.unknown),
        ] {
            *sum = sum.saturating_add(part);
        }
    }
}

/// A saturating sum: the numbers may come from a hostile file.
fn sum<const PARTS: usize>(parts: [i64; PARTS]) -> i64 {
    parts.into_iter().fold(0, i64::saturating_add)
}

/// The sums so far.
#[derive(Debug)]
pub(super) struct Survey {
    page: u64,
    since: u64,
    sampling: Option<Sampling>,
    held: Tallies<(ProcessId, NodeId), 2>,
    touched: HashMap<(ProcessId, NodeId), (u64, u64)>,
    processes: Vec<(ProcessId, ResidencySums)>,
    /// Pages that may be part of a huge page.
    small: Vec<(ProcessId, u64)>,
    has_any: bool,
}

impl Survey {
    pub(super) fn new(page: u64, since: u64, sampling: Option<Sampling>) -> Self {
        Self {
            page,
            since,
            sampling,
            held: Tallies::sampled(sampling),
            touched: HashMap::new(),
            processes: Vec::new(),
            small: Vec::new(),
            has_any: false,
        }
    }

    pub(super) fn has_any(&self) -> bool {
        self.has_any
    }

    /// Adds a process in its present state. `takes` tells which touching stacks are shown individually.
    // Cost: sorts the blocks; then visits each block and each page once, since no byte belongs to two blocks.
    pub(super) fn add(
        &mut self,
        process: ProcessId,
        pages: &BTreeMap<u64, Page>,
        ground: &Ranges,
        mut blocks: Vec<Held>,
        mut takes: impl FnMut(NodeId) -> bool,
    ) {
        if pages.is_empty() && blocks.is_empty() {
            return;
        }
        self.has_any |= !pages.is_empty();
        blocks.sort_unstable_by_key(|block| (block.address, block.size));
        let (sampling, mut sums, mut done) = (self.sampling, ResidencySums::default(), 0);
        let mut covered: HashMap<u64, u64> = HashMap::new();
        let (mut chosen, mut others) = ([Tally::new(sampling); 2], [Tally::new(sampling); 2]);
        for block in blocks {
            let end = block.address.saturating_add(block.size);
            let start = block.address.max(done);
            done = done.max(end);
            let resident = self.cover(pages, start, end, &mut covered);
            let all = if block.is_chosen { &mut chosen } else { &mut others };
            let row = block.is_chosen.then(|| self.held.of((process, block.node)));
            for [held, touched] in row.into_iter().chain([all]) {
                held.add(block.size);
                touched.add_part(block.size, resident);
            }
        }
        sums.held = chosen[0].amount().bytes;
        sums.blocks = chosen[1].amount().bytes;
        sums.other_blocks = others[1].amount().bytes;
        for (number, page) in pages.iter().filter(|(_, page)| page.since >= self.since) {
            let in_blocks = covered.get(number).copied().unwrap_or(0);
            let rest = self.page.saturating_sub(in_blocks).cast_signed();
            let is_ground = page.region == Region::Heap || ground.contains(*number);
            let sum = match page.region {
                _ if in_blocks > 0 => &mut sums.slack,
                Region::Stack => &mut sums.stacks,
                Region::File => &mut sums.files,
                _ if is_ground => &mut sums.free,
                Region::Unknown => &mut sums.unknown,
                _ => &mut sums.anonymous,
            };
            *sum = sum.saturating_add(rest);
            if takes(page.stack) {
                let (bytes, of_blocks) = self.touched.entry((process, page.stack)).or_default();
                *bytes += self.page;
                *of_blocks += in_blocks;
            }
            if matches!(page.region, Region::Heap | Region::Anonymous) {
                self.small.push((process, *number));
            }
        }
        if sampling.is_some() {
            sums.estimate(covered.values().fold(0, |sum: i64, bytes| sum.saturating_add_unsigned(*bytes)));
        }
        self.processes.push((process, sums));
    }

    /// Bytes of a block on the pages considered; notes how much it covers of each.
    fn cover(
        &self,
        pages: &BTreeMap<u64, Page>,
        start: u64,
        end: u64,
        covered: &mut HashMap<u64, u64>,
    ) -> u64 {
        if start >= end {
            return 0;
        }
        let mut sum = 0;
        for (number, page) in pages.range(start / self.page..=(end - 1) / self.page) {
            if page.since < self.since {
                continue;
            }
            let first = number * self.page;
            let bytes = end.min(first.saturating_add(self.page)) - start.max(first);
            *covered.entry(*number).or_default() += bytes;
            sum += bytes;
        }
        sum
    }

    /// Finishes the result. `huge` is the size of a huge page, where a fault may have made one.
    pub(super) fn finish(self, huge: u64) -> ResidencyTable {
        let mut sums = ResidencySums::default();
        self.processes.iter().for_each(|(_, of_process)| sums.add(of_process));
        let row = |((process, node), [held, resident]): (_, [Amount; 2])| HeldRow {
            process,
            node,
            held,
            resident: resident.bytes,
        };
        let mut held: Vec<HeldRow> = self.held.finish().map(row).collect();
        held.sort_by_key(|row| (Reverse((row.resident, row.held.bytes)), row.process, row.node));
        let mut touched: Vec<TouchRow> = (self.touched.into_iter())
            .map(|((process, node), (bytes, in_blocks))| TouchRow { process, node, bytes, in_blocks })
            .collect();
        touched.sort_by_key(|row| (Reverse(row.bytes), row.process, row.node));
        let huge_at_most = unseen_of_huge(self.small.into_iter(), self.page, huge);
        ResidencyTable { held, touched, sums, processes: self.processes, huge_at_most, ..Default::default() }
    }
}

impl ResidencySums {
    /// In a sampled recording blocks are estimates, and the space beside them cannot be broken down: `free` gets all
    /// of the heap's memory that is in no block. `covered` is the number of bytes in recorded blocks.
    fn estimate(&mut self, covered: i64) {
        let memory = sum([covered, self.slack, self.free, self.anonymous]);
        (self.slack, self.anonymous) = (0, 0);
        // An estimate above the memory that exists is an error of the estimate.
        let most = memory.max(0);
        self.blocks = self.blocks.min(most);
        self.other_blocks = self.other_blocks.min(most.saturating_sub(self.blocks));
        self.free = most.saturating_sub(self.blocks).saturating_sub(self.other_blocks);
    }
}

/// Bytes of huge pages of which only one small page was seen to be touched: that fault may have brought in all of it.
fn unseen_of_huge(pages: impl Iterator<Item = (ProcessId, u64)>, page: u64, huge: u64) -> u64 {
    if huge <= page {
        return 0;
    }
    let mut spots: BTreeMap<(ProcessId, u64), u64> = BTreeMap::new();
    for (process, number) in pages {
        *spots.entry((process, number / (huge / page))).or_default() += 1;
    }
    let single = spots.values().filter(|pages| **pages == 1).count() as u64;
    single.saturating_mul(huge - page)
}
