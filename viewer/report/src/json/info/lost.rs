//! What was not recorded, and events that contradict each other.

use analysis::{Anomalies, GapTotals};
use engine::Loaded;
use serde::Serialize;

#[derive(Serialize)]
#[serde(remote = "Anomalies")]
pub(super) struct AnomalyFields {
    unmatched_frees: u64,
    frees_from_before: u64,
    inherited_frees: u64,
    lost_allocations: u64,
    lost_frees: u64,
    paused_allocations: u64,
    paused_frees: u64,
    conflicts: u64,
}

#[derive(Serialize)]
pub(super) struct Lost<'a> {
    events: u64,
    by_reason: Vec<LostFields<'a>>,
    #[serde(flatten)]
    gaps: GapFields,
}

#[derive(Serialize)]
struct LostFields<'a> {
    reason: &'a str,
    events: u64,
    advice: &'a str,
}

#[derive(Serialize)]
pub(super) struct GapFields {
    gaps: u64,
    gap_allocations: u64,
    gap_frees: u64,
}

pub(super) fn lost(loaded: &Loaded) -> Lost<'_> {
    let by_reason = loaded.tables.summary.iter().flat_map(|summary| &summary.lost);
    let by_reason =
        by_reason.map(|lost| LostFields { reason: &lost.reason, events: lost.events, advice: &lost.advice });
    Lost { events: loaded.lost_events(), by_reason: by_reason.collect(), gaps: loaded.profile.gaps().into() }
}

impl From<GapTotals> for GapFields {
    fn from(totals: GapTotals) -> Self {
        Self { gaps: totals.gaps, gap_allocations: totals.allocations, gap_frees: totals.frees }
    }
}
