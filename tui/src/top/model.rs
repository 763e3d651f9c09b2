//! What is on the screen, and what is selected.

use analysis::functions_of;
use capture::NodeId;
use engine::live::{By, Order, Reading, Row};
use ratatui::layout::Rect;
use report::text::{detail, escape};

/// Lines above the rows: three of the header, one of column titles.
pub(super) const ABOVE: u16 = 4;
/// Lines below the rows: the keys.
const BELOW: u16 = 1;

/// Everything to draw.
pub(super) struct Model {
    pub(super) screen: Rect,
    /// None before the first one.
    pub(super) reading: Option<Reading>,
    pub(super) by: By,
    pub(super) order: Order,
    /// The screen is frozen; the recording goes on.
    pub(super) is_paused: bool,
    /// The selected row, and its last known position.
    pub(super) selected: (Option<Who>, usize),
    /// The stack that is unfolded into its functions.
    pub(super) open: Option<NodeId>,
    /// First visible line of the list.
    pub(super) first: usize,
}

/// What a row stands for, wherever it is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Who {
    /// A stack.
    Stack(NodeId),
    /// A function, by name: its number changes as more names become known.
    Function(String),
}

/// A line of the list.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Line {
    /// A row, by its position.
    Row(usize),
    /// A function of the unfolded row above, with its place in the source.
    Function(String, String),
}

impl Model {
    pub(super) fn new(screen: Rect, (by, order): (By, Order)) -> Self {
        let (selected, open) = ((None, 0), None);
        Self { screen, reading: None, by, order, is_paused: false, selected, open, first: 0 }
    }

    /// Takes a reading, unless the screen is frozen.
    pub(super) fn take(&mut self, reading: Reading) {
        if self.is_paused && self.reading.is_some() {
            return;
        }
        self.reading = Some(reading);
        // A row is followed once the user has selected it; until then the selection stays on the first row, whichever
        // it is.
        let is_first = self.selected.1 == 0 && self.open.is_none();
        self.select(if is_first { 0 } else { self.selected_place() });
    }

    /// The rows, if they are stacks.
    pub(super) fn stacks(&self) -> &[Row] {
        self.reading.as_ref().map_or(&[], |reading| &reading.rows)
    }

    /// How many rows there are.
    pub(super) fn count(&self) -> usize {
        self.reading.as_ref().map_or(0, |reading| reading.rows.len().max(reading.functions.len()))
    }

    /// What the row at a position stands for.
    fn who(&self, place: usize) -> Option<Who> {
        let reading = self.reading.as_ref()?;
        let stack = reading.rows.get(place).map(|row| Who::Stack(row.node));
        stack.or_else(|| {
            let label = reading.loaded.names.label(reading.functions.get(place)?.label);
            Some(Who::Function(label.name.clone()))
        })
    }

    /// The position of a row.
    fn place_of(&self, who: &Who) -> Option<usize> {
        let reading = self.reading.as_ref()?;
        match who {
            Who::Stack(node) => reading.rows.iter().position(|row| row.node == *node),
            Who::Function(name) => {
                let label = |label| &reading.loaded.names.label(label).name;
                reading.functions.iter().position(|function| label(function.label) == name)
            }
        }
    }

    /// Position of the selected row: where it is now or, if it is gone, where it was.
    pub(super) fn selected_place(&self) -> usize {
        let (who, place) = &self.selected;
        let now = who.as_ref().and_then(|who| self.place_of(who));
        now.unwrap_or(*place).min(self.count().saturating_sub(1))
    }

    /// Selects the row at a position, and scrolls to it.
    pub(super) fn select(&mut self, place: usize) {
        let place = place.min(self.count().saturating_sub(1));
        self.selected = (self.who(place), place);
        let line = self.lines().iter().position(|line| *line == Line::Row(place)).unwrap_or(0);
        let height = self.height().max(1);
        self.first = self.first.clamp(line.saturating_sub(height - 1), line);
    }

    /// All lines of the list.
    pub(super) fn lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        for place in 0..self.count() {
            lines.push(Line::Row(place));
            let node = self.stacks().get(place).map(|row| row.node);
            if let Some(node) = node.filter(|node| self.open == Some(*node)) {
                lines.extend(self.functions(node));
            }
        }
        lines
    }

    fn functions(&self, node: NodeId) -> Vec<Line> {
        let Some(reading) = &self.reading else { return Vec::new() };
        let loaded = &reading.loaded;
        let steps = functions_of(&loaded.tables, &loaded.names, node);
        let line = |(_, step): (capture::FrameId, analysis::Step)| {
            let name = escape(&loaded.names.label(step.label).short()).into_owned();
            Line::Function(name, detail(loaded, &step).unwrap_or_default())
        };
        steps.map(line).collect()
    }

    /// Number of lines of the list that fit on the screen.
    pub(super) fn height(&self) -> usize {
        usize::from(self.screen.height.saturating_sub(ABOVE + BELOW))
    }
}
