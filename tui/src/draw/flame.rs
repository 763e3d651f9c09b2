//! The flame graph.

use super::tree::process_of;
use super::{Theme, put, put_at};
use crate::model::{Cell, Flame, Model, layout};
use crate::work::{View, numbers, rank};
use analysis::{Kind, LabelId, Tree};
use capture::ProcessId;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use report::text::{escape, fit_name};
use std::collections::HashMap;

/// Draws the page.
pub(super) fn draw(buffer: &mut Buffer, body: Rect, model: &Model, theme: &Theme) {
    let [graph, lines] = layout::flame(body);
    let Some((view, tree)) = model.flame.shown() else { return };
    let selected = model.flame.selected();
    let mut processes = HashMap::new();
    cells(buffer, graph, &model.flame, |id| {
        let process = process(view, tree, id, &mut processes);
        let bar = if theme.color { "▏" } else { "|" };
        (bar, theme.cell(process, shade(view, tree.node(id).label), selected == Some(id)))
    });
    about(buffer, lines, view, tree, selected, theme);
}

/// Draws the visible cells, each with the text of its first column, and in its style.
pub(super) fn cells(
    buffer: &mut Buffer,
    graph: Rect,
    flame: &Flame,
    mut look: impl FnMut(u32) -> (&'static str, Style),
) {
    let Some((view, tree)) = flame.shown() else { return };
    for Cell { id, x, width, depth } in flame.cells(graph.width, graph.height) {
        let (bar, style) = look(id);
        let row = u16::try_from(depth - flame.top()).unwrap_or(u16::MAX);
        let area = Rect { x: graph.x + x, y: graph.y + row, width, height: 1 };
        buffer.set_style(area, style);
        // The last column is left blank to separate neighbours, which usually have the same hue.
        let room = usize::from(width.saturating_sub(1));
        let label = tree.node(id).label;
        let name = if room >= 3 { fit_name(&view.loaded.names, label, room) } else { String::new() };
        // A cell of one column has room only for its colour, if it has one.
        let bar = if width == 1 && bar == "▏" { " " } else { bar };
        put(buffer, area, 0, &format!("{bar}{name}"), style);
    }
}

/// The process of a node. `known` caches the labels looked up so far, since there may be many processes.
fn process(
    view: &View,
    tree: &Tree,
    id: u32,
    known: &mut HashMap<LabelId, Option<ProcessId>>,
) -> Option<ProcessId> {
    let callers = std::iter::successors(Some(id), |&id| tree.parent(id));
    let mut labels = callers.map(|id| tree.node(id).label);
    let label = labels.find(|label| view.loaded.names.label(*label).kind == Kind::Process)?;
    *known.entry(label).or_insert_with(|| process_of(view, label))
}

/// Functions of the same name have the same shade.
fn shade(view: &View, label: LabelId) -> u32 {
    let name = view.loaded.names.label(label).name.as_bytes();
    name.iter().fold(7_u32, |sum, &byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)))
}

/// The selected function, with its numbers.
fn about(buffer: &mut Buffer, area: Rect, view: &View, tree: &Tree, selected: Option<u32>, theme: &Theme) {
    let Some(node) = selected.map(|id| (id, tree.node(id))) else { return };
    let metric = view.question.metric;
    let whole = metric.of(&view.loaded.profile.total);
    let own = rank(&view.loaded, metric, tree.own(node.0));
    let numbers = numbers(&view.loaded, metric, node.1.total, whole);
    let text = format!("{}   self {own}", numbers.trim());
    put(buffer, area, 0, &text, theme.value());
    let name = &view.loaded.names.label(node.1.label).name;
    put_at(buffer, area, 0, 1, &escape(name), theme.name());
}
