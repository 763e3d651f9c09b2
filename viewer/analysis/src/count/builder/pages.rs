//! Pages mapped apart from the allocator.

use super::ProfileBuilder;
use crate::count::profile::PagesPeak;
use crate::count::watch::{Instant, Mapping, Watch};
use capture::{Action, ProcessId};

impl<W: Watch> ProfileBuilder<'_, W> {
    /// Follows a mapping call.
    pub(super) fn note_pages(&mut self, process: ProcessId, mapping: &Action, time: u64) {
        let at = Instant::after(self.events, time);
        let (pages, watch) = (&mut self.processes[process.index()].pages, &mut self.watch);
        let before = pages.held.cast_signed();
        pages.note(mapping, |node, change| {
            if W::LOOKS {
                watch.mapped(at, &Mapping { process, node, change, is_before: false });
            }
        });
        let grown = pages.held.cast_signed().wrapping_sub(before);
        self.own_pages = self.own_pages.wrapping_add(grown);
        if self.own_pages > self.own_pages_peak.bytes {
            self.own_pages_peak = PagesPeak { bytes: self.own_pages, time };
        }
    }
}
