//! The flame graph.

use super::tree::process_of;
use super::{Theme, put, put_at};
use crate::model::{Model, layout};
use crate::work::{View, numbers, pair};
use capture::ProcessId;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::collections::HashMap;
use viewer::analysis::{Kind, LabelId, Tree};
use viewer::text::{escape, fit_name};

/// Draws the page.
pub(super) fn draw(buffer: &mut Buffer, body: Rect, model: &Model, theme: &Theme) {
    let [graph, lines] = layout::flame(body);
    let Some((view, tree)) = model.flame.shown() else { return };
    let selected = model.flame.selected();
    let mut processes = HashMap::new();
    for cell in model.flame.cells(graph.width, graph.height) {
        let node = tree.node(cell.id);
        let process = process(view, tree, cell.id, &mut processes);
        let style = theme.cell(process, shade(view, node.label), selected == Some(cell.id));
        let row = u16::try_from(cell.depth - model.flame.top()).unwrap_or(u16::MAX);
        let area = Rect { x: graph.x + cell.x, y: graph.y + row, width: cell.width, height: 1 };
        buffer.set_style(area, style);
        // The last column is left between neighbours, which have the same hue as a rule.
        let room = usize::from(cell.width.saturating_sub(1));
        let name = if room >= 3 { fit_name(&view.loaded.names, node.label, room) } else { String::new() };
        // A column alone is too narrow for more than its colour.
        let bar = match (cell.width, theme.color) {
            (1, true) => " ",
            (_, true) => "▏",
            (_, false) => "|",
        };
        put(buffer, area, 0, &format!("{bar}{name}"), style);
    }
    about(buffer, lines, view, tree, selected, theme);
}

/// The process that a node is in. `known` has those of labels that were looked up: there may be many processes.
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

/// Functions of one name have one shade.
fn shade(view: &View, label: LabelId) -> u32 {
    let name = view.loaded.names.label(label).name.as_bytes();
    name.iter().fold(7_u32, |sum, &byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)))
}

/// What is selected, with its numbers.
fn about(buffer: &mut Buffer, area: Rect, view: &View, tree: &Tree, selected: Option<u32>, theme: &Theme) {
    let Some(node) = selected.map(|id| (id, tree.node(id))) else { return };
    let metric = view.question.metric;
    let whole = metric.of(&view.loaded.profile.total);
    let own = pair(metric, tree.own(node.0)).0;
    let text = format!("{}   self {own}", numbers(metric, node.1.total, whole).trim_start());
    put(buffer, area, 0, &text, theme.value());
    let name = &view.loaded.names.label(node.1.label).name;
    put_at(buffer, area, 0, 1, &escape(name), theme.name());
}
