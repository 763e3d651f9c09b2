//! `leaks`: what was still allocated at the end, by stack, and what only seems leaked.
//!
//! ```text
//! app.memprof: 20 B in 1 block, still allocated at exit
//!   not included: 100 B in 1 block suppressed by the rules below
//!
//! 20 B (100 %) in 1 block from malloc
//!     f  f.c:11
//!     main  m.c:14
//!
//! Suppressions
//!     bytes      blocks      stacks  rule
//!     100 B           1           1  cache  (list:1)
//! ```

use super::fields::sample_interval;
use super::footnotes::footnotes;
use crate::table::{Column, Document, Fields, Head, Most, Readers, Row, Table, Title, Value, phrase};
use analysis::{
    Amount, Metric, Row as StackCost, Spread, StackState, call_of, process_name, rows, rows_as_read,
    stack_states,
};
use capture::Ended;
use engine::{Loaded, Suppressed, Use};
use heap_graph::Reach;
use std::cmp::Reverse;

/// The stacks that hold most at the end, at most `limit`.
pub fn leaks(loaded: &Loaded, limit: usize, readers: Readers) -> Document {
    let metric = Metric::Leaked;
    let Loaded { profile, tables, names, .. } = loaded;
    let rows = match readers {
        Readers::Programs => rows(profile, metric),
        _ => rows_as_read(profile, tables, names, metric),
    };
    let (shown, hidden) = rows.split_at(limit.max(1).min(rows.len()));
    let sum = hidden.iter().fold((Amount::ZERO, Spread::ZERO), |(amount, spread), row| {
        (amount + row.cost.leaked, spread + row.spread.leaked)
    });
    let mut tables = vec![stacks(loaded, shown, (hidden.len(), sum))];
    if readers != Readers::Programs {
        tables.extend(loaded.suppressed.as_ref().map(suppressions));
        tables.extend(footnotes(loaded, metric));
    }
    let hidden = vec![("rows", Value::count(hidden.len() as u64)), ("", Value::Estimate(sum.0, sum.1))];
    let more =
        std::iter::once(("hidden", Value::Record(hidden))).chain(fields_of_rules(loaded.suppressed.as_ref()));
    Document {
        head: Head::File,
        notes: beside(loaded),
        fields: fields(loaded),
        more: more.collect(),
        ..Document::new("leaks", Title::Amount(metric), tables)
    }
}

fn stacks(loaded: &Loaded, shown: &[StackCost], (hidden, rest): (usize, (Amount, Spread))) -> Table {
    let total = loaded.profile.total.leaked;
    let states = stack_states(&loaded.tables);
    let what = |(leaked, spread): (Amount, Spread), from: Value| {
        let share = Value::Share(leaked.bytes, total.bytes);
        let blocks = Value::counted(leaked.blocks, "block").about(spread.blocks_error());
        phrase![Value::size_of(leaked, spread), " (", share, ") in ", blocks, " from ", from]
    };
    let row = |row: &StackCost| {
        let (leaked, spread) = (row.cost.leaked, row.spread.leaked);
        let call = call_of(&loaded.tables, row.node);
        let state = states.get(row.node.index()).copied().unwrap_or(StackState::Incomplete);
        let cells =
            [Value::Stack(row.node), call.into(), state.name().into(), Value::Estimate(leaked, spread)];
        Row::new(cells, what((leaked, spread), call.into())).below([Row::new([], Value::Frames(row.node))])
    };
    let more =
        (hidden > 0).then(|| Row::new([], what(rest, Value::Rest(hidden, "more stack".into(), "--limit"))));
    let columns = ["stack", "call", "state", ""].map(Column::field);
    let table = Table::new("rows", columns, "").spaced().rows(shown.iter().map(row).chain(more));
    Table { most: Most::All, ..table }
}

fn fields(loaded: &Loaded) -> Fields {
    let profile = &loaded.profile;
    let (total, spread) = (&profile.total, &profile.total_spread);
    let (seen, suppressed) = (loaded.seen.as_ref(), loaded.suppressed.as_ref());
    let none = (Amount::ZERO, Spread::ZERO);
    let estimate = |(amount, spread)| Value::Estimate(amount, spread);
    let hidden = suppressed.map_or(none, |rules| (rules.total, rules.spread));
    let younger = suppressed.map_or(none, |rules| (rules.young, rules.young_spread));
    let older_than = suppressed.and_then(|rules| rules.older_than_ns).map(Value::Duration);
    let unseen = seen.map_or(none, |seen| (seen.hidden.leaked, seen.hidden_spread.leaked));
    let reach = loaded.reach.map(|reach| {
        Value::Record(vec![
            ("unscanned_processes", Value::count(reach.unscanned as u64)),
            ("partial_processes", Value::count(reach.partial as u64)),
            ("unread_bytes", Value::bytes(reach.unread)),
            ("lost_pointers", Value::count(reach.lost)),
            ("freed_later", estimate((reach.freed_later, Spread::ZERO))),
        ])
    });
    vec![
        ("sample_interval", sample_interval(loaded)),
        ("unreachable", Value::Flag(loaded.reach.is_some())),
        ("reach", Value::known(reach)),
        ("leaked", estimate((total.leaked, spread.leaked))),
        ("running", estimate((profile.still_running(), profile.still_running_spread()))),
        ("uncertain", estimate((total.uncertain, spread.uncertain))),
        ("at_exec", estimate((total.at_exec, spread.at_exec))),
        ("suppressed", estimate(hidden)),
        ("younger", estimate(younger)),
        ("older_than_ns", Value::known(older_than)),
        ("unseen", estimate(unseen)),
        ("filter", Value::known(seen.and_then(|seen| seen.filter.clone()))),
    ]
}

/// What is counted although it may be freed yet, and what is not counted although it was never freed.
fn beside(loaded: &Loaded) -> Vec<Value> {
    let (profile, suppressed) = (&loaded.profile, loaded.suppressed.as_ref());
    if let Some(reach) = &loaded.reach {
        return reached(reach).into_iter().chain(suppressed.into_iter().flat_map(left_out)).collect();
    }
    let mut notes = Vec::new();
    let running = profile.still_running();
    if !running.is_zero() {
        let number = profile.processes.iter().filter(|process| process.ended == Ended::Running);
        let number = number.filter(|process| process.seen).count();
        let running = Value::Estimate(running, profile.still_running_spread());
        let processes = Value::counted(number as u64, "process");
        notes.push(phrase!["including ", running, " in ", processes, " still running: not leaked yet"]);
    }
    let (killed, spread) = profile.killed();
    if !killed.is_zero() {
        let killed = Value::Estimate(killed, spread);
        notes.push(phrase![
            "including ",
            killed,
            " in processes killed by a signal, which could not free them"
        ]);
    }
    let (total, spread) = (&profile.total, &profile.total_spread);
    if !total.uncertain.is_zero() {
        let what = interruption(profile.gaps().gaps, profile.pauses().pauses);
        let uncertain = Value::Estimate(total.uncertain, spread.uncertain);
        notes.push(phrase![
            "not included: ",
            uncertain,
            ", uncertain: live across ",
            what,
            ", so the free may have been lost"
        ]);
    }
    if !total.at_exec.is_zero() {
        let at_exec = Value::Estimate(total.at_exec, spread.at_exec);
        notes.push(phrase!["not included: ", at_exec, " live when exec replaced ", replaced(loaded)]);
    }
    notes.extend(suppressed.into_iter().flat_map(left_out));
    // This is only known for whole processes, not for stacks.
    let is_whole = loaded.seen.is_none() && suppressed.is_none();
    let in_realloc: Amount = profile.processes.iter().map(|process| process.in_realloc).sum();
    if is_whole && !in_realloc.is_zero() {
        notes.push(phrase!["in a realloc that did not return: ", in_realloc]);
    }
    notes
}

/// Why the end of blocks is uncertain.
pub(crate) fn interruption(gaps: u64, pauses: u64) -> &'static str {
    match (gaps, pauses) {
        (_, 0) => "a gap",
        (0, _) => "a pause",
        _ => "a gap or a pause",
    }
}

/// How reliable the unreachable amounts are.
fn reached(reach: &Reach) -> Vec<Value> {
    let processes = |count: usize| Value::counted(count as u64, "process");
    let lacks = [
        (reach.unscanned > 0).then(|| {
            phrase![
                "not scanned: ",
                processes(reach.unscanned),
                " with blocks left, of which nothing is known"
            ]
        }),
        (reach.partial > 0).then(|| {
            let meaning =
                " are known: memory outside known blocks counts as in use, so more may be unreachable";
            phrase!["not all blocks of ", processes(reach.partial), meaning]
        }),
        (reach.unread > 0).then(|| {
            let meaning = " of memory could not be read: blocks referenced only from there are listed, too";
            phrase![Value::bytes(reach.unread), meaning]
        }),
        (reach.lost > 0).then(|| {
            let meaning = " dropped for lack of room: blocks referenced only that way are listed, too";
            phrase![Value::counted(reach.lost, "pointer"), meaning]
        }),
        (!reach.freed_later.is_zero()).then(|| {
            let meaning =
                " that seemed unreachable but was freed later: its address was stored in another form";
            phrase!["not included: ", reach.freed_later, meaning]
        }),
    ];
    lacks.into_iter().flatten().collect()
}

/// What rules exclude.
fn left_out(suppressed: &Suppressed) -> impl Iterator<Item = Value> {
    let hidden = Value::Estimate(suppressed.total, suppressed.spread);
    let hidden = (!suppressed.total.is_zero())
        .then(|| phrase!["not included: ", hidden, " suppressed by the rules below"]);
    let young = Value::Estimate(suppressed.young, suppressed.young_spread);
    let young = suppressed
        .older_than_ns
        .map(|age| phrase!["not included: ", young, " younger than ", Value::Duration(age), " at the end"]);
    hidden.into_iter().chain(young)
}

/// A row for each rule, ordered by how much it suppressed.
fn suppressions(suppressed: &Suppressed) -> Table {
    let mut uses: Vec<&Use> = suppressed.uses.iter().collect();
    uses.sort_by_key(|used| Reverse((used.amount.bytes, used.amount.blocks)));
    let rows = uses.into_iter().map(|used| {
        let cells = [
            Value::bytes(used.amount.bytes).marked(used.spread.bytes_error()),
            Value::count(used.amount.blocks).marked(used.spread.blocks_error()),
            Value::count(used.stacks),
        ];
        let unused = if used.stacks == 0 { ", unused" } else { "" };
        Row::new(cells, phrase![used.rule.text.clone(), "  (", used.rule.origin.to_string(), unused, ")"])
    });
    let unread = suppressed.unread.iter().map(|program| {
        phrase!["note: ", program.clone(), " computes its own suppressions, so they could not be read"]
    });
    let table =
        Table::new("", ["bytes", "blocks", "stacks"].map(Column::shown), "rule").titled("Suppressions");
    Table { notes: unread.collect(), most: Most::All, ..table }.only(Readers::People).rows(rows)
}

fn fields_of_rules(suppressed: Option<&Suppressed>) -> Fields {
    let row = |used: &Use| {
        Value::Record(vec![
            ("rule", Value::name(&used.rule.text)),
            ("origin", used.rule.origin.name().into()),
            ("from", used.rule.origin.to_string().into()),
            ("stacks", Value::count(used.stacks)),
            ("", Value::Estimate(used.amount, used.spread)),
        ])
    };
    let uses = suppressed.into_iter().flat_map(|rules| &rules.uses).map(row).collect();
    let unread =
        suppressed.into_iter().flat_map(|rules| &rules.unread).map(|name| Value::name(name)).collect();
    vec![("suppressions", Value::List(uses)), ("unread_suppressions", Value::List(unread))]
}

/// The programs that exec replaced while they held blocks.
fn replaced(loaded: &Loaded) -> Value {
    let images = loaded.profile.processes.iter().zip(&loaded.tables.processes);
    let images = images.filter(|(profile, _)| !profile.cost.at_exec.is_zero());
    let mut names: Vec<String> = images.map(|(_, process)| process_name(process)).collect();
    names.dedup();
    let most = if names.len() > 3 { 2 } else { 3 };
    Value::Listed(names, most)
}
