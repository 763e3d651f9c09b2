//! What changed, as a flame graph in two colours.
//!
//! ```text
//!  +main                                     each cell is as wide as what changed below it, in either direction;
//!  +load                 -parse    =idle     its sign and its colour say what comes of it
//! ```

use super::flame::cells;
use super::{Theme, put, put_at, waiting};
use crate::catalogue;
use crate::model::{Model, layout};
use crate::work::Changes;
use analysis::{Amount, Tree};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use report::text::{Units, escape};

/// Draws the page.
pub(super) fn draw(buffer: &mut Buffer, body: Rect, model: &Model, theme: &Theme) {
    let Some(changes) = model.changed() else {
        return waiting(buffer, body, model, theme);
    };
    let [graph, lines] = layout::flame(body);
    if changes.view.tree.node(Tree::ROOT).total.is_zero() {
        put(buffer, graph, 0, &catalogue::nothing_changed(&changes.about), theme.detail());
        return;
    }
    let selected = model.changes.selected();
    cells(buffer, graph, &model.changes, |id| {
        let share = share(&changes, id);
        let sign = if share > 0.0 {
            "+"
        } else if share < 0.0 {
            "-"
        } else {
            "="
        };
        (sign, theme.change(share, selected == Some(id)))
    });
    about(buffer, lines, &changes, selected, theme);
}

/// The net change as a share of all change, from −1 to 1.
fn share(changes: &Changes, id: u32) -> f64 {
    let rank = |amount: Amount| changes.view.question.metric.rank(amount) as f64;
    let either_way = rank(changes.view.tree.node(id).total);
    if either_way > 0.0 { rank(changes.sums.node(id).total) / either_way } else { 0.0 }
}

/// The selected function, with its numbers.
fn about(buffer: &mut Buffer, area: Rect, changes: &Changes, selected: Option<u32>, theme: &Theme) {
    let Some(id) = selected else { return };
    let (sum, all) = (changes.sums.node(id).total, changes.view.tree.node(id).total);
    let (metric, loaded) = (changes.view.question.metric, &changes.view.loaded);
    let units = Units::of(loaded, metric);
    let ((first, second), (heads, all)) = (units.signed(sum), (units.heads(), units.pair(all).0));
    // A size needs no label.
    let numbers = match metric.counts_blocks() {
        true => format!("{first} {}  {second}, of {all} changed", heads.0),
        false => format!("{first}  {second} {}, of {all} changed", heads.1),
    };
    let column = put(buffer, area, 0, &numbers, theme.value());
    put_at(buffer, area, column + 3, 0, &changes.about, theme.detail());
    let name = &changes.view.loaded.names.label(changes.view.tree.node(id).label).name;
    put_at(buffer, area, 0, 1, &escape(name), theme.name());
}
