//! `export --format json`: all stacks, with each caller written once.
//!
//! A report writes every stack in full, which is easy to read but takes a gigabyte for a capture of some ten thousand
//! deep stacks. Here a stack is a number, as in the capture, with its frame and the number of its caller's stack.

use super::document::{Fields, kind};
use super::stack::{FrameFields, frame_fields};
use crate::table::Value;
use crate::views::fields::{sample_interval, span, total};
use analysis::{StackState, call_of_row, process_name, stack_states};
use capture::{Frame, FrameId, Node, NodeId};
use engine::Loaded;
use serde::Serialize;
use std::io::{self, Write};

#[derive(Serialize)]
struct FramesFields<'a> {
    functions: Vec<FrameFields<'a>>,
    /// What the frame is instead of code.
    pseudo: Option<&'static str>,
}

#[derive(Serialize)]
struct NodeFields {
    parent: Option<u32>,
    frame: Option<u32>,
}

/// Writes the tables, a line for each row.
///
/// # Errors
/// Those of the writer.
pub fn tables(out: &mut dyn Write, loaded: &Loaded) -> io::Result<()> {
    let mut fields = kind("tables");
    fields.extend([
        ("file", Value::name(&loaded.source.file)),
        ("cut", Value::known(loaded.source.cut.clone())),
        ("sample_interval", sample_interval(loaded)),
        ("duration_ns", Value::Duration(loaded.duration_ns())),
    ]);
    fields.extend(span(loaded.profile.span));
    fields.extend([("peak_time_ns", Value::Time(loaded.profile.peak.at.time)), ("total", total(loaded))]);
    let head = Fields { loaded, fields };
    let head = serde_json::to_string(&head)?;
    // The tables are written row by row: all at once may not fit into memory.
    write!(out, "{}", head.strip_suffix('}').unwrap_or(&head))?;
    let tables = &loaded.tables;
    let processes = tables.processes.iter().map(|row| {
        let fields = vec![("pid", Value::Id(row.pid.into())), ("name", process_name(row).into())];
        Fields { loaded, fields }
    });
    table(out, "processes", processes)?;
    table(out, "frames", (0..tables.frames.len()).map(|index| frame(loaded, FrameId::from_index(index))))?;
    table(out, "stacks", tables.nodes.iter().enumerate().map(|(index, node)| stack(index, node)))?;
    let states = stack_states(tables);
    let rows = loaded.profile.sites_with_spread().map(|(site, spread)| {
        let state = states.get(site.node.index()).copied().unwrap_or(StackState::Incomplete);
        let fields = vec![
            ("process", Value::Id(site.process.0.into())),
            ("stack", Value::Id(site.node.0.into())),
            ("call", call_of_row(tables, site.node, &site.cost).into()),
            ("state", state.name().into()),
            ("", Value::costs(site.cost, spread)),
        ];
        Fields { loaded, fields }
    });
    table(out, "rows", rows)?;
    writeln!(out, "}}")
}

fn table(out: &mut dyn Write, name: &str, rows: impl Iterator<Item = impl Serialize>) -> io::Result<()> {
    write!(out, ",\n\"{name}\":[")?;
    for (index, row) in rows.enumerate() {
        write!(out, "{}", if index > 0 { ",\n" } else { "\n" })?;
        serde_json::to_writer(&mut *out, &row)?;
    }
    write!(out, "]")
}

fn frame(loaded: &Loaded, id: FrameId) -> FramesFields<'_> {
    match loaded.tables.frames[id.index()] {
        Frame::Pseudo(pseudo) => FramesFields { functions: Vec::new(), pseudo: Some(pseudo.label()) },
        Frame::Code { .. } => {
            let steps = loaded.names.steps(id).iter();
            let functions = steps.map(|step| frame_fields(&loaded.tables, &loaded.names, id, step));
            FramesFields { functions: functions.collect(), pseudo: None }
        }
    }
}

/// The stack without frames has neither.
fn stack(index: usize, node: &Node) -> NodeFields {
    let is_root = index == NodeId::ROOT.index();
    NodeFields { parent: (!is_root).then_some(node.parent.0), frame: (!is_root).then_some(node.frame.0) }
}
