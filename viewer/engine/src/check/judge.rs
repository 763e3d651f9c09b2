//! Whether a capture complies with its rules.

use super::measure::Measure;
use super::rule::{Baseline, Rules, Section};
use crate::analyzer::Analyzer;
use crate::error::Error;
use crate::lens::Lens;
use crate::loaded::Loaded;
use crate::symbolize::Naming;
use analysis::format::{bytes, counted};
use analysis::query::{Expression, Part, Query};
use analysis::{Amount, Cost, Share, Spread};
use capture::{Frame, FrameId, Tables};
use heap_graph::Reach;
use std::path::Path;

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The capture, as the user named it.
    pub file: String,
    /// One per rule, in order.
    pub verdicts: Vec<Verdict>,
    /// Why the numbers may be too low, one sentence each.
    pub warnings: Vec<String>,
}

/// The result of one rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The user's name for it, if any.
    pub name: Option<String>,
    /// The filter for stacks, as it was written.
    pub filter: Option<String>,
    /// What was measured.
    pub measure: Measure,
    /// The measured value.
    pub actual: i64,
    /// The most that it may be.
    pub limit: i64,
    /// What the limit was derived from: the number of an earlier capture, and by how much it may be exceeded.
    pub baseline: Option<(i64, Share)>,
    /// Why the true value may be on the other side of the limit.
    pub doubt: Option<String>,
    /// It may be lower than measured, too, and not only higher.
    pub may_be_less: bool,
}

/// Whether rules hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// They hold.
    Kept,
    /// No number exceeds its limit for certain, but the capture is incomplete, or sampled.
    Untold,
    /// A number exceeds its limit, whatever is missing, and by more than an error of estimates.
    Broken,
}

impl Outcome {
    /// The answer, if there is one.
    pub fn is_kept(self) -> Option<bool> {
        match self {
            Outcome::Kept => Some(true),
            Outcome::Untold => None,
            Outcome::Broken => Some(false),
        }
    }
}

impl Verdict {
    /// Whether the rule holds.
    pub fn outcome(&self) -> Outcome {
        match (self.actual <= self.limit, &self.doubt) {
            (false, Some(_)) if self.may_be_less => Outcome::Untold,
            (false, _) => Outcome::Broken,
            (true, Some(_)) => Outcome::Untold,
            (true, None) => Outcome::Kept,
        }
    }
}

impl Report {
    /// Whether all rules hold: the worst outcome of any.
    pub fn outcome(&self) -> Outcome {
        self.verdicts.iter().map(Verdict::outcome).max().unwrap_or(Outcome::Kept)
    }
}

impl Rules {
    /// Checks a capture.
    ///
    /// # Errors
    /// Those of the capture and of the baseline, and those of moments that one of them does not have.
    pub fn check(&self, file: &Path, naming: Naming) -> Result<Report, Error> {
        let mut capture = Sums::new(self, file, "the capture", naming.clone());
        let mut report = Report { file: file.display().to_string(), ..Report::default() };
        for section in &self.sections {
            if section.limits.is_empty() {
                continue;
            }
            for (measure, limit) in section.limits.iter() {
                let sum = match measure {
                    Measure::Unreachable => capture.unreachable(section)?,
                    _ => capture.of(section)?,
                };
                report.verdicts.push(sum.verdict(section, measure, limit, measure.error(&sum.spread)));
            }
        }
        if let Some(baseline) = &self.baseline {
            let mut before = Sums::new(self, &baseline.file, "the baseline", naming);
            let everything = Section { tolerance: Some(baseline.tolerance), ..Section::default() };
            let compared = self.sections.iter().filter(|section| section.tolerance.is_some());
            for section in std::iter::once(&everything).chain(compared) {
                let (now, before) = (capture.of(section)?, before.of(section)?);
                let tolerance = section.tolerance.unwrap_or_default();
                let verdict = |measure| compare(section, measure, &now, &before, tolerance);
                report.verdicts.extend(Baseline::MEASURES.map(verdict));
            }
            report.warnings.extend(before.warnings());
        }
        report.warnings.splice(0..0, capture.warnings());
        Ok(report)
    }
}

fn compare(section: &Section, measure: Measure, now: &Sum, before: &Sum, tolerance: Share) -> Verdict {
    let earlier = before.number(measure);
    let tolerated = tolerance.as_percent() / 100.0;
    // The tolerated part is rounded down: 5 % of 10 allocations is 0.
    let limit = earlier.saturating_add((tolerated * earlier as f64).floor() as i64);
    // The limit is an estimate as well if the baseline is sampled.
    let of_limit = (1.0 + tolerated) * measure.error(&before.spread) as f64;
    let error = of_limit.hypot(measure.error(&now.spread) as f64).ceil() as i64;
    let verdict = now.verdict(section, measure, limit, error);
    // Lost frees of the baseline would raise the limit.
    let raised = || before.contradiction(measure).map(|doubt| format!("{doubt} in the baseline"));
    let doubt = verdict.doubt.or_else(|| before.missing("the baseline")).or_else(raised);
    Verdict { baseline: Some((earlier, tolerance)), doubt, ..verdict }
}

/// What some stacks cost in a part of a capture, and why that may be too low.
struct Sum {
    cost: Cost,
    spread: Cost<Spread>,
    lost: u64,
    is_cut: bool,
    /// Why the filter selects no stack of the whole capture, if it does not: the number would be 0 whatever the program
    /// did.
    unmatched: Option<String>,
    /// How reliable the unreachable amounts are.
    reach: Reach,
    /// Blocks whose addresses were allocated again without a recorded free.
    conflicts: u64,
    /// In the whole capture.
    invalid_frees: i64,
    /// Why there may be more of them.
    unseen_frees: Option<String>,
    /// In the whole capture.
    failed: i64,
    /// Why there may be more of them.
    unseen_failures: Option<String>,
}

impl Sum {
    fn of(loaded: &Loaded, section: &Section) -> Sum {
        let (cost, spread) = match &section.filter {
            None => (loaded.profile.total, loaded.profile.total_spread),
            Some(filter) => sum(loaded, filter),
        };
        let is_cut = loaded.source.cut.is_some();
        let reach = loaded.reach.unwrap_or_default();
        let anomalies = loaded.profile.anomalies();
        let invalid_frees = i64::try_from(anomalies.unmatched_frees).unwrap_or(i64::MAX);
        Sum {
            cost,
            spread,
            lost: loaded.lost_events(),
            is_cut,
            unmatched: None,
            reach,
            conflicts: anomalies.conflicts,
            invalid_frees,
            unseen_frees: unseen_frees(loaded),
            failed: i64::try_from(loaded.profile.failed_calls()).unwrap_or(i64::MAX),
            unseen_failures: unseen_failures(loaded),
        }
    }

    /// The value of a measure.
    fn number(&self, measure: Measure) -> i64 {
        match measure {
            Measure::InvalidFrees => self.invalid_frees,
            Measure::Failed => self.failed,
            measure => measure.of(&self.cost),
        }
    }

    /// Judges a number. `error` is the standard error of its distance from the limit.
    fn verdict(&self, section: &Section, measure: Measure, limit: i64, error: i64) -> Verdict {
        let actual = self.number(measure);
        let is_near = actual.abs_diff(limit) < error.unsigned_abs().saturating_mul(2);
        let estimated =
            || format!("an estimate within two standard errors ({}) of the limit", measure.text(error));
        let doubt = match is_near && actual > limit {
            true => Some(estimated()),
            false => self.doubt(measure, actual, limit).or_else(|| is_near.then(estimated)),
        };
        Verdict {
            name: section.name.clone(),
            filter: section.filter.as_ref().map(ToString::to_string),
            measure,
            actual,
            limit,
            baseline: None,
            doubt,
            may_be_less: self.reach.may_be_less() || is_near || self.contradiction(measure).is_some(),
        }
    }

    /// Why it is uncertain that a number is within its limit, apart from its error.
    fn doubt(&self, measure: Measure, actual: i64, limit: i64) -> Option<String> {
        // What was not freed is held and leaked for too long, so such a number is too high if anything. An invalid
        // free may be missing, too: it may have been taken for the one that is.
        if let Some(contradiction) = self.contradiction(measure)
            && (actual > limit || measure == Measure::InvalidFrees)
        {
            return Some(contradiction);
        }
        if let Some(missing) = self.missing("the capture") {
            return Some(missing);
        }
        if actual > limit && self.reach.may_be_less() {
            return Some("not all memory could be searched".to_owned());
        }
        if actual <= limit && self.reach.may_be_more() {
            return Some(match self.reach.unscanned {
                0 => format!("not all blocks of {} are known", counted(self.reach.partial as u64, "process")),
                unscanned => format!("{} not scanned", counted(unscanned as u64, "process")),
            });
        }
        let uncertain = self.cost.uncertain.bytes;
        if measure == Measure::Leaked && actual.saturating_add(uncertain) > limit {
            return Some(format!("another {} may have leaked", bytes(uncertain)));
        }
        if measure == Measure::InvalidFrees {
            return self.unseen_frees.clone();
        }
        if measure == Measure::Failed {
            return self.unseen_failures.clone();
        }
        None
    }

    /// What is known to be wrong with the frees that a measure depends on.
    fn contradiction(&self, measure: Measure) -> Option<String> {
        (self.conflicts > 0 && measure.depends_on_frees())
            .then(|| format!("no free is recorded of {}", reused(self.conflicts)))
    }

    /// Why the numbers of the capture are uncertain as a whole.
    fn missing(&self, which: &str) -> Option<String> {
        match (self.is_cut, self.lost) {
            (true, _) => Some(format!("{which} is incomplete")),
            (false, 0) => self.unmatched.clone(),
            (false, lost) => Some(format!("{which} lost {}", counted(lost, "event"))),
        }
    }
}

/// The sums of one capture, part by part.
struct Sums<'a> {
    rules: &'a Rules,
    file: &'a Path,
    /// What it is called in sentences.
    which: &'static str,
    naming: Naming,
    by_threads: bool,
    parts: Vec<(Part, Loaded)>,
    /// Unreachable blocks, once needed.
    unreachable: Option<Loaded>,
}

impl<'a> Sums<'a> {
    fn new(rules: &'a Rules, file: &'a Path, which: &'static str, naming: Naming) -> Self {
        let filters = rules.sections.iter().filter_map(|section| section.filter.as_ref());
        let by_threads = filters.into_iter().any(Expression::asks_for_threads);
        Self { rules, file, which, naming, by_threads, parts: Vec::new(), unreachable: None }
    }

    /// The costs of a section's stacks in its part.
    fn of(&mut self, section: &Section) -> Result<Sum, Error> {
        let unmatched = match &section.filter {
            Some(filter) => self.unmatched(filter, &section.part)?,
            None => None,
        };
        let loaded = self.part(&section.part)?;
        Ok(Sum { unmatched, ..Sum::of(loaded, section) })
    }

    /// The same with unreachable blocks in place of leaked ones.
    fn unreachable(&mut self, section: &Section) -> Result<Sum, Error> {
        let unmatched = self.of(section)?.unmatched;
        let loaded = match self.unreachable.take() {
            Some(loaded) => loaded,
            None => {
                let (rules, naming) = (&self.rules.suppressions, self.naming.clone());
                let mut analyzer = Analyzer::open(self.file)?;
                if self.by_threads {
                    analyzer.tell_threads_apart();
                }
                analyzer.unreachable(&Lens::default(), rules, naming)?
            }
        };
        let sum = Sum { unmatched, ..Sum::of(&loaded, section) };
        self.unreachable = Some(loaded);
        Ok(sum)
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
        let hint = filter.unmatched(tables, names).first().map_or(String::new(), |name| format!(": {name}"));
        Ok(Some(format!("its filter matches no stack of {which}{hint}")))
    }

    /// A part, counted when it is first asked for.
    fn part(&mut self, part: &Part) -> Result<&Loaded, Error> {
        let place = match self.parts.iter().position(|(known, _)| known == part) {
            Some(place) => place,
            None => {
                self.parts.push((part.clone(), self.read(part)?));
                self.parts.len() - 1
            }
        };
        Ok(&self.parts[place].1)
    }

    /// Whether functions on stacks were never looked up: the recording was told not to, or was truncated, and this
    /// machine does not have the files.
    fn lacks_names(&mut self) -> Result<bool, Error> {
        let is_stored = self.naming == Naming::Stored;
        let Loaded { tables, looked_up, .. } = self.part(&Part::Whole)?;
        Ok(if is_stored { has_unresolved(tables) } else { looked_up.unresolved > 0 && looked_up.named == 0 })
    }

    fn read(&self, part: &Part) -> Result<Loaded, Error> {
        let mut analyzer = Analyzer::open(self.file)?;
        if self.by_threads {
            analyzer.tell_threads_apart();
        }
        analyzer.leaks(
            &Query::of(part.clone()),
            &Lens::default(),
            &self.rules.suppressions,
            self.naming.clone(),
        )
    }

    fn warnings(&self) -> Vec<String> {
        let which = self.which;
        let Some((_, loaded)) = self.parts.first() else { return Vec::new() };
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
        let mut whole = self.parts.iter().filter(|(part, _)| *part == Part::Whole);
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

/// So many blocks whose addresses were allocated again.
fn reused(blocks: u64) -> String {
    let whose = if blocks == 1 { "whose address was" } else { "whose addresses were" };
    format!("{} {whose} allocated again", counted(blocks, "block"))
}

/// Why invalid frees may have been missed.
fn unseen_frees(loaded: &Loaded) -> Option<String> {
    if loaded.profile.sampling.is_some() {
        return Some("the capture is sampled".to_owned());
    }
    let attached = loaded.tables.processes.iter().filter(|process| process.attached).count();
    let processes = counted(attached as u64, "process");
    (attached > 0).then(|| format!("{processes} started before the recording"))
}

/// Why failed calls may have been missed.
fn unseen_failures(loaded: &Loaded) -> Option<String> {
    if !loaded.tables.metadata.tells_failed_calls() {
        return Some("the capture does not record them".to_owned());
    }
    loaded.profile.sampling.map(|_| "the capture is sampled".to_owned())
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

/// The costs of the stacks that an expression selects, and their variances.
fn sum(loaded: &Loaded, filter: &Expression) -> (Cost, Cost<Spread>) {
    let mut selection = filter.select(&loaded.tables, &loaded.names);
    let sites = loaded.profile.sites_with_spread();
    let sites = sites.filter(|(site, _)| selection.contains(site.process, site.thread, site.node));
    sites.fold(Default::default(), |(mut cost, mut variance): (Cost, Cost<Spread>), (site, spread)| {
        cost += site.cost;
        variance += spread;
        (cost, variance)
    })
}
