//! What keys do on the pages about a scan.

use super::go;
use crate::catalogue;
use crate::keys::Command;
use crate::model::{Labelled, Model, Page};
use crate::work::{RowTarget, at};
use analysis::Metric;
use analysis::query::Part;
use heap_graph::Holder;
use std::cmp::Reverse;

/// Refuses, with a message, keys that choose what other pages show; false for other keys. A choice that changes
/// nothing on the screen would seem to have had an effect.
pub(super) fn refuses(model: &mut Model, command: Command) -> bool {
    let is_refused = model.page.is_of_scans()
        && matches!(
            command,
            Command::Metric(_)
                | Command::Filter
                | Command::Focus
                | Command::Transparent
                | Command::MyCode
                | Command::Group
                | Command::Range
        );
    if is_refused {
        model.notice = Some(catalogue::SCANS_ARE_WHOLE.to_owned());
    }
    is_refused
}

/// Turns to another scan.
pub(super) fn step(model: &mut Model, step: isize) {
    let number = model.scan().and_then(|number| number.checked_add_signed(step));
    match number.filter(|number| (1..=model.scans()).contains(number)) {
        Some(number) => choose(model, number),
        None => model.notice = Some(catalogue::NO_OTHER_SCAN.to_owned()),
    }
}

fn choose(model: &mut Model, number: usize) {
    model.leave();
    model.chosen_scan = Some(number);
}

/// Limits all pages to the moment of the scan.
pub(super) fn moment(model: &mut Model) {
    match model.time_of_scan() {
        Some(time) => super::choose::at_moment(model, time),
        None => model.notice = Some(catalogue::NO_OTHER_SCAN.to_owned()),
    }
}

/// Does what Enter does on these pages; false where it does the same as on others.
pub(super) fn activate(model: &mut Model) -> bool {
    match model.page {
        Page::Scans => {
            let number = model.cursor_now().selected + 1;
            if number <= model.scans() {
                choose(model, number);
                model.page = Page::Retained;
            }
            true
        }
        Page::RetainedRoots => {
            show_in_tree(model);
            true
        }
        Page::Retained if model.selected_stack().is_none() => {
            model.retained_tree.toggle();
            true
        }
        _ => false,
    }
}

/// Shows the selected root or stack in the tree; of several rows of a stack, the one that retains most.
pub(super) fn show_in_tree(model: &mut Model) {
    let selected = model.list().and_then(|list| list.rows.get(model.cursor_now().selected).cloned());
    let Some((row, (kept, tree))) = selected.zip(model.retained_tree.shown().cloned()) else { return };
    let is_it = |id: &u32| match kept.label(tree.node(*id).label).target {
        RowTarget::For(Holder::Stack(node)) => row.node == Some(node),
        RowTarget::For(_) => row.node.is_none() && kept.name(tree.node(*id).label) == row.name,
        _ => false,
    };
    let rows = (0..u32::try_from(tree.len()).unwrap_or(u32::MAX)).filter(is_it);
    match rows.max_by_key(|id| (tree.node(*id).total.bytes, Reverse(*id))) {
        Some(id) => {
            go(model, Page::Retained);
            model.retained_tree.select(id);
        }
        None if row.node.is_some() => model.notice = Some(catalogue::TOO_DEEP.to_owned()),
        None => model.notice = Some(catalogue::KEEPS_NOTHING_ALONE.to_owned()),
    }
}

/// Switches the question to what was live at the moment of the scan, so that the allocating function of the selected
/// row can be found.
pub(super) fn ask_for_moment(model: &mut Model) {
    if let Some(time) = model.time_of_scan() {
        (model.question.part, model.question.metric) = (Part::At(at(time)), Metric::Live);
    }
}
