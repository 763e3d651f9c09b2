//! Answers requests, by calling the viewer.

use super::answer::{Answer, Changes, History, Mark, View};
use super::identity::Identity;
use super::request::{Compare, ListTopic, Question, Request, Topic, at};
use super::retained::RetainedMemory;
use super::source::SourceText;
use super::stack_list::{LIST_ROWS, StackList, StackRow, WIDE, in_columns, place_of};
use super::table_list::table_list;
use crate::catalogue;
use crate::options::Options;
use analysis::format::{bytes, duration, percent};
use analysis::lifetimes::{Frees, Order, Pages};
use analysis::query::{Anchor, Part, Query};
use analysis::{
    Amount, FunctionCost, Metric, Names, Neighbours, Spelling, Step, Tree, call_of, functions, lines,
    natural, processor_time, resident, rows_as_read,
};
use capture::{CounterKind, FrameId, NodeId};
use engine::lens::Lens;
use engine::suppression::Suppressions;
use engine::{Analyzer, Compared, Error, Loaded, Side, Sources, compare_captures, compare_moments};
use heap_graph::{Pace, WhichScan};
use report::table::Readers;
use report::text::{Extent, Line, Style, Units, diff_lines, document_lines, escape, stack_line, words};
use report::views::{self, View as Named};
use report::{DiffOptions, ReportOptions};
use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Steps of the heap over time: more than a terminal has columns.
const STEPS: usize = 512;

/// Rows of the tables in texts.
const TEXT_ROWS: usize = 20;

/// The same of documents.
const EXTENT: Extent = Extent { rows: TEXT_ROWS, below: 3, has_options: false };

/// An inverted tree is split down to parts of one in this many of the total.
const INVERTED_PARTS: i64 = 2000;

/// Columns of the numbers of a stack.
const WIDTHS: [usize; 3] = [10, 7, 10];

/// A capture that answers requests, with its last counts, which suffice for most of them.
pub(crate) struct Asked {
    options: Options,
    stop: Arc<AtomicBool>,
    counted: Option<(Question, Arc<Loaded>)>,
    view: Option<Arc<View>>,
    /// The names that the answers about scans share: there may be a scan of each of many processes.
    of_scans: Option<Arc<Loaded>>,
    /// Identities of the counted files: the capture, then the older one.
    files: [Option<Identity>; 2],
}

impl Asked {
    /// For a capture. Passes over its events end soon after `stop` was set.
    pub(crate) fn new(options: Options, stop: Arc<AtomicBool>) -> Self {
        let mut asked = Self { options, stop, counted: None, view: None, of_scans: None, files: [None; 2] };
        asked.has_been_replaced();
        asked
    }

    /// The answer, however long it takes. If another recording has replaced the counted one, that is the answer,
    /// since nothing known is true of the new one.
    pub(crate) fn answer(&mut self, request: &Request) -> Answer {
        let found = self.try_answer(request);
        if self.has_been_replaced() {
            (self.counted, self.view, self.of_scans) = (None, None, None);
            return Answer::Replaced;
        }
        found.unwrap_or_else(|error| Answer::Failed(error.to_string()))
    }

    /// Checks the identity of the files. A file that is gone for a moment has not been replaced yet.
    fn has_been_replaced(&mut self) -> bool {
        let Options { file, baseline, .. } = &self.options;
        let now = [Some(file.as_path()), baseline.as_deref()].map(|path| path.and_then(Identity::of));
        let known = self.files;
        for (known, now) in self.files.iter_mut().zip(now) {
            *known = now.or(*known);
        }
        let pairs = known.iter().zip(&now);
        pairs.flat_map(|(known, now)| known.zip(*now)).any(|(known, now)| known.is_left_by(&now))
    }

    fn try_answer(&mut self, request: &Request) -> Result<Answer, Error> {
        Ok(match request {
            Request::View(question) => Answer::View(self.view(question)?),
            Request::Inverted(question) => {
                let view = self.view(question)?;
                let Loaded { profile, tables, names, .. } = &*view.loaded;
                let total = question.metric.rank(question.metric.of(&profile.total));
                let least = (total / INVERTED_PARTS).max(1);
                let tree = Tree::inverted(profile, tables, names, question.metric, least);
                Answer::Inverted(view, Arc::new(tree))
            }
            Request::Function(question, label) => {
                let view = self.view(question)?;
                let Neighbours { callers, below } = Neighbours::of(&view.tree, *label, question.metric);
                Answer::Function(view, callers.into(), Arc::new(below))
            }
            Request::Changes(compare) => Answer::Changes(Arc::new(self.changes(*compare)?)),
            Request::History(range) => Answer::History(Arc::new(self.history(*range)?)),
            Request::Text(Topic::Pages, ..) if self.analyzer()?.tables().metadata.sample_interval > 0 => {
                Answer::Failed(catalogue::NO_PAGES_OF_SAMPLES.to_owned())
            }
            Request::Text(topic, question, width) => {
                Answer::Text(self.text(*topic, question, *width)?.into())
            }
            Request::Detail(name, question, width) => {
                Answer::Text(self.detail(name, question, *width)?.into())
            }
            Request::List(ListTopic::Frees(_), _)
                if !self.analyzer()?.tables().metadata.has_free_stacks() =>
            {
                Answer::Failed(catalogue::NO_STACKS_OF_FREES.to_owned())
            }
            Request::List(topic, question) => Answer::List(Arc::new(self.list(*topic, question)?)),
            Request::Retained(number) => self.retained(*number)?,
            Request::Source(path) => {
                Answer::Source(Arc::new(SourceText::read(&self.sources().here(&path.to_string_lossy()))))
            }
        })
    }

    /// Finds source files on this machine.
    fn sources(&self) -> Sources {
        Sources::new(self.options.path_map.clone())
    }

    fn analyzer(&self) -> Result<Analyzer, Error> {
        Ok(Analyzer::open(&self.options.file)?.until(self.stop.clone()))
    }

    fn loaded(&mut self, question: &Question) -> Result<Arc<Loaded>, Error> {
        if let Some((counted, loaded)) = &self.counted
            && counted.counts_like(question)
        {
            return Ok(loaded.clone());
        }
        let loaded = self.analyzer()?.seen(&question.query(), &question.lens, self.options.naming.clone())?;
        let loaded = Arc::new(loaded);
        self.counted = Some((question.clone(), loaded.clone()));
        Ok(loaded)
    }

    fn view(&mut self, question: &Question) -> Result<Arc<View>, Error> {
        if let Some(view) = self.view.as_ref().filter(|view| view.question == *question) {
            return Ok(view.clone());
        }
        let loaded = self.loaded(question)?;
        let Loaded { profile, tables, names, .. } = &*loaded;
        let tree = Tree::top_down(profile, tables, names, question.metric);
        let functions = functions(&tree, names);
        let orders = orders(&functions, names, question.metric);
        let view = View {
            question: question.clone(),
            loaded: loaded.clone(),
            tree: Arc::new(tree),
            functions,
            orders,
        };
        Ok(self.view.insert(Arc::new(view)).clone())
    }

    fn history(&mut self, range: Option<(u64, u64)>) -> Result<History, Error> {
        let part = range.map_or(Part::Whole, |(from, to)| Part::Range(at(from), at(to)));
        let mut analyzer = self.analyzer()?;
        let (heap, profile) = analyzer.timeline(&part, STEPS)?;
        let loaded = analyzer.show(profile, engine::Naming::Stored);
        let ends: Vec<u64> = (0..heap.buckets.len()).map(|bucket| heap.end_of(bucket)).collect();
        let resident =
            resident(&loaded.counters, CounterKind::Rss, &loaded.tables.processes, ends.iter().copied());
        let processor = processor_time(&loaded.counters, &ends);
        let mut marks: Vec<Mark> = loaded
            .marks()
            .map(|row| Mark { time: row.mark.time, name: escape(row.name).into_owned() })
            .collect();
        marks.sort_by_key(|mark| mark.time);
        Ok(History { resident, processor, marks, duration: loaded.duration_ns(), heap })
    }

    fn text(&mut self, topic: Topic, question: &Question, width: u16) -> Result<Vec<Line>, Error> {
        let style = Style { color: false, width: Some(usize::from(width)) };
        let (query, naming) = (question.query(), self.options.naming.clone());
        let filter = question.lens.filter.as_ref();
        Ok(match topic {
            Topic::Overview => {
                let loaded = self.loaded(question)?;
                let mut document = views::summary(&loaded, None);
                document.tables.extend(views::info(&loaded, TEXT_ROWS).tables);
                document_lines(&loaded, &document, EXTENT, &style)
            }
            Topic::View(id) => {
                let analyzer = self.analyzer()?;
                let question = views::Question { analyzer, query: &query, filter, naming };
                let Some(view) = Named::named(id) else { return Ok(Vec::new()) };
                let (loaded, document) = view.ask(question)?;
                document_lines(&loaded, &document, EXTENT, &style)
            }
            Topic::Pages => {
                let at = match question.part.clone() {
                    Part::Whole => Anchor::Peak.into(),
                    Part::At(when) | Part::Range(_, when) => when,
                };
                let (query, with_ended) = (Query::of(Part::At(at.clone())), at == Anchor::End.into());
                let (loaded, pages) = self
                    .analyzer()?
                    .lifetimes(&query, None, naming, |tables| Pages::new(with_ended, tables))?;
                let mut document = views::pages(&loaded, &pages.finish());
                if filter.is_some() || question.during.is_some() {
                    document.notes.insert(0, catalogue::PAGES_ARE_WHOLE.into());
                }
                document_lines(&loaded, &document, EXTENT, &style)
            }
            Topic::Diff(compare) => {
                let (compared, metric) = self.compared(compare)?;
                let extent = Extent { rows: usize::MAX, ..EXTENT };
                let lines = [false, true].map(|tree| {
                    let options = DiffOptions { metric, tree, limit: Some(TEXT_ROWS), min: None };
                    diff_lines(&compared, &options, extent, &style)
                });
                lines.join(&Line::new())
            }
        })
    }

    /// The two sides to compare, and the metric.
    fn compared(&self, compare: Compare) -> Result<(Compared, Metric), Error> {
        let (analyzer, naming, whole) = (self.analyzer()?, self.options.naming.clone(), Lens::default());
        match (compare, &self.options.baseline) {
            (Compare::Captures(metric), Some(baseline)) => {
                let baseline = Analyzer::open(baseline)?.until(self.stop.clone());
                let compared =
                    compare_captures(baseline, analyzer, &Query::default(), &whole, Spelling::Exact, naming)?;
                Ok((compared, metric))
            }
            (Compare::Captures(_), None) => {
                let (from, to) = (Anchor::Start.into(), Anchor::End.into());
                Ok((compare_moments(analyzer, from, to, Query::default(), &whole, naming)?, Metric::Live))
            }
            (Compare::Analyzer(from, to), _) => Ok((
                compare_moments(analyzer, at(from), at(to), Query::default(), &whole, naming)?,
                Metric::Live,
            )),
        }
    }

    fn changes(&mut self, compare: Compare) -> Result<Changes, Error> {
        let (compared, metric) = self.compared(compare)?;
        let Compared { loaded, diff, before, after, .. } = compared;
        let (sums, either_way) = diff.trees(&loaded.tables, &loaded.names, metric);
        let side = |side: &Side| match side.at {
            Some(at) => duration(at.time),
            None => escape(&side.source.file).into_owned(),
        };
        let about = catalogue::compared(&side(&before), &side(&after), metric.name());
        let question = Question { metric, ..Question::default() };
        let (functions, orders) = Default::default();
        let (loaded, tree) = (Arc::new(loaded), Arc::new(either_way));
        let view = Arc::new(View { question, loaded, tree, functions, orders });
        Ok(Changes { view, sums: Arc::new(sums), about })
    }

    fn detail(&self, name: &str, question: &Question, width: u16) -> Result<Vec<Line>, Error> {
        let style = Style { color: false, width: Some(usize::from(width)) };
        let (filter, naming) = (question.lens.filter.as_ref(), self.options.naming.clone());
        let (loaded, detail) = self.analyzer()?.function(&question.query(), filter, name, naming)?;
        let mut sources = self.sources();
        let source = |file, line| sources.line(loaded.tables.string(file), line).map(str::to_owned);
        let document = views::function(&loaded, &detail, question.metric, source);
        Ok(document_lines(&loaded, &document, EXTENT, &style))
    }

    fn retained(&mut self, number: usize) -> Result<Answer, Error> {
        let which = WhichScan::Number(number);
        let (loaded, scanned) = self.analyzer()?.graph(&which, self.options.naming.clone())?;
        // A capture that has grown has new names.
        let size = |loaded: &Loaded| (loaded.tables.nodes.len(), loaded.tables.strings.len());
        let known = self.of_scans.take().filter(|known| size(known) == size(&loaded));
        let loaded = self.of_scans.insert(known.unwrap_or_else(|| Arc::new(loaded))).clone();
        // Relaxed: a mere hint, as for the passes over events.
        let is_wanted = || !self.stop.load(Ordering::Relaxed);
        let kept = RetainedMemory::new(loaded, &scanned, &Pace::while_wanted(&is_wanted));
        let given_up = || Answer::Failed(catalogue::GIVEN_UP.to_owned());
        Ok(kept.map_or_else(given_up, |kept| Answer::Retained(Arc::new(kept))))
    }

    fn list(&mut self, topic: ListTopic, question: &Question) -> Result<StackList, Error> {
        match topic {
            ListTopic::Leaks => {
                let naming = self.options.naming.clone();
                let rules = Suppressions::unasked();
                let loaded = self.analyzer()?.leaks(&question.query(), &question.lens, &rules, naming)?;
                Ok(stacks(Arc::new(loaded), Metric::Leaked, catalogue::STILL_ALLOCATED))
            }
            ListTopic::Temporary => {
                Ok(stacks(self.loaded(question)?, Metric::Temporary, catalogue::FREED_AT_ONCE))
            }
            ListTopic::Frees(side) => {
                let (filter, naming) = (question.lens.filter.as_ref(), self.options.naming.clone());
                let (loaded, frees) =
                    self.analyzer()?.lifetimes(&question.query(), filter, naming, Frees::new)?;
                let order = Order::default();
                let document = views::frees(&frees.finish(side, order), side, order);
                let about = document.notes.iter().map(|note| words(&loaded, note, WIDE)).collect();
                Ok(table_list(Arc::new(loaded), about, &document.tables[0]))
            }
            ListTopic::Lines => {
                let loaded = self.loaded(question)?;
                let options = ReportOptions { metric: question.metric, ..ReportOptions::default() };
                let lines = lines(&loaded.profile, &loaded.tables, &loaded.names);
                // Programs get all rows.
                let document = views::lines(&loaded, lines, &options, Readers::Programs);
                let about = vec![catalogue::INNERMOST_LINES.to_owned()];
                Ok(table_list(loaded, about, &document.tables[0]))
            }
            ListTopic::Marks => Ok(super::marks::marks(self.loaded(&Question::default())?)),
            ListTopic::Scans => {
                let loaded = self.loaded(&Question::default())?;
                let scans = views::scans(&loaded);
                Ok(table_list(loaded, vec![catalogue::CHOOSE_A_SCAN.to_owned()], &scans))
            }
        }
    }
}

/// Indices of functions sorted by total, by own part, and by name.
fn orders(functions: &[FunctionCost], names: &Names, metric: Metric) -> [Vec<u32>; 3] {
    let mut by_name: Vec<u32> = (0..u32::try_from(functions.len()).unwrap_or(u32::MAX)).collect();
    let name = |place: u32| names.label(functions[place as usize].label).name.as_str();
    by_name.sort_by(|&a, &b| natural(name(a), name(b)));
    let by = |amount: fn(&FunctionCost) -> Amount| {
        let mut places = by_name.clone();
        places.sort_by_key(|&place| Reverse(metric.order(amount(&functions[place as usize]))));
        places
    };
    [by(|cost| cost.total), by(|cost| cost.own), by_name]
}

/// Rows of stacks by one metric.
fn stacks(loaded: Arc<Loaded>, metric: Metric, meaning: &str) -> StackList {
    let total = metric.of(&loaded.profile.total);
    let all = rows_as_read(&loaded.profile, &loaded.tables, &loaded.names, metric);
    let mut about = vec![format!(
        "{} in {} {meaning}",
        bytes(total.bytes),
        catalogue::blocks_of_stacks(total.blocks, all.len())
    )];
    if let Some(suppressed) = &loaded.suppressed {
        let hidden = suppressed.total;
        if !hidden.is_zero() {
            about.push(catalogue::left_out_by_rules(&bytes(hidden.bytes), hidden.blocks));
        }
    }
    let style = Style { color: false, width: Some(WIDE) };
    let row = |row: &analysis::Row| {
        let amount = metric.of(&row.cost);
        let call = call_of(&loaded.tables, row.node);
        StackRow {
            numbers: cells(&loaded, metric, amount, total).into(),
            name: format!("{} [{call}]", stack_line(&loaded, row.node, &style, 0)),
            node: Some(row.node),
            place: place_of(&loaded, row.node),
            ..StackRow::default()
        }
    };
    let left_out = all.len().saturating_sub(LIST_ROWS);
    let others = StackRow::of_others(left_out, catalogue::SEE_BY_CHOOSING);
    let rows = all.iter().take(LIST_ROWS).map(row).chain(others).collect();
    let heads = heads(&loaded, metric).into_iter().chain(["stack".to_owned()]).collect();
    StackList { about, heads, widths: WIDTHS.into(), narrow: 2, rows, left_out, loaded }
}

/// The steps of a stack, innermost first, each with its frame.
pub(crate) fn steps(loaded: &Loaded, node: NodeId) -> Vec<(FrameId, Step)> {
    analysis::functions_of(&loaded.tables, &loaded.names, node).collect()
}

/// The number that ranks, its share, and the other one.
pub(crate) fn cells(loaded: &Loaded, metric: Metric, amount: Amount, total: Amount) -> [String; 3] {
    let share = percent(metric.rank(amount), metric.rank(total));
    let (first, second) = Units::of(loaded, metric).pair(amount);
    [first, share, second]
}

/// `  12.3 MiB   45.6 %       1,234`.
pub(crate) fn numbers(loaded: &Loaded, metric: Metric, amount: Amount, total: Amount) -> String {
    in_columns(&cells(loaded, metric, amount, total), &WIDTHS)
}

/// The headings of these numbers.
pub(crate) fn heads(loaded: &Loaded, metric: Metric) -> [String; 3] {
    let (first, second) = Units::of(loaded, metric).heads();
    [first, "share", second].map(str::to_owned)
}

/// The same in their columns.
pub(crate) fn header(loaded: &Loaded, metric: Metric) -> String {
    in_columns(&heads(loaded, metric), &WIDTHS)
}

/// Only the number that ranks.
pub(crate) fn rank(loaded: &Loaded, metric: Metric, amount: Amount) -> String {
    Units::of(loaded, metric).pair(amount).0
}
