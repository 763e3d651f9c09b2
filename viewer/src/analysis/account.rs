//! The numbers of a recording that goes on: the same pass as ever, put down between two events.
//!
//! ```text
//!  tables of then ──► Load ──► account ──► Load ──► account …      nothing is copied, nothing is counted anew
//!                     events               more events
//! ```
//!
//! Tables grow while a recording goes on, and a pass borrows them. So between two looks the pass is kept without them, and
//! goes on with those of the next look, in which all rows are where they were.

use super::cost::Amount;
use super::estimate::Estimator;
use super::load::Load;
use super::profile::{Anomalies, GapTotals};
use capture::{NodeId, ProcessId, Tables};
use std::sync::LazyLock;

/// What a pass has while it is put down.
static NO_TABLES: LazyLock<Tables> = LazyLock::new(Tables::default);

/// Counts a recording while it goes on. Memory: its live blocks and its rows.
pub struct Account {
    /// Always there between two calls.
    load: Option<Load<'static>>,
    estimator: Estimator,
}

/// What a stack of a process stands at. Blocks of sampled recordings are in fractions: see [`Account::whole`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Whose it is.
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
    /// Not freed by a process that has ended.
    pub left: Amount,
}

/// What is known of a whole process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Oddities {
    /// What did not fit together.
    pub anomalies: Anomalies,
    /// What the recording lost.
    pub gaps: GapTotals,
}

impl Account {
    /// Of a recording of which nothing was counted yet, but its metadata is known.
    pub fn new(tables: &Tables) -> Self {
        let load = Load::new(tables);
        let estimator = load.estimator();
        Self { load: Some(load.onto(&NO_TABLES)), estimator }
    }

    /// Goes on with the events that `read` hands over, which these tables belong to. They must be those of the last call, or
    /// what these have become.
    pub fn go_on<'t, T>(&mut self, tables: &'t Tables, read: impl FnOnce(&mut Load<'t>) -> T) -> T {
        let load = self.load.take().unwrap_or_else(|| Load::new(&NO_TABLES));
        let mut load = load.onto(tables);
        let result = read(&mut load);
        self.load = Some(load.onto(&NO_TABLES));
        result
    }

    /// All rows, each at the place that it keeps.
    pub fn rows(&self) -> impl Iterator<Item = Standing> + '_ {
        self.load.iter().flat_map(Load::standings)
    }

    /// What is odd about a process; nothing for one that is not known.
    pub fn oddities(&self, process: ProcessId) -> Oddities {
        self.load.as_ref().and_then(|load| load.oddities(process)).unwrap_or_default()
    }

    /// A sum of what rows stand at, in whole blocks.
    pub fn whole(&self, sum: Amount) -> Amount {
        self.estimator.whole(sum)
    }

    /// Events counted so far.
    pub fn events(&self) -> u64 {
        self.load.as_ref().map_or(0, Load::position)
    }
}
