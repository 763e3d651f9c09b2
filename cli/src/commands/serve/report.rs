//! The page's data, for the whole recording and for any range in detail.

use super::question::{ScanQuestion, ViewQuestion};
use crate::commands::baseline::{BaselineFile, compared};
use crate::commands::opened_capture;
use crate::exit::Failure;
use analysis::History;
use analysis::query::{Anchor, Part, Query};
use anyhow::anyhow;
use engine::{Analyzer, Loaded, Naming};
use heap_graph::{Pace, Scanned};
use report::views::Question;
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;
use web::{self, GraphQuery, Packer, PageOptions};

/// A range of time in nanoseconds since the recording began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub(super) from: u64,
    pub(super) to: u64,
}

/// A capture, and what is known of it so far. The first request makes a pass over all events; ranges are answered
/// from its result and the events within them.
pub(super) struct Report {
    file: PathBuf,
    /// The recorded process, if the user asked for one: its next recording may be in another file.
    pid: Option<u32>,
    baseline: Option<BaselineFile>,
    naming: Naming,
    options: PageOptions,
    /// Length and modification time of the file when `known` was computed: a capture that is still written grows.
    of: Option<(u64, SystemTime)>,
    known: Option<Known>,
    /// The last answer.
    last: Option<Last>,
}

/// An answer.
struct Last {
    /// `None` for the whole recording.
    range: Option<Range>,
    /// The history of the range, if it has one of its own.
    fine: Option<History>,
    data: Arc<Vec<u8>>,
}

struct Known {
    whole: Loaded,
    history: History,
    packer: Packer,
    analyzer: Analyzer,
    /// The results of scans by index, once requested.
    scans: HashMap<usize, Arc<Vec<u8>>>,
}

/// Most scan results that are kept, of at most 4 MB each.
const MOST_SCANS: usize = 32;

impl Report {
    /// For a file that has not been read yet, compared with an older one if given.
    pub(super) fn new(
        file: PathBuf,
        pid: Option<u32>,
        baseline: Option<BaselineFile>,
        naming: Naming,
        options: PageOptions,
    ) -> Self {
        Self { file, pid, baseline, naming, options, of: None, known: None, last: None }
    }

    /// The data of a range, or of the whole recording; given up if the client leaves first.
    pub(super) fn data(
        &mut self,
        range: Option<Range>,
        gone: &Arc<AtomicBool>,
    ) -> Result<Arc<Vec<u8>>, Failure> {
        // Relaxed: a hint; a client that waited for others may have left.
        if gone.load(Ordering::Relaxed) {
            return Err(Failure::usage(anyhow!("cancelled")));
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
                let open = || opened_capture::analyzer(&self.file);
                let mut analyzer = open()?.until(gone.clone());
                let (profile, history) = analyzer.history().map_err(opened_capture::failure)?;
                let map = analyzer.map_at_peak(&profile, web::MOST_CELLS).map_err(opened_capture::failure)?;
                let whole = analyzer.show(profile, self.naming.clone());
                let (whole, changes) = compared(self.baseline.as_ref(), whole, self.naming.clone())?;
                let packer = Packer::new(&whole, &history, map, changes, &self.options)?;
                let scans = HashMap::new();
                unknown.insert(Known { whole, history, packer, analyzer: open()?, scans })
            }
        };
        let fine = match range {
            Some(Range { from, to }) => {
                known.analyzer.give_up_when(gone.clone());
                known.analyzer.history_within(&known.history, from, to).map_err(opened_capture::failure)?
            }
            None => None,
        };
        let history = fine.as_ref().unwrap_or(&known.history);
        let data = Arc::new(known.packer.served(&known.whole, &known.history, history, &self.options)?);
        self.last = Some(Last { range, fine, data: data.clone() });
        Ok(data)
    }

    /// Switches to the recording that is going on, if that is another one than the known one.
    fn follow(&mut self) {
        // If the process is no longer recorded, its last recording is shown.
        let going_on = self.pid.and_then(|pid| super::recording_of(pid).ok());
        if let Some(file) = going_on.filter(|file| *file != self.file) {
            (self.file, self.of, self.known, self.last) = (file, None, None, None);
        }
    }

    /// The call graph for a page that shows the data of this range, as input for Graphviz; `None` if the request
    /// refers to something that does not exist, for instance because the recording has gone on since.
    pub(super) fn graph(
        &mut self,
        range: Option<Range>,
        slices: Option<usize>,
        query: &GraphQuery,
        gone: &Arc<AtomicBool>,
    ) -> Result<Option<Vec<u8>>, Failure> {
        // The page shows the last result, even if the file has grown since.
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

    /// The tables of a view, from a pass of its own.
    pub(super) fn view(&self, question: &ViewQuestion, gone: &Arc<AtomicBool>) -> Result<Vec<u8>, Failure> {
        let at = |time| Anchor::Time(time).into();
        let part = question.range.map_or(Part::Whole, |Range { from, to }| Part::Range(at(from), at(to)));
        let analyzer = opened_capture::analyzer(&self.file)?.until(gone.clone());
        let (query, naming) = (Query::of(part), self.naming.clone());
        let (loaded, document) = question
            .view
            .ask(Question { analyzer, query: &query, filter: None, naming })
            .map_err(opened_capture::failure)?;
        Ok(web::view(&loaded, &document)?)
    }

    /// The result of a scan; `None` if the known recording has no such scan.
    pub(super) fn scan(
        &mut self,
        ScanQuestion { number, time }: ScanQuestion,
        gone: &Arc<AtomicBool>,
    ) -> Result<Option<Arc<Vec<u8>>>, Failure> {
        // The page shows the last result, even if the file has grown since.
        if self.known.is_none() {
            self.data(None, gone)?;
        }
        let Some(Known { whole, analyzer, scans, .. }) = &mut self.known else { return Ok(None) };
        let (tables, named) = (analyzer.tables(), &whole.tables);
        let is_meant = |place: &usize| tables.scans.get(*place).is_some_and(|scan| scan.time == time);
        let Some(place) = number.checked_sub(1).filter(is_meant) else { return Ok(None) };
        // The file was opened a moment later; what has been added since has no names yet.
        if tables.nodes.len() > named.nodes.len() || tables.processes.len() > named.processes.len() {
            return Ok(None);
        }
        if let Some(data) = scans.get(&place) {
            return Ok(Some(data.clone()));
        }
        analyzer.give_up_when(gone.clone());
        let mut found = None;
        let take = |scanned: &Scanned| {
            // Relaxed: a hint, as in the passes over events.
            let is_wanted = || !gone.load(Ordering::Relaxed);
            found = web::scan(whole, scanned, &Pace::while_wanted(&is_wanted))?.map(Arc::new);
            Ok(())
        };
        analyzer.each_scan(&[place], &self.naming, take).map_err(opened_capture::failure)?;
        if scans.len() >= MOST_SCANS {
            scans.clear();
        }
        scans.extend(found.iter().map(|data| (place, data.clone())));
        Ok(found)
    }
}
