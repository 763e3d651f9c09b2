//! The pages about a scan: their titles, and the tree of what keeps what.
//!
//! ```text
//!  tree  stacks  roots  unreachable  scans
//!  scan 1 of 2 at 21.0 ms: app (1000) held 214 B in 9 blocks, 79 B in 4 blocks of it unreachable
//!    retained    share         own      blocks  kept
//!       135 B    100 %                          ▾ [Reachable]
//!       120 B   88.9 %                            ▾ cache
//!       120 B   88.9 %       100 B           1      ▸ insert (cache.c:12) < main
//!  ──────────────────────────────────────────────────────────────────────────
//!  100 B in 1 block of its own, 120 B in 3 blocks retained
//!  insert  cache.c:12
//!  main  main.c:3
//! ```

use super::list::{self, of_stack};
use super::tree::{lead, mark};
use super::{Theme, paragraph, put, put_at, tint};
use crate::catalogue;
use crate::model::{Model, Page, Row, layout};
use crate::work::{RetainedMemory, RowTarget, retained_cells, retained_heads, sized};
use analysis::{Amount, Tree};
use heap_graph::Holder;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// From this width on, a row shows its share, too.
const WIDE: u16 = 100;
/// Below this width, only one number of a row is shown: the others are among the details.
const NARROW: u16 = 60;

/// Draws a page.
pub(super) fn draw(buffer: &mut Buffer, model: &Model, theme: &Theme) {
    let [titles, about, page] = model.areas_of_scans();
    for (columns, of, title) in layout::titles_of_scans(model.page, titles.width) {
        let is_shown = of == model.page;
        let style = if is_shown { theme.selected(true) } else { theme.detail() };
        put_at(buffer, titles, columns.start, 0, title, style);
    }
    let lines = model.lines_of_scan();
    for (row, (tone, line)) in (0..about.height).zip(&lines) {
        let is_cut = row + 1 == about.height && lines.len() > usize::from(about.height);
        let more = if is_cut { "…" } else { "" };
        put(buffer, about, row, &format!("{line}{more}"), theme.tone(*tone));
    }
    if let Some(reason) = model.why_nothing_is_kept() {
        return paragraph(buffer, page, &reason, theme);
    }
    match (model.page, model.retained()) {
        (Page::Retained, Some(kept)) => tree(buffer, page, model, &kept, theme),
        _ => list::draw(buffer, model, theme),
    }
}

fn tree(buffer: &mut Buffer, page: Rect, model: &Model, kept: &RetainedMemory, theme: &Theme) {
    let [area, details] = layout::retained(page);
    put(buffer, area, 0, &header(area.width), theme.detail());
    let rows = layout::below_header(area);
    for (place, row) in (0..).zip(model.retained_tree.rows(usize::from(rows.height))) {
        row_of(buffer, rows, place, kept, &row, theme);
        if row.is_selected {
            tint(buffer, rows, place, theme.selected(true));
        }
    }
    if let Some(id) = model.retained_tree.selected() {
        let (about, node) = (details_of(kept, id), kept.node(kept.tree.node(id).label));
        of_stack(buffer, details, &kept.loaded, &about, node, theme);
    }
}

fn header(width: u16) -> String {
    let [first, share, own, blocks, kept] = retained_heads();
    let (first, others) = in_columns(width, [first, share, own, blocks]);
    format!("{first}{others}  {kept}")
}

/// What is retained, and the other numbers as far as they fit.
fn numbers(width: u16, retained: Amount, own: Amount, whole: Amount) -> (String, String) {
    let [first, share, size, blocks] = retained_cells(retained, own, whole);
    // A root has no block of its own.
    let [size, blocks] = if own.is_zero() { Default::default() } else { [size, blocks] };
    in_columns(width, [first, share, size, blocks])
}

fn in_columns(width: u16, [first, share, own, blocks]: [String; 4]) -> (String, String) {
    let others = format!("  {own:>10}  {blocks:>10}");
    match width {
        WIDE.. => (format!("{first:>10}  {share:>7}"), others),
        NARROW.. => (format!("{first:>10}"), others),
        _ => (format!("{first:>10}"), String::new()),
    }
}

fn row_of(buffer: &mut Buffer, area: Rect, place: u16, kept: &RetainedMemory, row: &Row, theme: &Theme) {
    let node = kept.tree.node(row.id);
    let whole = kept.tree.node(Tree::ROOT).total;
    let (first, others) = numbers(area.width, node.total, kept.own(row.id), whole);
    let column = put(buffer, area, place, &first, theme.value());
    let column = put_at(buffer, area, column, place, &others, theme.detail()) + 2;
    let column = put_at(buffer, area, column, place, &(lead(row) + mark(row)), theme.detail());
    let label = kept.label(node.label);
    let style = match label.target {
        RowTarget::For(Holder::Stack(_)) => theme.name(),
        RowTarget::For(Holder::Root(_)) => theme.heading(),
        RowTarget::All | RowTarget::For(Holder::Several) | RowTarget::Hidden(_) => theme.generated(),
    };
    put_at(buffer, area, column, place, &label.name, style);
}

/// The details of a row: all its numbers, and what it is if it is no stack.
fn details_of(kept: &RetainedMemory, id: u32) -> Vec<String> {
    let node = kept.tree.node(id);
    let numbers = catalogue::own_and_retained(&sized(kept.own(id)), &sized(node.total));
    match kept.label(node.label).target {
        RowTarget::All => kept.explained.clone(),
        RowTarget::For(Holder::Stack(_)) => vec![numbers],
        RowTarget::For(Holder::Root(_)) => vec![catalogue::kept_by_root(&sized(node.total))],
        RowTarget::For(Holder::Several) => kept.several.clone(),
        RowTarget::Hidden(_) => vec![catalogue::HOW_TO_SEE_DEEPER.to_owned()],
    }
}
