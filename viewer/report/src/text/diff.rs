//! `diff`: what changed between two moments, or from one capture to another.
//!
//! ```text
//!      delta      before       after      blocks  function
//!  +1.00 MiB         0 B    1.00 MiB         +16  leaky (leaky.c:12) < main                   new
//!  -1.00 MiB    1.00 MiB         0 B          -8  old (old.c:3) < main                        gone
//! ```
//!
//! If a side is sampled, each delta is followed by its error: `≈+1.00 MiB   ±5.1 %`.

use super::escape::escape;
use super::estimate::{self, marked, relative};
use super::headline::{after_end, counted_losses, interruption, snapshot_note, span_at, unmatched_texts};
use super::line::print;
use super::place::fit_name;
use super::stack_line::{not_shown, smaller_ones, stack_line_to};
use super::style::{Role, Style};
use super::tree_lines::{Branch, TreeLines};
use super::units::Units;
use crate::options::DiffOptions;
use analysis::format::{bytes, count, percent};
use analysis::{Amount, ChangeKind, Diff, DiffRow, Match, Metric, Shown, Spread, Tree, size};
use engine::{Compared, Side};
use std::io::{self, Write};

const NUMBER: usize = 10;

/// Width of an error column, as in all reports.
const ERROR: usize = 7;

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
            let shown = cutoff.shown(rows.iter().map(|row| size(metric, metric.of(&row.delta())).0));
            let columns = Columns::new(compared, metric, style);
            writeln!(out, "{}", style.paint(Role::Detail, columns.header()))?;
            for row in &rows[..shown] {
                table_row(out, compared, row, &columns)?;
            }
            if shown < rows.len() {
                let sum = Change::sum(rows[shown..].iter().map(|row| Change::of(row, metric)));
                let option = cutoff.option(size(metric, metric.of(&rows[shown].delta())).0);
                let stacks = not_shown(rows.len() - shown, "smaller stack", option);
                let stacks = style.paint(Role::Detail, stacks);
                writeln!(out, "{}{stacks}", columns.row(&sum))?;
            }
        }
    }
    Ok(())
}

/// `app.memprof from 1.00 s to 2.00 s: +1.00 MiB in +16 blocks still allocated`, and how that is composed.
fn headline(out: &mut dyn Write, compared: &Compared, metric: Metric, style: &Style) -> io::Result<()> {
    let Compared { diff, two_captures, .. } = compared;
    let sides = both_sides(compared);
    let (from, to, delta) = (metric.of(&diff.before), metric.of(&diff.after), metric.of(&diff.delta()));
    let spread = metric.of(&diff.spread());
    let blocks = match spread.blocks_error() {
        0 => format!("{} {}", signed(delta.blocks), noun(metric, delta.blocks)),
        // With an error, the number is never exactly one.
        error => format!("≈{} ± {} {}", signed(delta.blocks), count(error), noun(metric, 0)),
    };
    let sizes = Sizes(Units::of(&compared.loaded, metric), metric);
    let text = match sizes.change(delta, spread) {
        size if size.is_empty() => format!("{sides}: {blocks}"),
        size => format!("{sides}: {size} in {blocks}"),
    };
    writeln!(out, "{}", style.paint(Role::Heading, text))?;
    let ((grown, grown_spread), (shrunk, shrunk_spread)) = diff.gross_with_spread(metric);
    writeln!(
        out,
        "  {} before, {} after; {} in stacks that grew, {} in stacks that shrank",
        sizes.or_count(from, metric.of(&diff.before_spread)),
        sizes.or_count(to, metric.of(&diff.after_spread)),
        sizes.change_or_count(grown, grown_spread),
        sizes.change_or_count(shrunk, shrunk_spread)
    )?;
    hidden(out, compared, metric, style)?;
    print(out, snapshot_note(&compared.loaded).as_slice(), style)?;
    if *two_captures {
        matched(out, diff, metric, sizes.0)?;
        nameless(out, compared, metric, style)?;
    }
    doubts(out, compared, style)?;
    estimated(out, compared, style)
}

/// The two sides of the comparison, and their moments.
fn both_sides(Compared { before, after, two_captures, .. }: &Compared) -> String {
    let at = |side: &Side| side.at.map_or(String::new(), span_at);
    if !two_captures {
        return format!("{} from {} to {}", escape(&after.source.file), at(before), at(after));
    }
    let side = |side: &Side| {
        let at = if side.at.is_some() { format!(" at {}", at(side)) } else { String::new() };
        format!("{}{at}", escape(&side.source.file))
    };
    format!("{} to {}", side(before), side(after))
}

/// Why the numbers of either side are uncertain.
fn doubts(out: &mut dyn Write, compared: &Compared, style: &Style) -> io::Result<()> {
    let Compared { diff, before, after, two_captures, .. } = compared;
    for text in unmatched_texts(after.seen.as_ref()) {
        writeln!(out, "{}", style.paint(Role::Warning, format!("warning: {text}")))?;
    }
    for side in [before, after] {
        if let Some(late) = side.at.zip(side.ended).and_then(|(at, ended)| after_end(at, ended)) {
            let text = format!("warning: {}: {late}", escape(&side.source.file));
            writeln!(out, "{}", style.paint(Role::Warning, text))?;
        }
    }
    let sides = if *two_captures { vec![before, after] } else { vec![after] };
    for side in &sides {
        if let Some(cut) = &side.source.cut {
            let text = format!("warning: {} is incomplete ({})", escape(&side.source.file), escape(cut));
            writeln!(out, "{}", style.paint(Role::Warning, text))?;
        }
    }
    for side in &sides {
        let file = if *two_captures { format!("{}: ", escape(&side.source.file)) } else { String::new() };
        for warning in counted_losses(&side.lost) {
            writeln!(out, "{}", style.paint(Role::Warning, format!("warning: {file}{warning}")))?;
        }
    }
    let uncertain = diff.delta().uncertain;
    if uncertain.is_zero() {
        return Ok(());
    }
    // Not "of it": what became uncertain may be from before, and then is not part of the change.
    let text = format!(
        "warning: {} in {} {} uncertain: live across {}, so the free may have been lost",
        signed_bytes(uncertain.bytes),
        signed(uncertain.blocks),
        if uncertain.blocks.abs() == 1 { "block" } else { "blocks" },
        interruption(before.gaps + after.gaps, before.pauses + after.pauses)
    );
    writeln!(out, "{}", style.paint(Role::Warning, text))
}

/// Says which side is sampled, if any.
fn estimated(
    out: &mut dyn Write,
    Compared { before, after, .. }: &Compared,
    style: &Style,
) -> io::Result<()> {
    let which = match [before, after].map(|side| side.sampling.is_some()) {
        [true, true] => "sampled".to_owned(),
        [true, false] => format!("{} is sampled", escape(&before.source.file)),
        [false, true] => format!("{} is sampled", escape(&after.source.file)),
        [false, false] => return Ok(()),
    };
    let text = format!("{which}: numbers are estimates, {}", estimate::ERROR);
    writeln!(out, "{}", style.paint(Role::Detail, text))
}

/// What a filter, or the selection of functions, leaves out on both sides.
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

/// How much of each capture was found in the other one.
fn matched(out: &mut dyn Write, diff: &Diff, metric: Metric, units: Units) -> io::Result<()> {
    let sums = diff.matched(metric);
    let all =
        sums.iter().fold(0_i64, |all, (_, before, after)| all.saturating_add(*before).saturating_add(*after));
    if all == 0 {
        return Ok(());
    }
    let parts = sums.iter().map(|(matched, before, after)| {
        let how = match matched {
            Match::Same => "by function and line",
            Match::Alike => "by function only",
            Match::Alone => "unmatched",
        };
        format!("{} {how}", percent(before.saturating_add(*after), all))
    });
    let what = if metric.is_of_memory() { "bytes" } else { units.heads().1 };
    writeln!(out, "  matched ({what}): {}", parts.collect::<Vec<_>>().join(", "))
}

/// Explains a poor match when one of the captures, or both, lacks names.
fn nameless(out: &mut dyn Write, compared: &Compared, metric: Metric, style: &Style) -> io::Result<()> {
    let Compared { diff, loaded, before, after, .. } = compared;
    let parts = diff.nameless(&loaded.tables, &loaded.names, metric);
    for (side, part, all) in [(before, parts[0], &diff.before), (after, parts[1], &diff.after)] {
        let (part, all) = (metric.rank(part), metric.rank(metric.of(all)));
        if part > all / 2 {
            let text = format!(
                "warning: {}: {} is in functions without names, and matches nothing in the other capture; names are looked up where \
                 its programs are (info says why they are missing)",
                escape(&side.source.file),
                percent(part, all)
            );
            writeln!(out, "{}", style.paint(Role::Warning, text))?;
        }
    }
    Ok(())
}

fn table_row(
    out: &mut dyn Write,
    compared: &Compared,
    row: &DiffRow,
    columns: &Columns<'_>,
) -> io::Result<()> {
    let style = columns.style;
    let change = Change::of(row, columns.metric);
    let kind = ChangeKind::of(columns.metric, change.before, change.after).name();
    let text = stack_line_to(DEPTH, &compared.loaded, row.node, style, columns.width() + 8);
    let kind = style.paint(Role::Detail, format!("{kind:<6}  "));
    writeln!(out, "{}{kind}{}", columns.row(&change), style.paint(Role::Function, text))
}

/// A number before and after, and the uncertainty of the difference.
#[derive(Clone, Copy, Default)]
struct Change {
    before: Amount,
    after: Amount,
    spread: Spread,
}

impl Change {
    fn of(row: &DiffRow, metric: Metric) -> Self {
        Self { before: metric.of(&row.before), after: metric.of(&row.after), spread: metric.of(&row.spread) }
    }

    fn sum(changes: impl Iterator<Item = Self>) -> Self {
        changes.fold(Self::default(), |sum, change| Self {
            before: sum.before + change.before,
            after: sum.after + change.after,
            spread: sum.spread + change.spread,
        })
    }
}

/// Formats sizes: bytes, with their error, or what samples and hits stand for.
#[derive(Clone, Copy)]
struct Sizes(Units, Metric);

impl Sizes {
    /// A change; empty when hits have no size.
    fn change(self, delta: Amount, spread: Spread) -> String {
        match self.1.is_of_memory() {
            true => estimated_bytes(delta, spread),
            false => self.0.signed(delta).1,
        }
    }

    /// A change, or the number when there is no size.
    fn change_or_count(self, delta: Amount, spread: Spread) -> String {
        let size = self.change(delta, spread);
        if size.is_empty() { self.0.signed(delta).0 } else { size }
    }

    /// An amount, or the number when there is no size.
    fn or_count(self, amount: Amount, spread: Spread) -> String {
        if self.1.is_of_memory() {
            return estimate::bytes(amount, spread);
        }
        let (number, size) = self.0.pair(amount);
        if size.is_empty() { number } else { size }
    }
}

/// The columns before a name.
struct Columns<'a> {
    metric: Metric,
    units: Units,
    /// Whether the numbers of each side are estimates.
    before: bool,
    after: bool,
    style: &'a Style,
}

impl<'a> Columns<'a> {
    fn new(compared: &Compared, metric: Metric, style: &'a Style) -> Self {
        let is_estimate = |side: &Side| side.sampling.is_some() && metric.is_of_memory();
        let (before, after) = (is_estimate(&compared.before), is_estimate(&compared.after));
        Self { metric, units: Units::of(&compared.loaded, metric), before, after, style }
    }

    fn header(&self) -> String {
        let error = self.error("error");
        format!(
            "{:>NUMBER$}  {error}{:>NUMBER$}  {:>NUMBER$}  {:>NUMBER$}  function",
            "delta",
            "before",
            "after",
            self.units.heads().1
        )
    }

    fn tree_header(&self) -> String {
        let error = self.error("error");
        let other = self.units.heads().1;
        format!("{:>NUMBER$}  {error}{other:>NUMBER$}  {:>NUMBER$}  function", "delta", "gross")
    }

    /// Width of a row.
    fn width(&self) -> usize {
        4 * (NUMBER + 2) + self.error("").len()
    }

    /// Width of a row of a tree.
    fn tree_width(&self) -> usize {
        self.width() - (NUMBER + 2)
    }

    fn row(&self, change: &Change) -> String {
        let Change { before, after, spread } = *change;
        let delta = after - before;
        let show = |amount: Amount, is_estimate: bool| {
            marked(self.units.pair(amount).0, i64::from(is_estimate && !amount.is_zero()))
        };
        let (first, error, last) = self.changed(delta, spread);
        let (before, after) = (show(before, self.before), show(after, self.after));
        format!("{first}  {error}{before:>NUMBER$}  {after:>NUMBER$}  {last:>NUMBER$}  ")
    }

    fn tree_row(&self, delta: Amount, spread: Spread, gross: Amount) -> String {
        let (first, error, last) = self.changed(delta, spread);
        let gross = marked(self.units.pair(gross).0, self.errors(spread).0);
        format!("{first}  {error}{last:>NUMBER$}  {gross:>NUMBER$}  ")
    }

    /// The ranking number, its uncertainty, and the other number.
    fn changed(&self, delta: Amount, spread: Spread) -> (String, String, String) {
        let (first, last) = self.units.signed(delta);
        let (error, error_of_last) = self.errors(spread);
        let ranking = if self.metric.counts_blocks() { delta.blocks } else { delta.bytes };
        let first = self.first(delta, &marked(first, error));
        (first, self.error(&relative(error, ranking)), marked(last, error_of_last))
    }

    /// The errors of both numbers.
    fn errors(&self, spread: Spread) -> (i64, i64) {
        match self.metric.counts_blocks() {
            true => (spread.blocks_error(), spread.bytes_error()),
            false => (spread.bytes_error(), spread.blocks_error()),
        }
    }

    fn first(&self, delta: Amount, text: &str) -> String {
        let role = if self.metric.order(delta) > (0, 0) { Role::Warning } else { Role::Value };
        self.style.paint(role, format!("{text:>NUMBER$}")).to_string()
    }

    /// A column that exists only when estimates are compared.
    fn error(&self, text: &str) -> String {
        if self.before || self.after { format!("{text:>ERROR$}  ") } else { String::new() }
    }
}

/// A tree of the changes: the net change of each function, and next to it the sum of all changes below it.
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
    let columns = Columns::new(compared, metric, style);
    writeln!(out, "{}", style.paint(Role::Detail, columns.tree_header()))?;
    let nothing = (Amount::ZERO, Spread::ZERO, Amount::ZERO);
    let mut rows = vec![(Some(Tree::ROOT), nothing, (0, ""), TreeLines::default(), Branch::Trunk)];
    while let Some((id, hidden, (number, option), lead, branch)) = rows.pop() {
        let line = lead.text(branch, 24);
        let Some(id) = id else {
            let text = smaller_ones(
                number,
                option,
                style.room(columns.tree_width() + super::escape::columns(&line)),
            );
            let (delta, spread, gross) = hidden;
            let numbers = columns.tree_row(delta, spread, gross);
            writeln!(out, "{numbers}{line}{}", style.paint(Role::Detail, text))?;
            continue;
        };
        let room = style.room(columns.tree_width() + super::escape::columns(&line));
        let name = style.paint(Role::Function, fit_name(&loaded.names, net.node(id).label, room));
        let numbers = columns.tree_row(net.node(id).total, net.spread(id), gross.node(id).total);
        writeln!(out, "{numbers}{line}{name}")?;
        let shown = Shown::of(&gross, id, &loaded.names, metric, cutoff);
        let below = lead.below(branch);
        let first = rows.len();
        if shown.hidden > 0 {
            let own = (net.node(id).total - net.own(id), net.spread(id) - net.own_spread(id));
            let (delta, spread) = shown.children.iter().fold(own, |(delta, spread), &child| {
                (delta - net.node(child).total, spread - net.spread(child))
            });
            let hidden = (delta, spread, shown.hidden_total);
            rows.push((None, hidden, (shown.hidden, shown.option), below, Branch::Fork));
        }
        let children = shown.children.iter().rev();
        rows.extend(children.map(|&child| (Some(child), nothing, (0, ""), below, Branch::Fork)));
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
        Metric::Frees if is_one => "free",
        Metric::Frees => "frees",
        Metric::Cpu => "CPU samples",
    }
}

/// A number with an explicit sign.
fn signed(value: i64) -> String {
    let text = count(value);
    if value > 0 { format!("+{text}") } else { text }
}

/// A size with an explicit sign, and its standard error, if any.
fn estimated_bytes(amount: Amount, spread: Spread) -> String {
    match spread.bytes_error() {
        0 => signed_bytes(amount.bytes),
        error => format!("≈{} ± {}", signed_bytes(amount.bytes), bytes(error)),
    }
}

/// A size with an explicit sign.
fn signed_bytes(value: i64) -> String {
    let text = bytes(value);
    if value > 0 { format!("+{text}") } else { text }
}
