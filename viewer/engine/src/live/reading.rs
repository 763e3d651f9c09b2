//! A reading: the numbers at one moment, with the most important rows.

use super::figures::{Change, Figures};
use super::follower::Follower;
use super::functions::{Function, functions};
use super::ledger::Ledger;
use super::order::{By, Order};
use super::shown::Shown;
use crate::loaded::Loaded;
use crate::symbolize::Naming;
use analysis::{Amount, natural, process_name};
use capture::{CounterKind, Ended, Error, NodeId, Process, ProcessId, Reader};
use std::cmp::Reverse;
use std::fs::File;
use std::io;
use std::sync::Arc;

/// A recording observed while it goes on, restricted to one process and its children.
pub struct Live {
    follower: Follower,
    pid: u32,
    ledger: Ledger,
    shown: Shown,
}

/// The numbers at one moment.
pub struct Reading {
    /// The process' id.
    pub pid: u32,
    /// Its name; empty before anything of it was recorded.
    pub process: String,
    /// The time of the look, in nanoseconds on the clock of [`Live::look`].
    pub time_ns: u64,
    /// Nanoseconds since the previous look: the length of steps.
    pub step_ns: u64,
    /// Nanoseconds since the beginning of growth.
    pub since_ns: u64,
    /// What rows stand for.
    pub by: By,
    /// What rows are sorted by.
    pub order: Order,
    /// The sum of all stacks.
    pub total: Change,
    /// The first stacks; empty when rows are functions.
    pub rows: Vec<Row>,
    /// The first functions; empty when rows are stacks.
    pub functions: Vec<Function>,
    /// How many rows are hidden, and for stacks their sum. Functions overlap, so they have no sum.
    pub hidden: (usize, Change),
    /// Tables and names of the rows.
    pub loaded: Arc<Loaded>,
    /// Frees of blocks that were allocated before the recording began, or by a parent before it forked.
    pub unknown_frees: u64,
    /// Allocations and frees that were lost.
    pub lost: u64,
    /// Resident memory of the process, bytes.
    pub rss: Option<u64>,
    /// Threads of the process.
    pub threads: Option<u64>,
    /// Mean sampling interval when numbers are estimates.
    pub sample_interval: Option<u64>,
    /// The process is gone, or no longer recorded.
    pub is_over: bool,
}

/// A stack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// The stack, in the tables of the reading.
    pub node: NodeId,
    /// Its numbers, and how they changed.
    pub change: Change,
}

impl Live {
    /// Observes the recording of a process in a growing capture.
    ///
    /// # Errors
    /// When the thread that looks names up cannot be started.
    pub fn new(reader: Reader<File>, pid: u32, naming: Naming) -> io::Result<Self> {
        let options = match naming {
            Naming::Stored => None,
            Naming::FromFiles(options) => Some(*options),
        };
        let shown = Shown::new(pid, options)?;
        Ok(Self { follower: Follower::new(reader), pid, ledger: Ledger::default(), shown })
    }

    /// Reads what is there; returns the length of the file up to there, which is not needed again.
    ///
    /// # Errors
    /// As [`Follower::refresh`].
    pub fn refresh(&mut self) -> Result<u64, Error> {
        self.follower.refresh()
    }

    /// Takes a look: records what was read so far under this time, in nanoseconds on a clock of the caller's that
    /// begins at 0.
    pub fn look(&mut self, time: u64) {
        let processes = &self.follower.tables().processes;
        let holds: Vec<bool> = processes.iter().map(|process| self.has_left(process)).collect();
        let holds = |process: ProcessId| holds.get(process.index()).copied().unwrap_or(false);
        let rows = self.follower.counted().row_totals();
        self.ledger.look(time, rows.map(|row| Figures::of(&row, holds(row.process))));
    }

    /// The time of the last event read, in nanoseconds since the recording began.
    pub fn time(&self) -> u64 {
        self.follower.time()
    }

    /// Makes the last look the beginning of growth.
    pub fn reset(&mut self) {
        self.ledger.reset();
    }

    /// True while names are being looked up: another reading of the same look may have more of them.
    pub fn is_naming(&self) -> bool {
        self.shown.is_naming()
    }

    /// True when the recording has ended.
    pub fn is_over(&self) -> bool {
        self.follower.is_over()
    }

    /// The last look, with the first rows in this order; waits for their names if `waits_for_names`.
    pub fn reading(&mut self, (by, order): (By, Order), limit: usize, waits_for_names: bool) -> Reading {
        let wanted = self.wanted();
        let changes = self.changes(&wanted);
        let mut total = Change::default();
        changes.iter().for_each(|(_, change)| total += *change);
        let (rows, functions, (rest, hidden)) = match by {
            By::Stacks => {
                let (rows, hidden) = self.stacks(changes, order, limit, waits_for_names);
                (rows, Vec::new(), hidden)
            }
            By::Total | By::Own => {
                let (functions, rest) = self.functions(changes, (by, order), limit, waits_for_names);
                (Vec::new(), functions, (rest, Change::default()))
            }
        };
        let counted = self.follower.counted();
        let tables = self.follower.tables();
        let processes = || (0..wanted.len()).filter(|&index| wanted[index]).map(ProcessId::from_index);
        let anomalies = processes().map(|process| counted.process_anomalies(process));
        let (mut unknown_frees, mut lost) = (0, 0);
        for one in anomalies {
            unknown_frees += one.anomalies.frees_from_before + one.anomalies.inherited_frees;
            lost += one.gaps.allocations.saturating_add(one.gaps.frees);
        }
        let told = tables.summary.iter().flat_map(|summary| &summary.lost);
        let told = told.fold(0, |sum: u64, lost| sum.saturating_add(lost.events));
        // The last image of the process itself, not of its children.
        let own = processes().rfind(|process| tables.processes[process.index()].pid == self.pid);
        let counter = |kind| own.and_then(|process| self.follower.counter(process, kind));
        let row = own.map(|process| &tables.processes[process.index()]);
        let interval = tables.metadata.sample_interval;
        Reading {
            pid: self.pid,
            process: row.map(process_name).unwrap_or_default(),
            time_ns: self.ledger.time(),
            step_ns: self.ledger.step(),
            since_ns: self.ledger.age(),
            by,
            order,
            total: total.map(|amount| counted.whole(amount)),
            rows,
            functions,
            hidden: (rest, hidden),
            loaded: self.shown.loaded(),
            unknown_frees,
            // Losses that threads could not report themselves are known at the end.
            lost: lost.max(told),
            rss: counter(CounterKind::Rss),
            threads: counter(CounterKind::Threads),
            sample_interval: Some(interval).filter(|interval| *interval > 0),
            is_over: self.is_over() || row.is_some_and(|process| process.end.is_some()),
        }
    }

    /// The first stacks, the number of the others, and their sum.
    fn stacks(
        &mut self,
        mut changes: Vec<(NodeId, Change)>,
        order: Order,
        limit: usize,
        waits_for_names: bool,
    ) -> (Vec<Row>, (usize, Change)) {
        let Self { follower, shown, .. } = self;
        let (counted, tables) = (follower.counted(), follower.tables());
        let whole = |change: Change| change.map(|amount| counted.whole(amount));
        changes.sort_unstable_by_key(|(node, change)| (Reverse(order.rank(change)), *node));
        let rest = changes.split_off(limit.min(changes.len()));
        let mut hidden = Change::default();
        rest.iter().for_each(|(_, change)| hidden += *change);
        let rows = changes
            .into_iter()
            .map(|(node, change)| Row { node: shown.enter(node, tables), change: whole(change) });
        let rows = rows.collect();
        shown.name(waits_for_names);
        (rows, (rest.len(), whole(hidden)))
    }

    /// The first functions, and the number of the others. All stacks are named, since functions are only known by
    /// name.
    fn functions(
        &mut self,
        mut changes: Vec<(NodeId, Change)>,
        (by, order): (By, Order),
        limit: usize,
        waits_for_names: bool,
    ) -> (Vec<Function>, usize) {
        let Self { follower, shown, .. } = self;
        let (counted, tables) = (follower.counted(), follower.tables());
        changes.iter_mut().for_each(|(node, _)| *node = shown.enter(*node, tables));
        shown.name(waits_for_names);
        let loaded = shown.loaded();
        let mut all = functions(&loaded, &changes);
        let rank = |function: &Function| {
            let (total, own) = (order.rank(&function.total), order.rank(&function.own));
            if by == By::Own { (own, total) } else { (total, own) }
        };
        let name = |function: &Function| loaded.names.label(function.label).name.as_str();
        all.sort_unstable_by(|a, b| rank(b).cmp(&rank(a)).then_with(|| natural(name(a), name(b))));
        let rest = all.len() - limit.min(all.len());
        all.truncate(limit);
        for function in &mut all {
            function.own = function.own.map(|amount| counted.whole(amount));
            function.total = function.total.map(|amount| counted.whole(amount));
        }
        (all, rest)
    }

    /// The change of each stack, over the wanted processes.
    fn changes(&self, wanted: &[bool]) -> Vec<(NodeId, Change)> {
        let rows = self.follower.counted().row_totals().zip(self.ledger.changes());
        let rows = rows.filter(|(row, _)| wanted.get(row.process.index()) == Some(&true));
        let mut changes: Vec<(NodeId, Change)> = rows.map(|(row, change)| (row.node, change)).collect();
        changes.sort_unstable_by_key(|(node, _)| *node);
        // Processes that share a stack are merged into one row.
        changes.dedup_by(|(node, change), (before, sum)| {
            let is_same = node == before;
            if is_same {
                *sum += *change;
            }
            is_same
        });
        let is_idle = |change: &Change| change.now.held.is_zero() && change.since == Figures::default();
        changes.retain(|(_, change)| !is_idle(change));
        changes
    }

    /// By process, whether it is the observed one or a descendant of it.
    fn wanted(&self) -> Vec<bool> {
        let mut wanted: Vec<bool> = Vec::new();
        for process in &self.follower.tables().processes {
            let of_parent = process.parent.and_then(|parent| wanted.get(parent.index()));
            let is_wanted = process.pid == self.pid || of_parent == Some(&true);
            wanted.push(is_wanted);
        }
        wanted
    }

    /// True for the process itself once it has ended: the final reading shows what it held then. What its children
    /// held, or what it held before an exec, is gone.
    fn has_left(&self, process: &Process) -> bool {
        let is_over = process.end.as_ref().is_some_and(|end| end.ended != Ended::Exec);
        process.pid == self.pid && is_over
    }
}

impl Reading {
    /// Converts a number of the last step to a rate per second.
    pub fn per_second(&self, number: i64) -> i64 {
        match self.step_ns {
            0 => 0,
            step => (number as f64 * 1e9 / step as f64).round() as i64,
        }
    }

    /// What was allocated per second in the last step.
    pub fn rate(&self, change: &Change) -> Amount {
        let Amount { blocks, bytes } = change.step.allocated;
        Amount { blocks: self.per_second(blocks), bytes: self.per_second(bytes) }
    }
}
