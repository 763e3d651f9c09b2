//! The model: what is known, what is chosen, and what is wanted next.

use super::answers::Answers;
use super::cursor::Cursor;
use super::flame::Flame;
use super::functions::Functions;
use super::layout::{self, Areas};
use super::page::Page;
use super::pane::Pane;
use super::prompt::Prompt;
use super::time::Time;
use super::trail::Trail;
use super::wrap::wrapped;
use crate::catalogue;
use crate::work::{
    Answer, Changes, Compare, History, Place, Question, Request, RetainedMemory, SourceText, StackList, View,
    held_by, place_of,
};
use analysis::{Amount, LabelId, Metric, Opening};
use engine::Loaded;
use ratatui::layout::Rect;
use report::text::{Line, unsampled_texts};
use std::collections::HashMap;
use std::sync::Arc;

/// A position of the user, to go back to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spot {
    page: Page,
    question: Question,
    /// The selected function, by name.
    function: Option<String>,
    /// The function of the page about one function.
    detail: Option<String>,
    scan: Option<usize>,
}

/// The whole state.
#[derive(Debug, Default)]
pub(crate) struct Model {
    /// The file's name, safe to print.
    pub(crate) file: String,
    /// The page that is shown.
    pub(crate) page: Page,
    /// What all pages show.
    pub(crate) question: Question,
    /// The tree of calls.
    pub(crate) tree: Pane,
    /// The tree of calls from the allocating functions outwards.
    pub(crate) inverted: Pane,
    /// True when tree and flame graph are inverted.
    pub(crate) is_inverted: bool,
    /// The flame graph.
    pub(crate) flame: Flame,
    /// The flame graph of changes.
    pub(crate) changes: Flame,
    /// Name of the older capture that this one is compared with, safe to print.
    pub(crate) baseline: Option<String>,
    /// The page of functions.
    pub(crate) functions: Functions,
    /// Name of the function that the page about one function is about.
    pub(crate) detail: Option<String>,
    /// Number of the chosen scan; none for the last one.
    pub(crate) chosen_scan: Option<usize>,
    /// The tree of what keeps what, for the scan on the pages.
    pub(crate) retained_tree: Pane<RetainedMemory>,
    /// The time axis.
    pub(crate) time: Time,
    /// Positions in lists and texts.
    pub(crate) cursors: HashMap<Page, Cursor>,
    /// What the user is typing.
    pub(crate) prompt: Option<Prompt>,
    /// The last searched text.
    pub(crate) searched: String,
    /// Scroll position of the help, if it is shown.
    pub(crate) help: Option<Cursor>,
    /// A message, until the next key.
    pub(crate) notice: Option<String>,
    /// True when the screen has been out of date for long enough to be noticed.
    pub(crate) is_busy: bool,
    /// The screen.
    pub(crate) screen: Rect,
    /// Name of the function to select as soon as a view arrives that has it.
    sought: Option<String>,
    pub(super) answers: Answers,
    trail: Trail<Spot>,
}

impl Model {
    /// A model for a file of which nothing is known yet.
    pub(crate) fn new(file: String, screen: Rect) -> Self {
        Self { file, screen, ..Self::default() }
    }

    /// The next request; none when everything on the screen is up to date.
    pub(crate) fn wanted(&self) -> Option<Request> {
        let unknown = |request: &Request| self.answers.to(request).is_none();
        let first = Request::View(self.question.clone());
        if unknown(&first) {
            return Some(first);
        }
        // Without a view there is nothing more to ask.
        self.view_of_question()?;
        self.requests().into_iter().find(unknown)
    }

    /// The requests of the page besides the view.
    fn requests(&self) -> Vec<Request> {
        let question = self.question.clone();
        let mut requests = Vec::new();
        if self.needs_inverted() {
            requests.push(Request::Inverted(question.clone()));
        }
        if self.page == Page::Functions
            && let Some(label) = self.selected_function()
        {
            requests.push(Request::Function(question.clone(), label));
        }
        if matches!(self.page, Page::Time | Page::Diff | Page::Changes) {
            requests.push(Request::History(None));
            requests.extend(self.time.window.map(|window| Request::History(Some(window))));
        }
        requests.extend(self.text_request());
        requests.extend(self.scan_request());
        if self.page == Page::Changes {
            requests.push(Request::Changes(self.compare()));
        }
        if let Some(topic) = self.page.list() {
            requests.push(Request::List(topic, question));
        }
        if let Some(place) = self.place().filter(|_| self.page == Page::Lines) {
            requests.push(Request::Source(place.path));
        }
        requests
    }

    /// Why the page has nothing to show and never will; not for pages about a scan.
    pub(crate) fn why_nothing_is_shown(&self) -> Option<String> {
        let of_view = Request::View(self.question.clone());
        let failed = |request| self.answers.to(&request).and_then(held_by!(Failed));
        std::iter::once(of_view).chain(self.requests()).find_map(failed)
    }

    /// Takes an answer.
    pub(crate) fn take(&mut self, request: Request, answer: Answer) {
        if matches!(answer, Answer::Replaced) {
            return self.begin_anew();
        }
        if let Answer::Failed(reason) = &answer {
            self.notice = Some(reason.clone());
        }
        if let (Request::History(None), Answer::History(history)) = (&request, &answer) {
            let peak = self.view().map_or(history.duration, |view| view.loaded.profile.peak.at.time);
            self.time.set_duration(history.duration, peak);
        }
        if let Answer::View(view) = &answer
            && let Some(unmatched) = view.loaded.seen.as_ref().and_then(|seen| seen.unmatched.first())
        {
            self.notice = Some(unmatched.to_string());
        }
        self.answers.keep(request, answer);
        self.settle();
    }

    /// Forgets everything known about a recording that another one has replaced: no page may mix numbers of both.
    fn begin_anew(&mut self) {
        let Self { file, baseline, page, screen, .. } = std::mem::take(self);
        let notice = Some(catalogue::BEGUN_ANEW.to_owned());
        *self = Self { file, baseline, page, screen, notice, ..Self::default() };
    }

    /// Updates the parts of the page to the latest answers, and scrolls to the selected row.
    pub(crate) fn settle(&mut self) {
        let body = self.areas().body;
        let rows = usize::from(layout::below_header(body).height);
        if let Some(view) = self.view_of_question() {
            self.tree.adopt(view.clone(), view.tree.clone(), Opening::Rows(rows));
            self.functions.adopt(&view);
            if let Some(name) = self.sought.take() {
                self.select_function(&name);
            }
            if !self.is_inverted {
                self.flame.adopt(view.clone(), view.tree.clone());
            }
        }
        if let Some(Answer::Inverted(view, tree)) =
            self.answers.to(&Request::Inverted(self.question.clone())).cloned()
        {
            self.inverted.adopt(view.clone(), tree.clone(), Opening::Rows(rows));
            if self.is_inverted {
                self.flame.adopt(view, tree);
            }
        }
        let areas = layout::functions(body).map(|(_, area)| usize::from(layout::below_header(area).height));
        if let Some(label) = self.selected_function()
            && let Some(Answer::Function(view, callers, below)) =
                self.answers.to(&Request::Function(self.question.clone(), label)).cloned()
        {
            self.functions.adopt_neighbours(&view, &callers, &below, areas[2]);
        }
        self.tree.scroll(rows);
        self.inverted.scroll(rows);
        if let Some(changes) = self.changed() {
            self.changes.adopt(changes.view.clone(), changes.view.tree.clone());
        }
        self.flame.scroll(u32::from(layout::flame(body)[0].height));
        self.changes.scroll(u32::from(layout::flame(body)[0].height));
        let (functions, callers) = (self.functions.len(), self.functions.callers().len());
        self.functions.cursor.scroll(areas[0], functions);
        self.functions.callers_cursor.scroll(areas[1], callers);
        self.functions.below.scroll(areas[2]);
        self.settle_scans();
        if let Some(list) = self.list() {
            let [area, _] = self.list_areas();
            let height = usize::from(area.height).saturating_sub(list.about.len() + 1);
            let length = list.rows.len();
            self.cursor().scroll(height, length);
        }
        if let Some(document) = self.document() {
            let length = document.len();
            self.cursor().slide(0, usize::from(body.height), length);
        }
    }

    /// The parts of the screen.
    pub(crate) fn areas(&self) -> Areas {
        Areas::of(self.screen, self.notes().len())
    }

    /// What samples do not show, wrapped to the screen's width, on pages that count samples. Texts say it themselves.
    pub(crate) fn notes(&self) -> Vec<String> {
        let counts_samples = self.question.metric == Metric::Cpu
            && matches!(self.page, Page::Functions | Page::Tree | Page::Flame | Page::Lines);
        let Some(view) = self.view().filter(|_| counts_samples) else { return Vec::new() };
        let width = usize::from(self.screen.width);
        let texts = unsampled_texts(&view.loaded).into_iter().map(|text| catalogue::warning(&text));
        texts.flat_map(|text| wrapped(&text, width)).collect()
    }

    /// The view to show: that of the question or, until it arrives, the latest one.
    pub(crate) fn view(&self) -> Option<Arc<View>> {
        let request = Request::View(self.question.clone());
        self.view_of_question().or_else(|| self.answers.latest(&request, held_by!(View)))
    }

    fn view_of_question(&self) -> Option<Arc<View>> {
        self.answers.to(&Request::View(self.question.clone())).and_then(held_by!(View))
    }

    /// The heap over the visible time or, until it arrives, over all of it.
    pub(crate) fn history(&self) -> Option<Arc<History>> {
        let known = |window| self.answers.to(&Request::History(window)).and_then(held_by!(History));
        known(self.time.window).or_else(|| known(None))
    }

    /// The text of the page; until it arrives, that of another question.
    pub(crate) fn document(&self) -> Option<Arc<[Line]>> {
        self.answers.shown(&self.text_request()?, held_by!(Text))
    }

    /// The request for the text of the page.
    fn text_request(&self) -> Option<Request> {
        let (question, width) = (self.question.clone(), self.areas().body.width);
        if self.page == Page::Function {
            return Some(Request::Detail(self.detail.clone()?, question, width));
        }
        Some(Request::Text(self.page.topic(self.compare())?, question, width))
    }

    /// The rows of the page; until they arrive, those of another question.
    pub(crate) fn list(&self) -> Option<Arc<StackList>> {
        if let Some(list) = self.retained_list() {
            return Some(list);
        }
        self.answers.shown(&Request::List(self.page.list()?, self.question.clone()), held_by!(List))
    }

    /// The two sides of the pages about changes.
    pub(crate) fn compare(&self) -> Compare {
        let (from, to) = self.time.range();
        if self.baseline.is_some() {
            Compare::Captures(self.question.metric)
        } else {
            Compare::Analyzer(from, to)
        }
    }

    /// The changes; until they arrive, those between two other sides.
    pub(crate) fn changed(&self) -> Option<Arc<Changes>> {
        self.answers.shown(&Request::Changes(self.compare()), held_by!(Changes))
    }

    /// The flame graph of the page; none where it has none.
    pub(crate) fn graph(&self) -> Option<&Flame> {
        match self.page {
            Page::Flame => Some(&self.flame),
            Page::Changes => Some(&self.changes),
            _ => None,
        }
    }

    /// The flame graph of the page, mutable.
    pub(crate) fn graph_mut(&mut self) -> Option<&mut Flame> {
        match self.page {
            Page::Flame => Some(&mut self.flame),
            Page::Changes => Some(&mut self.changes),
            _ => None,
        }
    }

    /// The source of the selected line.
    pub(crate) fn source(&self) -> Option<Arc<SourceText>> {
        self.answers.to(&Request::Source(self.place()?.path)).and_then(held_by!(Source))
    }

    /// The position in the list or text of this page.
    pub(crate) fn cursor(&mut self) -> &mut Cursor {
        self.cursors.entry(self.page).or_default()
    }

    /// The position, read-only.
    pub(crate) fn cursor_now(&self) -> Cursor {
        self.cursors.get(&self.page).copied().unwrap_or_default()
    }

    /// The tree of calls on the screen.
    pub(crate) fn pane(&self) -> &Pane {
        if self.is_inverted { &self.inverted } else { &self.tree }
    }

    /// The tree of calls, mutable.
    pub(crate) fn pane_mut(&mut self) -> &mut Pane {
        if self.is_inverted { &mut self.inverted } else { &mut self.tree }
    }

    /// The selected function of any page, with the names that its label belongs to: changes have others than the view.
    pub(crate) fn function(&self) -> Option<(LabelId, &Loaded)> {
        let (label, view) = match self.page {
            Page::Functions => (self.functions.focused()?, self.functions.view()?),
            Page::Tree => (self.pane().label()?, &self.pane().shown()?.0),
            Page::Flame | Page::Changes => (self.graph()?.label()?, &self.graph()?.shown()?.0),
            _ => return None,
        };
        Some((label, &view.loaded))
    }

    /// Its name as recorded.
    pub(crate) fn function_name(&self) -> Option<String> {
        self.function().map(|(label, loaded)| loaded.names.label(label).name.clone())
    }

    /// The selected row's place in the source.
    pub(crate) fn place(&self) -> Option<Place> {
        if self.page == Page::Retained {
            let (loaded, node) = self.selected_stack()?;
            return place_of(&loaded, node);
        }
        self.list()?.rows.get(self.cursor_now().selected)?.place.clone()
    }

    /// The selected function of the list, if it belongs to the present question.
    fn selected_function(&self) -> Option<LabelId> {
        let view = self.functions.view()?;
        (view.question == self.question).then(|| self.functions.selected()).flatten()
    }

    fn needs_inverted(&self) -> bool {
        self.is_inverted && matches!(self.page, Page::Tree | Page::Flame)
    }

    /// The total that shares refer to.
    pub(crate) fn total(&self) -> Amount {
        self.view().map_or(Amount::ZERO, |view| view.question.metric.of(&view.loaded.profile.total))
    }

    /// Remembers the position before going somewhere else.
    pub(crate) fn leave(&mut self) {
        let spot = self.spot();
        self.trail.leave(spot);
    }

    /// Goes back, unless this is the beginning.
    pub(crate) fn back(&mut self) {
        let spot = self.spot();
        self.trail.back(spot).into_iter().for_each(|spot| self.go_to(spot));
    }

    /// Goes forward, unless this is the end.
    pub(crate) fn forward(&mut self) {
        let spot = self.spot();
        self.trail.forward(spot).into_iter().for_each(|spot| self.go_to(spot));
    }

    fn spot(&self) -> Spot {
        let (question, detail, scan) = (self.question.clone(), self.detail.clone(), self.chosen_scan);
        Spot { page: self.page, question, function: self.functions.selected_name(), detail, scan }
    }

    fn go_to(&mut self, spot: Spot) {
        (self.page, self.question) = (spot.page, spot.question);
        (self.sought, self.detail, self.chosen_scan) = (spot.function, spot.detail, spot.scan);
        self.settle();
    }

    /// Selects a function by name, now or as soon as the requested view arrives.
    pub(crate) fn seek(&mut self, name: String) {
        self.sought = Some(name);
    }

    /// Selects a function in the list of functions by name, if it is there.
    fn select_function(&mut self, name: &str) {
        let Some(view) = self.functions.view() else { return };
        let names = &view.loaded.names;
        if let Some(label) = names.ids().find(|label| names.label(*label).name == name) {
            self.functions.go_to(label);
        }
    }
}
