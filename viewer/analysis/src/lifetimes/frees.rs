//! Which stacks free the blocks of which others, seen from either side.
//!
//! ```text
//!  allocated by   then                            from the other side: freed by   allocated by
//!  parse ───────► 90 freed by close               close ────────────────────────► 90 by parse, 5 by lex
//!         └─────► 10 never freed                  evict ────────────────────────► 7 by lex
//!  lex ─────────► 5 freed by close, 7 by evict
//! ```
//!
//! A stack that frees what others allocated owns it, which C types do not tell.

use super::age::Age;
use crate::base::cost::Amount;
use crate::base::named::named;
use crate::count::tally::Tallies;
use crate::count::watch::{Birth, Death, End, Life, Watch};
use crate::names::frames::meaningful;
use crate::names::table::{LabelId, Names};
use crate::query::expression::Selection;
use capture::{NodeId, ProcessId, Tables, ThreadId};
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::hash::Hash;

/// Observes a pass for pairs of stacks that allocate and free. Keeps two sums for each pair, lifetime class and
/// process.
#[derive(Debug)]
pub struct Frees {
    /// Sums are kept for each thread that frees.
    by_threads: bool,
    /// For each pair: all blocks, and those freed by another thread than the one that allocated them.
    sums: Tallies<Pair, 2>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Pair {
    process: ProcessId,
    allocated_by: NodeId,
    end: Endpoint,
    /// The thread that ended them, if threads are told apart.
    thread: Option<ThreadId>,
    age: Age,
}

/// What a stack, or something that stands for it, did to blocks; or what became of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Endpoint<S = NodeId> {
    /// It allocated them.
    Allocated(S),
    /// It freed them.
    Freed(S),
    /// It turned them into other blocks with `realloc`.
    Resized(S),
    /// They were freed by `realloc` to size 0, which has no stack.
    ToNothing,
    /// Their addresses were reused, so they were freed, though no free of them was recorded.
    Unseen,
    /// They were never freed.
    Left,
}

/// Some blocks, and how long they lived.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockStats {
    /// All of them.
    pub blocks: Amount,
    /// Those freed by another thread than the one that allocated them.
    pub by_others: Amount,
    /// By lifetime, the shortest first; classes without a block are left out.
    pub ages: Vec<(Age, Amount)>,
}

/// What became of some of a stack's blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The process.
    pub process: ProcessId,
    /// The stack that allocated them.
    pub allocated_by: NodeId,
    /// How they ended.
    pub end: Endpoint,
    /// The blocks.
    pub stats: BlockStats,
}

/// A stack, and the stacks that it shares blocks with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreesRow<S = NodeId> {
    /// The stack, and what it does.
    pub endpoint: Endpoint<S>,
    /// Its blocks.
    pub sum: BlockStats,
    /// The same by the stacks on the other side, the largest first.
    pub with: Vec<(Endpoint<S>, BlockStats)>,
}

named! {
    /// The side from which pairs are listed.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Side {
        /// A row for each stack that allocates.
        #[default]
        Allocations = "allocations",
        /// A row for each stack that frees.
        Frees = "frees",
    }
}

named! {
    /// What rows are ordered by.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Order {
        /// Most bytes.
        #[default]
        Bytes = "bytes",
        /// Most blocks.
        Blocks = "blocks",
    }
}

impl Endpoint {
    fn of(end: End) -> Self {
        match end {
            End::Freed { stack: NodeId::ROOT, .. } => Self::ToNothing,
            End::Freed { stack, .. } => Self::Freed(stack),
            End::Resized { stack, .. } => Self::Resized(stack),
            End::Displaced { .. } => Self::Unseen,
            End::Left { .. } => Self::Left,
        }
    }
}

impl<S> Endpoint<S> {
    /// The stack; none where none was seen.
    pub fn stack(self) -> Option<S> {
        match self {
            Self::Allocated(stack) | Self::Freed(stack) | Self::Resized(stack) => Some(stack),
            Self::ToNothing | Self::Unseen | Self::Left => None,
        }
    }

    /// The same endpoint with another representation of its stack.
    pub fn map<T>(self, of: impl FnOnce(S) -> T) -> Endpoint<T> {
        match self {
            Self::Allocated(stack) => Endpoint::Allocated(of(stack)),
            Self::Freed(stack) => Endpoint::Freed(of(stack)),
            Self::Resized(stack) => Endpoint::Resized(of(stack)),
            Self::ToNothing => Endpoint::ToNothing,
            Self::Unseen => Endpoint::Unseen,
            Self::Left => Endpoint::Left,
        }
    }

    /// Its name in documents.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Allocated(_) => "allocated",
            Self::Freed(_) | Self::ToNothing => "freed",
            Self::Resized(_) => "resized",
            Self::Unseen => "unseen",
            Self::Left => "left",
        }
    }

    /// True for frees that were seen.
    pub fn is_free(&self) -> bool {
        matches!(self, Self::Freed(_) | Self::Resized(_) | Self::ToNothing)
    }
}

impl Order {
    /// A sort key that puts the largest amounts first.
    pub fn rank(self, amount: Amount) -> Reverse<(i64, i64)> {
        Reverse(match self {
            Self::Bytes => (amount.bytes, amount.blocks),
            Self::Blocks => (amount.blocks, amount.bytes),
        })
    }
}

impl BlockStats {
    /// The lifetime class of the median of the blocks whose end was seen; none when there are none.
    pub fn median(&self) -> Option<Age> {
        let ended = || self.ages.iter().filter(|(age, _)| *age != Age::LEFT);
        // Wide enough for the numbers of a hostile capture.
        let count: i128 = ended().map(|(_, amount)| i128::from(amount.blocks)).sum();
        let mut before = 0_i128;
        ended().find_map(|&(age, amount)| {
            before += i128::from(amount.blocks);
            (2 * before >= count && count > 0).then_some(age)
        })
    }

    /// The blocks whose end was seen.
    pub fn ended(&self) -> Amount {
        let ended = self.ages.iter().filter(|(age, _)| *age != Age::LEFT);
        ended.fold(Amount::ZERO, |sum, (_, amount)| sum + *amount)
    }

    /// Adds other numbers.
    pub fn add(&mut self, other: &BlockStats) {
        self.blocks += other.blocks;
        self.by_others += other.by_others;
        other.ages.iter().for_each(|&(age, amount)| self.add_age(age, amount));
    }

    fn add_age(&mut self, age: Age, amount: Amount) {
        match self.ages.binary_search_by_key(&age, |(age, _)| *age) {
            Ok(at) => self.ages[at].1 += amount,
            Err(at) => self.ages.insert(at, (age, amount)),
        }
    }
}

impl Frees {
    /// For the capture with these tables.
    pub fn new(tables: &Tables) -> Self {
        Self { by_threads: false, sums: Tallies::new(tables) }
    }

    /// The same with sums for each thread that frees, for a selection among them: see [`Self::keep_freed_by`].
    #[must_use]
    pub fn by_threads(self) -> Self {
        Self { by_threads: true, ..self }
    }

    /// Drops blocks that were not freed by a selected stack. The thread of a stack is the one that freed, if threads
    /// are told apart; otherwise it has none.
    pub fn keep_freed_by(&mut self, selection: &mut Selection<'_>) {
        self.sums.retain(|pair| {
            let stack = pair.end.stack();
            stack.is_some_and(|stack| selection.contains(pair.process, pair.thread, stack))
        });
    }

    /// The stacks of one side, the largest first. On the side of frees, blocks without a seen free have no row.
    pub fn finish(self, side: Side, order: Order) -> Vec<FreesRow> {
        self.finish_by(side, order, |stack| stack)
    }

    /// The same with each stack replaced by its innermost function that does not belong to the allocator or wrap it:
    /// stacks that differ elsewhere share a row.
    pub fn finish_functions(
        self,
        side: Side,
        order: Order,
        tables: &Tables,
        names: &Names,
    ) -> Vec<FreesRow<LabelId>> {
        self.finish_by(side, order, |stack| {
            meaningful(tables, names, stack).next().map_or(LabelId::EVERYTHING, |(_, step)| step.label)
        })
    }

    fn finish_by<S: Copy + Ord + Hash>(
        self,
        side: Side,
        order: Order,
        of: impl Fn(NodeId) -> S,
    ) -> Vec<FreesRow<S>> {
        let mut rows: HashMap<Endpoint<S>, HashMap<Endpoint<S>, BlockStats>> = HashMap::new();
        for Passed { allocated_by, end, stats, .. } in self.passed() {
            let (allocation, end) = (Endpoint::Allocated(of(allocated_by)), end.map(&of));
            let (endpoint, other) = match side {
                Side::Allocations => (allocation, end),
                Side::Frees if end.is_free() => (end, allocation),
                Side::Frees => continue,
            };
            rows.entry(endpoint).or_default().entry(other).or_default().add(&stats);
        }
        let row = |(endpoint, with): (Endpoint<S>, HashMap<Endpoint<S>, BlockStats>)| {
            let mut with: Vec<(Endpoint<S>, BlockStats)> = with.into_iter().collect();
            with.sort_by_key(|(other, stats)| (order.rank(stats.blocks), *other));
            let mut sum = BlockStats::default();
            with.iter().for_each(|(_, stats)| sum.add(stats));
            FreesRow { endpoint, sum, with }
        };
        let mut rows: Vec<FreesRow<S>> = rows.into_iter().map(row).collect();
        rows.sort_by_key(|row| (order.rank(row.sum.blocks), row.endpoint));
        rows
    }

    /// Who allocated blocks, what became of them, and how many there were, one by one.
    pub fn passed(self) -> impl Iterator<Item = Passed> {
        self.sums.finish().map(|(pair, [blocks, by_others])| {
            let Pair { process, allocated_by, end, age, thread: _ } = pair;
            Passed {
                process,
                allocated_by,
                end,
                stats: BlockStats { blocks, by_others, ages: vec![(age, blocks)] },
            }
        })
    }
}

impl Watch for Frees {
    /// When the block was allocated.
    type Attached = u64;

    fn born(&mut self, birth: &Birth, _: Option<&Life<u64>>) -> u64 {
        birth.at.time
    }

    fn died(&mut self, life: &Life<u64>, death: &Death) {
        let age = Age::at(death, life.attached);
        let freed_by = match death.end {
            End::Freed { thread, .. } | End::Resized { thread, .. } => Some(thread),
            End::Displaced { .. } | End::Left { .. } => None,
        };
        let pair = Pair {
            process: life.process,
            allocated_by: life.node,
            end: Endpoint::of(death.end),
            thread: freed_by.filter(|_| self.by_threads),
            age,
        };
        let [all, by_others] = self.sums.of(pair);
        all.add(life.size);
        if freed_by.is_some_and(|thread| thread != life.thread) {
            by_others.add(life.size);
        }
    }
}
