//! `leaks --json`: stacks that were still allocated at the end, and the rules that hide others.

use super::head::Head;
use super::stack::Stack;
use super::write_document;
use analysis::{Amount, Metric, Row, Spread, StackState, call_of, rows, stack_states};
use capture::Sampling;
use engine::Loaded;
use serde::Serialize;
use std::io::{self, Write};

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    head: Head<'a>,
    sample_interval: Option<u64>,
    /// True when `leaked` counts unreachable blocks.
    unreachable: bool,
    reach: Option<ReachFields>,
    /// What rules and the filter leave.
    leaked: AmountFields,
    /// The part held by processes that were still running.
    running: AmountFields,
    uncertain: AmountFields,
    at_exec: AmountFields,
    suppressed: AmountFields,
    younger: AmountFields,
    older_than_ns: Option<u64>,
    unseen: AmountFields,
    filter: Option<&'a str>,
    rows: Vec<LeakFields<'a>>,
    hidden: HiddenFields,
    suppressions: Vec<UseFields<'a>>,
    unread_suppressions: &'a [String],
}

/// A number of blocks, with its standard error if it is an estimate.
#[derive(Serialize)]
struct AmountFields {
    blocks: i64,
    bytes: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocks_stderr: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_stderr: Option<i64>,
}

impl AmountFields {
    fn new(loaded: &Loaded, amount: Amount, spread: Spread) -> Self {
        let error = |error: i64| loaded.profile.sampling.map(|_| error);
        Self {
            blocks: amount.blocks,
            bytes: amount.bytes,
            blocks_stderr: error(spread.blocks_error()),
            bytes_stderr: error(spread.bytes_error()),
        }
    }
}

/// How reliable the unreachable amounts are.
#[derive(Serialize)]
struct ReachFields {
    unscanned_processes: usize,
    partial_processes: usize,
    unread_bytes: u64,
    lost_pointers: u64,
    freed_later: AmountFields,
}

#[derive(Serialize)]
struct LeakFields<'a> {
    stack: Stack<'a>,
    call: &'static str,
    state: &'static str,
    #[serde(flatten)]
    leaked: AmountFields,
}

#[derive(Serialize)]
struct HiddenFields {
    rows: usize,
    #[serde(flatten)]
    leaked: AmountFields,
}

#[derive(Serialize)]
struct UseFields<'a> {
    rule: &'a str,
    origin: &'static str,
    from: String,
    stacks: u64,
    #[serde(flatten)]
    hidden: AmountFields,
}

/// Writes the document; rows beyond `limit` are summed up.
///
/// # Errors
/// Those of the writer.
pub fn leaks(out: &mut dyn Write, loaded: &Loaded, limit: usize) -> io::Result<()> {
    let profile = &loaded.profile;
    let rows = rows(profile, Metric::Leaked);
    let (shown, rest) = rows.split_at(limit.min(rows.len()));
    let states = stack_states(&loaded.tables);
    let amount = |amount, spread| AmountFields::new(loaded, amount, spread);
    let row = |row: &Row| LeakFields {
        stack: Stack { tables: &loaded.tables, names: &loaded.names, node: row.node },
        call: call_of(&loaded.tables, row.node),
        state: states.get(row.node.index()).copied().unwrap_or(StackState::Incomplete).name(),
        leaked: amount(row.cost.leaked, row.spread.leaked),
    };
    let (total, spread) = (&profile.total, &profile.total_spread);
    let seen = loaded.seen.as_ref();
    let suppressed = loaded.suppressed.as_ref();
    let sum = |sum: (Amount, Spread), row: &Row| (sum.0 + row.cost.leaked, sum.1 + row.spread.leaked);
    let (rest_sum, rest_spread) = rest.iter().fold((Amount::ZERO, Spread::ZERO), sum);
    let document = Document {
        head: Head::new(loaded, "leaks"),
        sample_interval: profile.sampling.map(Sampling::interval),
        unreachable: loaded.reach.is_some(),
        reach: loaded.reach.map(|reach| ReachFields {
            unscanned_processes: reach.unscanned,
            partial_processes: reach.partial,
            unread_bytes: reach.unread,
            lost_pointers: reach.lost,
            freed_later: amount(reach.freed_later, Spread::ZERO),
        }),
        leaked: amount(total.leaked, spread.leaked),
        running: amount(profile.still_running(), profile.still_running_spread()),
        uncertain: amount(total.uncertain, spread.uncertain),
        at_exec: amount(total.at_exec, spread.at_exec),
        suppressed: suppressed.map_or_else(
            || amount(Amount::ZERO, Spread::ZERO),
            |suppressed| amount(suppressed.total, suppressed.spread),
        ),
        younger: suppressed.map_or_else(
            || amount(Amount::ZERO, Spread::ZERO),
            |suppressed| amount(suppressed.young, suppressed.young_spread),
        ),
        older_than_ns: suppressed.and_then(|suppressed| suppressed.older_than_ns),
        unseen: seen.map_or_else(
            || amount(Amount::ZERO, Spread::ZERO),
            |seen| amount(seen.hidden.leaked, seen.hidden_spread.leaked),
        ),
        filter: seen.and_then(|seen| seen.filter.as_deref()),
        rows: shown.iter().map(row).collect(),
        hidden: HiddenFields { rows: rest.len(), leaked: amount(rest_sum, rest_spread) },
        suppressions: suppressed.map_or_else(Vec::new, |suppressed| {
            let uses = suppressed.uses.iter().map(|used| UseFields {
                rule: &used.rule.text,
                origin: used.rule.origin.name(),
                from: used.rule.origin.to_string(),
                stacks: used.stacks,
                hidden: amount(used.amount, used.spread),
            });
            uses.collect()
        }),
        unread_suppressions: suppressed.map_or(&[], |suppressed| &suppressed.unread),
    };
    write_document(out, &document)
}
