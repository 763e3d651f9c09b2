//! Choosing what all pages show.

use crate::catalogue;
use crate::model::{Model, Page};
use crate::work::at;
use analysis::Metric;
use analysis::query::{Part, Pattern};
use engine::Grouping;
use engine::lens::Lens;

/// Switches to another metric.
pub(super) fn metric(model: &mut Model, step: isize) {
    let all = Metric::ALL;
    let place = all.iter().position(|metric| *metric == model.question.metric).unwrap_or(0);
    let next = (place as isize + step).rem_euclid(all.len() as isize);
    model.leave();
    model.question.metric = all[next as usize];
}

/// Switches to another order.
pub(super) fn sort(model: &mut Model) {
    model.notice = Some(match model.page {
        Page::Functions => catalogue::sorted_by(model.functions.sort().name("total", "self")),
        Page::Retained => catalogue::sorted_by(model.retained_tree.sort().name("retained", "own")),
        Page::Tree | Page::Flame => catalogue::sorted_by(model.pane_mut().sort().name("total", "self")),
        page if page.is_of_scans() => catalogue::SORTED_AS_THEY_ARE.to_owned(),
        _ => catalogue::NOT_SORTED.to_owned(),
    });
}

fn change(model: &mut Model, change: impl FnOnce(&mut Lens)) {
    model.leave();
    change(&mut model.question.lens);
}

/// Makes the selected function the root.
pub(super) fn focus(model: &mut Model) {
    match model.function_name() {
        Some(name) => change(model, |lens| lens.focus = vec![Pattern::literal(&name)]),
        None => model.notice = Some(catalogue::SELECT_A_FUNCTION.to_owned()),
    }
}

/// Takes the selected function out of stacks.
pub(super) fn transparent(model: &mut Model) {
    match model.function_name() {
        Some(name) => change(model, |lens| lens.transparent.push(Pattern::literal(&name))),
        None => model.notice = Some(catalogue::SELECT_A_FUNCTION.to_owned()),
    }
}

/// Leaves out what is not the program's own, or shows it again.
pub(super) fn my_code(model: &mut Model) {
    change(model, |lens| lens.my_code = !lens.my_code);
}

/// Groups functions by the next kind.
pub(super) fn group(model: &mut Model) {
    let all = Grouping::ALL;
    let group = model.question.lens.group.as_ref();
    let place = group.and_then(|group| all.iter().position(|other| other == group));
    let next = all.get(place.map_or(0, |place| place + 1)).cloned();
    let notice =
        next.as_ref().map_or(catalogue::NOT_GROUPED.to_owned(), |group| format!("by {}", group.name()));
    change(model, |lens| lens.group = next);
    model.notice = Some(notice);
}

/// Shows all stacks unchanged.
pub(super) fn clear(model: &mut Model) {
    if model.question.lens != Lens::default() {
        change(model, |lens| *lens = Lens::default());
    }
}

/// Limits all pages to the range between the cursors.
pub(super) fn range(model: &mut Model) {
    let (from, to) = model.time.range();
    set_part(model, Part::Range(at(from), at(to)), Metric::Peak);
}

/// Limits all pages to the moment of the cursor.
pub(super) fn moment(model: &mut Model) {
    at_moment(model, model.time.cursors[model.time.active]);
}

/// Limits all pages to a moment.
pub(super) fn at_moment(model: &mut Model, time: u64) {
    set_part(model, Part::At(at(time)), Metric::Live);
}

/// Limits all pages to what was allocated during the regions of the selected mark.
pub(super) fn during(model: &mut Model) {
    let selected = model.list().and_then(|list| list.rows.get(model.cursor_now().selected)?.mark.clone());
    let Some(mark) = selected else { return };
    if mark.regions.is_empty() {
        model.notice = Some(catalogue::NOTHING_DURING.to_owned());
        return;
    }
    super::go(model, Page::Tree);
    model.question.metric = Metric::Bytes;
    model.question.during = Some(mark.name);
}

/// Shows everything on all pages again.
pub(super) fn whole(model: &mut Model) {
    if model.question.during.is_some() {
        model.leave();
        model.question.during = None;
    }
    set_part(model, Part::Whole, Metric::Peak);
}

fn set_part(model: &mut Model, part: Part, metric: Metric) {
    if model.question.part == part {
        return;
    }
    model.leave();
    // A moment has live blocks but no peak of its own; a range or the whole has a peak instead.
    if matches!(model.question.metric, Metric::Peak | Metric::Live) {
        model.question.metric = metric;
    }
    model.question.part = part;
}

/// Moves the cursor to the next mark.
pub(super) fn mark(model: &mut Model, step: isize) {
    let Some(history) = model.history().filter(|_| model.page == Page::Time) else { return };
    let now = model.time.cursors[model.time.active];
    let found = match step > 0 {
        true => history.marks.iter().find(|mark| mark.time > now),
        false => history.marks.iter().rev().find(|mark| mark.time < now),
    };
    match found {
        Some(mark) => {
            model.time.put(mark.time);
            model.notice = Some(mark.name.clone());
        }
        None => model.notice = Some(catalogue::NO_MARK.to_owned()),
    }
}
