//! Rows of stacks or lines, and the details of the selected one.

use super::{Theme, put, put_at, tint, waiting};
use crate::catalogue;
use crate::model::{Model, Page, layout, wrapped};
use crate::work::{StackList, StackRow, steps};
use analysis::{Step, meaningful};
use capture::{FrameId, NodeId};
use engine::Loaded;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use report::text::{detail_of_frame, escape, fit_name};

/// Below this width, only the first numbers of a row are shown.
const NARROW: u16 = 100;

/// Draws the page.
pub(super) fn draw(buffer: &mut Buffer, model: &Model, theme: &Theme) {
    let Some(list) = model.list() else {
        return waiting(buffer, model.page_area(), model, theme);
    };
    let [rows, details] = model.list_areas();
    let mut row = 0;
    for about in &list.about {
        put(buffer, rows, row, about, theme.heading());
        row += 1;
    }
    // On a narrow screen, names matter more than the other numbers.
    let is_narrow = rows.width < NARROW;
    let (numbers, width) = list.line(&list.heads, is_narrow);
    let width = u16::try_from(width).unwrap_or(u16::MAX);
    let name = list.heads.last().map_or("", String::as_str);
    put(buffer, rows, row, &format!("{numbers}  {name}"), theme.detail());
    row += 1;
    let cursor = model.cursor_now();
    for (place, (at, row)) in (row..rows.height).zip(list.rows.iter().enumerate().skip(cursor.top)) {
        if row.is_of_others() {
            put(buffer, rows, place, &row.name, theme.detail());
        } else {
            let column = put(buffer, rows, place, &list.line(&row.numbers, is_narrow).0, theme.value());
            put_at(buffer, rows, column.max(width) + 2, place, &row.name, theme.name());
        }
        if at == cursor.selected {
            tint(buffer, rows, place, theme.selected(true));
        }
    }
    if list.rows.is_empty() {
        put(buffer, rows, row, catalogue::NOTHING, theme.detail());
        return;
    }
    let Some(selected) = list.rows.get(cursor.selected) else { return };
    match model.page {
        Page::Lines => source(buffer, details, model, &list, selected, theme),
        Page::Marks => regions(buffer, details, selected, theme),
        _ => of_stack(buffer, details, &list.loaded, &selected.about, selected.node, theme),
    }
}

/// The details of a row, and all functions of its stack, each with its place or why it has no name.
pub(super) fn of_stack(
    buffer: &mut Buffer,
    area: Rect,
    loaded: &Loaded,
    about: &[String],
    node: Option<NodeId>,
    theme: &Theme,
) {
    if about.is_empty() && node.is_none() {
        return;
    }
    put(buffer, area, 0, &"─".repeat(usize::from(area.width)), theme.detail());
    let places = layout::below_header(area);
    let about: Vec<String> = about.iter().flat_map(|text| wrapped(text, usize::from(places.width))).collect();
    for (place, line) in (0..places.height).zip(&about) {
        put(buffer, places, place, line, theme.heading());
    }
    let first = u16::try_from(about.len()).unwrap_or(u16::MAX);
    let room = usize::from(places.height.saturating_sub(first));
    let (steps, left_out) = steps_that_fit(loaded, node, room);
    if left_out > 0 {
        put(buffer, places, places.height - 1, &catalogue::more_functions(left_out), theme.detail());
    }
    for (place, (frame, step)) in (first..).zip(steps) {
        let at = detail_of_frame(loaded, frame, &step).unwrap_or_default();
        let room = usize::from(places.width).saturating_sub(report::text::columns(&at) + 2);
        let name = fit_name(&loaded.names, step.label, room.max(10));
        let column = put(buffer, places, place, &name, theme.of_kind(loaded.names.label(step.label).kind));
        put_at(buffer, places, column + 2, place, &at, theme.detail());
    }
}

/// The functions that fit, and how many others there are, which takes the last line. If not all fit, those before the
/// first meaningful one are left out: wrappers that allocate on behalf of others say least.
fn steps_that_fit(loaded: &Loaded, node: Option<NodeId>, room: usize) -> (Vec<(FrameId, Step)>, usize) {
    let all = node.map(|node| steps(loaded, node)).unwrap_or_default();
    match (node, room.checked_sub(1)) {
        (Some(node), Some(shown)) if all.len() > room => {
            let shown: Vec<_> = meaningful(&loaded.tables, &loaded.names, node).take(shown).collect();
            let left_out = all.len() - shown.len();
            (shown, left_out)
        }
        (_, None) => (Vec::new(), 0),
        _ => (all, 0),
    }
}

/// The regions of a name, one by one.
fn regions(buffer: &mut Buffer, area: Rect, row: &StackRow, theme: &Theme) {
    let Some(mark) = &row.mark else { return };
    put(buffer, area, 0, &"─".repeat(usize::from(area.width)), theme.detail());
    let places = layout::below_header(area);
    let (all, room) = (mark.regions.len() + mark.more, usize::from(places.height));
    // If not all fit, the last line says how many others there are.
    let shown = mark.regions.len().min(if all > room { room.saturating_sub(1) } else { room });
    let more = (all > shown).then(|| catalogue::more_regions(all - shown));
    for (place, line) in (0..places.height).zip(mark.regions[..shown].iter().chain(&more)) {
        put(buffer, places, place, line, theme.detail());
    }
}

/// The source around a line, with the cost of each line.
fn source(buffer: &mut Buffer, area: Rect, model: &Model, list: &StackList, row: &StackRow, theme: &Theme) {
    let Some(place) = &row.place else {
        put(buffer, area, 0, catalogue::NO_SOURCE, theme.detail());
        return;
    };
    let path = escape(&place.path.to_string_lossy()).into_owned();
    put(buffer, area, 0, &format!("── {path}:{}", place.line), theme.heading());
    let Some(source) = model.source() else { return };
    if let Some(reason) = &source.reason {
        put(buffer, area, 1, &catalogue::cannot_be_shown(reason), theme.detail());
        return;
    }
    let places = layout::below_header(area);
    let first = (place.line as usize).saturating_sub(usize::from(places.height) / 2 + 1);
    for (y, (number, text)) in (0..places.height).zip((1_u32..).zip(&source.lines).skip(first)) {
        let is_here =
            |row: &&StackRow| row.place.as_ref().is_some_and(|at| at.path == place.path && at.line == number);
        let cost =
            list.rows.iter().find(is_here).and_then(|row| row.numbers.first()).map_or("", String::as_str);
        let column = put(buffer, places, y, &format!("{cost:>10} "), theme.value());
        let column = put_at(buffer, places, column, y, &format!("{number:>5} "), theme.detail());
        let style = if number == place.line { theme.heading() } else { ratatui::style::Style::new() };
        put_at(buffer, places, column, y, text, style);
    }
}
