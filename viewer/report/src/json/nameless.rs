//! Why functions have no name.

use super::stack::NOT_STORED;
use analysis::{Metric, nameless};
use engine::Loaded;
use serde::Serialize;

/// The functions that lack a name for one reason.
#[derive(Serialize)]
pub(super) struct NamelessFields<'a> {
    reason: String,
    addresses: u64,
    modules: Vec<&'a str>,
    stack_allocations: i64,
    stack_bytes: i64,
    self_allocations: i64,
    self_bytes: i64,
}

/// A row for each reason, the one with most bytes first.
pub(super) fn rows(loaded: &Loaded) -> Vec<NamelessFields<'_>> {
    let Loaded { profile, tables, names, .. } = loaded;
    let rows = nameless(profile, tables, names, Metric::Bytes).into_iter().map(|nameless| NamelessFields {
        reason: nameless.reason.unwrap_or_else(|| NOT_STORED.to_owned()),
        addresses: nameless.frames,
        modules: (nameless.modules.iter())
            .filter_map(|module| tables.modules.get(module.index()))
            .map(|module| module.path.as_str())
            .collect(),
        stack_allocations: nameless.cost.blocks,
        stack_bytes: nameless.cost.bytes,
        self_allocations: nameless.own.blocks,
        self_bytes: nameless.own.bytes,
    });
    rows.collect()
}
