//! Parts that these documents share.

use super::cost::CostFields;
use super::head::Head;
use super::span::SpanFields;
use super::stack::Stack;
use analysis::Amount;
use analysis::lifetimes::Age;
use capture::{NodeId, Sampling, ThreadId};
use engine::Loaded;
use serde::Serialize;

/// The beginning of each document.
#[derive(Serialize)]
pub(super) struct Start<'a> {
    #[serde(flatten)]
    head: Head<'a>,
    sample_interval: Option<u64>,
    filter: Option<&'a str>,
    total: CostFields,
    #[serde(flatten)]
    span: SpanFields,
}

impl<'a> Start<'a> {
    pub(super) fn new(loaded: &'a Loaded, document: &'static str) -> Self {
        Self {
            head: Head::new(loaded, document),
            sample_interval: loaded.profile.sampling.map(Sampling::interval),
            filter: loaded.seen.as_ref().and_then(|seen| seen.filter.as_deref()),
            total: CostFields::new(loaded, &loaded.profile.total, &loaded.profile.total_spread),
            span: loaded.profile.span.into(),
        }
    }
}

/// A number of blocks.
#[derive(Serialize)]
pub(super) struct AmountFields {
    blocks: i64,
    bytes: i64,
}

impl From<Amount> for AmountFields {
    fn from(Amount { blocks, bytes }: Amount) -> Self {
        Self { blocks, bytes }
    }
}

/// Blocks of one lifetime class.
#[derive(Serialize)]
pub(super) struct AgeFields {
    below_ns: Option<u64>,
    ended: bool,
    #[serde(flatten)]
    amount: AmountFields,
}

impl AgeFields {
    pub(super) fn new(age: Age, amount: Amount) -> Self {
        Self { below_ns: age.end_ns(), ended: age != Age::LEFT, amount: amount.into() }
    }
}

/// A thread.
#[derive(Serialize)]
pub(super) struct ThreadFields<'a> {
    pid: Option<u32>,
    tid: u32,
    name: &'a str,
}

/// A thread; none for an id that the capture does not have.
pub(super) fn thread(loaded: &Loaded, id: ThreadId) -> Option<ThreadFields<'_>> {
    let row = loaded.tables.threads.get(id.index())?;
    let pid = loaded.tables.processes.get(row.process.index()).map(|process| process.pid);
    Some(ThreadFields { pid, tid: row.tid, name: &row.name })
}

/// An address, as in `0x55d0c3a012a0`.
pub(super) fn hex(address: u64) -> String {
    format!("{address:#x}")
}

/// A stack, serialized without an intermediate copy.
pub(super) fn stack(loaded: &Loaded, node: NodeId) -> Stack<'_> {
    Stack { tables: &loaded.tables, names: &loaded.names, node }
}
