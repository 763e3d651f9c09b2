//! `diff`: what changed between two moments, or from one capture to another.
//!
//! ```text
//!      delta      before       after      blocks  function
//!  +1.00 MiB         0 B    1.00 MiB         +16  leaky (leaky.c:12) < main                   new
//!  -1.00 MiB    1.00 MiB         0 B          -8  old (old.c:3) < main                        gone
//! ```

use super::escape::escape;
use super::headline::{after_end, counted_losses, interruption, snapshot_note, span_at};
use super::lead::{Branch, Lead};
use super::place::fit_name;
use super::stack_line::stack_line_to;
use super::style::{Role, Style};
use crate::analysis::{Amount, ChangeKind, Diff, DiffRow, Match, Metric, Shown, Tree, size};
use crate::compare::{Compared, Side};
use crate::format::{bytes, count, counted, percent};
use crate::options::DiffOptions;
use std::io::{self, Write};

const NUMBER: usize = 10;

/// Columns before a name.
const WIDTH: usize = 4 * (NUMBER + 2);

/// Functions shown of one stack.
const DEPTH: usize = 12;

/// Writes what changed.
///
/// # Errors
/// Those of the writer.
pub fn diff(
    out: &mut dyn Write,
    compared: &Compared,
    options: &DiffOptions,
    style: &Style,
) -> io::Result<()> {
    let Compared { diff, .. } = compared;
    let metric = options.metric;
    headline(out, compared, metric, style)?;
    let (grown, shrunk) = diff.gross(metric);
    let changes = metric.rank(grown).saturating_sub(metric.rank(shrunk));
    if grown.is_zero() && shrunk.is_zero() {
        return writeln!(out, "Nothing changed.");
    }
    writeln!(out)?;
    let cutoff = options.cutoff_for_text(changes);
    match options.tree {
        true => tree(out, compared, metric, options, style)?,
        false => {
            let rows = diff.changed_as_read(&compared.loaded.tables, &compared.loaded.names, metric);
            let least = |row: &DiffRow| size(metric, metric.of(&row.delta())).0 >= cutoff.least;
            let shown = rows.iter().take_while(|row| least(row)).take(cutoff.limit).count();
            let header = format!(
                "{:>NUMBER$}  {:>NUMBER$}  {:>NUMBER$}  {:>NUMBER$}  function",
                "delta", "before", "after", "blocks"
            );
            writeln!(out, "{}", style.paint(Role::Detail, header))?;
            for row in &rows[..shown] {
                table_row(out, compared, row, metric, style)?;
            }
            if shown < rows.len() {
                let sum = rows[shown..].iter().fold((Amount::ZERO, Amount::ZERO), |(before, after), row| {
                    (before + metric.of(&row.before), after + metric.of(&row.after))
                });
                let numbers = numbers(metric, sum.0, sum.1, style);
                let stacks = counted((rows.len() - shown) as u64, "smaller stack");
                writeln!(out, "{numbers}{}", style.paint(Role::Detail, format!("{stacks} not shown")))?;
            }
        }
    }
    Ok(())
}

/// `app.memprof from 1.00 s to 2.00 s: +1.00 MiB in +16 blocks still allocated`, and what that is made of.
fn headline(out: &mut dyn Write, compared: &Compared, metric: Metric, style: &Style) -> io::Result<()> {
    let Compared { diff, before, after, two_captures, .. } = compared;
    let side = |side: &Side| {
        let at = side.at.map_or(String::new(), |at| format!(" at {}", span_at(at)));
        format!("{}{at}", escape(&side.source.file))
    };
    let sides = match two_captures {
        true => format!("{} to {}", side(before), side(after)),
        false => {
            let at = |side: &Side| side.at.map_or(String::new(), span_at);
            format!("{} from {} to {}", escape(&after.source.file), at(before), at(after))
        }
    };
    let (from, to, delta) = (metric.of(&diff.before), metric.of(&diff.after), metric.of(&diff.delta()));
    let text = format!(
        "{sides}: {} in {} {}",
        signed_bytes(delta.bytes),
        signed(delta.blocks),
        noun(metric, delta.blocks)
    );
    writeln!(out, "{}", style.paint(Role::Heading, text))?;
    let (grown, shrunk) = diff.gross(metric);
    writeln!(
        out,
        "  {} before, {} after; stacks that grew: {}, that shrank: {}",
        bytes(from.bytes),
        bytes(to.bytes),
        signed_bytes(grown.bytes),
        signed_bytes(shrunk.bytes)
    )?;
    hidden(out, compared, metric, style)?;
    snapshot_note(out, &compared.loaded, style)?;
    if *two_captures {
        matched(out, diff, metric)?;
    }
    for side in [before, after] {
        if let Some(late) = side.at.zip(side.ended).and_then(|(at, ended)| after_end(at, ended)) {
            let text = format!("warning: {}: {late}", escape(&side.source.file));
            writeln!(out, "{}", style.paint(Role::Warning, text))?;
        }
    }
    let sides = if *two_captures { vec![before, after] } else { vec![after] };
    for side in sides {
        if let Some(cut) = &side.source.cut {
            let text = format!("warning: {} is incomplete ({})", escape(&side.source.file), escape(cut));
            writeln!(out, "{}", style.paint(Role::Warning, text))?;
        }
    }
    for warning in counted_losses(&compared.loaded) {
        writeln!(out, "{}", style.paint(Role::Warning, format!("warning: {warning}")))?;
    }
    let uncertain = diff.delta().uncertain;
    if !uncertain.is_zero() {
        // Not "of it": what became uncertain may have been there before, and is no part of the change then.
        let text = format!(
            "warning: {} in {} {} uncertain: alive across {}, so their free may have been lost",
            signed_bytes(uncertain.bytes),
            signed(uncertain.blocks),
            if uncertain.blocks.abs() == 1 { "block" } else { "blocks" },
            interruption(before.gaps + after.gaps, before.pauses + after.pauses)
        );
        writeln!(out, "{}", style.paint(Role::Warning, text))?;
    }
    if compared.loaded.profile.sampling.is_some() {
        let error = metric.of(&diff.rows.iter().fold(
            Default::default(),
            |mut sum: crate::analysis::Cost<_>, row| {
                sum += row.spread;
                sum
            },
        ));
        let text = format!(
            "sampled: numbers are estimates, ± {} at most is one standard error",
            bytes(error.bytes_error())
        );
        writeln!(out, "{}", style.paint(Role::Detail, text))?;
    }
    Ok(())
}

/// What a filter, or the choice of functions, leaves out of both sides.
fn hidden(out: &mut dyn Write, compared: &Compared, metric: Metric, style: &Style) -> io::Result<()> {
    let (Some(before), Some(after)) = (&compared.before.seen, &compared.after.seen) else { return Ok(()) };
    let [before_hidden, after_hidden] = [before, after].map(|seen| metric.of(&seen.hidden));
    let show = |amount: Amount| match metric.counts_blocks() {
        true => format!("{} {}", count(amount.blocks), noun(metric, amount.blocks)),
        false => bytes(amount.bytes),
    };
    let numbers = format!("not shown: {} before, {} after", show(before_hidden), show(after_hidden));
    let text = match &after.filter {
        Some(filter) => format!("  only: {}; {numbers}", escape(filter)),
        None if before_hidden.is_zero() && after_hidden.is_zero() => return Ok(()),
        None => format!("  {numbers}"),
    };
    writeln!(out, "{}", style.paint(Role::Detail, text))
}

/// How much of both captures was found in the other one.
fn matched(out: &mut dyn Write, diff: &Diff, metric: Metric) -> io::Result<()> {
    let sums = diff.matched(metric);
    let all =
        sums.iter().fold(0_i64, |all, (_, before, after)| all.saturating_add(*before).saturating_add(*after));
    if all == 0 {
        return Ok(());
    }
    let parts = sums.iter().map(|(matched, before, after)| {
        let how = match matched {
            Match::Same => "by function and line",
            Match::Alike => "by function alone",
            Match::Alone => "in one of them only",
        };
        format!("{} {how}", percent(before.saturating_add(*after), all))
    });
    writeln!(out, "  matched, in bytes: {}", parts.collect::<Vec<_>>().join(", "))
}

fn table_row(
    out: &mut dyn Write,
    compared: &Compared,
    row: &DiffRow,
    metric: Metric,
    style: &Style,
) -> io::Result<()> {
    let loaded = &compared.loaded;
    let (before, after) = (metric.of(&row.before), metric.of(&row.after));
    let change = ChangeKind::of(metric, before, after).name();
    let text = stack_line_to(DEPTH, loaded, row.node, style, WIDTH + 8);
    let change = style.paint(Role::Detail, format!("{change:<6}  "));
    writeln!(out, "{}{change}{}", numbers(metric, before, after, style), style.paint(Role::Function, text))
}

/// The columns before a name.
fn numbers(metric: Metric, before: Amount, after: Amount, style: &Style) -> String {
    let delta = after - before;
    let show =
        |amount: Amount| if metric.counts_blocks() { count(amount.blocks) } else { bytes(amount.bytes) };
    let (first, last) = match metric.counts_blocks() {
        true => (signed(delta.blocks), signed_bytes(delta.bytes)),
        false => (signed_bytes(delta.bytes), signed(delta.blocks)),
    };
    let role = if metric.order(delta) > (0, 0) { Role::Warning } else { Role::Value };
    let first = style.paint(role, format!("{first:>NUMBER$}"));
    format!("{first}  {:>NUMBER$}  {:>NUMBER$}  {last:>NUMBER$}  ", show(before), show(after))
}

/// A tree of what changed: the net of each function, and beside it all that changed below it.
fn tree(
    out: &mut dyn Write,
    compared: &Compared,
    metric: Metric,
    options: &DiffOptions,
    style: &Style,
) -> io::Result<()> {
    let loaded = &compared.loaded;
    let (net, gross) = compared.diff.trees(&loaded.tables, &loaded.names, metric);
    let cutoff = options.cutoff_for_text(metric.rank(gross.node(Tree::ROOT).total));
    let header = format!("{:>NUMBER$}  {:>NUMBER$}  {:>NUMBER$}  function", "delta", "blocks", "gross");
    writeln!(out, "{}", style.paint(Role::Detail, header))?;
    let used = 3 * (NUMBER + 2);
    let columns = |delta: Amount, gross: Amount| {
        let role = if metric.order(delta) > (0, 0) { Role::Warning } else { Role::Value };
        let delta_bytes = style.paint(role, format!("{:>NUMBER$}", signed_bytes(delta.bytes)));
        format!("{delta_bytes}  {:>NUMBER$}  {:>NUMBER$}  ", signed(delta.blocks), bytes(gross.bytes))
    };
    let mut rows = vec![(Some(Tree::ROOT), (Amount::ZERO, Amount::ZERO), 0, Lead::default(), Branch::Trunk)];
    while let Some((id, hidden, number, lead, branch)) = rows.pop() {
        let line = lead.text(branch, 24);
        let Some(id) = id else {
            let text = format!("{} not shown", counted(number as u64, "smaller one"));
            writeln!(out, "{}{line}{}", columns(hidden.0, hidden.1), style.paint(Role::Detail, text))?;
            continue;
        };
        let room = style.room(used + super::escape::columns(&line));
        let name = style.paint(Role::Function, fit_name(&loaded.names, net.node(id).label, room));
        writeln!(out, "{}{line}{name}", columns(net.node(id).total, gross.node(id).total))?;
        let shown = Shown::of(&gross, id, &loaded.names, metric, cutoff);
        let below = lead.below(branch);
        let first = rows.len();
        if shown.hidden > 0 {
            let of_shown =
                shown.children.iter().fold(Amount::ZERO, |sum, &child| sum + net.node(child).total);
            let hidden = (net.node(id).total - net.own(id) - of_shown, shown.hidden_total);
            rows.push((None, hidden, shown.hidden, below, Branch::Fork));
        }
        let children = shown.children.iter().rev();
        rows.extend(
            children.map(|&child| (Some(child), (Amount::ZERO, Amount::ZERO), 0, below, Branch::Fork)),
        );
        match &mut rows[first..] {
            [(Some(_), .., branch)] => *branch = Branch::Trunk,
            [(.., branch), ..] => *branch = Branch::Last,
            [] => {}
        }
    }
    Ok(())
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
        Metric::Cpu => "samples of the CPU",
        Metric::Traced => "hits of a tracepoint",
    }
}

/// A number with its sign.
fn signed(value: i64) -> String {
    let text = count(value);
    if value > 0 { format!("+{text}") } else { text }
}

/// A size with its sign.
fn signed_bytes(value: i64) -> String {
    let text = bytes(value);
    if value > 0 { format!("+{text}") } else { text }
}
