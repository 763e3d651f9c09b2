//! `diff --json`: what changed, stack by stack or as a tree.

use super::document::{Fields, document, kind};
use super::stack::{Who, who};
use super::write_document;
use crate::options::DiffOptions;
use crate::table::Readers;
use crate::views;
use analysis::{Shown, Spread, Tree};
use engine::Compared;
use serde::Serialize;
use std::io::{self, Write};

#[derive(Serialize)]
struct WithNodes<'a> {
    #[serde(flatten)]
    fields: Fields<'a>,
    nodes: Vec<NodeFields<'a>>,
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
    delta_bytes_stderr: i64,
    delta_blocks_stderr: i64,
    self_delta_bytes_stderr: i64,
    self_delta_blocks_stderr: i64,
}

/// Writes what changed.
///
/// # Errors
/// Those of the writer.
pub fn diff(out: &mut dyn Write, compared: &Compared, options: &DiffOptions) -> io::Result<()> {
    let found = views::diff(compared, options, Readers::Programs);
    if !options.tree {
        return document(out, &compared.loaded, &found);
    }
    let fields = kind(found.id).into_iter().chain(found.fields).collect();
    let fields = Fields { loaded: &compared.loaded, fields };
    write_document(out, &WithNodes { fields, nodes: nodes(compared, options) })
}

fn nodes<'a>(compared: &'a Compared, options: &DiffOptions) -> Vec<NodeFields<'a>> {
    let (metric, loaded) = (options.metric, &compared.loaded);
    let (net, gross) = compared.diff.trees(&loaded.tables, &loaded.names, metric);
    let cutoff = options.cutoff(metric.rank(gross.node(Tree::ROOT).total), Readers::Programs);
    let errors = |total: Spread, own: Spread| NodeErrors {
        delta_bytes_stderr: total.bytes_error(),
        delta_blocks_stderr: total.blocks_error(),
        self_delta_bytes_stderr: own.bytes_error(),
        self_delta_blocks_stderr: own.blocks_error(),
    };
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
            errors: compared.diff.sampling.map(|_| errors(net.spread(id), net.own_spread(id))),
        });
        walk.extend(shown.children.iter().rev().map(|&child| (child, Some(place))));
    }
    nodes
}
