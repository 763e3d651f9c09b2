//! Which blocks a forked process inherited, without copying its parent's heap.
//!
//! A process counts its forks. Each block carries that count from its birth, so "was it live at fork k?" is a
//! comparison, and the parent's changing heap answers for all its children:
//!
//! ```text
//!  parent's forks        0        1        2
//!  block a   born 0 ──────────────────────────── live     inherited by child 1 and child 2
//!  block b   born 0 ─────────✝ died 1                     inherited by child 1: buried as (0, 1]
//!  block c            born 1 ──────────✝ died 2           inherited by child 2: buried as (1, 2]
//!  block d            born 1 ──✝ died 1                   inherited by nobody: not buried
//! ```
//!
//! Only blocks that died while a living child had inherited them are buried, and burials that no living child can ask
//! for are removed as the list doubles. A process that never forks pays one comparison per free; one that forks 1,000
//! short-lived children in turn holds no more than it holds without them. Memory is bounded by the live blocks of the
//! parent plus one entry for each block that a living child still has and its parent no longer.
//!
//! The record of a fork is written before the call, so other threads may allocate between the two, and the child has
//! these blocks as well. It frees nothing that it does not have, so what its parent holds when the child begins
//! counts as inherited, too: its start counts as one more fork. (A block that was both born and freed between the two
//! is not known as inherited.)
//!
//! ```text
//!  parent's forks       0         1 = the record, then the call        2 = the child's start
//!  block e                          born 1 ──────────────────────────────── live      inherited by the child
//! ```
//!
//! An inherited block that a child has freed is kept in the child's `released`, so that a second free of it is
//! unmatched and a grandchild does not inherit it.

use super::process::{Phase, ProcessState};
use capture::ProcessId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashMap, VecDeque};

/// How many generations up a free is followed. A longer chain of processes that are all still alive, each forked by
/// the one before, is not a real program but a file made to waste time.
const MAX_GENERATIONS: usize = 1024;

const FIRST_SWEEP: usize = 1024;

/// Most forks whose child is awaited. A child begins at once if it can; forks without one (the call failed, the child
/// was killed) must not keep dead blocks for ever.
const MAX_EXPECTED: usize = 1024;

/// The forks of a process, and the one that created it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Lineage {
    parent: Option<Origin>,
    /// Forks so far.
    pub(crate) forks: u32,
    /// Forks whose child, or a descendant of it, can still ask.
    heirs: BTreeSet<u32>,
    /// Forks whose child has not begun: the fork's number in the capture, and here.
    expected: VecDeque<(u32, u32)>,
    /// Dead blocks that an heir inherited: (forks at birth, forks at death], in order of death.
    buried: HashMap<u64, Vec<(u32, u32)>>,
    burials: usize,
    sweep_at: usize,
    /// Inherited blocks that were freed here, with the number of forks at that time.
    released: HashMap<u64, u32>,
}

/// Where a process comes from.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Origin {
    parent: ProcessId,
    /// Which of the parent's forks created this process, from 1.
    fork: u32,
    /// Which of the parent's forks its start counted as; the same if the parent was already gone.
    start: u32,
}

impl Default for Lineage {
    fn default() -> Self {
        Self {
            parent: None,
            forks: 0,
            heirs: BTreeSet::new(),
            expected: VecDeque::new(),
            buried: HashMap::new(),
            burials: 0,
            sweep_at: FIRST_SWEEP,
            released: HashMap::new(),
        }
    }
}

impl Lineage {
    /// The process whose blocks were inherited.
    pub(crate) fn parent(&self) -> Option<ProcessId> {
        self.parent.map(|origin| origin.parent)
    }

    /// The process forks, and a child may inherit what is live now; returns the number of the fork here.
    fn fork(&mut self) -> u32 {
        self.forks += 1;
        self.heirs.insert(self.forks);
        self.forks
    }

    /// Notes a fork whose child may begin later, or never.
    pub(crate) fn note_fork(&mut self, number: u32) {
        let fork = self.fork();
        self.expected.push_back((number, fork));
        if self.expected.len() > MAX_EXPECTED
            && let Some((_, fork)) = self.expected.pop_front()
        {
            self.heirs.remove(&fork);
        }
    }

    /// Notes the death of a block that was born when this process had made `born` forks.
    // Cost: one comparison, unless a child may have inherited the block.
    pub(crate) fn bury(&mut self, address: u64, born: u32) {
        if born != self.forks {
            self.bury_inherited(address, born);
        }
    }

    #[cold]
    fn bury_inherited(&mut self, address: u64, born: u32) {
        let died = self.forks;
        if !has_heir(&self.heirs, born, died) {
            return;
        }
        self.buried.entry(address).or_default().push((born, died));
        self.burials += 1;
        if self.burials >= self.sweep_at {
            self.sweep();
        }
    }

    fn sweep(&mut self) {
        let heirs = &self.heirs;
        self.buried.retain(|_, lives| {
            lives.retain(|&(born, died)| has_heir(heirs, born, died));
            !lives.is_empty()
        });
        self.burials = self.buried.values().map(Vec::len).sum();
        self.sweep_at = (2 * self.burials).max(FIRST_SWEEP);
    }

    fn buried_at(&self, address: u64, fork: u32) -> bool {
        let Some(lives) = self.buried.get(&address) else { return false };
        let first = lives.partition_point(|&(_, died)| died < fork);
        lives.get(first).is_some_and(|&(born, _)| born < fork)
    }

    /// Forgets the dead blocks when no heir could ask for them.
    fn unbury(&mut self) {
        self.buried = HashMap::new();
        self.burials = 0;
        self.sweep_at = FIRST_SWEEP;
    }
}

fn has_heir(heirs: &BTreeSet<u32>, born: u32, died: u32) -> bool {
    born < died && heirs.range(born + 1..=died).next().is_some()
}

/// Makes `child` an heir of `parent`: of its heap at the fork of this number, if that was noted, else of its present
/// one.
pub(crate) fn inherit<K: Copy>(
    processes: &mut [ProcessState<K>],
    parent: ProcessId,
    child: ProcessId,
    number: u32,
) {
    let state = &mut processes[parent.index()];
    let lineage = &mut state.lineage;
    let noted = lineage.expected.iter().rposition(|&(noted, _)| number != 0 && noted == number);
    let noted = noted.and_then(|place| lineage.expected.remove(place)).map(|(_, fork)| fork);
    let start = (state.phase == Phase::Running).then(|| lineage.fork());
    let Some((fork, start)) = noted.or(start).zip(start.or(noted)) else { return };
    processes[child.index()].lineage.parent = Some(Origin { parent, fork, start });
}

/// Returns whether `process` inherited a live block at this address and has not freed it; if so, frees it.
pub(crate) fn release<K: Copy>(processes: &mut [ProcessState<K>], process: ProcessId, address: u64) -> bool {
    let found = inherits(processes, process, address);
    if found {
        let lineage = &mut processes[process.index()].lineage;
        lineage.released.insert(address, lineage.forks);
    }
    found
}

fn inherits<K: Copy>(processes: &[ProcessState<K>], process: ProcessId, address: u64) -> bool {
    let own = &processes[process.index()].lineage;
    if own.released.contains_key(&address) {
        return false;
    }
    let mut above = own.parent;
    for _ in 0..MAX_GENERATIONS {
        let Some(Origin { parent, fork, start }) = above else { return false };
        let ancestor = &processes[parent.index()];
        let live = ancestor.heap.get(address).is_some_and(|block| block.forks < start);
        let is_buried = |fork| ancestor.lineage.buried_at(address, fork);
        if live || is_buried(fork) || is_buried(start) {
            return true;
        }
        if ancestor.lineage.released.get(&address).is_some_and(|&released| released < fork) {
            return false;
        }
        above = ancestor.lineage.parent;
    }
    false
}

/// Drops what an ended process kept for its heirs once there are none left, and tells its parent.
pub(crate) fn let_go<K: Copy>(processes: &mut [ProcessState<K>], process: ProcessId) {
    let mut next = Some(process);
    while let Some(process) = next {
        let state = &mut processes[process.index()];
        if !state.lineage.heirs.is_empty() {
            return;
        }
        state.lineage.unbury();
        if state.phase != Phase::Ended {
            return;
        }
        state.heap.clear();
        state.lineage.released = HashMap::new();
        next = state.lineage.parent.take().map(|Origin { parent, fork, start }| {
            let heirs = &mut processes[parent.index()].lineage.heirs;
            heirs.remove(&fork);
            heirs.remove(&start);
            parent
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that a block is buried only when a living child inherited it.
    #[test]
    fn only_inherited_blocks_are_buried() {
        let mut lineage = Lineage { forks: 2, heirs: BTreeSet::from([1]), ..Lineage::default() };
        for (address, born) in [(1, 2), (2, 1), (3, 0)] {
            lineage.bury(address, born);
        }
        assert!(!lineage.buried_at(1, 2), "born after both forks");
        assert!(!lineage.buried_at(2, 2), "inherited by child 2 alone, which has ended");
        assert!(lineage.buried_at(3, 1));
        assert_eq!(lineage.burials, 1);
    }

    /// Check that each life of an address answers for the forks within it.
    #[test]
    fn an_address_has_several_lives() {
        let mut lineage = Lineage { heirs: BTreeSet::from([1, 2, 3, 4]), ..Lineage::default() };
        for (born, died) in [(0, 1), (2, 4)] {
            lineage.forks = died;
            lineage.bury(16, born);
        }
        assert_eq!([1, 2, 3, 4, 5].map(|fork| lineage.buried_at(16, fork)), [true, false, true, true, false]);
    }

    /// Check that burials for children that have ended are swept away, so that a parent that forks for ever beside
    /// one old child stays small.
    #[test]
    fn burials_of_the_dead_are_swept() {
        let mut lineage = Lineage::default();
        for fork in 1..100_000_u32 {
            lineage.forks = fork;
            lineage.heirs = BTreeSet::from([1, fork]);
            lineage.bury(u64::from(fork), fork - 1);
        }
        assert!(lineage.burials <= FIRST_SWEEP, "{} burials", lineage.burials);
    }
}
