//! A flame graph on the screen: every function as wide as its share of the whole, its callees below it.
//!
//! ```text
//!  ┃ main                                   ┃      a cell is a share of the columns; what is narrower than
//!  ┃ parse                   ┃ load         ┃      a column is not drawn, and nothing below it
//!  ┃ expr     ┃ token        ┃
//! ```

use super::labelled::Labelled;
use super::opened::Opened;
use super::visible_tree::{Memo, Order, VisibleTree};
use crate::work::View;
use analysis::{LabelId, Tree};
use std::sync::Arc;

/// A function of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    /// Its node.
    pub(crate) id: u32,
    /// First column.
    pub(crate) x: u16,
    /// Columns.
    pub(crate) width: u16,
    /// Row, from the top of the whole graph.
    pub(crate) depth: u32,
}

/// A graph, and the user's position in it.
#[derive(Debug, Default)]
pub(crate) struct Flame {
    shown: Option<(Arc<View>, Arc<Tree>)>,
    memo: Memo,
    zoom: u32,
    selected: u32,
    top: u32,
}

impl Flame {
    /// Takes a new tree. The nodes at the same path of names stay selected and zoomed to.
    pub(crate) fn adopt(&mut self, view: Arc<View>, tree: Arc<Tree>) {
        if self.shown.as_ref().is_some_and(|(_, shown)| Arc::ptr_eq(shown, &tree)) {
            return;
        }
        let (zoom, selected) = (self.path(self.zoom), self.path(self.selected));
        self.memo = Memo::default();
        self.shown = Some((view, tree));
        (self.zoom, self.selected) = (self.follow(&zoom), self.follow(&selected));
        if !self.is_below_zoom(self.selected) {
            self.selected = self.zoom;
        }
    }

    /// The tree and its names.
    pub(crate) fn shown(&self) -> Option<&(Arc<View>, Arc<Tree>)> {
        self.shown.as_ref()
    }

    /// The selected node, which keys act on.
    pub(crate) fn selected(&self) -> Option<u32> {
        self.shown.as_ref().map(|_| self.selected)
    }

    /// Its function.
    pub(crate) fn label(&self) -> Option<LabelId> {
        self.shown.as_ref().map(|(_, tree)| tree.node(self.selected).label)
    }

    /// The first row on the screen.
    pub(crate) fn top(&self) -> u32 {
        self.top
    }

    /// The visible cells. Callers of the zoomed node stand above it at full width.
    // Cost: that of the cells, at most one for each column of each row.
    pub(crate) fn cells(&self, width: u16, height: u16) -> Vec<Cell> {
        let Some(visible) = self.visible() else { return Vec::new() };
        let mut above: Vec<u32> =
            std::iter::successors(visible.tree.parent(self.zoom), |&id| visible.tree.parent(id)).collect();
        above.reverse();
        let mut cells = Vec::new();
        let bottom = self.top.saturating_add(u32::from(height));
        for (depth, id) in (0..).zip(above) {
            cells.push(Cell { id, x: 0, width, depth });
        }
        let start = cells.len() as u32;
        let mut row = vec![(self.zoom, 0.0_f64, f64::from(width))];
        let mut depth = start;
        while !row.is_empty() && depth < bottom {
            let mut below = Vec::new();
            for (id, x, wide) in row {
                // Edges are rounded, not widths, so that neighbours neither overlap nor leave gaps.
                let (first, last) = (x.round() as u16, (x + wide).round() as u16);
                if last <= first {
                    continue;
                }
                cells.push(Cell { id, x: first, width: last - first, depth });
                let whole = self.rank(&visible, id).max(1) as f64;
                let mut at = x;
                for &child in visible.children(id).iter() {
                    let part = wide * self.rank(&visible, child).max(0) as f64 / whole;
                    below.push((child, at, part));
                    at += part;
                }
            }
            row = below;
            depth += 1;
        }
        cells.retain(|cell| (self.top..bottom).contains(&cell.depth));
        cells
    }

    /// Selects the largest callee.
    pub(crate) fn down(&mut self) {
        let first = self.visible().and_then(|visible| visible.children(self.selected).first().copied());
        self.selected = first.unwrap_or(self.selected);
    }

    /// Selects the caller, up to the zoomed node.
    pub(crate) fn up(&mut self) {
        let parent = self.visible().and_then(|visible| visible.tree.parent(self.selected));
        self.selected = parent.filter(|_| self.selected != self.zoom).unwrap_or(self.selected);
    }

    /// Selects a neighbour in the same row.
    pub(crate) fn aside(&mut self, step: isize) {
        let next = self.visible().and_then(|visible| {
            let siblings = visible.children(visible.tree.parent(self.selected)?);
            let place = siblings.iter().position(|&id| id == self.selected)?;
            siblings.get(place.checked_add_signed(step)?).copied()
        });
        self.selected = next.filter(|_| self.selected != self.zoom).unwrap_or(self.selected);
    }

    /// Zooms to the selected node.
    pub(crate) fn zoom_in(&mut self) {
        self.zoom = self.selected;
    }

    /// Zooms out to the caller of the zoomed node.
    pub(crate) fn zoom_out(&mut self) {
        let parent = self.visible().and_then(|visible| visible.tree.parent(self.zoom));
        self.zoom = parent.unwrap_or(self.zoom);
        self.selected = self.zoom;
    }

    /// Zooms out to everything.
    pub(crate) fn zoom_all(&mut self) {
        self.zoom = Tree::ROOT;
    }

    /// Selects the cell at a position of the window; true when it was selected already.
    pub(crate) fn click(&mut self, x: u16, y: u16, width: u16) -> bool {
        let depth = self.top.saturating_add(u32::from(y));
        let cells = self.cells(width, y.saturating_add(1));
        let hit = cells.iter().find(|cell| cell.depth == depth && (cell.x..cell.x + cell.width).contains(&x));
        let Some(cell) = hit else { return false };
        std::mem::replace(&mut self.selected, cell.id) == cell.id
    }

    /// Selects a node, and zooms out if it is not below the zoomed one.
    pub(crate) fn select(&mut self, id: u32) {
        if self.shown.as_ref().is_some_and(|(_, tree)| (id as usize) < tree.len()) {
            self.selected = id;
            if !self.is_below_zoom(id) {
                self.zoom = Tree::ROOT;
            }
        }
    }

    /// Selects the next node, in tree order, whose name passes; false when none does.
    pub(crate) fn find(&mut self, passes: impl Fn(&str) -> bool) -> bool {
        let Some((view, tree)) = &self.shown else { return false };
        let names = &view.loaded.names;
        let count = u32::try_from(tree.len()).unwrap_or(u32::MAX);
        let mut ahead = (1..=count).map(|step| (self.selected + step) % count);
        let is_hit =
            |&id: &u32| !tree.node(id).total.is_zero() && passes(&names.label(tree.node(id).label).name);
        let found = ahead.find(is_hit);
        found.into_iter().for_each(|id| self.select(id));
        found.is_some()
    }

    /// Scrolls so that the selected node is in a window of this height.
    pub(crate) fn scroll(&mut self, height: u32) {
        let Some((_, tree)) = &self.shown else { return };
        let depth =
            u32::try_from(std::iter::successors(tree.parent(self.selected), |&id| tree.parent(id)).count())
                .unwrap_or(u32::MAX);
        let last = self.top.saturating_add(height.max(1)) - 1;
        if depth < self.top {
            self.top = depth;
        } else if depth > last {
            self.top += depth - last;
        }
    }

    fn rank(&self, visible: &VisibleTree<'_, View>, id: u32) -> i64 {
        visible.shown.metric().rank(visible.tree.node(id).total)
    }

    fn visible(&self) -> Option<VisibleTree<'_, View>> {
        static CLOSED: std::sync::LazyLock<Opened> = std::sync::LazyLock::new(Opened::default);
        let (view, tree) = self.shown.as_ref()?;
        Some(VisibleTree { tree, shown: &**view, order: Order::Total, opened: &CLOSED, memo: &self.memo })
    }

    fn is_below_zoom(&self, id: u32) -> bool {
        let Some((_, tree)) = &self.shown else { return false };
        std::iter::successors(Some(id), |&id| tree.parent(id)).any(|id| id == self.zoom)
    }

    fn path(&self, id: u32) -> Vec<String> {
        let Some((view, tree)) = &self.shown else { return Vec::new() };
        super::node_path::marks(&**view, tree, id)
    }

    fn follow(&self, path: &[String]) -> u32 {
        let Some((view, tree)) = &self.shown else { return Tree::ROOT };
        super::node_path::follow(&**view, tree, path)
    }
}
