//! The pages about a scan of a process: which scan, and what is known of it.

use super::layout;
use super::page::Page;
use super::state::Model;
use super::wrap::wrapped;
use crate::catalogue;
use crate::work::{Answer, Kept, Question, Request, StackList, Tone, at};
use capture::NodeId;
use ratatui::layout::Rect;
use std::sync::Arc;
use viewer::Loaded;
use viewer::analysis::{Metric, Opening};
use viewer::query::Part;

impl Model {
    /// How many scans the capture has, as far as that is known.
    pub(crate) fn scans(&self) -> usize {
        self.view().map_or(0, |view| view.loaded.tables.scans.len())
    }

    /// The number of the scan that is looked at, counted from 1: the last one unless another was chosen. None where there is none.
    pub(crate) fn scan(&self) -> Option<usize> {
        let last = self.scans();
        let number = self.chosen_scan.filter(|number| *number <= last).unwrap_or(last);
        (number > 0).then_some(number)
    }

    /// When it was, nanoseconds since the recording began.
    pub(crate) fn time_of_scan(&self) -> Option<u64> {
        let place = self.scan()?.checked_sub(1)?;
        self.view()?.loaded.tables.scans.get(place).map(|scan| scan.time)
    }

    /// What the page needs to know of it.
    pub(super) fn scan_request(&self) -> Option<Request> {
        let is_needed = self.page.is_of_scans() && self.page != Page::Scans;
        self.scan().filter(|_| is_needed).map(Request::Retained)
    }

    /// What is known of it; until it is, of another one.
    pub(crate) fn kept(&self) -> Option<Arc<Kept>> {
        match self.answers.to(&Request::Retained(self.scan()?)) {
            Some(Answer::Retained(kept)) => Some(kept.clone()),
            Some(_) => None,
            None => self.answers.latest(|_, answer| match answer {
                Answer::Retained(kept) => Some(kept.clone()),
                _ => None,
            }),
        }
    }

    /// Why nothing is known, nor will be.
    pub(crate) fn why_nothing_is_kept(&self) -> Option<String> {
        let Some(number) = self.scan() else { return Some(catalogue::NO_SCAN.to_owned()) };
        match self.answers.to(&Request::Retained(number))? {
            Answer::Failed(reason) => Some(reason.clone()),
            _ => None,
        }
    }

    /// What stacks, roots or classes retain, or what is unreachable, where the page shows such rows.
    pub(super) fn kept_list(&self) -> Option<Arc<StackList>> {
        let list: fn(&Kept) -> &Arc<StackList> = match self.page {
            Page::RetainedStacks => |kept| &kept.stacks,
            Page::RetainedRoots => |kept| &kept.roots,
            Page::RetainedClasses => |kept| &kept.classes,
            Page::Unreachable => |kept| &kept.unreachable,
            _ => return None,
        };
        self.kept().map(|kept| list(&kept).clone())
    }

    /// Brings the tree up to what is known, and what is selected into the window.
    pub(super) fn settle_scans(&mut self) {
        let Some(kept) = self.kept().filter(|_| self.page.is_of_scans()) else { return };
        let [rows, _] = layout::kept(self.page_area());
        let height = usize::from(layout::below_header(rows).height);
        let tree = kept.tree.clone();
        self.kept_tree.adopt(kept, tree, Opening::Rows(height));
        self.kept_tree.scroll(height);
    }

    /// The part of the screen that a page has: those about a scan have their titles over it.
    pub(crate) fn page_area(&self) -> Rect {
        self.areas_of_scans()[2]
    }

    /// Where the rows of a list are, and the details of the selected one: a scan that is not looked at yet has none.
    pub(crate) fn list_areas(&self) -> [Rect; 2] {
        let page = self.page_area();
        if self.page == Page::Scans { [page, Rect::ZERO] } else { layout::list(page) }
    }

    /// Where these titles are, what is said below them, and the page.
    pub(crate) fn areas_of_scans(&self) -> [Rect; 3] {
        let body = self.areas().body;
        match self.page.is_of_scans() {
            true => layout::of_scans(body, self.lines_of_scan().len()),
            false => [Rect::ZERO, Rect::ZERO, body],
        }
    }

    /// What is said over all that is shown of a scan, in lines of the screen's width: what of the choices for all pages means nothing
    /// for it, what was found, and what to know before believing it. The most important stands first, since there may be too little room.
    pub(crate) fn lines_of_scan(&self) -> Vec<(Tone, String)> {
        let unheeded = self.unheeded().map(|question| catalogue::unheeded(&question.chosen().join(" · ")));
        let kept = self.kept().filter(|_| self.page != Page::Scans);
        let found = kept.iter().flat_map(|kept| &kept.about).zip(0..).map(|(text, place)| {
            let tone = if place == 0 { Tone::Heading } else { Tone::Warning };
            (tone, text.clone())
        });
        let means = kept.iter().filter_map(|kept| match self.page {
            Page::Unreachable => Some(kept.meaning),
            Page::RetainedClasses => Some(catalogue::WHICH_CLASSES),
            _ => None,
        });
        let means = means.map(|meaning| (Tone::Detail, meaning.to_owned()));
        let all = unheeded.map(|text| (Tone::Warning, text)).into_iter().chain(found).chain(means);
        let width = usize::from(self.areas().body.width);
        all.flat_map(|(tone, text)| wrapped(&text, width).into_iter().map(move |line| (tone, line))).collect()
    }

    /// What has been chosen for all pages and means nothing for a scan, which is of all blocks at its moment. None where nothing was.
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
            let (kept, _) = self.kept_tree.shown()?;
            return Some((kept.loaded.clone(), kept.node(self.kept_tree.label()?)?));
        }
        let list = self.list()?;
        let node = list.rows.get(self.cursor_now().selected)?.node?;
        Some((list.loaded.clone(), node))
    }
}
