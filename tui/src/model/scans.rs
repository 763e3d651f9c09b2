//! The pages about a scan of a process: which scan, and what is known about it.

use super::layout;
use super::page::Page;
use super::state::Model;
use super::wrap::wrapped;
use crate::catalogue;
use crate::work::{Question, Request, RetainedMemory, StackList, at, held_by};
use analysis::query::Part;
use analysis::{Metric, Opening};
use capture::NodeId;
use engine::Loaded;
use ratatui::layout::Rect;
use report::text::Role;
use std::sync::Arc;

impl Model {
    /// Number of scans of the capture, as far as it is known.
    pub(crate) fn scans(&self) -> usize {
        self.view().map_or(0, |view| view.loaded.tables.scans.len())
    }

    /// The number of the scan on the pages, from 1: the last one unless the user chose another. None without scans.
    pub(crate) fn scan(&self) -> Option<usize> {
        let last = self.scans();
        let number = self.chosen_scan.filter(|number| *number <= last).unwrap_or(last);
        (number > 0).then_some(number)
    }

    /// Time of the scan, nanoseconds since the recording began.
    pub(crate) fn time_of_scan(&self) -> Option<u64> {
        let place = self.scan()?.checked_sub(1)?;
        self.view()?.loaded.tables.scans.get(place).map(|scan| scan.time)
    }

    /// The request that the page needs answered about the scan.
    pub(super) fn scan_request(&self) -> Option<Request> {
        let is_needed = self.page.is_of_scans() && self.page != Page::Scans;
        self.scan().filter(|_| is_needed).map(Request::Retained)
    }

    /// What is known about the scan or, until it is answered, about the last one.
    pub(crate) fn retained(&self) -> Option<Arc<RetainedMemory>> {
        self.answers.shown(&Request::Retained(self.scan()?), held_by!(Retained))
    }

    /// Why nothing is known about it and nothing will be.
    pub(crate) fn why_nothing_is_kept(&self) -> Option<String> {
        let Some(number) = self.scan() else { return Some(catalogue::NO_SCAN.to_owned()) };
        self.answers.to(&Request::Retained(number)).and_then(held_by!(Failed))
    }

    /// The rows of the page: what stacks, roots or classes retain, or what is unreachable; none on other pages.
    pub(super) fn retained_list(&self) -> Option<Arc<StackList>> {
        let list: fn(&RetainedMemory) -> &Arc<StackList> = match self.page {
            Page::RetainedStacks => |kept| &kept.stacks,
            Page::RetainedRoots => |kept| &kept.roots,
            Page::RetainedClasses => |kept| &kept.classes,
            Page::Unreachable => |kept| &kept.unreachable,
            _ => return None,
        };
        self.retained().map(|kept| list(&kept).clone())
    }

    /// Updates the tree to the latest answer, and scrolls to the selected row.
    pub(super) fn settle_scans(&mut self) {
        let Some(kept) = self.retained().filter(|_| self.page.is_of_scans()) else { return };
        let [rows, _] = layout::retained(self.page_area());
        let height = usize::from(layout::below_header(rows).height);
        let tree = kept.tree.clone();
        self.retained_tree.adopt(kept, tree, Opening::Rows(height));
        self.retained_tree.scroll(height);
    }

    /// The area of the page: those about a scan have their titles above it.
    pub(crate) fn page_area(&self) -> Rect {
        self.areas_of_scans()[2]
    }

    /// The areas of a list and of the details of its selected row; none for a scan without an answer yet.
    pub(crate) fn list_areas(&self) -> [Rect; 2] {
        let page = self.page_area();
        if self.page == Page::Scans { [page, Rect::ZERO] } else { layout::list(page) }
    }

    /// The areas of the titles, of the lines below them, and of the page.
    pub(crate) fn areas_of_scans(&self) -> [Rect; 3] {
        let body = self.areas().body;
        match self.page.is_of_scans() {
            true => layout::of_scans(body, self.lines_of_scan().len()),
            false => [Rect::ZERO, Rect::ZERO, body],
        }
    }

    /// The lines above all that is shown of a scan, wrapped to the screen's width: choices that have no effect on it,
    /// what was found, and what to know before trusting it. The most important come first, since there may be too
    /// little room.
    pub(crate) fn lines_of_scan(&self) -> Vec<(Role, String)> {
        let unheeded = self.unheeded().map(|question| catalogue::unheeded(&question.chosen().join(" · ")));
        let kept = self.retained().filter(|_| self.page != Page::Scans);
        let found = kept.iter().flat_map(|kept| &kept.about).zip(0..).map(|(text, place)| {
            let tone = if place == 0 { Role::Heading } else { Role::Warning };
            (tone, text.clone())
        });
        let means = kept.iter().filter_map(|kept| match self.page {
            Page::Unreachable => Some(kept.meaning),
            Page::RetainedClasses => Some(catalogue::WHICH_CLASSES),
            _ => None,
        });
        let means = means.map(|meaning| (Role::Detail, meaning.to_owned()));
        let all = unheeded.map(|text| (Role::Warning, text)).into_iter().chain(found).chain(means);
        let width = usize::from(self.areas().body.width);
        all.flat_map(|(tone, text)| wrapped(&text, width).into_iter().map(move |line| (tone, line))).collect()
    }

    /// The choices for all pages that have no effect on a scan, which shows all blocks at its moment; none if nothing
    /// was chosen.
    pub(crate) fn unheeded(&self) -> Option<Question> {
        let time = self.time_of_scan()?;
        let part = Some(self.question.part.clone()).filter(|part| *part != Part::At(at(time)));
        let question = Question { part: part.unwrap_or_default(), ..self.question.clone() };
        let chosen = Question { metric: Metric::default(), ..question.clone() };
        (chosen != Question::default()).then_some(question)
    }

    /// The stack of the selected row, with its names.
    pub(crate) fn selected_stack(&self) -> Option<(Arc<Loaded>, NodeId)> {
        if self.page == Page::Retained {
            let (kept, _) = self.retained_tree.shown()?;
            return Some((kept.loaded.clone(), kept.node(self.retained_tree.label()?)?));
        }
        let list = self.list()?;
        let node = list.rows.get(self.cursor_now().selected)?.node?;
        Some((list.loaded.clone(), node))
    }
}
