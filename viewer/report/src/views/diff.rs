//! `diff`: what changed between two moments, or from one capture to another, stack by stack.
//!
//! ```text
//!      delta      before       after      blocks          function
//!  +1.00 MiB         0 B    1.00 MiB         +16  new     leaky (leaky.c:12) < main
//!  -1.00 MiB    1.00 MiB         0 B          -8  gone    old (old.c:3) < main
//! ```
//!
//! If a side is sampled, each delta is followed by its error: `≈+1.00 MiB   ±5.1 %`.

use super::fields::{interval, unmatched, unseen};
use super::leaks::interruption;
use super::numbers::{Numbers, heads};
use super::snapshots::{ERROR, after_end, snapshot_note};
use crate::options::DiffOptions;
use crate::table::{Column, Document, Fields, Head, Most, Readers, Row, Table, Title, Value, phrase};
use analysis::{Amount, ChangeKind, Cost, DiffRow, Instant, Match, Metric, Spread, size};
use capture::{Lost, NodeId};
use engine::{Compared, Loaded, Seen, Side};

/// Functions shown of one stack.
const DEPTH: usize = 12;

/// What changed; the stacks are left out where a tree is to stand in their place.
pub fn diff(compared: &Compared, options: &DiffOptions, readers: Readers) -> Document {
    let Compared { diff, loaded, before, after, two_captures, .. } = compared;
    let metric = options.metric;
    let (grown, shrunk) = diff.gross(metric);
    let is_unchanged = grown.is_zero() && shrunk.is_zero();
    let (table, more) = if options.tree { (None, Vec::new()) } else { stacks(compared, options, readers) };
    let mut notes = sums(compared, metric);
    notes.extend(snapshot_note(loaded).map(Value::from));
    notes.extend(two_captures.then(|| matched(compared, metric)).flatten());
    notes.extend(sampled(before, after));
    notes.extend(is_unchanged.then(|| "Nothing changed.".into()));
    let mut fields = vec![
        ("before", side(before)),
        ("after", side(after)),
        ("unmatched", unmatched(after.seen.as_ref())),
        ("by", metric.name().into()),
    ];
    fields.extend(totals(compared, options));
    let table = table.filter(|_| !is_unchanged || readers == Readers::Programs);
    Document {
        head: Head::Kind,
        warnings: doubts(compared, metric),
        notes,
        fields,
        more,
        ..Document::new("diff", Title::Alone(title(compared, metric)), table.into_iter().collect::<Vec<_>>())
    }
}

/// The stacks, and what those that are left out add up to.
fn stacks(compared: &Compared, options: &DiffOptions, readers: Readers) -> (Option<Table>, Fields) {
    let Compared { diff, loaded, .. } = compared;
    let metric = options.metric;
    let is_for_programs = readers == Readers::Programs;
    let rows = match is_for_programs {
        true => diff.changed(metric),
        false => diff.changed_as_read(&loaded.tables, &loaded.names, metric),
    };
    let (grown, shrunk) = diff.gross(metric);
    let cutoff = options.cutoff(metric.rank(grown).saturating_sub(metric.rank(shrunk)), readers);
    let rank = |row: &DiffRow| size(metric, metric.of(&row.delta())).0;
    let (shown, hidden) = rows.split_at(cutoff.shown(rows.iter().map(rank)));
    let rest = hidden.iter().fold(DiffRow { node: NodeId::ROOT, ..nothing() }, |mut sum, row| {
        sum.before += row.before;
        sum.after += row.after;
        sum.spread += row.spread;
        sum
    });
    let columns = Columns::new(compared, metric);
    let row = |row: &DiffRow| {
        let kind = ChangeKind::of(metric, metric.of(&row.before), metric.of(&row.after)).name();
        Row::new(columns.cells(Value::Stack(row.node), row, kind.into()), Value::Innermost(row.node, DEPTH))
    };
    let others = hidden.first().filter(|_| !is_for_programs).map(|largest| {
        let cells = columns.cells(Value::Empty, &rest, Value::Empty);
        Row { cells, ..Row::rest(hidden.len(), "smaller stack", cutoff.option(rank(largest))) }
    });
    let rows = shown.iter().map(row).chain(others);
    let table =
        Table { most: Most::All, ..Table::new("rows", columns.titles(loaded), "function") }.rows(rows);
    let sum = Value::Record(columns.fields(&rest));
    (Some(table), vec![("hidden_rows", Value::count(hidden.len() as u64)), ("hidden", sum)])
}

/// A row without a stack or a change.
fn nothing() -> DiffRow {
    let (before, after, spread) = Default::default();
    DiffRow {
        process: capture::ProcessId(0),
        node: NodeId::ROOT,
        before,
        after,
        matched: Match::Same,
        spread,
    }
}

/// Makes the columns of changes.
struct Columns {
    metric: Metric,
    is_sampled: bool,
    /// Which sides are estimates.
    sides: [bool; 2],
    numbers: Numbers,
}

impl Columns {
    fn new(compared: &Compared, metric: Metric) -> Self {
        let is_estimate = |side: &Side| side.sampling.is_some() && metric.is_of_memory();
        let sides = [&compared.before, &compared.after].map(is_estimate);
        let numbers = Numbers::of_changes(compared, metric);
        Self { metric, is_sampled: compared.diff.sampling.is_some(), sides, numbers }
    }

    fn titles(&self, loaded: &Loaded) -> Vec<Column> {
        let [_, other] = heads(loaded, self.metric);
        [Column::field("stack"), Column::field(""), Column::shown("delta")]
            .into_iter()
            .chain(self.numbers.error_column())
            .chain(["before", "after", other].map(Column::shown))
            .chain([Column::shown("").left().width(6)])
            .collect()
    }

    fn cells(&self, stack: Value, row: &DiffRow, kind: Value) -> Vec<Value> {
        let (delta, spread) = (self.metric.of(&row.delta()), self.metric.of(&row.spread));
        let error = self.numbers.error(delta, spread);
        let [first, second] = changed(self.numbers.pair(delta, spread));
        let side = |amount: Amount, is_estimate: bool| {
            let [first, _] = self.numbers.pair(amount, Spread::ZERO);
            first.marked(i64::from(is_estimate && !amount.is_zero()))
        };
        let sides = [(row.before, self.sides[0]), (row.after, self.sides[1])];
        let sides = sides.map(|(cost, is_estimate)| side(self.metric.of(&cost), is_estimate));
        let fields = Value::Record(self.fields(row));
        [stack, fields, first].into_iter().chain(error).chain(sides).chain([second, kind]).collect()
    }

    /// A change for programs.
    fn fields(&self, row: &DiffRow) -> Fields {
        let delta = row.delta();
        let (amount, spread) = (self.metric.of(&delta), self.metric.of(&row.spread));
        let mut fields = vec![
            ("delta_bytes", Value::bytes(amount.bytes)),
            ("delta_blocks", Value::count(amount.blocks)),
            ("before_bytes", Value::bytes(self.metric.of(&row.before).bytes)),
            ("after_bytes", Value::bytes(self.metric.of(&row.after).bytes)),
            ("allocated_bytes", Value::bytes(delta.allocated.bytes)),
            ("freed_bytes", Value::bytes(delta.freed.bytes)),
        ];
        if self.is_sampled {
            let errors = [("delta_bytes", spread.bytes_error()), ("delta_blocks", spread.blocks_error())];
            fields.push(("", Value::Errors(errors.into())));
        }
        fields
    }
}

/// Numbers as changes.
pub(crate) fn changed(numbers: [Value; 2]) -> [Value; 2] {
    numbers.map(|number| match number {
        Value::Marked(number) => Value::Marked(Box::new(Value::Change(number))),
        number => Value::Change(Box::new(number)),
    })
}

/// `app.memprof from 1.00 s to 2.00 s: +1.00 MiB in +16 blocks still allocated`.
fn title(compared: &Compared, metric: Metric) -> Value {
    let diff = &compared.diff;
    let (delta, spread) = (metric.of(&diff.delta()), metric.of(&diff.spread()));
    let blocks = Value::Change(Box::new(Value::count(delta.blocks))).about(spread.blocks_error());
    // With an error, the number is never exactly one.
    let number = if spread.blocks_error() == 0 { delta.blocks } else { 0 };
    let size = match metric {
        Metric::Cpu => changed([Value::Cpu(delta.bytes), Value::Empty])[0].clone(),
        _ => Value::Change(Box::new(Value::bytes(delta.bytes))).about(spread.bytes_error()),
    };
    phrase![both_sides(compared), ": ", size, " in ", blocks, " ", noun(metric, number)]
}

/// The two sides of the comparison, and their moments.
fn both_sides(Compared { before, after, two_captures, .. }: &Compared) -> Value {
    let at = |side: &Side| side.at.map_or(Value::Empty, |at: Instant| Value::Duration(at.time));
    let file = |side: &Side| Value::name(&side.source.file);
    if !two_captures {
        return phrase![file(after), " from ", at(before), " to ", at(after)];
    }
    let side = |side: &Side| match side.at {
        Some(_) => phrase![file(side), " at ", at(side)],
        None => file(side),
    };
    phrase![side(before), " to ", side(after)]
}

fn noun(metric: Metric, number: i64) -> &'static str {
    let is_one = number.abs() == 1;
    match metric {
        Metric::Peak if is_one => "block held",
        Metric::Peak => "blocks held",
        Metric::Leaked | Metric::Live if is_one => "block still allocated",
        Metric::Leaked | Metric::Live => "blocks still allocated",
        Metric::Allocations | Metric::Bytes if is_one => "allocation",
        Metric::Allocations | Metric::Bytes => "allocations",
        Metric::Temporary if is_one => "temporary allocation",
        Metric::Temporary => "temporary allocations",
        Metric::Frees if is_one => "free",
        Metric::Frees => "frees",
        Metric::Cpu => "CPU samples",
    }
}

/// How the change is composed, and what a filter leaves out on both sides.
fn sums(compared: &Compared, metric: Metric) -> Vec<Value> {
    let Compared { diff, before, after, .. } = compared;
    let ((grown, grown_spread), (shrunk, shrunk_spread)) = diff.gross_with_spread(metric);
    let of = |amount: Amount, spread: Spread| match metric {
        Metric::Cpu => Value::Cpu(amount.bytes),
        _ => Value::size_of(amount, spread),
    };
    let change = |amount: Amount, spread: Spread| match metric {
        Metric::Cpu => Value::Change(Box::new(Value::Cpu(amount.bytes))),
        _ => Value::Change(Box::new(Value::bytes(amount.bytes))).about(spread.bytes_error()),
    };
    let sums = phrase![
        of(metric.of(&diff.before), metric.of(&diff.before_spread)),
        " before, ",
        of(metric.of(&diff.after), metric.of(&diff.after_spread)),
        " after; ",
        change(grown, grown_spread),
        " in stacks that grew, ",
        change(shrunk, shrunk_spread),
        " in stacks that shrank"
    ];
    let hidden = before.seen.as_ref().zip(after.seen.as_ref()).and_then(|sides| left_out(sides, metric));
    [sums].into_iter().chain(hidden).collect()
}

/// What a filter, or the selection of functions, leaves out on both sides.
fn left_out((before, after): (&Seen, &Seen), metric: Metric) -> Option<Value> {
    let show = |seen: &Seen| {
        let amount = metric.of(&seen.hidden);
        match metric.counts_blocks() {
            true => phrase![Value::count(amount.blocks), " ", noun(metric, amount.blocks)],
            false => Value::bytes(amount.bytes),
        }
    };
    let numbers = phrase!["not shown: ", show(before), " before, ", show(after), " after"];
    let is_all = [before, after].iter().all(|seen| metric.of(&seen.hidden).is_zero());
    match &after.filter {
        Some(filter) => Some(phrase!["only: ", filter.clone(), "; ", numbers]),
        None if is_all => None,
        None => Some(numbers),
    }
}

/// How much of each capture was found in the other one.
fn matched(compared: &Compared, metric: Metric) -> Option<Value> {
    let sums = compared.diff.matched(metric);
    let all =
        sums.iter().fold(0_i64, |all, (_, before, after)| all.saturating_add(*before).saturating_add(*after));
    let parts = sums.iter().map(|(matched, before, after)| {
        let how = match matched {
            Match::Same => " by function and line, ",
            Match::Alike => " by function only, ",
            Match::Alone => " unmatched",
        };
        phrase![Value::Share(before.saturating_add(*after), all), how]
    });
    let what = if metric.is_of_memory() { "bytes" } else { heads(&compared.loaded, metric)[1] };
    (all != 0).then(|| phrase!["matched (", what, "): ", Value::Phrase(parts.collect())])
}

/// Says which side is sampled, if any.
fn sampled(before: &Side, after: &Side) -> Option<Value> {
    let file = |side: &Side| phrase![Value::name(&side.source.file), " is sampled"];
    let which = match [before, after].map(|side| side.sampling.is_some()) {
        [true, true] => "sampled".into(),
        [true, false] => file(before),
        [false, true] => file(after),
        [false, false] => return None,
    };
    Some(phrase![which, ": numbers are estimates, ", ERROR])
}

/// Why the numbers of either side are uncertain.
fn doubts(compared: &Compared, metric: Metric) -> Vec<Value> {
    let Compared { diff, before, after, two_captures, .. } = compared;
    let file = |side: &Side| Value::name(&side.source.file);
    let sides = if *two_captures { vec![before, after] } else { vec![after] };
    let seen = after.seen.iter().flat_map(|seen| &seen.unmatched);
    let mut doubts: Vec<Value> = seen.map(|unmatched| unmatched.to_string().into()).collect();
    doubts.extend([before, after].into_iter().filter_map(|side| {
        let late = after_end(side.at?, side.ended?)?;
        Some(phrase![file(side), ": ", late])
    }));
    doubts.extend(sides.iter().filter_map(|side| {
        Some(phrase![file(side), " is incomplete (", Value::name(side.source.cut.as_ref()?), ")"])
    }));
    for side in sides {
        let file = if *two_captures { phrase![file(side), ": "] } else { Value::Empty };
        doubts.extend(losses(&side.lost).map(|loss| phrase![file.clone(), loss]));
    }
    if *two_captures {
        let parts = diff.nameless(&compared.loaded.tables, &compared.loaded.names, metric);
        doubts.extend([(before, parts[0], &diff.before), (after, parts[1], &diff.after)].into_iter().filter_map(
            |(side, part, all): (&Side, Amount, &Cost)| {
                let (part, all) = (metric.rank(part), metric.rank(metric.of(all)));
                let meaning = " is in functions without names, and matches nothing in the other capture; names are \
                               looked up where its programs are (info says why they are missing)";
                (part > all / 2).then(|| phrase![file(side), ": ", Value::Share(part, all), meaning])
            },
        ));
    }
    let uncertain = diff.delta().uncertain;
    // Not "of it": what became uncertain may be from before, and then is not part of the change.
    doubts.extend((!uncertain.is_zero()).then(|| {
        let size = Value::Change(Box::new(Value::bytes(uncertain.bytes)));
        let blocks = Value::Change(Box::new(Value::count(uncertain.blocks)));
        let noun = if uncertain.blocks.abs() == 1 { " block" } else { " blocks" };
        let across = interruption(before.gaps + after.gaps, before.pauses + after.pauses);
        let meaning = ", so the free may have been lost";
        phrase![size, " in ", blocks, noun, " uncertain: live across ", across, meaning]
    }));
    doubts
}

/// Why numbers may be too low, as far as events are missing.
pub(crate) fn losses(lost: &[Lost]) -> impl Iterator<Item = Value> {
    lost.iter().filter(|lost| lost.events > 0).map(|lost| {
        let advice =
            if lost.advice.is_empty() { Value::Empty } else { phrase!["; ", Value::name(&lost.advice)] };
        phrase![Value::counted(lost.events, "event"), " lost (", Value::name(&lost.reason), ")", advice]
    })
}

/// A side for programs.
fn side(side: &Side) -> Value {
    Value::Record(vec![
        ("file", Value::name(&side.source.file)),
        ("cut", Value::known(side.source.cut.clone())),
        ("at_ns", Value::known(side.at.map(|at| Value::Time(at.time)))),
        ("lost_events", Value::count(side.lost_events())),
        ("sample_interval", interval(side.sampling)),
        ("unseen", unseen(side.seen.as_ref())),
    ])
}

/// Sums over all stacks, for programs.
fn totals(compared: &Compared, options: &DiffOptions) -> Fields {
    let (diff, metric) = (&compared.diff, options.metric);
    let ((grown, grown_spread), (shrunk, shrunk_spread)) = diff.gross_with_spread(metric);
    let whole = DiffRow { before: diff.before, after: diff.after, spread: diff.spread(), ..nothing() };
    let mut fields = vec![
        ("total", Value::Record(Columns::new(compared, metric).fields(&whole))),
        ("grown_bytes", Value::bytes(grown.bytes)),
        ("grown_blocks", Value::count(grown.blocks)),
        ("shrunk_bytes", Value::bytes(shrunk.bytes)),
        ("shrunk_blocks", Value::count(shrunk.blocks)),
    ];
    if diff.sampling.is_some() {
        let errors = [
            ("grown_bytes", grown_spread.bytes_error()),
            ("grown_blocks", grown_spread.blocks_error()),
            ("shrunk_bytes", shrunk_spread.bytes_error()),
            ("shrunk_blocks", shrunk_spread.blocks_error()),
        ];
        fields.push(("", Value::Errors(errors.into())));
    }
    let matched = compared.two_captures.then(|| {
        let names = [
            ["same_before_bytes", "same_after_bytes"],
            ["alike_before_bytes", "alike_after_bytes"],
            ["alone_before_bytes", "alone_after_bytes"],
        ];
        let sums = names.into_iter().zip(diff.matched(metric)).flat_map(|(names, (_, before, after))| {
            [(names[0], Value::bytes(before)), (names[1], Value::bytes(after))]
        });
        Value::Record(sums.collect())
    });
    fields.push(("matched", Value::known(matched)));
    fields
}
