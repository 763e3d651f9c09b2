//! What a filter, or the choice of functions, left out.

use super::cost::CostFields;
use crate::loaded::Loaded;
use serde::Serialize;

/// The filter and the costs of what it hides.
#[derive(Serialize)]
pub(super) struct UnseenFields<'a> {
    filter: Option<&'a str>,
    #[serde(flatten)]
    cost: CostFields,
}

impl<'a> UnseenFields<'a> {
    /// None where everything is shown.
    pub(super) fn new(loaded: &'a Loaded) -> Option<Self> {
        let seen = loaded.seen.as_ref()?;
        let cost = CostFields::new(loaded, &seen.hidden, &seen.hidden_spread);
        Some(Self { filter: seen.filter.as_deref(), cost })
    }
}
