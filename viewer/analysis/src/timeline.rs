//! The heap over time.

mod bucket_columns;
pub(crate) mod buckets;
pub(crate) mod history;
pub(crate) mod regions;
pub(crate) mod tracks;
