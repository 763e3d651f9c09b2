//! What the mouse does.

use super::{go, moves};
use crate::model::{Flame, Focus, Model, Page, layout};
use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

/// Rows scrolled by a step of the wheel.
const WHEEL: isize = 3;

/// Handles a mouse event.
pub(super) fn used(model: &mut Model, event: MouseEvent) {
    if model.prompt.is_some() || model.help.is_some() {
        return;
    }
    let at = Position { x: event.column, y: event.row };
    match event.kind {
        MouseEventKind::ScrollDown => wheel(model, at, WHEEL),
        MouseEventKind::ScrollUp => wheel(model, at, -WHEEL),
        MouseEventKind::Down(MouseButton::Left) => pressed(model, at),
        MouseEventKind::Drag(MouseButton::Left) => dragged(model, at),
        _ => {}
    }
}

fn wheel(model: &mut Model, at: Position, rows: isize) {
    point(model, at);
    moves::step(model, rows);
}

/// Moves the focus to the list under the mouse.
fn point(model: &mut Model, at: Position) {
    if model.page == Page::Functions {
        let areas = layout::functions(model.areas().body);
        let hit = areas.into_iter().find(|(_, area)| area.contains(at));
        model.functions.focus = hit.map_or(model.functions.focus, |(focus, _)| focus);
    }
}

fn pressed(model: &mut Model, at: Position) {
    let areas = model.areas();
    if areas.tabs.contains(at) {
        if let Some(page) = layout::tab_at(at.x, areas.tabs.width) {
            go(model, page);
        }
        return;
    }
    if !areas.body.contains(at) {
        return;
    }
    let [titles, ..] = model.areas_of_scans();
    if titles.contains(at) {
        let mut all = layout::titles_of_scans(model.page, titles.width);
        if let Some((_, page, _)) = all.find(|(columns, ..)| columns.contains(&(at.x - titles.x))) {
            go(model, page);
        }
        return;
    }
    point(model, at);
    // A click on the selected row does what Enter does.
    if select(model, areas.body, at) {
        match model.page {
            Page::Tree => model.pane_mut().toggle(),
            Page::Retained => model.retained_tree.toggle(),
            Page::Functions if model.functions.focus == Focus::Below => model.functions.below.toggle(),
            _ => moves::activate(model),
        }
    }
}

/// Selects what is under the mouse; true when it was selected already.
fn select(model: &mut Model, body: Rect, at: Position) -> bool {
    let row = |area: Rect| {
        let rows = layout::below_header(area);
        rows.contains(at).then(|| usize::from(at.y - rows.y))
    };
    match model.page {
        Page::Tree => row(body).is_some_and(|row| model.pane_mut().click(row)),
        Page::Retained => {
            let [rows, _] = layout::retained(model.page_area());
            row(rows).is_some_and(|row| model.retained_tree.click(row))
        }
        Page::Flame | Page::Changes => {
            let [area, _] = layout::flame(body);
            let click = |graph: &mut Flame| graph.click(at.x - area.x, at.y - area.y, area.width);
            area.contains(at) && model.graph_mut().is_some_and(click)
        }
        Page::Functions => {
            let focus = model.functions.focus;
            let area = layout::functions(body).into_iter().find(|(of, _)| *of == focus).map(|(_, area)| area);
            let Some(row) = area.and_then(row) else { return false };
            match model.functions.list() {
                Some((cursor, length)) => cursor.click(row, length),
                None => model.functions.below.click(row),
            }
        }
        Page::Time => {
            let plot = layout::plot(body);
            if plot.contains(at) {
                let time = model.time.time_of(at.x - plot.x, plot.width);
                // A drag begins: one cursor stays, the other follows the mouse.
                (model.time.cursors, model.time.active) = ([time; 2], 1);
            }
            false
        }
        _ => {
            let Some(list) = model.list() else { return false };
            let [rows, _] = model.list_areas();
            let above = u16::try_from(list.about.len()).unwrap_or(u16::MAX);
            let first = rows.y.saturating_add(above).saturating_add(1);
            let length = list.rows.len();
            rows.contains(at) && at.y >= first && model.cursor().click(usize::from(at.y - first), length)
        }
    }
}

fn dragged(model: &mut Model, at: Position) {
    let plot = layout::plot(model.areas().body);
    if model.page == Page::Time && plot.contains(at) {
        let time = model.time.time_of(at.x - plot.x, plot.width);
        model.time.put(time);
    }
}
