//! Whether call stacks have grown by more than allowed, between two moments or captures.
//!
//! ```text
//!  main < leaky   +1.00 MiB ─┐
//!  main < cache     +10 KiB ─┴─► 1.01 MiB: what is judged
//!  main < old     -1.00 MiB        10 KiB: the sum of all, which would hide the leak
//! ```

use super::Outcome;
use crate::compare::Compared;
use analysis::Metric;

/// The growth of call stacks, against a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Growth {
    /// The bytes of all call stacks that grew; what others shrank by is not subtracted.
    pub grown: i64,
    /// The sum of all changes.
    pub sum: i64,
    /// The limit.
    pub limit: i64,
    /// Why the outcome is uncertain.
    pub doubt: Option<&'static str>,
}

impl Growth {
    /// Judges a comparison.
    pub fn of(compared: &Compared, metric: Metric, limit: i64) -> Self {
        let Compared { diff, loaded, .. } = compared;
        let (mut grown, mut sure) = (0_i64, 0_i64);
        for row in diff.changed_as_read(&loaded.tables, &loaded.names, metric) {
            let bytes = metric.of(&row.delta()).bytes.max(0);
            grown = grown.saturating_add(bytes);
            // In sampled captures, about half of all stacks grow by chance.
            if bytes > metric.of(&row.spread).bytes_error().saturating_mul(2) {
                sure = sure.saturating_add(bytes);
            }
        }
        let became_uncertain = diff.rows.iter().map(|row| row.delta().uncertain.bytes.max(0));
        let uncertain =
            if metric == Metric::Leaked { became_uncertain.fold(0, i64::saturating_add) } else { 0 };
        let (before, after) = (&compared.before, &compared.after);
        // Of one capture, the later side has those of the earlier one, too.
        let has_contradictions = before.conflicts.max(after.conflicts) > 0;
        let depends_on_frees =
            matches!(metric, Metric::Peak | Metric::Leaked | Metric::Live | Metric::Temporary);
        let doubt = if has_contradictions && depends_on_frees {
            Some("blocks were allocated again without a recorded free")
        } else if sure > limit {
            None
        } else if grown > limit {
            Some("the growth is an estimate within two standard errors of the limit")
        } else if !compared.is_complete() {
            Some("events were lost")
        } else if grown.saturating_add(uncertain) > limit {
            Some("blocks live across a gap or a pause may have leaked")
        } else {
            None
        };
        Self { grown, sum: metric.of(&diff.delta()).bytes, limit, doubt }
    }

    /// Whether the growth is within the limit.
    pub fn outcome(&self) -> Outcome {
        match (self.doubt, self.grown > self.limit) {
            (Some(_), _) => Outcome::Untold,
            (None, true) => Outcome::Broken,
            (None, false) => Outcome::Kept,
        }
    }
}
