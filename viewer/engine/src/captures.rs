//! Several captures as one.
//!
//! ```text
//!  a.memprof ── Loaded ─┐
//!  b.memprof ── Loaded ─┼─ Union ─► Loaded ─► lens ─► every view
//!  c.memprof ── Loaded ─┘           rows of the same stacks, processes of all
//! ```
//!
//! One capture goes the same way, without the union. Each capture is counted alone, so a moment is that moment of each
//! of them, and the peak of all is the sum of their peaks, whenever those were.

use crate::analyzer::Analyzer;
use crate::error::Error;
use crate::lens::Lens;
use crate::loaded::{Loaded, Source};
use crate::symbolize::Naming;
use analysis::query::{Labelled, Query, Unknown};
use analysis::{Names, Spelling, Union};
use capture::aggregate::AGGREGATE;
use capture::{Lost, Metadata, Summary, Tables};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Captures that views show as one.
#[derive(Clone, Copy, Debug)]
pub struct Captures<'a> {
    /// Their files.
    pub files: &'a [PathBuf],
    /// Only processes with this label.
    pub only: Option<&'a Labelled>,
}

impl Captures<'_> {
    /// What was asked for of all of them, seen through a lens.
    ///
    /// # Errors
    /// [`Error::Unknown`] when no capture has what the question names, or a process with the label; and those of the
    /// files.
    pub fn seen(&self, query: &Query, lens: &Lens, naming: &Naming) -> Result<Loaded, Error> {
        Ok(lens.show(self.loaded(query, lens, naming)?))
    }

    /// The same, before the lens is applied: for comparisons.
    ///
    /// # Errors
    /// As [`Self::seen`].
    pub fn loaded(&self, query: &Query, lens: &Lens, naming: &Naming) -> Result<Loaded, Error> {
        let (mut joined, mut values, mut missing) = (None, BTreeSet::new(), None);
        for file in self.files {
            let mut analyzer = Analyzer::open(file)?;
            if let Some(only) = self.only
                && !only.is_in(analyzer.tables())
            {
                values.extend(only.values(analyzer.tables()).map(str::to_owned));
                continue;
            }
            analyzer.be_ready_for(lens)?;
            let mut profile = match analyzer.profile(query) {
                Ok(profile) => profile,
                // Others may have what this one lacks.
                Err(Error::Unknown(unknown)) => {
                    missing.get_or_insert(unknown);
                    continue;
                }
                Err(error) => return Err(error),
            };
            if let Some(only) = self.only {
                let tables = analyzer.tables();
                let takes: Vec<bool> = only.taken(tables);
                profile.retain(|process, _| takes.get(process.index()) == Some(&true));
            }
            let loaded = analyzer.show(profile, naming.clone());
            joined = Some(match joined {
                None => Joined::new(loaded),
                Some(joined) => Joined::add(joined, loaded),
            });
        }
        let none = || missing.or_else(|| self.only.map(|only| only.unknown(values)));
        let joined = joined.ok_or_else(|| none().unwrap_or_else(|| Unknown::new("file", "", Vec::new())))?;
        Ok(joined.finish())
    }
}

/// The captures so far.
struct Joined {
    /// The first one's, apart from what was added to its numbers; without its tables once there is a union.
    loaded: Loaded,
    union: Option<Union>,
    /// Incomplete files, and why.
    cut: Vec<String>,
}

impl Joined {
    fn new(loaded: Loaded) -> Self {
        Self { cut: cut(&loaded.source).into_iter().collect(), loaded, union: None }
    }

    fn add(mut self, mut other: Loaded) -> Self {
        let loaded = &mut self.loaded;
        let mut union = self.union.take().unwrap_or_else(|| {
            let mut tables = std::mem::take(&mut loaded.tables);
            // These are at times of one recording.
            tables.marks.clear();
            tables.scans.clear();
            Union::new(tables, Spelling::Exact)
        });
        let (metadata, summary) = (std::mem::take(&mut other.tables.metadata), other.tables.summary.take());
        other.tables.metadata.labels.clone_from(&metadata.labels);
        let moved = union.add(other.tables);
        moved.adopt(&mut other.profile);
        loaded.profile.add(other.profile);
        loaded.counters.add_processes(&other.counters, |process| moved.process(process));
        loaded.looked_up = loaded.looked_up.and(other.looked_up);
        loaded.source.unknown_chunks += other.source.unknown_chunks;
        self.cut.extend(cut(&other.source));
        let tables = union.tables_mut();
        join_metadata(&mut tables.metadata, metadata);
        tables.summary = match (tables.summary.take(), summary) {
            (Some(ours), Some(others)) => Some(joined_summary(ours, others)),
            (ours, others) => ours.or(others),
        };
        self.union = Some(union);
        self
    }

    fn finish(self) -> Loaded {
        let Some(union) = self.union else { return self.loaded };
        let tables: Tables = union.finish();
        let others = self.loaded.profile.others;
        let source = Source {
            file: format!("{} and {others} more", self.loaded.source.file),
            cut: (!self.cut.is_empty()).then(|| self.cut.join("; ")),
            ..self.loaded.source
        };
        Loaded { names: Names::new(&tables), tables, source, ..self.loaded }
    }
}

fn cut(source: &Source) -> Option<String> {
    source.cut.as_ref().map(|cut| format!("{}: {cut}", source.file))
}

/// Keeps what is true of both.
fn join_metadata(ours: &mut Metadata, other: Metadata) {
    let aggregate = ours.options.iter().chain(&other.options).find(|(name, _)| name == AGGREGATE);
    let aggregate = aggregate.cloned();
    ours.options.retain(|option| other.options.contains(option) && option.0 != AGGREGATE);
    ours.options.extend(aggregate);
    ours.sample_interval = ours.sample_interval.max(other.sample_interval);
    ours.started_unix_ns = ours.started_unix_ns.min(other.started_unix_ns);
    if ours.command != other.command {
        ours.command.clear();
    }
}

/// What either lacks is missing from the numbers of both.
fn joined_summary(mut ours: Summary, other: Summary) -> Summary {
    for lost in other.lost {
        match ours.lost.iter_mut().find(|known| known.reason == lost.reason) {
            Some(known) => *known = Lost { events: known.events.saturating_add(lost.events), ..lost },
            None => ours.lost.push(lost),
        }
    }
    for remark in other.remarks {
        if !ours.remarks.contains(&remark) {
            ours.remarks.push(remark);
        }
    }
    ours.unrecorded.extend(other.unrecorded);
    ours.duration_ns = ours.duration_ns.max(other.duration_ns);
    let (cpu, others) = (&mut ours.cpu, other.cpu);
    if cpu.event.is_empty() {
        *cpu = others;
    } else {
        cpu.samples += others.samples;
        cpu.lost += others.lost;
        cpu.truncated += others.truncated;
        cpu.incomplete += others.incomplete;
    }
    ours
}
