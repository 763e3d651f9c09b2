//! What was never freed, in the parts that all headlines tell apart.
//!
//! ```text
//!  never freed ──┬── suppressed   by a rule that applies unasked: libc's buffers, what the program lists
//!                ├── still held   by processes that still ran when the recording ended
//!                └── leaked       the rest
//! ```

use super::suppress::Suppressions;
use crate::loaded::Loaded;
use analysis::{Amount, Spread};
use capture::Ended;

/// What was never freed, each part with its variance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Left {
    /// By processes that have ended.
    pub leaked: (Amount, Spread),
    /// By processes that still run, and may free it yet.
    pub held: (Amount, Spread),
    /// On purpose, as far as rules say that apply unasked.
    pub suppressed: (Amount, Spread),
}

impl Left {
    /// Of a capture as a whole. Where rules were applied already, these count.
    pub fn of(loaded: &Loaded) -> Self {
        let Loaded { profile, .. } = loaded;
        let mut left = Self::default();
        let hidden = match &loaded.suppressed {
            Some(suppressed) => {
                left.suppressed = (suppressed.total, suppressed.spread);
                None
            }
            None if profile.total.leaked.is_zero() => return left,
            None => Some(Suppressions::unasked().hiding(loaded)),
        };
        for (site, spread) in profile.sites_with_spread().filter(|(site, _)| !site.cost.leaked.is_zero()) {
            let is_hidden = hidden.as_ref().is_some_and(|hidden| hidden.hides(loaded, site.node));
            let part = match profile.processes.get(site.process.index()) {
                _ if is_hidden => &mut left.suppressed,
                Some(process) if process.ended == Ended::Running => &mut left.held,
                _ => &mut left.leaked,
            };
            part.0 += site.cost.leaked;
            part.1 += spread.leaked;
        }
        left
    }
}
