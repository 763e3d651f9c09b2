//! What a filter, or the selection of functions, left out.

use super::cost::CostFields;
use engine::{Loaded, Seen};
use serde::Serialize;

/// The filter and the costs of what it hides.
#[derive(Serialize)]
pub(super) struct UnseenFields<'a> {
    filter: Option<&'a str>,
    #[serde(flatten)]
    cost: CostFields,
}

impl<'a> UnseenFields<'a> {
    /// None when everything is shown.
    pub(super) fn new(loaded: &'a Loaded) -> Option<Self> {
        loaded.seen.as_ref().map(|seen| Self::of(loaded, seen))
    }

    /// For what was left out of this capture, or of another profile of the same tables.
    pub(super) fn of(loaded: &Loaded, seen: &'a Seen) -> Self {
        let cost = CostFields::new(loaded, &seen.hidden, &seen.hidden_spread);
        Self { filter: seen.filter.as_deref(), cost }
    }
}
