//! `diff --json`: what changed, stack by stack or as a tree.

use super::head::UnmatchedFields;
use super::stack::{Stack, Who, who};
use super::unseen::UnseenFields;
use super::{SCHEMA, write_document};
use crate::options::DiffOptions;
use analysis::{Amount, DiffRow, Match, Shown, Spread, Tree, size};
use engine::{Compared, Side};
use serde::Serialize;
use std::io::{self, Write};

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    document: &'static str,
    before: SideFields<'a>,
    after: SideFields<'a>,
    unmatched: Vec<UnmatchedFields<'a>>,
    by: &'static str,
    total: ChangeFields,
    grown_bytes: i64,
    grown_blocks: i64,
    shrunk_bytes: i64,
    shrunk_blocks: i64,
    /// Only if a side is sampled.
    #[serde(flatten)]
    errors: Option<GrossErrors>,
    matched: Option<MatchedFields>,
    #[serde(flatten)]
    body: Body<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Body<'a> {
    Rows { rows: Vec<RowFields<'a>>, hidden_rows: usize, hidden: ChangeFields },
    Nodes { nodes: Vec<NodeFields<'a>> },
}

#[derive(Serialize)]
struct SideFields<'a> {
    file: &'a str,
    cut: Option<&'a str>,
    at_ns: Option<u64>,
    lost_events: u64,
    sample_interval: Option<u64>,
    unseen: Option<UnseenFields<'a>>,
}

#[derive(Serialize)]
struct MatchedFields {
    same_before_bytes: i64,
    same_after_bytes: i64,
    alike_before_bytes: i64,
    alike_after_bytes: i64,
    alone_before_bytes: i64,
    alone_after_bytes: i64,
}

#[derive(Serialize)]
struct ChangeFields {
    delta_bytes: i64,
    delta_blocks: i64,
    before_bytes: i64,
    after_bytes: i64,
    allocated_bytes: i64,
    freed_bytes: i64,
    /// Only if a side is sampled.
    #[serde(flatten)]
    errors: Option<ChangeErrors>,
}

/// Standard errors of a change.
#[derive(Serialize)]
struct ChangeErrors {
    delta_bytes_stderr: i64,
    delta_blocks_stderr: i64,
}

/// Standard errors of growth and shrinkage.
#[derive(Serialize)]
struct GrossErrors {
    grown_bytes_stderr: i64,
    grown_blocks_stderr: i64,
    shrunk_bytes_stderr: i64,
    shrunk_blocks_stderr: i64,
}

#[derive(Serialize)]
struct RowFields<'a> {
    stack: Stack<'a>,
    #[serde(flatten)]
    change: ChangeFields,
}

#[derive(Serialize)]
struct NodeFields<'a> {
    parent: Option<usize>,
    #[serde(flatten)]
    who: Who<'a>,
    delta_bytes: i64,
    delta_blocks: i64,
    self_delta_bytes: i64,
    self_delta_blocks: i64,
    gross_bytes: i64,
    gross_blocks: i64,
    hidden_nodes: usize,
    /// Only if a side is sampled.
    #[serde(flatten)]
    errors: Option<NodeErrors>,
}

/// Standard errors of a node's change, including and excluding what is below it.
#[derive(Serialize)]
struct NodeErrors {
    #[serde(flatten)]
    total: ChangeErrors,
    self_delta_bytes_stderr: i64,
    self_delta_blocks_stderr: i64,
}

impl From<Spread> for ChangeErrors {
    fn from(spread: Spread) -> Self {
        Self { delta_bytes_stderr: spread.bytes_error(), delta_blocks_stderr: spread.blocks_error() }
    }
}

/// Writes what changed.
///
/// # Errors
/// Those of the writer.
pub fn diff(out: &mut dyn Write, compared: &Compared, options: &DiffOptions) -> io::Result<()> {
    let (diff, metric) = (&compared.diff, options.metric);
    let ((grown, grown_spread), (shrunk, shrunk_spread)) = diff.gross_with_spread(metric);
    let whole = DiffRow { before: diff.before, after: diff.after, spread: diff.spread(), ..nothing() };
    let errors = diff.sampling.map(|_| GrossErrors {
        grown_bytes_stderr: grown_spread.bytes_error(),
        grown_blocks_stderr: grown_spread.blocks_error(),
        shrunk_bytes_stderr: shrunk_spread.bytes_error(),
        shrunk_blocks_stderr: shrunk_spread.blocks_error(),
    });
    let document = Document {
        schema: SCHEMA,
        document: "diff",
        before: side(compared, &compared.before),
        after: side(compared, &compared.after),
        unmatched: UnmatchedFields::of(compared.after.seen.as_ref()),
        by: metric.name(),
        total: change(compared, options, &whole),
        grown_bytes: grown.bytes,
        grown_blocks: grown.blocks,
        shrunk_bytes: shrunk.bytes,
        shrunk_blocks: shrunk.blocks,
        errors,
        matched: compared.two_captures.then(|| matched(compared, options)),
        body: if options.tree { nodes(compared, options) } else { rows(compared, options) },
    };
    write_document(out, &document)
}

fn side<'a>(compared: &'a Compared, side: &'a Side) -> SideFields<'a> {
    SideFields {
        file: &side.source.file,
        cut: side.source.cut.as_deref(),
        at_ns: side.at.map(|at| at.time),
        lost_events: side.lost_events(),
        sample_interval: side.sampling.map(|sampling| sampling.interval()),
        unseen: side.seen.as_ref().map(|seen| UnseenFields::of(&compared.loaded, seen)),
    }
}

/// A row without a stack or a change.
fn nothing() -> DiffRow {
    let (before, after, spread) = Default::default();
    let (process, node) = (capture::ProcessId(0), capture::NodeId::ROOT);
    DiffRow { process, node, before, after, matched: Match::Same, spread }
}

fn matched(compared: &Compared, options: &DiffOptions) -> MatchedFields {
    let [(_, same_before, same_after), (_, alike_before, alike_after), (_, alone_before, alone_after)] =
        compared.diff.matched(options.metric);
    MatchedFields {
        same_before_bytes: same_before,
        same_after_bytes: same_after,
        alike_before_bytes: alike_before,
        alike_after_bytes: alike_after,
        alone_before_bytes: alone_before,
        alone_after_bytes: alone_after,
    }
}

fn change(compared: &Compared, options: &DiffOptions, row: &DiffRow) -> ChangeFields {
    let delta = row.delta();
    let Amount { blocks: delta_blocks, bytes: delta_bytes } = options.metric.of(&delta);
    ChangeFields {
        delta_bytes,
        delta_blocks,
        before_bytes: options.metric.of(&row.before).bytes,
        after_bytes: options.metric.of(&row.after).bytes,
        allocated_bytes: delta.allocated.bytes,
        freed_bytes: delta.freed.bytes,
        errors: compared.diff.sampling.map(|_| options.metric.of(&row.spread).into()),
    }
}

fn rows<'a>(compared: &'a Compared, options: &DiffOptions) -> Body<'a> {
    let (metric, loaded) = (options.metric, &compared.loaded);
    let rows = compared.diff.changed(metric);
    let (grown, shrunk) = compared.diff.gross(metric);
    let cutoff = options.cutoff_for_json(metric.rank(grown).saturating_sub(metric.rank(shrunk)));
    let is_shown = |row: &DiffRow| size(metric, metric.of(&row.delta())).0 >= cutoff.least;
    let shown = rows.iter().take_while(|row| is_shown(row)).take(cutoff.limit).count();
    let hidden = rows[shown..].iter().fold(nothing(), |mut sum, row| {
        sum.before += row.before;
        sum.after += row.after;
        sum.spread += row.spread;
        sum
    });
    let fields = rows[..shown].iter().map(|row| RowFields {
        stack: Stack { tables: &loaded.tables, names: &loaded.names, node: row.node },
        change: change(compared, options, row),
    });
    Body::Rows {
        rows: fields.collect(),
        hidden_rows: rows.len() - shown,
        hidden: change(compared, options, &hidden),
    }
}

fn nodes<'a>(compared: &'a Compared, options: &DiffOptions) -> Body<'a> {
    let (metric, loaded) = (options.metric, &compared.loaded);
    let (net, gross) = compared.diff.trees(&loaded.tables, &loaded.names, metric);
    let cutoff = options.cutoff_for_json(metric.rank(gross.node(Tree::ROOT).total));
    let mut nodes = Vec::new();
    let mut walk = vec![(Tree::ROOT, None)];
    while let Some((id, parent)) = walk.pop() {
        let shown = Shown::of(&gross, id, &loaded.names, metric, cutoff);
        let (total, own, either) = (net.node(id).total, net.own(id), gross.node(id).total);
        let place = nodes.len();
        nodes.push(NodeFields {
            parent,
            who: who(&loaded.tables, &loaded.names, net.node(id).label),
            delta_bytes: total.bytes,
            delta_blocks: total.blocks,
            self_delta_bytes: own.bytes,
            self_delta_blocks: own.blocks,
            gross_bytes: either.bytes,
            gross_blocks: either.blocks,
            hidden_nodes: shown.hidden,
            errors: compared.diff.sampling.map(|_| NodeErrors {
                total: net.spread(id).into(),
                self_delta_bytes_stderr: net.own_spread(id).bytes_error(),
                self_delta_blocks_stderr: net.own_spread(id).blocks_error(),
            }),
        });
        walk.extend(shown.children.iter().rev().map(|&child| (child, Some(place))));
    }
    Body::Nodes { nodes }
}
