//! The timeline: tracks on one time axis, two cursors over them, and below them the values at the cursors.

use super::tracks::{placed, tracks};
use super::{Theme, put, put_at, waiting};
use crate::catalogue;
use crate::model::{Model, layout};
use crate::work::{History, at};
use analysis::Amount;
use analysis::format::{bytes, counted, duration, moment};
use analysis::query::Part;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// Rows of text below the tracks.
const BELOW: u16 = 3;

/// Draws the page.
pub(super) fn draw(buffer: &mut Buffer, body: Rect, model: &Model, theme: &Theme) {
    let Some(history) = model.history() else {
        return waiting(buffer, body, model, theme);
    };
    let plot = layout::plot(body);
    let tracks = tracks(model, &history, plot.width);
    let places = placed(&tracks, body.height.saturating_sub(BELOW));
    super::tracks::draw(buffer, [body, plot], &tracks, &places, (model, &history), theme);
    let of_values = tracks.iter().zip(&places).filter(|(track, _)| track.has_values());
    cursors(buffer, plot, of_values.map(|(_, rows)| rows.end).max().unwrap_or(0), model, theme);
    about(buffer, body, places.last().map_or(0, |rows| rows.end), model, &history, theme);
}

fn cursors(buffer: &mut Buffer, plot: Rect, height: u16, model: &Model, theme: &Theme) {
    let area = Rect { height: height.min(plot.height), ..plot };
    let column = |time: u64| model.time.column_of(time, plot.width);
    let (from, to) = model.time.range();
    let (seen_from, seen_to) = model.time.seen();
    if let (Some(first), Some(last)) = (column(from.max(seen_from)), column(to.min(seen_to)))
        && last > first
    {
        buffer.set_style(Rect { x: area.x + first, width: last - first, ..area }, theme.range());
    }
    for (index, &time) in model.time.cursors.iter().enumerate() {
        let Some(x) = column(time).filter(|&x| x < area.width) else { continue };
        let line = Rect { x: area.x + x, width: 1, ..area };
        buffer.set_style(line, theme.cursor(index == model.time.active));
        for y in line.y..line.y + line.height {
            if let Some(cell) = buffer.cell_mut((line.x, y)).filter(|cell| cell.symbol() == " ") {
                cell.set_symbol("│");
            }
        }
    }
}

/// The values at the cursors, and between them.
fn about(buffer: &mut Buffer, body: Rect, row: u16, model: &Model, history: &History, theme: &Theme) {
    let [a, b] = model.time.cursors;
    let held = |time: u64| held_at(history, time);
    let (from, to) = model.time.range();
    let delta = held(to).bytes - held(from).bytes;
    let sign = if delta > 0 { "+" } else { "" };
    // Zoomed in, times are exact enough to tell neighbouring columns apart.
    let (seen_from, seen_to) = model.time.seen();
    let column = (seen_to - seen_from) / u64::from(layout::plot(body).width.max(1));
    let step = if model.time.window.is_some() { column } else { 0 };
    let cursor =
        |name: &str, time: u64| format!("{name} {}: {}", moment(time, step), bytes(held(time).bytes));
    let style = |index| if index == model.time.active { theme.selected(true) } else { Style::new() };
    let column = put(buffer, body, row, &cursor("A", a), style(0));
    let column = put_at(buffer, body, column + 2, row, &cursor("B", b), style(1));
    let text = format!("  {} between, {sign}{}", duration(to - from), bytes(delta));
    put_at(buffer, body, column, row, &text, theme.value());
    let is_range = model.question.part == Part::Range(at(from), at(to));
    let text = match (&model.question.part, is_range) {
        (_, true) => catalogue::ABOUT_THIS_RANGE,
        (Part::Whole, _) => catalogue::ABOUT_EVERYTHING,
        _ => catalogue::ABOUT_ANOTHER_PART,
    };
    put(buffer, body, row + 1, text, theme.detail());
    let marks =
        if history.marks.is_empty() { String::new() } else { counted(history.marks.len() as i128, "mark") };
    put(buffer, body, row + 2, &marks, theme.detail());
}

/// The bytes held at a time, as exact as a step is wide.
fn held_at(history: &History, time: u64) -> Amount {
    let heap = &history.heap;
    let passed = time.saturating_sub(heap.start).div_ceil(heap.width.max(1)) as usize;
    let last = heap.buckets.len();
    match passed.min(last).checked_sub(1) {
        Some(bucket) => heap.buckets[bucket].held,
        None => Amount::ZERO,
    }
}
