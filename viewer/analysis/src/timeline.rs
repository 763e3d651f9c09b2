//! The heap over time.

pub(crate) mod buckets;
pub(crate) mod history;
pub(crate) mod regions;
pub(crate) mod tracks;
