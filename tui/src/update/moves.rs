//! Moving about on a page.

use super::go;
use crate::catalogue;
use crate::model::{Flame, Focus, Model, Page, layout};
use crate::work::steps;
use analysis::{Metric, meaningful};

/// Columns that a text scrolls sideways.
const SHIFT: isize = 16;

/// Moves up or down by rows.
pub(super) fn step(model: &mut Model, rows: isize) {
    let height = usize::from(model.areas().body.height);
    match model.page {
        Page::Tree => model.pane_mut().step(rows),
        Page::Retained => model.retained_tree.step(rows),
        Page::Flame | Page::Changes => (0..rows.unsigned_abs()).for_each(|_| match model.graph_mut() {
            Some(graph) if rows > 0 => graph.down(),
            Some(graph) => graph.up(),
            None => {}
        }),
        Page::Functions => match model.functions.list() {
            Some((cursor, length)) => cursor.step(rows, length),
            None => model.functions.below.step(rows),
        },
        Page::Time => {}
        _ => {
            if let Some(list) = model.list() {
                model.cursor().step(rows, list.rows.len());
            } else if let Some(document) = model.document() {
                model.cursor().slide(rows, height, document.len());
            }
        }
    }
}

fn on_graph(model: &mut Model, act: impl FnOnce(&mut Flame)) {
    model.graph_mut().map(act);
}

/// Moves up or down by whole windows.
pub(super) fn pages(model: &mut Model, pages: isize) {
    let body = model.areas().body;
    let height = match model.page {
        Page::Functions => layout::functions(body)[0].1.height,
        _ if model.list().is_some() => model.list_areas()[0].height,
        _ => body.height,
    };
    step(model, pages * isize::try_from(height.saturating_sub(2).max(1)).unwrap_or(1));
}

/// Goes to the first row.
pub(super) fn home(model: &mut Model) {
    match (model.page, model.functions.focus) {
        (Page::Tree, _) => model.pane_mut().home(),
        (Page::Retained, _) => model.retained_tree.home(),
        (Page::Functions, Focus::Below) => model.functions.below.home(),
        (Page::Flame | Page::Changes, _) => on_graph(model, Flame::zoom_all),
        (Page::Time, _) => model.time.put(0),
        _ => step(model, isize::MIN),
    }
}

/// Goes to the last row.
pub(super) fn end(model: &mut Model) {
    match (model.page, model.functions.focus) {
        (Page::Tree, _) => model.pane_mut().end(),
        (Page::Retained, _) => model.retained_tree.end(),
        (Page::Functions, Focus::Below) => model.functions.below.end(),
        (Page::Flame | Page::Changes, _) => {}
        (Page::Time, _) => model.time.put(u64::MAX),
        _ => step(model, isize::MAX),
    }
}

/// Goes into the selected row, or out of it.
pub(super) fn aside(model: &mut Model, step: isize) {
    match model.page {
        Page::Tree if step > 0 => model.pane_mut().go_in(),
        Page::Tree => model.pane_mut().go_out(),
        Page::Retained if step > 0 => model.retained_tree.go_in(),
        Page::Retained => model.retained_tree.go_out(),
        Page::RetainedStacks | Page::RetainedRoots if step > 0 => super::scans::show_in_tree(model),
        Page::Flame | Page::Changes => on_graph(model, |graph| graph.aside(step)),
        Page::Functions if model.functions.focus == Focus::Below => match step > 0 {
            true => model.functions.below.go_in(),
            false => model.functions.below.go_out(),
        },
        Page::Functions => {}
        Page::Time => model.time.step(step as i64, layout::plot(model.areas().body).width),
        _ if model.document().is_some() => model.cursor().shift(step * SHIFT),
        _ => {}
    }
}

/// Does what Enter and a double click do.
pub(super) fn activate(model: &mut Model) {
    if super::scans::activate(model) {
        return;
    }
    match model.page {
        Page::Flame | Page::Changes => on_graph(model, Flame::zoom_in),
        Page::Time => super::choose::range(model),
        Page::Marks => super::choose::during(model),
        Page::Functions if model.functions.focus == Focus::Functions => model.functions.focus = Focus::Below,
        Page::Functions => {
            if let Some(label) = model.functions.focused() {
                model.leave();
                model.functions.go_to(label);
            }
        }
        _ => {
            if let Some(name) = model.function_name().or_else(|| function_of_row(model)) {
                let of_page = model.page;
                go(model, Page::Functions);
                // Each list counts something of its own; only by that metric are its functions sure to be found.
                match of_page {
                    Page::Leaks => model.question.metric = Metric::Leaked,
                    Page::Temporary => model.question.metric = Metric::Temporary,
                    Page::Frees => model.question.metric = Metric::Bytes,
                    Page::FreesInverted => model.question.metric = Metric::Frees,
                    page if page.is_of_scans() => super::scans::ask_for_moment(model),
                    _ => {}
                }
                model.seek(name);
            }
        }
    }
}

/// Turns to the page about the selected function.
pub(super) fn details(model: &mut Model) {
    match model.function_name().or_else(|| function_of_row(model)) {
        Some(name) => {
            go(model, Page::Function);
            model.cursors.remove(&Page::Function);
            model.detail = Some(name);
        }
        None => model.notice = Some(catalogue::SELECT_A_FUNCTION.to_owned()),
    }
}

/// The allocating function of the selected row of a list.
fn function_of_row(model: &Model) -> Option<String> {
    let (loaded, node) = model.selected_stack()?;
    let first = meaningful(&loaded.tables, &loaded.names, node).next();
    let (_, step) = first.or_else(|| steps(&loaded, node).first().copied())?;
    Some(loaded.names.label(step.label).name.clone())
}

/// Opens or closes the selected row; on the time axis, switches to the other cursor.
pub(super) fn toggle(model: &mut Model) {
    match model.page {
        Page::Tree => model.pane_mut().toggle(),
        Page::Retained => model.retained_tree.toggle(),
        Page::Functions => model.functions.below.toggle(),
        Page::Time => model.time.switch(),
        _ => {}
    }
}

/// Opens or closes everything.
pub(super) fn set_all(model: &mut Model, open: bool) {
    match model.page {
        Page::Tree => model.pane_mut().set_all(open),
        Page::Retained => model.retained_tree.set_all(open),
        Page::Functions => model.functions.below.set_all(open),
        _ => {}
    }
}

/// Moves to the next list of the page.
pub(super) fn next_list(model: &mut Model) {
    let focus = &mut model.functions.focus;
    *focus = match *focus {
        Focus::Functions => Focus::Callers,
        Focus::Callers => Focus::Below,
        Focus::Below => Focus::Functions,
    };
}

/// Zooms in or out.
pub(super) fn zoom(model: &mut Model, closer: bool) {
    match (model.page, closer) {
        (Page::Flame | Page::Changes, true) => on_graph(model, Flame::zoom_in),
        (Page::Flame | Page::Changes, false) => on_graph(model, Flame::zoom_out),
        (Page::Time, true) => model.time.zoom_in(),
        (Page::Time, false) => model.time.zoom_out(),
        _ => {}
    }
}
