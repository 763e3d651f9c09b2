//! The timeline: tracks on one axis of time, under them marks and a ruler, and two cursors over all.
//!
//! ```text
//!   heap     12.3 MiB ▁▃▅▇█▇▅▃        each track is as high as its share says; the ruler and the marks are tracks
//!   resident 20.0 MiB ▂▄▆████▇▆▅      of one row
//!   CPU         1.00  ▁█▁▁█▁▁▁▁
//! ```

use super::{Theme, put, put_at};
use crate::model::{Model, layout};
use crate::work::{History, at};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use viewer::analysis::Amount;
use viewer::format::{bytes, counted, duration};
use viewer::query::Part;

/// Eighths of a cell.
const BLOCKS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// Rows below the tracks: marks, ruler, and two of text.
const BELOW: u16 = 5;

/// Something over time.
struct Track {
    name: &'static str,
    /// By column.
    values: Vec<f64>,
    /// Rows, as a share of those that there are.
    height: u16,
    /// How a value is written.
    unit: fn(f64) -> String,
}

/// Draws the page.
pub(super) fn draw(buffer: &mut Buffer, body: Rect, model: &Model, theme: &Theme) {
    let Some(history) = model.history() else {
        put(buffer, body, 0, if model.is_busy { "reading …" } else { "" }, theme.detail());
        return;
    };
    let plot = layout::plot(body);
    let tracks = tracks(model, &history, plot.width);
    let shares: u16 = tracks.iter().map(|track| track.height).sum();
    let room = body.height.saturating_sub(BELOW);
    let mut y = 0;
    for (index, track) in tracks.iter().enumerate() {
        let height = (room * track.height / shares.max(1)).max(1);
        draw_track(buffer, body, plot, y..y + height, track, theme.track(index), theme);
        y += height;
    }
    marks(buffer, plot, y, model, &history, theme);
    ruler(buffer, plot, y + 1, model, theme);
    cursors(buffer, plot, y, model, theme);
    about(buffer, body, y + 2, model, &history, theme);
}

fn tracks(model: &Model, history: &History, width: u16) -> Vec<Track> {
    let heap = &history.heap;
    let steps = |values: Vec<f64>| columns(model, history, width, &values);
    let of = |values: &[i64]| values.iter().map(|&value| value as f64).collect::<Vec<_>>();
    let peaks: Vec<f64> = heap.buckets.iter().map(|bucket| bucket.peak.bytes as f64).collect();
    let size = |value: f64| bytes(value as i64);
    let mut tracks = vec![Track { name: "heap", values: steps(peaks), height: 4, unit: size }];
    if !history.resident.is_empty() {
        let values = steps(of(&history.resident));
        tracks.push(Track { name: "resident", values, height: 2, unit: size });
    }
    if !history.processor.is_empty() {
        let step = heap.width.max(1) as f64;
        let values = history.processor.iter().map(|&time| time as f64 / step).collect();
        let unit = |value: f64| format!("{value:.2}");
        tracks.push(Track { name: "CPUs", values: steps(values), height: 1, unit });
    }
    tracks
}

/// The highest value of the steps under each column.
fn columns(model: &Model, history: &History, width: u16, values: &[f64]) -> Vec<f64> {
    let heap = &history.heap;
    let place = |time: u64| (time.saturating_sub(heap.start) / heap.width.max(1)) as usize;
    let value = |column: u16| {
        let (from, to) = (model.time.time_of(column, width), model.time.time_of(column + 1, width));
        let last = values.len().saturating_sub(1);
        let (first, last) = (place(from).min(last), place(to.saturating_sub(1).max(from)).min(last));
        values.get(first..=last).unwrap_or_default().iter().copied().fold(0.0, f64::max)
    };
    (0..width).map(value).collect()
}

fn draw_track(
    buffer: &mut Buffer,
    body: Rect,
    plot: Rect,
    rows: std::ops::Range<u16>,
    track: &Track,
    style: Style,
    theme: &Theme,
) {
    let most = track.values.iter().copied().fold(0.0, f64::max);
    put(buffer, body, rows.start, track.name, theme.heading());
    let scale = (track.unit)(most);
    if rows.len() > 1 {
        put(buffer, body, rows.start + 1, &scale, theme.detail());
    } else {
        put_at(buffer, body, 5, rows.start, &scale, theme.detail());
    }
    let eighths = rows.len() as f64 * 8.0;
    for (column, value) in (0..).zip(&track.values) {
        let filled = if most > 0.0 { (value / most * eighths).ceil() as usize } else { 0 };
        for (above, row) in rows.clone().rev().enumerate() {
            let level = filled.saturating_sub(above * 8).min(8);
            if level > 0 {
                put_at(buffer, plot, column, row, BLOCKS[level], style);
            }
        }
    }
}

/// A row with the beginnings of marks' names.
fn marks(buffer: &mut Buffer, plot: Rect, row: u16, model: &Model, history: &History, theme: &Theme) {
    let mut free = 0;
    for mark in &history.marks {
        let Some(column) = model.time.column_of(mark.time, plot.width) else { continue };
        if column >= free {
            free = put_at(buffer, plot, column, row, &format!("◆{}", mark.name), theme.value()) + 1;
        } else {
            put_at(buffer, plot, column, row, "◆", theme.value());
        }
    }
}

/// Times, a tenth of the width apart.
fn ruler(buffer: &mut Buffer, plot: Rect, row: u16, model: &Model, theme: &Theme) {
    let step = (plot.width / 8).max(12);
    for column in (0..plot.width).step_by(usize::from(step)) {
        let text = format!("│{}", duration(model.time.time_of(column, plot.width)));
        if usize::from(plot.width - column) >= viewer::text::columns(&text) {
            put_at(buffer, plot, column, row, &text, theme.detail());
        }
    }
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

/// What is at the cursors, and between them.
fn about(buffer: &mut Buffer, body: Rect, row: u16, model: &Model, history: &History, theme: &Theme) {
    let [a, b] = model.time.cursors;
    let held = |time: u64| held_at(history, time);
    let (from, to) = model.time.range();
    let delta = held(to).bytes - held(from).bytes;
    let sign = if delta > 0 { "+" } else { "" };
    let cursor = |name: &str, time: u64| format!("{name} {}: {}", duration(time), bytes(held(time).bytes));
    let style = |index| match index == model.time.active {
        true => Style::new().add_modifier(Modifier::REVERSED),
        false => Style::new(),
    };
    let column = put(buffer, body, row, &cursor("A", a), style(0));
    let column = put_at(buffer, body, column + 2, row, &cursor("B", b), style(1));
    let text = format!("  {} between, {sign}{}", duration(to - from), bytes(delta));
    put_at(buffer, body, column, row, &text, theme.value());
    let is_range = model.question.part == Part::Range(at(from), at(to));
    let text = match (&model.question.part, is_range) {
        (_, true) => "All pages are about this range; w: about everything again".to_owned(),
        (Part::Whole, _) => {
            "r: pages about this range   a: about the cursor's moment   d: what changed".to_owned()
        }
        _ => "All pages are about another part of the time: see above; w: about everything again".to_owned(),
    };
    put(buffer, body, row + 1, &text, theme.detail());
    let marks =
        if history.marks.is_empty() { String::new() } else { counted(history.marks.len() as i128, "mark") };
    put(buffer, body, row + 2, &marks, theme.detail());
}

/// What was held at a time, as exactly as a step is wide.
fn held_at(history: &History, time: u64) -> Amount {
    let heap = &history.heap;
    let passed = time.saturating_sub(heap.start).div_ceil(heap.width.max(1)) as usize;
    let last = heap.buckets.len();
    match passed.min(last).checked_sub(1) {
        Some(bucket) => heap.buckets[bucket].held,
        None => Amount::ZERO,
    }
}
