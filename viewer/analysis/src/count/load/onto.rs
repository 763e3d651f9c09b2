//! Continues with tables that have grown.

use super::Load;
use crate::count::account::{ProcessAnomalies, RowTotals};
use crate::count::estimate::Estimator;
use crate::count::process::ProcessState;
use crate::count::thread::ThreadState;
use capture::{ProcessId, Tables};

impl Load<'_> {
    /// The same pass over other tables, in which all rows keep their places. It counts all blocks.
    pub(crate) fn onto<'t>(self, tables: &'t Tables) -> Load<'t> {
        let Load {
            tables: _,
            only: _,
            counts_frees: _,
            sampling,
            estimator,
            mut sites,
            peak,
            own_pages,
            own_pages_peak,
            pools,
            mut processes,
            mut threads,
            watch,
            skipped,
            events,
            now,
            stray_events,
            last_time,
            mut reported,
            stage,
            stops_at_copy,
            copying,
        } = self;
        reported.onto(tables);
        sites.grow(tables.nodes.len());
        let seed = sites.seed();
        let new = tables.processes.iter().skip(processes.len());
        processes.extend(new.map(|row| ProcessState::new(seed, row)));
        threads.resize_with(tables.threads.len().max(threads.len()), ThreadState::default);
        Load {
            tables,
            only: None,
            // Not wanted for a recording that goes on.
            counts_frees: false,
            sampling,
            estimator,
            sites,
            peak,
            own_pages,
            own_pages_peak,
            pools,
            processes,
            threads,
            watch,
            skipped,
            events,
            now,
            stray_events,
            last_time,
            reported,
            stage,
            stops_at_copy,
            copying,
        }
    }

    pub(crate) fn estimator(&self) -> Estimator {
        self.estimator
    }

    /// The present numbers of all rows.
    pub(crate) fn row_totals(&self) -> impl Iterator<Item = RowTotals> + '_ {
        self.sites.rows().iter().map(|row| RowTotals {
            process: row.process,
            node: row.node,
            held: row.held,
            allocated: row.cost.allocated,
            freed: row.cost.freed,
            temporary: row.cost.temporary,
            left: row.cost.leaked + row.cost.uncertain,
        })
    }

    /// What is odd about a process so far.
    pub(crate) fn process_anomalies(&self, process: ProcessId) -> Option<ProcessAnomalies> {
        let state = self.processes.get(process.index())?;
        Some(ProcessAnomalies { anomalies: state.anomalies, gaps: state.gaps })
    }
}
