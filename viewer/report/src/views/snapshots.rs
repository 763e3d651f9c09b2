//! Which moments are really shown: those of snapshots, or the end.

use crate::table::{Value, phrase};
use analysis::{Instant, Span, seems_later};
use engine::Loaded;

/// What stands behind `±`. It is computed from the samples, and so is itself an estimate.
pub(crate) const ERROR: &str = "± is one standard error, too small where samples are few";

/// Which snapshots of an aggregated capture are shown.
pub(crate) fn snapshot_note(loaded: &Loaded) -> Option<&'static str> {
    loaded.tables.metadata.aggregate()?;
    match loaded.profile.span {
        Span::Whole => None,
        Span::At(at) if at.position == 0 => {
            Some("aggregated: no snapshot at or before that moment; this is the start of the recording")
        }
        Span::At(_) => Some("aggregated: this is the last snapshot at or before that moment"),
        Span::Range { .. } => Some(
            "aggregated: these are the last snapshots at or before those moments; 'still allocated' is the growth of each \
             stack between them",
        ),
    }
}

/// A note that a moment is after the end of the recording, whose final state is shown instead. None if both are displayed as
/// the same time, since people copy the end from there.
pub(crate) fn after_end(at: Instant, end: u64) -> Option<Value> {
    let (asked, ended) = (Value::Duration(at.time), Value::Duration(end));
    seems_later(at.time, end)
        .then(|| phrase![asked, " is after the end of the recording: this is its end, after ", ended])
}
