//! The sums of one capture, part by part.

use super::highest::Highest;
use super::measure::Measure;
use super::rule::{Rules, Section};
use super::sum::Sum;
use crate::analyzer::Analyzer;
use crate::error::Error;
use crate::lens::Lens;
use crate::loaded::Loaded;
use crate::symbolize::Naming;
use analysis::Amount;
use analysis::format::bytes;
use analysis::query::{Anchor, Expression, Filter, Part, Query};
use capture::{Frame, FrameId, Tables};
use std::path::Path;

/// The sums of one capture, each part read when it is first asked for.
pub(super) struct Sums<'a> {
    rules: &'a Rules,
    file: &'a Path,
    /// What it is called in sentences.
    which: &'static str,
    naming: Naming,
    by_threads: bool,
    /// With what each is, but those that were made for comparisons.
    read: Vec<(Option<Source>, Loaded)>,
}

/// What numbers are from.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Source {
    /// A part of the capture; of the blocks that were allocated in the regions of a name, if one is given.
    Part(Part, Option<String>),
    /// The same when these blocks, of stacks that match, held most.
    Highest(Part, String, Option<Expression>),
    /// The last scans: unreachable blocks are in the place of leaked ones.
    Scans,
}

impl Source {
    /// Where the numbers of a section are from.
    pub(super) fn of(section: &Section, measure: Measure) -> Self {
        match (measure, section.during.clone()) {
            (Measure::Unreachable, _) => Self::Scans,
            (Measure::Peak, Some(during)) if !matches!(section.part, Part::At(_)) => {
                Self::Highest(section.part.clone(), during, section.filter.clone())
            }
            (_, during) => Self::Part(section.part.clone(), during),
        }
    }

    /// All blocks of a part.
    pub(super) fn all(part: &Part) -> Self {
        Self::Part(part.clone(), None)
    }
}

impl<'a> Sums<'a> {
    pub(super) fn new(rules: &'a Rules, file: &'a Path, which: &'static str, naming: Naming) -> Self {
        let filters = rules.sections.iter().filter_map(|section| section.filter.as_ref());
        let by_threads = filters.into_iter().any(Expression::asks_for_threads);
        Self { rules, file, which, naming, by_threads, read: Vec::new() }
    }

    /// The costs of a section's stacks.
    pub(super) fn of(&mut self, section: &Section, source: &Source) -> Result<Sum, Error> {
        let unmatched = match &section.filter {
            Some(filter) => self.unmatched(filter, &section.part)?,
            None => None,
        };
        let place = self.place(source)?;
        Ok(Sum::of(&self.read[place].1, section, unmatched))
    }

    /// Where among all that is read this is.
    pub(super) fn place(&mut self, source: &Source) -> Result<usize, Error> {
        if let Some(known) = self.read.iter().position(|(known, _)| known.as_ref() == Some(source)) {
            return Ok(known);
        }
        let loaded = self.read(source)?;
        self.read.push((Some(source.clone()), loaded));
        Ok(self.read.len() - 1)
    }

    /// Keeps what was made of it, and says where.
    pub(super) fn keep(&mut self, loaded: Loaded) -> usize {
        self.read.push((None, loaded));
        self.read.len() - 1
    }

    /// All that was read.
    pub(super) fn into_loaded(self) -> impl Iterator<Item = Loaded> {
        self.read.into_iter().map(|(_, loaded)| loaded)
    }

    /// What was read there.
    pub(super) fn loaded(&self, place: usize) -> &Loaded {
        &self.read[place].1
    }

    /// Opens the capture for other queries.
    pub(super) fn analyzer(&self) -> Result<(Analyzer, Naming), Error> {
        let mut analyzer = Analyzer::open(self.file)?;
        if self.by_threads {
            analyzer.tell_threads_apart();
        }
        Ok((analyzer, self.naming.clone()))
    }

    /// Reads it anew.
    pub(super) fn read(&self, source: &Source) -> Result<Loaded, Error> {
        let ((analyzer, naming), rules) = (self.analyzer()?, &self.rules.suppressions);
        match source {
            Source::Part(part, during) => {
                analyzer.leaks(&during_of(part.clone(), during.as_deref()), &Lens::default(), rules, naming)
            }
            Source::Highest(part, during, filter) => {
                let query = during_of(part.clone(), Some(during));
                let (_, highest) =
                    analyzer.lifetimes(&query, filter.as_ref(), naming, |_| Highest::default())?;
                // Of what has the same time to the nanosecond, all counts.
                let part = Part::At(Anchor::Time(highest.finish()).into());
                self.read(&Source::Part(part, Some(during.clone())))
            }
            Source::Scans => analyzer.unreachable(&Lens::default(), rules, naming),
        }
    }

    /// Why a filter selects no stack of the whole capture, if it does not: in the part alone what it selects might
    /// simply not allocate.
    fn unmatched(&mut self, filter: &Expression, part: &Part) -> Result<Option<String>, Error> {
        if selects_any(self.part(part)?, filter) || selects_any(self.part(&Part::Whole)?, filter) {
            return Ok(None);
        }
        if filter.asks_for_functions() && self.lacks_names()? {
            return Ok(Some(format!("{} lacks function names", self.which)));
        }
        let (which, Loaded { tables, names, .. }) = (self.which, self.part(&Part::Whole)?);
        let hint = filter.unmatched(tables, names).first().map_or(String::new(), |name| format!(" ({name})"));
        Ok(Some(format!("its filter matches no stack of {which}{hint}")))
    }

    fn part(&mut self, part: &Part) -> Result<&Loaded, Error> {
        let place = self.place(&Source::all(part))?;
        Ok(&self.read[place].1)
    }

    /// Whether functions on stacks were never looked up: the recording was told not to, or was truncated, and this
    /// machine does not have the files.
    fn lacks_names(&mut self) -> Result<bool, Error> {
        let is_stored = self.naming == Naming::Stored;
        let Loaded { tables, looked_up, .. } = self.part(&Part::Whole)?;
        Ok(if is_stored { has_unresolved(tables) } else { looked_up.unresolved > 0 && looked_up.named == 0 })
    }

    /// Why its numbers may be other than the truth.
    pub(super) fn warnings(&self) -> Vec<String> {
        let which = self.which;
        let Some((_, loaded)) = self.read.first() else { return Vec::new() };
        let mut warnings = Vec::new();
        if let Some(cut) = &loaded.source.cut {
            warnings.push(format!("{which} is incomplete ({cut}); numbers cover the part before that"));
        }
        let lost = loaded.lost_events();
        if lost > 0 {
            warnings.push(format!("{which} lost {lost} events, so its numbers are too low"));
        }
        let uncertain = loaded.profile.total.uncertain;
        if !uncertain.is_zero() {
            let bytes = bytes(uncertain.bytes);
            warnings.push(format!("{bytes} in {which} may have leaked: the free may have been lost"));
        }
        let mut whole = self.read.iter().filter(|(source, _)| *source == Some(Source::all(&Part::Whole)));
        let running = whole.next().map_or(Amount::ZERO, |(_, loaded)| loaded.profile.still_running());
        if self.rules.asks_for_leaks() && !running.is_zero() {
            let bytes = bytes(running.bytes);
            warnings.push(format!("{bytes} in {which} is in processes still running: not leaked yet"));
        }
        if loaded.profile.sampling.is_some() {
            warnings.push(format!("{which} is sampled, so its numbers are estimates"));
        }
        warnings
    }
}

/// The blocks of a part that were allocated in the regions of a name.
fn during_of(part: Part, during: Option<&str>) -> Query {
    let during = during.map(str::to_owned).into_iter().collect();
    Query { filter: Filter { during, ..Filter::default() }, ..Query::of(part) }
}

/// Whether names of functions were never looked up.
fn has_unresolved(tables: &Tables) -> bool {
    let mut frames = tables.frames.iter().enumerate();
    frames.any(|(index, frame)| {
        matches!(frame, Frame::Code { module: Some(_), .. })
            && tables.symbol(FrameId::from_index(index)).is_none()
    })
}

/// Whether an expression selects any stack.
fn selects_any(loaded: &Loaded, filter: &Expression) -> bool {
    let mut selection = filter.select(&loaded.tables, &loaded.names);
    loaded.profile.sites.iter().any(|site| selection.contains(site.process, site.thread, site.node))
}
