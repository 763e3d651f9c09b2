//! `diff --json`: what changed, stack by stack or as a tree.

use super::document::{Fields, document, kind};
use super::tree::{Nodes, WithNodes};
use super::write_document;
use crate::options::DiffOptions;
use crate::table::{Readers, Value};
use crate::views;
use analysis::{Shown, Tree};
use engine::Compared;
use std::io::{self, Write};

/// Writes what changed.
///
/// # Errors
/// Those of the writer.
pub fn diff(out: &mut dyn Write, compared: &Compared, options: &DiffOptions) -> io::Result<()> {
    let found = views::diff(compared, options, Readers::Programs);
    let (metric, loaded) = (options.metric, &compared.loaded);
    if !options.tree {
        return document(out, loaded, &found);
    }
    let (net, gross) = compared.diff.trees(&loaded.tables, &loaded.names, metric);
    let cutoff = options.cutoff(metric.rank(gross.node(Tree::ROOT).total), Readers::Programs);
    let numbers = |id, shown: &Shown| {
        let (total, own, either) = (net.node(id).total, net.own(id), gross.node(id).total);
        let mut fields = vec![
            ("delta_bytes", Value::bytes(total.bytes)),
            ("delta_blocks", Value::count(total.blocks)),
            ("self_delta_bytes", Value::bytes(own.bytes)),
            ("self_delta_blocks", Value::count(own.blocks)),
            ("gross_bytes", Value::bytes(either.bytes)),
            ("gross_blocks", Value::count(either.blocks)),
            ("hidden_nodes", Value::count(shown.hidden as u64)),
        ];
        if compared.diff.sampling.is_some() {
            let (total, own) = (net.spread(id), net.own_spread(id));
            let errors = [
                ("delta_bytes", total.bytes_error()),
                ("delta_blocks", total.blocks_error()),
                ("self_delta_bytes", own.bytes_error()),
                ("self_delta_blocks", own.blocks_error()),
            ];
            fields.push(("", Value::Errors(errors.into())));
        }
        fields
    };
    let fields = kind(found.id).into_iter().chain(found.fields).collect();
    let nodes = Nodes { loaded, tree: &gross, metric, cutoff, numbers };
    write_document(out, &WithNodes { fields: Fields { loaded, fields }, nodes })
}
