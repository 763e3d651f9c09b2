//! Parts of a capture: what was live at a moment, what happened in a range.
//!
//! A range is counted by a pass that begins at the start of the capture, or wherever a saved state exists, and resets
//! its sums where the range begins. It keeps what it knows of blocks, threads and forks, so older blocks are freed,
//! resized and inherited as usual.

use super::ProfileBuilder;
use crate::count::process::Phase;
use crate::count::profile::{PagesPeak, Profile};
use crate::count::watch::{Birth, Watch};
use capture::Ended;
use std::sync::Arc;

impl<'a, W: Watch> ProfileBuilder<'a, W> {
    /// Counts only the blocks that pass a test at birth. The others are still followed, so that whatever depends on
    /// them, such as the time of the peak, stays the same.
    #[must_use]
    pub fn only(mut self, test: impl Fn(&Birth) -> bool + Send + Sync + 'a) -> Self {
        self.only = Some(Arc::new(test));
        self
    }
}

impl<W: Watch> ProfileBuilder<'_, W> {
    /// Lets time pass up to a moment without an event, so that a peak or a range there has its time.
    pub fn reach(&mut self, time: u64) {
        self.now = self.now.max(time);
    }

    /// Begins a range here. Allocations, frees and losses count from now on; blocks left at the end count only if
    /// they were allocated in the range; the peak is the most that was held from now on, whenever it was allocated.
    pub fn begin_range(&mut self) {
        self.skipped = self.events;
        self.stray_events = 0;
        self.reported.begin_range(self.sites.rows());
        self.sites.restart();
        self.hold_peak();
        self.pools.rest();
        let now = self.now;
        self.processes.iter_mut().for_each(|process| process.restart(now));
    }

    /// Stops here with processes still running, as if the recording ended now. Later events, such as an exec, are
    /// ignored.
    pub fn cut(mut self) -> (Profile, W) {
        self.forget_ends();
        self.finish_watched()
    }

    /// Makes this moment the peak: rows and processes hold there what they hold now.
    pub fn hold_peak(&mut self) {
        let at = self.instant();
        self.peak.restart(&mut self.sites, at);
        self.own_pages_peak = PagesPeak { bytes: self.own_pages, time: at.time };
        for process in &mut self.processes {
            process.hold_peak(at);
        }
    }

    fn forget_ends(&mut self) {
        for process in self.processes.iter_mut().filter(|process| process.phase != Phase::Ended) {
            process.ended = Ended::Running;
        }
    }
}
