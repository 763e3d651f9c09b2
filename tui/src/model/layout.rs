//! Where things are on the screen: for drawing, and for finding what was clicked.

use super::functions::Focus;
use super::page::Page;
use ratatui::layout::{Constraint, Layout, Rect};
use std::ops::Range;

/// From this width on, two lists stand side by side.
const WIDE: u16 = 120;

/// The parts of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Areas {
    /// The file, and which part of it is shown.
    pub(crate) title: Rect,
    /// The tabs.
    pub(crate) tabs: Rect,
    /// What to know before trusting the page.
    pub(crate) notes: Rect,
    /// The page.
    pub(crate) body: Rect,
    /// Keys, or what just happened.
    pub(crate) footer: Rect,
}

impl Areas {
    /// For a screen with `notes` lines of notes, which get at most a quarter of it.
    pub(crate) fn of(screen: Rect, notes: usize) -> Self {
        let notes = u16::try_from(notes).unwrap_or(u16::MAX).min(screen.height / 4);
        let rows = [1, 1, notes].map(Constraint::Length);
        let [first, second, third] = rows;
        let rows = [first, second, third, Constraint::Min(0), Constraint::Length(1)];
        let [title, tabs, notes, body, footer] = Layout::vertical(rows).areas(screen);
        Self { title, tabs, notes, body, footer }
    }
}

/// The tab at a column.
pub(crate) fn tab_at(column: u16, width: u16) -> Option<Page> {
    let mut x = 0;
    Page::TABS.iter().find_map(|tab| {
        let end = x + u16::try_from(tab_title(tab, width).len()).unwrap_or(u16::MAX);
        let hit = (x..end).contains(&column).then_some(tab.0);
        x = end + 1;
        hit
    })
}

/// A tab's text on a screen of this width: the long one, if all long ones fit.
pub(crate) fn tab_title((_, key, short, long): &(Page, char, &str, &str), width: u16) -> String {
    let long_ones: usize = Page::TABS.iter().map(|(_, _, _, long)| " K  ".len() + long.len() + 1).sum();
    if usize::from(width) + 1 >= long_ones { format!(" {key} {long} ") } else { format!("{key}{short}") }
}

/// The three lists of functions.
pub(crate) fn functions(body: Rect) -> [(Focus, Rect); 3] {
    if body.width >= WIDE {
        let [left, right] = Layout::horizontal([Constraint::Percentage(50); 2]).spacing(1).areas(body);
        let [callers, below] =
            Layout::vertical([Constraint::Percentage(30), Constraint::Percentage(70)]).areas(right);
        return [(Focus::Functions, left), (Focus::Callers, callers), (Focus::Below, below)];
    }
    let rows = [Constraint::Percentage(35), Constraint::Percentage(25), Constraint::Percentage(40)];
    let [functions, callers, below] = Layout::vertical(rows).areas(body);
    [(Focus::Functions, functions), (Focus::Callers, callers), (Focus::Below, below)]
}

/// A list, and the details of its selected row below or beside it.
pub(crate) fn list(body: Rect) -> [Rect; 2] {
    let halves = [Constraint::Percentage(50); 2];
    if body.width >= 2 * WIDE - 40 {
        return Layout::horizontal(halves).spacing(1).areas(body);
    }
    Layout::vertical(halves).areas(body)
}

/// The titles of the pages about a scan, `lines` lines about it, and the page itself.
pub(crate) fn of_scans(body: Rect, lines: usize) -> [Rect; 3] {
    let lines = u16::try_from(lines).unwrap_or(u16::MAX).min(body.height / 3);
    Layout::vertical([Constraint::Length(1), Constraint::Length(lines), Constraint::Min(0)]).areas(body)
}

/// The tree of a scan, and the details of its selected row below or beside it. The tree gets most of the room, or all
/// if there is little.
pub(crate) fn retained(page: Rect) -> [Rect; 2] {
    if page.width >= 2 * WIDE - 40 {
        return Layout::horizontal([Constraint::Percentage(50); 2]).spacing(1).areas(page);
    }
    let height = if page.height < 10 { 0 } else { page.height / 3 };
    Layout::vertical([Constraint::Min(0), Constraint::Length(height)]).areas(page)
}

/// The titles of the pages about a scan with their columns, in this much room. Leading titles are dropped if the
/// title of the shown page would be cut otherwise.
pub(crate) fn titles_of_scans(
    shown: Page,
    width: u16,
) -> impl Iterator<Item = (Range<u16>, Page, &'static str)> {
    let mut end = 0;
    let columns = Page::OF_SCANS.map(|(page, title)| {
        let start = end;
        end = start + title.len() as u16 + 2;
        (start..end - 2, page, title)
    });
    let is_shown = |(_, page, _): &&(Range<u16>, Page, &str)| *page == shown;
    let needed = columns.iter().find(is_shown).map_or(0, |(columns, ..)| columns.end.saturating_sub(width));
    let first = columns.iter().map(|(columns, ..)| columns.start).find(|start| *start >= needed).unwrap_or(0);
    let there = columns.into_iter().filter(move |(columns, ..)| columns.start >= first);
    there.map(move |(columns, page, title)| (columns.start - first..columns.end - first, page, title))
}

/// The rows of a list, without its header.
pub(crate) fn below_header(area: Rect) -> Rect {
    Rect { y: area.y + 1.min(area.height), height: area.height.saturating_sub(1), ..area }
}

/// Width of the scale, left of the timeline's plot.
pub(crate) const SCALE: u16 = 11;

/// The area of the plot.
pub(crate) fn plot(body: Rect) -> Rect {
    Rect { x: body.x + SCALE.min(body.width), width: body.width.saturating_sub(SCALE), ..body }
}

/// A flame graph, and the lines about the selected cell.
pub(crate) fn flame(body: Rect) -> [Rect; 2] {
    Layout::vertical([Constraint::Min(0), Constraint::Length(2)]).areas(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that no tab is cut on a screen of the usual width or wider, and that each can be clicked at its last
    /// column.
    #[test]
    fn tabs_fit_from_80_columns_on() {
        for width in 80..=250 {
            let lengths = Page::TABS.iter().map(|tab| tab_title(tab, width).len());
            let end = lengths.sum::<usize>() + Page::TABS.len() - 1;
            assert!(end <= width.into(), "{end} of {width}");
            assert_eq!(tab_at(end as u16 - 1, width), Page::TABS.last().map(|tab| tab.0));
            assert_eq!(tab_at(end as u16, width), None);
        }
    }
}
