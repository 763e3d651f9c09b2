//! Which threads allocate, and which free.
//!
//! ```text
//!                    freed by  main   worker   nobody
//!  allocated by main             5       12        1
//!               worker           0        7        0
//! ```

use crate::base::cost::Amount;
use crate::count::tally::Tallies;
use crate::count::watch::{Birth, Death, End, Life, Watch};
use capture::{NodeId, Tables, ThreadId};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Observes a pass for threads.
#[derive(Debug)]
pub struct Threads {
    /// All that a thread allocated, and what of that was temporary.
    allocated: Tallies<ThreadId, 2>,
    pairs: Tallies<(ThreadId, Option<ThreadId>)>,
    crossing: Tallies<Crossing>,
}

/// The threads and stacks that allocated and freed.
type Crossing = (ThreadId, ThreadId, NodeId, NodeId);

/// The result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadTable {
    /// Threads that allocated or freed, those that allocated most bytes first.
    pub threads: Vec<ThreadRow>,
    /// The matrix of threads, sparse.
    pub pairs: Vec<PairRow>,
    /// What was freed by another thread than the one that allocated it, by both stacks; most bytes first.
    pub crossing: Vec<CrossRow>,
}

/// The sums of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadRow {
    /// The thread.
    pub thread: ThreadId,
    /// What it allocated.
    pub allocated: Amount,
    /// The part that was temporary.
    pub temporary: Amount,
    /// What it freed, whoever allocated it; includes blocks that `realloc` resized.
    pub freed: Amount,
    /// The part that another thread had allocated.
    pub foreign: Amount,
    /// What it allocated that was not seen to be freed.
    pub left: Amount,
}

/// What one thread allocated and another freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairRow {
    /// The thread that allocated.
    pub from: ThreadId,
    /// The thread that freed; none where none was seen to.
    pub to: Option<ThreadId>,
    /// The blocks.
    pub amount: Amount,
}

/// The same by stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrossRow {
    /// The thread that allocated.
    pub from: ThreadId,
    /// The thread that freed.
    pub to: ThreadId,
    /// The stack that allocated.
    pub allocated_by: NodeId,
    /// The stack that freed: [`NodeId::ROOT`] unless the stacks of frees were recorded.
    pub freed_by: NodeId,
    /// The blocks.
    pub amount: Amount,
}

impl Threads {
    /// For the capture with these tables.
    pub fn new(tables: &Tables) -> Self {
        Self { allocated: Tallies::new(tables), pairs: Tallies::new(tables), crossing: Tallies::new(tables) }
    }

    /// Finishes the tables.
    pub fn finish(self) -> ThreadTable {
        let pairs = self.pairs.finish().map(|((from, to), [amount])| PairRow { from, to, amount });
        let pairs: Vec<PairRow> = pairs.collect();
        let row = |((from, to, allocated_by, freed_by), [amount]): (Crossing, [Amount; 1])| CrossRow {
            from,
            to,
            allocated_by,
            freed_by,
            amount,
        };
        let mut crossing: Vec<CrossRow> = self.crossing.finish().map(row).collect();
        crossing.sort_by_key(|row| Reverse((row.amount.bytes, row.amount.blocks)));

        let empty = |thread| ThreadRow {
            thread,
            allocated: Amount::ZERO,
            temporary: Amount::ZERO,
            freed: Amount::ZERO,
            foreign: Amount::ZERO,
            left: Amount::ZERO,
        };
        let mut threads: BTreeMap<ThreadId, ThreadRow> = BTreeMap::new();
        for (thread, [allocated, temporary]) in self.allocated.finish() {
            threads.insert(thread, ThreadRow { allocated, temporary, ..empty(thread) });
        }
        for pair in &pairs {
            let Some(to) = pair.to else {
                threads.entry(pair.from).or_insert_with(|| empty(pair.from)).left += pair.amount;
                continue;
            };
            let row = threads.entry(to).or_insert_with(|| empty(to));
            row.freed += pair.amount;
            if to != pair.from {
                row.foreign += pair.amount;
            }
        }
        let mut threads: Vec<ThreadRow> = threads.into_values().collect();
        threads.sort_by_key(|row| (Reverse((row.allocated.bytes, row.allocated.blocks)), row.thread));
        ThreadTable { threads, pairs, crossing }
    }
}

impl Watch for Threads {
    type Attached = ();

    fn born(&mut self, birth: &Birth, _: Option<&Life<()>>) {
        self.allocated.of(birth.thread)[0].add(birth.size);
    }

    fn died(&mut self, life: &Life<()>, death: &Death) {
        let (to, stack) = match death.end {
            End::Freed { thread, stack, is_temporary } => {
                if is_temporary {
                    self.allocated.of(life.thread)[1].add(life.size);
                }
                (Some(thread), stack)
            }
            End::Resized { thread, stack, .. } => (Some(thread), stack),
            End::Displaced { .. } | End::Left { .. } => (None, NodeId::ROOT),
        };
        self.pairs.add((life.thread, to), life.size);
        if let Some(to) = to.filter(|&to| to != life.thread) {
            self.crossing.add((life.thread, to, life.node, stack), life.size);
        }
    }
}
