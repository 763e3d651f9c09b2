//! Parts of a capture: what was live at a moment, what happened in a range.
//!
//! A range is counted by a pass that begins at the start of the capture, or wherever the state of one is known, and
//! forgets its sums where the range begins. What it knows of blocks, threads and forks it keeps, so blocks from before
//! are freed, resized and inherited as ever.

use super::Load;
use crate::analysis::process::Phase;
use crate::analysis::profile::{PagesPeak, Profile};
use crate::analysis::watch::{Birth, Watch};
use capture::Ended;

impl<'a, W: Watch> Load<'a, W> {
    /// Counts only the blocks that pass a test when they are born. The others are followed, so that what depends on
    /// them, such as when most was held, is as ever.
    #[must_use]
    pub fn only(mut self, test: impl Fn(&Birth) -> bool + 'a) -> Self {
        self.only = Some(Box::new(test));
        self
    }
}

impl<W: Watch> Load<'_, W> {
    /// Begins a range here: allocations, frees and losses count from now on, what is left at its end only if it was
    /// allocated in it, and its peak is the most that was held from now on, whoever allocated that.
    pub fn begin_range(&mut self) {
        self.skipped = self.events;
        self.stray_events = 0;
        self.told.begin_range(self.sites.rows());
        self.sites.restart();
        self.hold_peak();
        self.pools.rest();
        let now = self.now;
        self.processes.iter_mut().for_each(|process| process.restart(now));
    }

    /// Ends here with processes that still run, as if the recording did. What came later, such as an exec, is not known.
    pub fn cut(mut self) -> (Profile, W) {
        self.forget_ends();
        self.finish_watched()
    }

    /// Takes this moment for the peak: what is held now is what rows and processes hold there.
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
