//! Counts a recording while it goes on: the usual pass, suspended between two events.
//!
//! ```text
//!  tables so far ───► Load ──► account ──► Load ──► account …      nothing is copied, nothing is counted twice
//!                     events               more events
//! ```
//!
//! Tables grow while a recording goes on, and a pass borrows them. So between two reads the pass is kept without its
//! tables, and resumes with those of the next read, in which all rows keep their places.

use super::estimate::Estimator;
use super::load::Load;
use super::profile::{Anomalies, GapTotals};
use crate::base::cost::Amount;
use capture::{NodeId, ProcessId, Tables};
use std::sync::LazyLock;

/// What a suspended pass borrows in place of tables.
static NO_TABLES: LazyLock<Tables> = LazyLock::new(Tables::default);

/// Counts a recording while it goes on. Memory: the live blocks and the rows.
pub struct Account {
    /// Always present between two calls.
    load: Option<Load<'static>>,
    estimator: Estimator,
}

/// The present numbers of a stack of a process. Blocks of sampled recordings are in fractions: see
/// [`Account::whole`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowTotals {
    /// The process.
    pub process: ProcessId,
    /// The stack.
    pub node: NodeId,
    /// Allocated and not freed so far, by processes that still run.
    pub held: Amount,
    /// Allocated so far.
    pub allocated: Amount,
    /// Of these, freed so far.
    pub freed: Amount,
    /// Of these, freed by the thread that allocated them before its next allocation.
    pub temporary: Amount,
    /// Not freed by the time its process ended.
    pub left: Amount,
}

/// What is known of a whole process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessAnomalies {
    /// Events that contradict each other.
    pub anomalies: Anomalies,
    /// What the recording lost.
    pub gaps: GapTotals,
}

impl Account {
    /// For a recording of which nothing was counted yet, but whose metadata is known.
    pub fn new(tables: &Tables) -> Self {
        let load = Load::new(tables);
        let estimator = load.estimator();
        Self { load: Some(load.onto(&NO_TABLES)), estimator }
    }

    /// Continues with the events that `read` hands over, which belong to these tables. They must be those of the last
    /// call, possibly grown.
    pub fn go_on<'t, T>(&mut self, tables: &'t Tables, read: impl FnOnce(&mut Load<'t>) -> T) -> T {
        let load = self.load.take().unwrap_or_else(|| Load::new(&NO_TABLES));
        let mut load = load.onto(tables);
        let result = read(&mut load);
        self.load = Some(load.onto(&NO_TABLES));
        result
    }

    /// All rows; each keeps its place between calls.
    pub fn rows(&self) -> impl Iterator<Item = RowTotals> + '_ {
        self.load.iter().flat_map(Load::row_totals)
    }

    /// What is odd about a process; nothing for an unknown one.
    pub fn process_anomalies(&self, process: ProcessId) -> ProcessAnomalies {
        self.load.as_ref().and_then(|load| load.process_anomalies(process)).unwrap_or_default()
    }

    /// A sum of row amounts, in whole blocks.
    pub fn whole(&self, sum: Amount) -> Amount {
        self.estimator.whole(sum)
    }

    /// Events counted so far.
    pub fn events(&self) -> u64 {
        self.load.as_ref().map_or(0, Load::position)
    }
}
