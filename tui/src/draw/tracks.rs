//! Tracks of the timeline, one below the other.
//!
//! ```text
//!   heap     12.3 MiB ▁▃▅▇█▇▅▃        Share(4)    of the rows that are left
//!   resident 20.0 MiB ▂▄▆████▇▆▅      Share(2)
//!   CPU         1.00  ▁█▁▁█▁▁▁▁       Share(1)
//!                     ◆loaded         Rows(1)     marks
//!                     │0 s   │1.00 s  Rows(1)     the ruler
//! ```
//!
//! All tracks are placed in the same way, by their heights, and drawn according to what they show.

use super::{Theme, put, put_at};
use crate::model::Model;
use crate::work::History;
use analysis::format::{bytes, moment};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use std::ops::Range;

/// Eighths of a cell.
const BLOCKS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// Something over time.
pub(super) struct Track {
    name: &'static str,
    height: Height,
    shows: Shows,
}

/// How high a track is.
#[derive(Clone, Copy, Debug)]
enum Height {
    /// A fixed number of rows.
    Rows(u16),
    /// A share of the remaining rows, relative to all shares.
    Share(u16),
}

/// What a track shows.
enum Shows {
    /// Values by column, and their format.
    Values(Vec<f64>, fn(f64) -> String),
    /// The beginnings of marks' names.
    Marks,
    /// Times.
    Ruler,
}

impl Track {
    /// Whether it has values; cursors are drawn over these.
    pub(super) fn has_values(&self) -> bool {
        matches!(self.shows, Shows::Values(..))
    }
}

/// The tracks of a capture, from top to bottom.
pub(super) fn tracks(model: &Model, history: &History, width: u16) -> Vec<Track> {
    let heap = &history.heap;
    let of = |values: &[i64]| values.iter().map(|&value| value as f64).collect::<Vec<_>>();
    let size = |value: f64| bytes(value as i64);
    let mut tracks = Vec::new();
    let mut values = |name, share, values: Vec<f64>, unit| {
        if !values.is_empty() {
            let shows = Shows::Values(columns(model, history, width, &values), unit);
            tracks.push(Track { name, height: Height::Share(share), shows });
        }
    };
    let peaks = heap.buckets.iter().map(|bucket| bucket.peak.bytes as f64);
    values("heap", 4, peaks.collect(), size);
    values("resident", 2, of(&history.resident), size);
    let step = heap.width.max(1) as f64;
    let busy = history.processor.iter().map(|&time| time as f64 / step);
    values("CPUs", 1, busy.collect(), |value| format!("{value:.2}"));
    tracks.push(Track { name: "", height: Height::Rows(1), shows: Shows::Marks });
    tracks.push(Track { name: "", height: Height::Rows(1), shows: Shows::Ruler });
    tracks
}

/// The rows of each track, if there are `room` rows.
pub(super) fn placed(tracks: &[Track], room: u16) -> Vec<Range<u16>> {
    let heights: Vec<Height> = tracks.iter().map(|track| track.height).collect();
    rows_of(&heights, room)
}

fn rows_of(heights: &[Height], room: u16) -> Vec<Range<u16>> {
    let (mut fixed, mut shares) = (0, 0);
    for height in heights {
        match height {
            Height::Rows(rows) => fixed += rows,
            Height::Share(share) => shares += share,
        }
    }
    let left = room.saturating_sub(fixed);
    let mut top = 0;
    let row = |height: &Height| {
        let rows = match height {
            Height::Rows(rows) => *rows,
            Height::Share(share) => (left / shares * share + left % shares * share / shares).max(1),
        };
        top += rows;
        top - rows..top
    };
    heights.iter().map(row).collect()
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

/// Draws the tracks where they were placed: names and scales in the body, the rest in the plot.
pub(super) fn draw(
    buffer: &mut Buffer,
    [body, plot]: [Rect; 2],
    tracks: &[Track],
    places: &[Range<u16>],
    (model, history): (&Model, &History),
    theme: &Theme,
) {
    for (index, (track, rows)) in tracks.iter().zip(places).enumerate() {
        put(buffer, body, rows.start, track.name, theme.heading());
        match &track.shows {
            Shows::Values(values, unit) => {
                let most = values.iter().copied().fold(0.0, f64::max);
                scale(buffer, body, rows, &unit(most), theme);
                bars(buffer, plot, rows, values, most, theme.track(index));
            }
            Shows::Marks => marks(buffer, plot, rows.start, model, history, theme),
            Shows::Ruler => ruler(buffer, plot, rows.start, model, theme),
        }
    }
}

/// The highest value: below the name, or beside it in a track of one row.
fn scale(buffer: &mut Buffer, body: Rect, rows: &Range<u16>, text: &str, theme: &Theme) {
    if rows.len() > 1 {
        put(buffer, body, rows.start + 1, text, theme.detail());
    } else {
        put_at(buffer, body, 5, rows.start, text, theme.detail());
    }
}

fn bars(buffer: &mut Buffer, plot: Rect, rows: &Range<u16>, values: &[f64], most: f64, style: Style) {
    let eighths = rows.len() as f64 * 8.0;
    for (column, value) in (0..).zip(values) {
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
    let time = |column| model.time.time_of(column, plot.width);
    for column in (0..plot.width).step_by(usize::from(step)) {
        let text = format!("│{}", moment(time(column), time(step) - time(0)));
        if usize::from(plot.width - column) >= report::text::columns(&text) {
            put_at(buffer, plot, column, row, &text, theme.detail());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn height() -> impl Strategy<Value = Height> {
        prop_oneof![(0..4_u16).prop_map(Height::Rows), (1..9_u16).prop_map(Height::Share)]
    }

    proptest! {
        /// Check that tracks of any heights lie one below the other, that those of fixed height get their rows and
        /// the others at least one, and that they fit if each has at least a row.
        #[test]
        fn tracks_lie_one_below_the_other(heights in prop::collection::vec(height(), 0..12), room in 0..200_u16) {
            let placed = rows_of(&heights, room);
            let mut top = 0;
            let mut least = 0;
            for (rows, height) in placed.iter().zip(&heights) {
                prop_assert_eq!(rows.start, top);
                top = rows.end;
                match *height {
                    Height::Rows(fixed) => prop_assert_eq!(rows.len(), usize::from(fixed)),
                    Height::Share(_) => prop_assert!(!rows.is_empty()),
                }
                least += match *height { Height::Rows(fixed) => fixed, Height::Share(share) => share.max(1) };
            }
            let shares: u16 = heights.iter().map(|height| match height { Height::Share(share) => *share, Height::Rows(_) => 0 }).sum();
            // If each share has a row, no track gets more than its share.
            if room >= least.max(shares) {
                prop_assert!(top <= room, "{top} of {room}");
            }
        }
    }
}
