//! Pages mapped apart from the allocator.

use super::ProfileBuilder;
use crate::count::profile::PagesPeak;
use crate::count::watch::Watch;
use capture::{Action, ProcessId};

impl<W: Watch> ProfileBuilder<'_, W> {
    /// Follows a mapping call.
    pub(super) fn note_pages(&mut self, process: ProcessId, mapping: &Action, time: u64) {
        let pages = &mut self.processes[process.index()].pages;
        let before = pages.held.cast_signed();
        pages.note(mapping);
        let grown = pages.held.cast_signed().wrapping_sub(before);
        self.own_pages = self.own_pages.wrapping_add(grown);
        if self.own_pages > self.own_pages_peak.bytes {
            self.own_pages_peak = PagesPeak { bytes: self.own_pages, time };
        }
    }
}
