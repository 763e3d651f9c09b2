//! The numbers of some stacks in a part of a capture, and how far they can be relied on.

use super::culprits::Culprits;
use super::measure::Measure;
use super::rule::Section;
use super::verdict::Verdict;
use crate::loaded::Loaded;
use analysis::format::{bytes, counted};
use analysis::query::Expression;
use analysis::{Cost, Spread};
use heap_graph::Reach;

/// What some stacks cost in a part of a capture, and why that may be too low.
pub(super) struct Sum {
    cost: Cost,
    pub(super) spread: Cost<Spread>,
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
    /// Of these stacks of a capture; `unmatched` says why there are none.
    pub(super) fn of(loaded: &Loaded, section: &Section, unmatched: Option<String>) -> Sum {
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
            unmatched,
            reach,
            conflicts: anomalies.conflicts,
            invalid_frees,
            unseen_frees: unseen_frees(loaded),
            failed: i64::try_from(loaded.profile.failed_calls()).unwrap_or(i64::MAX),
            unseen_failures: unseen_failures(loaded),
        }
    }

    /// The value of a measure.
    pub(super) fn number(&self, measure: Measure) -> i64 {
        match measure {
            Measure::InvalidFrees => self.invalid_frees,
            Measure::Failed => self.failed,
            measure => measure.of(&self.cost),
        }
    }

    /// Judges a number. `error` is the standard error of its distance from the limit.
    pub(super) fn verdict(&self, section: &Section, measure: Measure, limit: i64, error: i64) -> Verdict {
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
            culprits: Culprits::default(),
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
    pub(super) fn contradiction(&self, measure: Measure) -> Option<String> {
        (self.conflicts > 0 && measure.depends_on_frees())
            .then(|| format!("no free is recorded of {}", reused(self.conflicts)))
    }

    /// Why the numbers of the capture are uncertain as a whole.
    pub(super) fn missing(&self, which: &str) -> Option<String> {
        match (self.is_cut, self.lost) {
            (true, _) => Some(format!("{which} is incomplete")),
            (false, 0) => self.unmatched.clone(),
            (false, lost) => Some(format!("{which} lost {}", counted(lost, "event"))),
        }
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
