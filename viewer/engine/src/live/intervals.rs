//! A recording that goes on, cut into intervals: what was allocated in each, and what was held at its end.
//!
//! ```text
//!  growing capture ──► Follower ──► Load           now
//!                      reads on        │ less
//!                                      ▼
//!                                   allocated      when the last interval that was accepted ended
//! ```
//!
//! Each event is read once, however many intervals there are. An interval that is not accepted becomes part of the
//! next one, so the accepted ones add up to the recording.

use super::follower::Follower;
use super::shown::Shown;
use crate::loaded::{Loaded, Source};
use crate::symbolize::Naming;
use analysis::{Amount, Cost, Instant, Profile, Site, Span};
use capture::{Error, Reader, Sampling};
use std::fs::File;
use std::io;

/// A recording that is followed from its beginning.
pub struct Intervals {
    follower: Follower,
    shown: Shown,
    /// By row, what had been allocated when the interval began.
    allocated: Vec<Amount>,
    /// When the interval began.
    from: Instant,
}

impl Intervals {
    /// Follows a capture, with names for the functions in it.
    ///
    /// # Errors
    /// When the thread that looks names up cannot be started.
    pub fn new(reader: Reader<File>, naming: Naming) -> io::Result<Self> {
        let options = match naming {
            Naming::Stored => None,
            Naming::FromFiles(options) => Some(*options),
        };
        // For no process in particular: files are looked for at their paths here.
        let shown = Shown::new(std::process::id(), options)?;
        Ok(Self { follower: Follower::new(reader), shown, allocated: Vec::new(), from: Instant::default() })
    }

    /// Reads what is there now; returns the length of the file up to there, which grows as long as the recording goes
    /// on.
    ///
    /// # Errors
    /// When the file cannot be read, or is damaged.
    pub fn refresh(&mut self) -> Result<u64, Error> {
        self.follower.refresh()
    }

    /// True when the recording has ended: there will be no further interval.
    pub fn is_over(&self) -> bool {
        self.follower.is_over()
    }

    /// The interval up to what has been read, in nanoseconds since the recording began.
    pub fn span(&self) -> (u64, u64) {
        (self.from.time, self.now().time)
    }

    fn now(&self) -> Instant {
        let summary = self.follower.tables().summary.as_ref();
        let end = summary.map_or(0, |summary| summary.duration_ns);
        let time = end.max(self.follower.time()).max(self.from.time);
        Instant::after(self.follower.counted().position(), time)
    }

    /// When the recording began, in nanoseconds since the Unix epoch; 0 if it does not say.
    pub fn started_unix_ns(&self) -> u64 {
        self.follower.tables().metadata.started_unix_ns
    }

    /// The interval: for each stack what was allocated in it, and what is held now. The other numbers are zero. Waits
    /// for names.
    pub fn interval(&mut self) -> Loaded {
        let span = Span::Range { from: self.from, to: self.now() };
        let Self { follower, shown, allocated, .. } = self;
        let (counted, tables) = (follower.counted(), follower.tables());
        let mut sites = Vec::new();
        let mut total = Cost::default();
        for (place, row) in counted.row_totals().enumerate() {
            let before = allocated.get(place).copied().unwrap_or_default();
            let cost = Cost {
                // Both are rounded, so that intervals add up.
                allocated: counted.whole(row.allocated) - counted.whole(before),
                leaked: counted.whole(row.held + row.left),
                ..Cost::default()
            };
            if cost != Cost::default() {
                total += cost;
                let (process, node) = (row.process, shown.enter(row.node, tables));
                sites.push(Site { process, thread: None, node, cost });
            }
        }
        shown.name(true);
        let mut named = shown.tables().clone();
        named.metadata = tables.metadata.clone();
        named.processes.clone_from(&tables.processes);
        let sampling = Sampling::new(tables.metadata.sample_interval);
        Loaded::new(named, Profile { sites, total, sampling, span, ..Profile::default() }, Source::default())
    }

    /// Ends the interval here; the next one begins.
    pub fn accept(&mut self) {
        self.from = self.now();
        self.allocated.clear();
        self.allocated.extend(self.follower.counted().row_totals().map(|row| row.allocated));
    }
}
