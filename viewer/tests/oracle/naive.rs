//! A replay that is slow and plain: whole maps are copied, every sum is taken anew after each step.

use analysis::{Amount, Anomalies, Cost};
use capture::{Action, Ended, Event, NodeId, ReallocOutcome, Tables, ThreadId};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

/// What the replay found, in the shape of a profile.
#[derive(Default)]
pub(crate) struct Naive {
    pub(crate) costs: BTreeMap<(u32, u32), Cost>,
    pub(crate) anomalies: Vec<Anomalies>,
    pub(crate) in_realloc: Vec<Amount>,
    pub(crate) process_peaks: Vec<(Amount, u64)>,
    pub(crate) peak: (Amount, u64),
    pub(crate) strays: u64,
    pub(crate) failures: Failures,
}

/// By process, stack and error, each call that returned no memory: its size, thread, time, and what the process held.
pub(crate) type Failures = BTreeMap<(u32, u32, u32), Vec<(u64, u32, u64, Amount)>>;

#[derive(Clone)]
struct Block {
    size: u64,
    node: NodeId,
    thread: ThreadId,
    /// Which allocation of its thread it was.
    ordinal: u64,
    crossed: bool,
    /// Born before the range.
    before: bool,
}

struct Pending {
    thread: ThreadId,
    serial: u16,
    address: u64,
    block: Option<Block>,
    thread_gapped: bool,
}

#[derive(Default)]
struct Process {
    seen: bool,
    ended: bool,
    live: HashMap<u64, Block>,
    inherited: HashSet<u64>,
    /// What was live at each fork whose child has not begun.
    forks: Vec<(u32, HashSet<u64>)>,
    pending: Vec<Pending>,
    gaps_open: HashSet<ThreadId>,
    gapped: bool,
}

#[derive(Default)]
struct Replay {
    processes: Vec<Process>,
    /// Allocations of each thread so far; a gap counts as one.
    ordinals: HashMap<ThreadId, u64>,
    out: Naive,
    with_free_stacks: bool,
    /// What the rows hold after the last event.
    held: HashMap<(u32, u32), Amount>,
}

/// Replays everything.
pub(crate) fn replay(tables: &Tables, events: &[Event]) -> Naive {
    replay_range(tables, events, 0).0
}

/// Replays all events and counts those from this one on; gives what rows hold after the last one, too.
pub(crate) fn replay_range(
    tables: &Tables,
    events: &[Event],
    from: usize,
) -> (Naive, BTreeMap<(u32, u32), Amount>) {
    let count = tables.processes.len();
    let mut replay = Replay { with_free_stacks: tables.metadata.has_free_stacks(), ..Replay::default() };
    replay.processes.resize_with(count, Process::default);
    replay.out.anomalies.resize(count, Anomalies::default());
    replay.out.in_realloc.resize(count, Amount::ZERO);
    replay.out.process_peaks.resize(count, (Amount::ZERO, 0));
    for (index, event) in events.iter().enumerate() {
        if index == from {
            replay.forget(index.checked_sub(1).map_or(0, |last| events[last].time));
        }
        replay.event(tables, event);
    }
    if from == events.len() {
        replay.forget(events.last().map_or(0, |last| last.time));
    }
    replay.look(0);
    let held = replay.held.iter().map(|(site, held)| (*site, *held)).collect();
    for process in 0..count {
        if replay.processes[process].seen && !replay.processes[process].ended {
            replay.end(tables, process);
        }
    }
    (replay.out, held)
}

impl Process {
    /// What a child that is forked now inherits.
    fn heap(&self) -> HashSet<u64> {
        self.live.keys().chain(&self.inherited).copied().collect()
    }
}

impl Replay {
    fn event(&mut self, tables: &Tables, event: &Event) {
        match event.action {
            Action::ProcessStart { process, fork } => return self.start(tables, process.index(), fork),
            Action::ProcessEnd { process } => return self.end(tables, process.index()),
            _ => {}
        }
        let p = tables.threads[event.thread.index()].process.index();
        if self.processes[p].ended {
            self.out.strays += 1;
            return;
        }
        self.processes[p].seen = true;
        let thread = event.thread;
        match event.action {
            Action::Alloc { address, size, stack, .. } => {
                self.alloc(p, thread, address, size, stack, event.time)
            }
            Action::Free { address, stack } => match self.processes[p].live.remove(&address) {
                Some(block) => {
                    let ordinal = self.ordinals.get(&thread).copied().unwrap_or(0);
                    if block.thread == thread && block.ordinal == ordinal {
                        self.cost(p, block.node).temporary += Amount::block(block.size);
                    }
                    self.freed(p, &block, stack);
                }
                None => self.unknown(p, address),
            },
            Action::AllocFailed { size, error, stack, .. } => {
                let rows = self.held.iter().filter(|((process, _), _)| *process as usize == p);
                let held = rows.fold(Amount::ZERO, |sum, (_, held)| sum + *held);
                let calls = self.out.failures.entry((p as u32, stack.0, error)).or_default();
                calls.push((size, thread.0, event.time, held));
            }
            Action::ReallocBegin { address, serial } => {
                let (gone, kept): (Vec<_>, Vec<_>) =
                    std::mem::take(&mut self.processes[p].pending).into_iter().partition(|other| {
                        other.thread == thread && (other.serial == serial || other.thread_gapped)
                    });
                self.processes[p].pending = kept;
                for block in gone.into_iter().filter_map(|pending| pending.block) {
                    self.uncounted(p, &block);
                }
                let block = self.processes[p].live.remove(&address);
                let pending = Pending { thread, serial, address, block, thread_gapped: false };
                self.processes[p].pending.push(pending);
            }
            Action::ReallocEnd { serial, outcome } => self.realloc_end(p, event, serial, outcome),
            Action::ThreadStart => *self.ordinals.entry(thread).or_default() += 1,
            Action::Fork { fork } => {
                let heap = self.processes[p].heap();
                self.processes[p].forks.push((fork, heap));
            }
            Action::GapBegin => self.gap(p, thread, true, false),
            Action::GapEnd { .. } => self.gap(p, thread, false, true),
            Action::ThreadEnd if self.processes[p].gaps_open.contains(&thread) => {
                self.gap(p, thread, false, true)
            }
            _ => {}
        }
        self.look(event.time);
    }

    fn alloc(&mut self, p: usize, thread: ThreadId, address: u64, size: u64, node: NodeId, time: u64) {
        let ordinal = self.ordinals.entry(thread).or_default();
        *ordinal += 1;
        let block = Block {
            size,
            node,
            thread,
            ordinal: *ordinal,
            crossed: !self.processes[p].gaps_open.is_empty(),
            before: false,
        };
        self.cost(p, node).allocated += Amount::block(size);
        if let Some(old) = self.processes[p].live.insert(address, block) {
            self.uncounted(p, &old);
        }
        self.look(time);
    }

    fn realloc_end(&mut self, p: usize, event: &Event, serial: u16, outcome: ReallocOutcome) {
        let place = self.processes[p]
            .pending
            .iter()
            .rposition(|pending| pending.thread == event.thread && pending.serial == serial);
        let address = place.map(|place| self.processes[p].pending[place].address);
        match outcome {
            ReallocOutcome::Failed => {
                let Some(place) = place else { return };
                let pending = self.processes[p].pending.remove(place);
                if let Some(block) = pending.block {
                    match self.processes[p].live.entry(pending.address) {
                        Entry::Occupied(_) => self.uncounted(p, &block),
                        Entry::Vacant(place) => {
                            place.insert(block);
                        }
                    }
                }
            }
            ReallocOutcome::Freed => self.end_old(p, place, NodeId::ROOT),
            ReallocOutcome::Block { address: new, size, stack } => {
                // In place, the old block makes room for the new one; a move holds both for a moment.
                if address == Some(new) {
                    self.end_old(p, place, stack);
                    self.alloc(p, event.thread, new, size, stack, event.time);
                } else {
                    self.alloc(p, event.thread, new, size, stack, event.time);
                    self.end_old(p, place, stack);
                }
            }
        }
    }

    /// A block was freed by a call with this stack.
    fn freed(&mut self, p: usize, block: &Block, stack: NodeId) {
        self.cost(p, block.node).freed += Amount::block(block.size);
        if self.with_free_stacks {
            self.cost(p, stack).frees += Amount::block(block.size);
        }
    }

    fn end_old(&mut self, p: usize, place: Option<usize>, stack: NodeId) {
        match place.map(|place| self.processes[p].pending.remove(place)) {
            Some(Pending { block: Some(block), .. }) => self.freed(p, &block, stack),
            Some(pending) => self.unknown(p, pending.address),
            None if self.processes[p].gapped => {}
            None => self.out.anomalies[p].unmatched_frees += 1,
        }
    }

    fn unknown(&mut self, p: usize, address: u64) {
        let anomalies = &mut self.out.anomalies[p];
        if self.processes[p].inherited.remove(&address) {
            anomalies.inherited_frees += 1;
        } else if self.processes[p].gapped {
            anomalies.lost_allocations += 1;
        } else {
            anomalies.unmatched_frees += 1;
        }
    }

    fn uncounted(&mut self, p: usize, block: &Block) {
        if block.crossed {
            self.out.anomalies[p].lost_frees += 1;
        } else {
            self.out.anomalies[p].conflicts += 1;
        }
    }

    fn gap(&mut self, p: usize, thread: ThreadId, begin: bool, end: bool) {
        let process = &mut self.processes[p];
        process.gapped = true;
        for block in
            process.live.values_mut().chain(process.pending.iter_mut().filter_map(|p| p.block.as_mut()))
        {
            block.crossed = true;
        }
        let opens = !process.gaps_open.contains(&thread);
        for pending in process.pending.iter_mut().filter(|pending| opens && pending.thread == thread) {
            pending.thread_gapped = true;
        }
        if begin {
            process.gaps_open.insert(thread);
        }
        if end {
            process.gaps_open.remove(&thread);
        }
        *self.ordinals.entry(thread).or_default() += 1;
    }

    fn start(&mut self, tables: &Tables, p: usize, fork: u32) {
        if self.processes[p].seen {
            self.out.strays += 1;
            return;
        }
        self.processes[p].seen = true;
        let row = &tables.processes[p];
        let parent = row.parent.filter(|_| row.forked).map(|parent| &mut self.processes[parent.index()]);
        let Some(parent) = parent else { return };
        let at_fork = parent.forks.iter().rposition(|(number, _)| fork != 0 && *number == fork);
        // What other threads have allocated between the record and the call is there at the start.
        let mut inherited = at_fork.map(|place| parent.forks.remove(place).1).unwrap_or_default();
        if parent.seen && !parent.ended {
            inherited.extend(parent.heap());
        }
        let gapped = parent.gapped;
        self.processes[p].inherited = inherited;
        self.processes[p].gapped |= gapped;
    }

    fn end(&mut self, tables: &Tables, p: usize) {
        if self.processes[p].ended {
            self.out.strays += 1;
            return;
        }
        let exec = tables.processes[p].end.as_ref().is_some_and(|end| end.ended == Ended::Exec);
        let process = &mut self.processes[p];
        (process.seen, process.ended) = (true, true);
        let pending: Vec<Block> = process.pending.drain(..).filter_map(|pending| pending.block).collect();
        for block in &pending {
            self.out.in_realloc[p] += Amount::block(block.size);
        }
        let live: Vec<Block> = process.live.drain().map(|(_, block)| block).collect();
        for block in pending.into_iter().chain(live).filter(|block| !block.before) {
            let amount = Amount::block(block.size);
            let cost = self.cost(p, block.node);
            if exec {
                cost.at_exec += amount;
            } else if block.crossed {
                cost.uncertain += amount;
            } else {
                cost.leaked += amount;
            }
        }
    }

    fn cost(&mut self, p: usize, node: NodeId) -> &mut Cost {
        self.out.costs.entry((u32::try_from(p).unwrap(), node.0)).or_default()
    }

    /// Forgets all sums, and marks the blocks that are there.
    fn forget(&mut self, time: u64) {
        let processes = self.processes.len();
        self.out = Naive { in_realloc: vec![Amount::ZERO; processes], ..Naive::default() };
        self.out.anomalies.resize(processes, Anomalies::default());
        self.out.process_peaks.resize(processes, (Amount { blocks: 0, bytes: -1 }, 0));
        self.out.peak = (Amount { blocks: 0, bytes: -1 }, 0);
        for process in &mut self.processes {
            let pending = process.pending.iter_mut().filter_map(|pending| pending.block.as_mut());
            process.live.values_mut().chain(pending).for_each(|block| block.before = true);
        }
        self.look(time);
    }

    /// Takes every sum anew.
    fn look(&mut self, time: u64) {
        let mut held: HashMap<(u32, u32), Amount> = HashMap::new();
        let mut all = Amount::ZERO;
        for (p, process) in self.processes.iter().enumerate() {
            let mut own = Amount::ZERO;
            let pending = process.pending.iter().filter_map(|pending| pending.block.as_ref());
            for block in process.live.values().chain(pending) {
                own += Amount::block(block.size);
                *held.entry((u32::try_from(p).unwrap(), block.node.0)).or_default() +=
                    Amount::block(block.size);
            }
            if own.bytes > self.out.process_peaks[p].0.bytes {
                self.out.process_peaks[p] = (own, time);
            }
            all += own;
        }
        if all.bytes > self.out.peak.0.bytes {
            self.out.peak = (all, time);
            self.out.costs.values_mut().for_each(|cost| cost.peak = Amount::ZERO);
            for (site, held) in &held {
                self.out.costs.entry(*site).or_default().peak = *held;
            }
        }
        self.held = held;
    }
}
