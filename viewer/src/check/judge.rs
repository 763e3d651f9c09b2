//! Whether a capture keeps to its rules.

use super::measure::Measure;
use super::rule::{Baseline, Rules, Section};
use crate::analysis::{Cost, Share};
use crate::loaded::Loaded;
use crate::moments::Moments;
use crate::open::Error;
use crate::query::{Expression, Lens, Part, Query};
use crate::symbolize::Naming;
use std::path::Path;

/// What came out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The capture, as the user named it.
    pub file: String,
    /// One per rule, in their order.
    pub verdicts: Vec<Verdict>,
    /// What makes the numbers less than the whole truth, one sentence each.
    pub warnings: Vec<String>,
}

/// What came out of one rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// What the user calls it; none where it has no name.
    pub name: Option<String>,
    /// The stacks that count, as the filter was written.
    pub filter: Option<String>,
    /// What was measured.
    pub measure: Measure,
    /// How much it is.
    pub actual: i64,
    /// The most that it may be.
    pub limit: i64,
    /// What the limit was taken from: an earlier capture's number and how far it may be exceeded.
    pub baseline: Option<(i64, Share)>,
}

impl Verdict {
    /// True when the rule is kept.
    pub fn is_kept(&self) -> bool {
        self.actual <= self.limit
    }
}

impl Report {
    /// True when all rules are kept.
    pub fn is_kept(&self) -> bool {
        self.verdicts.iter().all(Verdict::is_kept)
    }
}

impl Rules {
    /// Checks a capture.
    ///
    /// # Errors
    /// Those of the capture and of the baseline, and moments that one of them does not have.
    pub fn check(&self, file: &Path, naming: Naming) -> Result<Report, Error> {
        let mut capture = Sums::new(self, file, naming.clone());
        let mut report = Report { file: file.display().to_string(), ..Report::default() };
        for section in &self.sections {
            if section.limits.is_empty() {
                continue;
            }
            let cost = capture.of(section)?;
            report.verdicts.extend(section.limits.iter().map(|(measure, limit)| Verdict {
                name: section.name.clone(),
                filter: section.filter.as_ref().map(ToString::to_string),
                measure,
                actual: measure.of(&cost),
                limit,
                baseline: None,
            }));
        }
        if let Some(baseline) = &self.baseline {
            let mut before = Sums::new(self, &baseline.file, naming);
            let everything = Section { tolerance: Some(baseline.tolerance), ..Section::default() };
            let compared = self.sections.iter().filter(|section| section.tolerance.is_some());
            for section in std::iter::once(&everything).chain(compared) {
                let (now, before) = (capture.of(section)?, before.of(section)?);
                let tolerance = section.tolerance.unwrap_or_default();
                let verdict = |measure| compare(section, measure, &now, &before, tolerance);
                report.verdicts.extend(Baseline::MEASURES.map(verdict));
            }
            report.warnings.extend(before.warnings("the baseline"));
        }
        report.warnings.splice(0..0, capture.warnings("the capture"));
        Ok(report)
    }
}

fn compare(section: &Section, measure: Measure, now: &Cost, before: &Cost, tolerance: Share) -> Verdict {
    let before = measure.of(before);
    Verdict {
        name: section.name.clone(),
        filter: section.filter.as_ref().map(ToString::to_string),
        measure,
        actual: measure.of(now),
        // The part that is tolerated is rounded down: 5 % of 10 allocations are none.
        limit: before.saturating_add((tolerance.as_percent() / 100.0 * before as f64).floor() as i64),
        baseline: Some((before, tolerance)),
    }
}

/// The sums of one capture, part by part.
struct Sums<'a> {
    rules: &'a Rules,
    file: &'a Path,
    naming: Naming,
    by_threads: bool,
    parts: Vec<(Part, Loaded)>,
}

impl<'a> Sums<'a> {
    fn new(rules: &'a Rules, file: &'a Path, naming: Naming) -> Self {
        let filters = rules.sections.iter().filter_map(|section| section.filter.as_ref());
        let by_threads = filters.into_iter().any(Expression::asks_for_threads);
        Self { rules, file, naming, by_threads, parts: Vec::new() }
    }

    /// The costs of a section's stacks in its part.
    fn of(&mut self, section: &Section) -> Result<Cost, Error> {
        let place = match self.parts.iter().position(|(part, _)| *part == section.part) {
            Some(place) => place,
            None => {
                self.parts.push((section.part.clone(), self.read(&section.part)?));
                self.parts.len() - 1
            }
        };
        let (_, loaded) = &self.parts[place];
        Ok(match &section.filter {
            None => loaded.profile.total,
            Some(filter) => sum(loaded, filter),
        })
    }

    fn read(&self, part: &Part) -> Result<Loaded, Error> {
        let mut moments = Moments::open(self.file)?;
        if self.by_threads {
            moments.tell_threads_apart();
        }
        moments.leaks(
            &Query::of(part.clone()),
            &Lens::default(),
            &self.rules.suppressions,
            self.naming.clone(),
        )
    }

    fn warnings(&self, which: &str) -> Vec<String> {
        let Some((_, loaded)) = self.parts.first() else { return Vec::new() };
        let mut warnings = Vec::new();
        if let Some(cut) = &loaded.source.cut {
            warnings.push(format!("{which} is incomplete ({cut}); numbers are up to there"));
        }
        let lost = loaded.lost_events();
        if lost > 0 {
            warnings.push(format!("{which} lacks {lost} events that were lost, so its numbers are too low"));
        }
        let uncertain = loaded.profile.total.uncertain;
        if !uncertain.is_zero() {
            let bytes = crate::format::bytes(uncertain.bytes);
            warnings.push(format!("{bytes} in {which} may be leaked or not: their free may have been lost"));
        }
        if loaded.profile.sampling.is_some() {
            warnings.push(format!("{which} is sampled, so its numbers are estimates"));
        }
        warnings
    }
}

/// The costs of the stacks that an expression selects.
fn sum(loaded: &Loaded, filter: &Expression) -> Cost {
    let mut selection = filter.select(&loaded.tables, &loaded.names);
    let sites = loaded.profile.sites.iter();
    let sites = sites.filter(|site| selection.contains(site.process, site.thread, site.node));
    sites.fold(Cost::default(), |mut sum, site| {
        sum += site.cost;
        sum
    })
}
