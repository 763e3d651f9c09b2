//! The data of the page: of all of the time, and of any range in detail.

use super::question::ScanQuestion;
use crate::commands::newer::{Older, beside};
use crate::commands::view;
use crate::exit::Failure;
use anyhow::anyhow;
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;
use viewer::analysis::History;
use viewer::graph::{Pace, Scanned};
use viewer::web::{self, GraphQuery, Packer, PageOptions};
use viewer::{Loaded, Moments, Naming};

/// A range of time in nanoseconds since the recording began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) from: u64,
    pub(super) to: u64,
}

/// A capture, and what is known of it so far. The first look is a pass over all of its events; ranges are answered from what that
/// has found and the events in them.
pub(super) struct Report {
    file: PathBuf,
    /// Whose recording it is, where a process was asked for: its next one may be another file.
    pid: Option<u32>,
    older: Option<Older>,
    naming: Naming,
    options: PageOptions,
    no_cache: bool,
    /// Length and time of the file that `known` is about: one that is still written grows.
    of: Option<(u64, SystemTime)>,
    known: Option<Known>,
    /// What was asked for last.
    last: Option<Last>,
}

/// An answer.
struct Last {
    /// None: all of the time.
    range: Option<Range>,
    /// Of the range, where it has one of its own.
    fine: Option<History>,
    data: Arc<Vec<u8>>,
}

struct Known {
    whole: Loaded,
    history: History,
    packer: Packer,
    moments: Moments,
    /// What scans found, by their places, once they were asked for.
    scans: HashMap<usize, Arc<Vec<u8>>>,
}

/// Scans of which the answer is kept, of at most 4 MB each.
const MOST_SCANS: usize = 32;

impl Report {
    /// Of a file that nobody has looked at, compared with an older one where there is one.
    pub(super) fn new(
        file: PathBuf,
        pid: Option<u32>,
        older: Option<Older>,
        naming: Naming,
        options: PageOptions,
        no_cache: bool,
    ) -> Self {
        Self { file, pid, older, naming, options, no_cache, of: None, known: None, last: None }
    }

    /// The data of a range, or of all of the time, unless whoever asks has gone before it is found.
    pub(super) fn data(
        &mut self,
        range: Option<Range>,
        gone: &Arc<AtomicBool>,
    ) -> Result<Arc<Vec<u8>>, Failure> {
        // Relaxed: a hint; who waited for others may not wait any more.
        if gone.load(Ordering::Relaxed) {
            return Err(Failure::usage(anyhow!("nobody waits for it any more")));
        }
        if range.is_none() {
            self.follow();
        }
        let now = fs::metadata(&self.file).ok().and_then(|file| Some((file.len(), file.modified().ok()?)));
        if self.of != now {
            (self.of, self.known, self.last) = (now, None, None);
        }
        if let Some(last) = self.last.as_ref().filter(|last| last.range == range) {
            return Ok(last.data.clone());
        }
        let known = match &mut self.known {
            Some(known) => known,
            unknown => {
                let open = || view::moments(&self.file, self.no_cache);
                let mut moments = open()?.until(gone.clone());
                let (profile, history) = moments.history().map_err(view::failure)?;
                let map = moments.map_at_peak(&profile, web::MOST_CELLS).map_err(view::failure)?;
                let whole = moments.show(profile, self.naming.clone());
                let (whole, beside) = beside(self.older.as_ref(), whole, self.naming.clone())?;
                let packer = Packer::new(&whole, &history, map, beside, &self.options)?;
                let scans = HashMap::new();
                unknown.insert(Known { whole, history, packer, moments: open()?, scans })
            }
        };
        let fine = match range {
            Some(Range { from, to }) => {
                known.moments.give_up_when(gone.clone());
                known.moments.history_within(&known.history, from, to).map_err(view::failure)?
            }
            None => None,
        };
        let history = fine.as_ref().unwrap_or(&known.history);
        let data = Arc::new(known.packer.served(&known.whole, &known.history, history, &self.options)?);
        self.last = Some(Last { range, fine, data: data.clone() });
        Ok(data)
    }

    /// Turns to the recording that goes on, if another one than that which is known does.
    fn follow(&mut self) {
        // Of a process that is not recorded any more its last recording is shown.
        let going_on = self.pid.and_then(|pid| super::recording_of(pid).ok());
        if let Some(file) = going_on.filter(|file| *file != self.file) {
            (self.file, self.of, self.known, self.last) = (file, None, None, None);
        }
    }

    /// The call graph of what a page shows that has the data of this range, for Graphviz; none where the question names what is not
    /// there, as when the recording has gone on since.
    pub(super) fn graph(
        &mut self,
        range: Option<Range>,
        slices: Option<usize>,
        query: &GraphQuery,
        gone: &Arc<AtomicBool>,
    ) -> Result<Option<Vec<u8>>, Failure> {
        // What the page has is what was found last, even if the file has grown.
        if self.known.is_none() || self.last.as_ref().is_none_or(|last| last.range != range) {
            self.data(range, gone)?;
        }
        let fine = self.last.as_ref().and_then(|last| last.fine.as_ref());
        let Some(known) = &self.known else { return Ok(None) };
        let shown = fine.unwrap_or(&known.history);
        let mut graph = Vec::new();
        let is_there = slices.is_none_or(|slices| slices == shown.slices.len())
            && web::graph(&mut graph, &known.whole, [&known.history, shown], query)?;
        Ok(is_there.then_some(graph))
    }

    /// What a scan found; none where the recording that is known has no such one.
    pub(super) fn scan(
        &mut self,
        ScanQuestion { number, time }: ScanQuestion,
        gone: &Arc<AtomicBool>,
    ) -> Result<Option<Arc<Vec<u8>>>, Failure> {
        // What the page has is what was found last, even if the file has grown.
        if self.known.is_none() {
            self.data(None, gone)?;
        }
        let Some(Known { whole, moments, scans, .. }) = &mut self.known else { return Ok(None) };
        let (tables, named) = (moments.tables(), &whole.tables);
        let is_meant = |place: &usize| tables.scans.get(*place).is_some_and(|scan| scan.time == time);
        let Some(place) = number.checked_sub(1).filter(is_meant) else { return Ok(None) };
        // It was opened a moment later: what it alone has has no names.
        if tables.nodes.len() > named.nodes.len() || tables.processes.len() > named.processes.len() {
            return Ok(None);
        }
        if let Some(data) = scans.get(&place) {
            return Ok(Some(data.clone()));
        }
        moments.give_up_when(gone.clone());
        let mut found = None;
        let take = |scanned: &Scanned| {
            // Relaxed: it is a hint, as for the passes over events.
            let is_wanted = || !gone.load(Ordering::Relaxed);
            found = web::scan(whole, scanned, &Pace::while_wanted(&is_wanted))?.map(Arc::new);
            Ok(())
        };
        moments.each_scan(&[place], &self.naming, take).map_err(view::failure)?;
        if scans.len() >= MOST_SCANS {
            scans.clear();
        }
        scans.extend(found.iter().map(|data| (place, data.clone())));
        Ok(found)
    }

    /// Makes the index that ranges are answered from, once all of the time was looked at. The one of a capture that is still
    /// written would be another's at the next look.
    pub(super) fn prepare(&mut self) {
        let Some(known) = self.known.as_mut().filter(|known| known.whole.tables.summary.is_some()) else {
            return;
        };
        known.moments.give_up_when(Arc::default());
        // Without one the range that is asked for tells what is wrong.
        let _ = known.moments.prepare();
    }
}
