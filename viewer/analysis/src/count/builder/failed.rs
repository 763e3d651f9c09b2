//! Calls that returned no memory.

use super::ProfileBuilder;
use crate::count::failures::{Failure, Reason};
use crate::count::watch::Watch;
use capture::{Action, Event, NodeId, ProcessId, SumKind};

impl<W: Watch> ProfileBuilder<'_, W> {
    /// Notes a call that returned no memory.
    #[cold]
    pub(super) fn note_failure(&mut self, process: ProcessId, event: &Event) {
        let Action::AllocFailed { size, factors, alignment, error, stack } = event.action else { return };
        self.add_failure((process, stack, Reason::of(error)), (1, size), |failure| Failure {
            sizes: Some((size, size)),
            factors,
            alignment,
            threads: vec![event.thread],
            ..failure
        });
    }

    /// Notes the sum of failures in an aggregated capture.
    #[cold]
    pub(super) fn note_failures(&mut self, process: ProcessId, node: NodeId, kind: SumKind, of: (u64, u64)) {
        let reason = if kind == SumKind::Invalid { Reason::Alignment } else { Reason::Unknown };
        self.add_failure((process, node, reason), of, |failure| failure);
    }

    fn add_failure(
        &mut self,
        (process, node, reason): (ProcessId, NodeId, Reason),
        (calls, bytes): (u64, u64),
        more: impl FnOnce(Failure) -> Failure,
    ) {
        let at = self.instant();
        let (held, failures) = self.held_and_failures(process);
        failures.add(more(Failure {
            process,
            node,
            reason,
            calls,
            bytes,
            sizes: None,
            factors: None,
            alignment: 0,
            threads: Vec::new(),
            first: at,
            last: at,
            held_first: held,
            held_last: held,
        }));
    }
}
