//! What a pass has found since it was last asked, as events of an aggregated capture.
//!
//! ```text
//!  every event ──► Load ──► Totals ──► sums and figures      a pass over these finds what the pass over all
//!                            what was reported so far        events had found at this moment
//! ```

use super::builder::ProfileBuilder;
use super::sites::SiteState;
use crate::base::cost::Amount;
use capture::{Action, FigureKind, NodeId, ProcessId, SumKind};
use std::collections::BTreeMap;

/// What was reported of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Row {
    allocated: Amount,
    freed: Amount,
    temporary: Amount,
    displaced: Amount,
    uncertain: Amount,
    peak: Amount,
}

impl Row {
    fn of(row: &SiteState, uncertain: Amount) -> Self {
        let cost = &row.cost;
        let ended = cost.freed + row.held + cost.live();
        Self {
            allocated: cost.allocated,
            freed: cost.freed,
            temporary: cost.temporary,
            displaced: cost.allocated - ended,
            uncertain,
            peak: cost.peak,
        }
    }

    /// The change from the reported row to this one.
    fn since(&self, told: &Self) -> impl Iterator<Item = (SumKind, Amount)> + use<> {
        let added = [
            (SumKind::Allocated, self.allocated - told.allocated),
            (SumKind::Freed, self.freed - told.freed),
            (SumKind::Temporary, self.temporary - told.temporary),
            (SumKind::Displaced, self.displaced - told.displaced),
        ];
        let added = added.into_iter().filter(|(_, amount)| !amount.is_zero());
        let uncertain = (self.uncertain != told.uncertain).then_some((SumKind::Uncertain, self.uncertain));
        let peak = (self.peak != told.peak).then_some((SumKind::Peak, self.peak));
        added.chain(uncertain).chain(peak)
    }
}

/// The figures of a process, indexed by kind.
pub(crate) type Figures = [u64; FigureKind::ALL.len()];

/// Remembers what was reported.
#[derive(Debug, Default)]
pub struct Totals {
    rows: Vec<Row>,
    /// Indices of the rows that may change.
    open: Vec<u32>,
    /// Indices of rows of processes that have ended: their share of the peak changes once more if there is a later
    /// peak.
    ended: Vec<u32>,
    /// Number of peaks so far.
    peaks: u64,
    /// Processes that may change, each with what was reported of it.
    running: Vec<(ProcessId, Option<Box<Figures>>)>,
    /// Reported calls that returned no memory, by process, stack, and whether the alignment was invalid.
    failures: BTreeMap<(ProcessId, NodeId, bool), (u64, u64)>,
    /// Number of processes seen so far.
    processes: usize,
    /// The process that figures about all processes are attributed to, and the reported ones.
    whole: (Option<ProcessId>, [u64; 4]),
}

impl Totals {
    /// Reports what has changed since the last time, in all processes.
    ///
    /// # Errors
    /// Those of the receiver.
    // Cost: visits every running process and every row of it; if events were lost, every live block of it.
    pub fn take<E>(
        &mut self,
        builder: &mut ProfileBuilder<'_>,
        mut tell: impl FnMut(ProcessId, Action) -> Result<(), E>,
    ) -> Result<(), E> {
        builder.settle();
        let new = self.processes..builder.process_count();
        self.processes = new.end;
        self.running.extend(new.map(|process| (ProcessId::from_index(process), None)));
        let uncertain = builder.uncertain(self.running.iter().map(|(process, _)| *process));
        if std::mem::replace(&mut self.peaks, builder.peaks()) != builder.peaks() {
            self.open.append(&mut self.ended);
        }
        for new in builder.site_states().iter().skip(self.rows.len()).map(|_| Row::default()) {
            self.open.extend(u32::try_from(self.rows.len()));
            self.rows.push(new);
        }
        for &place in &self.open {
            let (site, told) = (&builder.site_states()[place as usize], &mut self.rows[place as usize]);
            let row = Row::of(site, uncertain.get(&place).copied().unwrap_or_default());
            for (kind, Amount { blocks, bytes }) in row.since(told) {
                let (blocks, bytes) = (blocks.cast_unsigned(), bytes.cast_unsigned());
                tell(site.process, Action::Sum { kind, stack: site.node, blocks, bytes })?;
            }
            *told = row;
        }
        let (open, ended) = (&mut self.open, &mut self.ended);
        open.retain(|&place| {
            let site = &builder.site_states()[place as usize];
            let has_ended = builder.has_ended(site.process);
            ended.extend((has_ended && site.dirty).then_some(place));
            !has_ended
        });
        let (first, told) = &mut self.whole;
        let seen =
            || self.running.iter().map(|(process, _)| *process).find(|process| builder.is_seen(*process));
        *first = first.or_else(seen);
        if let Some(process) = *first {
            for ((kind, value), told) in builder.whole_figures().into_iter().zip(told) {
                if std::mem::replace(told, value) != value {
                    tell(process, Action::Figure { kind, value })?;
                }
            }
        }
        for (process, told) in self.running.iter_mut().filter(|(process, _)| builder.is_seen(*process)) {
            let figures = builder.figures(*process);
            let told = told.get_or_insert_with(|| Box::new([0; _]));
            for ((kind, now), told) in FigureKind::ALL.into_iter().zip(figures).zip(told.iter_mut()) {
                let before = std::mem::replace(told, now);
                if now != before {
                    let value = if kind.replaces() { now } else { now.wrapping_sub(before) };
                    tell(*process, Action::Figure { kind, value })?;
                }
            }
        }
        self.take_failures(builder, tell)?;
        self.running.retain(|(process, _)| !builder.has_ended(*process));
        Ok(())
    }

    /// Last of all, so that the receiver knows what the process holds at this moment.
    fn take_failures<E>(
        &mut self,
        builder: &ProfileBuilder<'_>,
        mut tell: impl FnMut(ProcessId, Action) -> Result<(), E>,
    ) -> Result<(), E> {
        for (process, _) in self.running.iter().filter(|(process, _)| builder.is_seen(*process)) {
            for ((stack, is_invalid), now) in builder.failure_sums(*process) {
                let told = self.failures.entry((*process, stack, is_invalid)).or_default();
                let before = std::mem::replace(told, now);
                if now != before {
                    let kind = if is_invalid { SumKind::Invalid } else { SumKind::Failed };
                    let (blocks, bytes) = (now.0.saturating_sub(before.0), now.1.saturating_sub(before.1));
                    tell(*process, Action::Sum { kind, stack, blocks, bytes })?;
                }
            }
        }
        self.failures.retain(|(process, ..), _| !builder.has_ended(*process));
        Ok(())
    }
}
