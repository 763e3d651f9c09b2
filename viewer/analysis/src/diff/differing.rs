//! How uncertain a difference between two moments of one sampled capture is.
//!
//! ```text
//!  live at the earlier one   ████████████░░░░░░      ░ is gone at the later one
//!  live at the later one     ████████████▓▓▓▓        ▓ is new: born in between, and live at its end
//! ```
//!
//! A block that is live at both moments is the same sample in both, so whatever it stands for, it adds nothing to the
//! difference. What both have in common is the later one without the new blocks, so the difference is
//! `earlier - (later - new) + new`. A number that only grows has all of the earlier one in common.

use crate::base::cost::Cost;
use crate::base::spread::Spread;
use crate::count::profile::{Profile, Span};
use crate::count::watch::Instant;
use capture::{NodeId, ProcessId};
use std::collections::HashMap;

/// The variances of the costs at the earlier moment, at the later one, and in between.
#[derive(Clone, Copy, Default)]
struct Parts {
    earlier: Cost<Spread>,
    later: Cost<Spread>,
    new: Cost<Spread>,
    /// True when the stack holds anything at the later moment.
    is_held: bool,
}

/// By process and stack, the variances of the difference.
// Cost: linear in the rows of all three.
pub(super) fn spreads(
    before: &Profile,
    after: &Profile,
    between: &Profile,
) -> HashMap<(ProcessId, NodeId), Cost<Spread>> {
    let (earlier, later) = if place(before) <= place(after) { (before, after) } else { (after, before) };
    let mut parts: HashMap<(ProcessId, NodeId), Parts> = HashMap::new();
    let mut add = |profile: &Profile, part: fn(&mut Parts) -> &mut Cost<Spread>| {
        for (site, spread) in profile.sites_with_spread() {
            *part(parts.entry((site.process, site.node)).or_default()) += spread;
        }
    };
    add(earlier, |parts| &mut parts.earlier);
    add(later, |parts| &mut parts.later);
    add(between, |parts| &mut parts.new);
    for site in later.sites.iter().filter(|site| !site.cost.peak.is_zero()) {
        parts.entry((site.process, site.node)).or_default().is_held = true;
    }
    parts.into_iter().map(|(row, parts)| (row, parts.differ())).collect()
}

/// The moment, for its order among others.
fn place(profile: &Profile) -> Instant {
    match profile.span {
        Span::At(at) => at,
        Span::Whole | Span::Range { .. } => Instant::after(u64::MAX, u64::MAX),
    }
}

impl Parts {
    fn differ(&self) -> Cost<Spread> {
        let Self { earlier, later, new, is_held } = self;
        let changed = |earlier: Spread, later: Spread, new: Spread| (earlier + new).without(later - new);
        let held = changed(earlier.peak, later.peak, new.live());
        Cost {
            allocated: later.allocated.without(earlier.allocated),
            freed: later.freed.without(earlier.freed),
            temporary: later.temporary.without(earlier.temporary),
            // New blocks may belong to a process that has ended, and so no longer be held.
            peak: if *is_held { held } else { earlier.peak },
            leaked: changed(earlier.leaked, later.leaked, new.leaked),
            uncertain: changed(earlier.uncertain, later.uncertain, new.uncertain),
            at_exec: changed(earlier.at_exec, later.at_exec, new.at_exec),
            ..Cost::default()
        }
    }
}
