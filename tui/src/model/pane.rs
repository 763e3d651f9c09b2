//! A tree on the screen: what is open, what is selected, and which row is at the top.

use super::hits::Hits;
use super::labelled::Labelled;
use super::node_path;
use super::opened::Opened;
use super::visible_tree::{Memo, Order, VisibleTree};
use crate::work::View;
use analysis::{LabelId, Opening, Tree};
use std::sync::Arc;

/// A tree of one view, and the user's position in it.
#[derive(Debug)]
pub(crate) struct Pane<V = View> {
    shown: Option<(Arc<V>, Arc<Tree>)>,
    memo: Memo,
    opened: Opened,
    /// True once the user has opened or closed a node: from then on, only the user does.
    is_touched: bool,
    order: Order,
    selected: u32,
    top: u32,
}

/// A row as it is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// The node.
    pub(crate) id: u32,
    /// Its column.
    pub(crate) indent: u32,
    /// Whether it is open; none if it has no children.
    pub(crate) open: Option<bool>,
    /// True for the selected row.
    pub(crate) is_selected: bool,
}

impl<V> Default for Pane<V> {
    fn default() -> Self {
        Self {
            shown: None,
            memo: Memo::default(),
            opened: Opened::default(),
            is_touched: false,
            order: Order::default(),
            selected: Tree::ROOT,
            top: Tree::ROOT,
        }
    }
}

impl<V: Labelled> Pane<V> {
    /// Takes a new tree. Nodes at the same paths stay open and selected; until the user opens or closes one,
    /// `opening` says which are open.
    pub(crate) fn adopt(&mut self, view: Arc<V>, tree: Arc<Tree>, opening: Opening) {
        if self.shown.as_ref().is_some_and(|(_, shown)| Arc::ptr_eq(shown, &tree)) {
            return;
        }
        let path = self
            .shown
            .as_ref()
            .map(|(view, tree)| node_path::marks(&**view, tree, self.selected))
            .unwrap_or_default();
        let metric = view.metric();
        self.memo = Memo::default();
        self.shown = Some((view.clone(), tree.clone()));
        if !self.is_touched {
            self.opened = Opened::default();
            for id in opening.choose(&tree, metric) {
                self.set_open(id, true);
            }
        }
        (self.selected, self.top) = (Tree::ROOT, Tree::ROOT);
        self.selected = node_path::follow(&*view, &tree, &path);
        self.reveal_selected();
    }

    /// The tree and its names; none before the first tree.
    pub(crate) fn shown(&self) -> Option<&(Arc<V>, Arc<Tree>)> {
        self.shown.as_ref()
    }

    /// Forgets what is open and selected: the next tree is a different one.
    pub(crate) fn forget(&mut self) {
        let order = self.order;
        *self = Self { order, ..Self::default() };
    }

    /// The selected node, which keys act on.
    pub(crate) fn selected(&self) -> Option<u32> {
        self.shown.as_ref().map(|_| self.selected)
    }

    /// Its function.
    pub(crate) fn label(&self) -> Option<LabelId> {
        self.shown.as_ref().map(|(_, tree)| tree.node(self.selected).label)
    }

    /// The order of siblings.
    pub(crate) fn order(&self) -> Order {
        self.order
    }

    /// Sorts siblings by the next order, and returns it.
    pub(crate) fn sort(&mut self) -> Order {
        self.order = self.order.next();
        self.memo = Memo::default();
        self.top = self.selected;
        self.order
    }

    /// The rows in the window, which is scrolled to include the selected one.
    pub(crate) fn rows(&self, height: usize) -> Vec<Row> {
        let Some(visible) = self.visible() else { return Vec::new() };
        let row = |id: u32| Row {
            id,
            indent: visible.place(id).1,
            open: visible.has_children(id).then(|| visible.is_open(id)),
            is_selected: id == self.selected,
        };
        visible.rows(self.top).take(height).map(row).collect()
    }

    /// All rows from the root on, at most `most`: for copies.
    pub(crate) fn all_rows(&self, most: usize) -> Vec<Row> {
        let from_root = Self {
            top: Tree::ROOT,
            opened: self.opened.clone(),
            shown: self.shown.clone(),
            order: self.order,
            ..Self::default()
        };
        from_root.rows(most)
    }

    /// Number of rows.
    pub(crate) fn count(&self) -> usize {
        self.visible().map_or(0, |visible| visible.count())
    }

    /// Scrolls so that the selected row is in a window of this height.
    pub(crate) fn scroll(&mut self, height: usize) {
        let Some(visible) = self.visible() else { return };
        let top = visible.seen(self.top);
        let within = |top: u32| visible.rows(top).take(height.max(1)).any(|id| id == self.selected);
        let new = if within(top) {
            top
        } else {
            // If it is below the window, it becomes the last row; if above, the first.
            let mut above = self.selected;
            let is_below = self.is_before(&visible, top, self.selected);
            for _ in 1..if is_below { height.max(1) } else { 1 } {
                above = visible.previous(above).unwrap_or(above);
            }
            above
        };
        self.top = new;
    }

    /// Moves the selection by some rows.
    pub(crate) fn step(&mut self, rows: isize) {
        let Some(visible) = self.visible() else { return };
        let mut at = self.selected;
        for _ in 0..rows.unsigned_abs() {
            let next = if rows > 0 { visible.next(at) } else { visible.previous(at) };
            let Some(next) = next else { break };
            at = next;
        }
        self.selected = at;
    }

    /// Selects the first row.
    pub(crate) fn home(&mut self) {
        self.selected = Tree::ROOT;
    }

    /// Selects the last row.
    pub(crate) fn end(&mut self) {
        if let Some(visible) = self.visible() {
            self.selected = visible.last_of(Tree::ROOT);
        }
    }

    /// Selects the row at an offset from the top one; true when it was selected already.
    pub(crate) fn click(&mut self, row: usize) -> bool {
        let Some(id) = self.visible().and_then(|visible| visible.rows(self.top).nth(row)) else {
            return false;
        };
        std::mem::replace(&mut self.selected, id) == id
    }

    /// Selects a node, and opens the path to it.
    pub(crate) fn select(&mut self, id: u32) {
        if self.shown.as_ref().is_some_and(|(_, tree)| (id as usize) < tree.len()) {
            self.selected = id;
            self.reveal_selected();
        }
    }

    /// Closes an open row, opens a closed one.
    pub(crate) fn toggle(&mut self) {
        let Some(visible) = self.visible() else { return };
        let open = !visible.is_open(self.selected);
        self.is_touched = true;
        self.set_open(self.selected, open);
    }

    /// Opens the selected row, its only child, and so on; if it is open already, goes to its first child.
    pub(crate) fn go_in(&mut self) {
        let Some(visible) = self.visible() else { return };
        if visible.is_open(self.selected) {
            if let Some(&first) = visible.children(self.selected).first() {
                self.selected = first;
            }
            return;
        }
        let mut opened = Vec::new();
        let mut at = Some(self.selected);
        while let Some(id) = at {
            opened.push(id);
            let children = visible.children(id);
            at = children.first().copied().filter(|_| children.len() == 1);
        }
        self.is_touched = true;
        opened.into_iter().for_each(|id| self.set_open(id, true));
    }

    /// Closes the selected row; if it is closed already, goes to its caller.
    pub(crate) fn go_out(&mut self) {
        let Some(visible) = self.visible() else { return };
        if visible.is_open(self.selected) && visible.has_children(self.selected) {
            self.toggle();
        } else if let Some(parent) = visible.tree.parent(self.selected) {
            self.selected = parent;
        }
    }

    /// Opens or closes everything.
    pub(crate) fn set_all(&mut self, open: bool) {
        self.is_touched = true;
        self.opened.set_all(open);
        if !open {
            (self.selected, self.top) = (Tree::ROOT, Tree::ROOT);
        }
    }

    /// Goes to the next node, in the order of rows if all were open, whose name passes; false when none does.
    // Cost: a test of each name, a word for each node, and sorting the siblings along the paths to the two nodes.
    pub(crate) fn find(&mut self, passes: impl Fn(&str) -> bool) -> bool {
        let Some((view, tree)) = &self.shown else { return false };
        let labels = (0..view.labels()).filter_map(|label| u32::try_from(label).ok()).map(LabelId);
        let named: Vec<bool> = labels.map(|label| passes(view.name(label))).collect();
        let hits = Hits::of(tree, &named);
        let Some(visible) = self.visible() else { return false };
        let Some(found) = hits.after(&visible, self.selected) else { return false };
        self.is_touched = true;
        self.select(found);
        true
    }

    /// The walker over the tree on the screen.
    pub(crate) fn visible(&self) -> Option<VisibleTree<'_, V>> {
        let (view, tree) = self.shown.as_ref()?;
        Some(VisibleTree { tree, shown: &**view, order: self.order, opened: &self.opened, memo: &self.memo })
    }

    fn set_open(&mut self, id: u32, open: bool) {
        let Some(key) = self.visible().map(|visible| visible.place(id).0) else { return };
        self.opened.set(key, open);
    }

    fn reveal_selected(&mut self) {
        let Some((_, tree)) = &self.shown else { return };
        let callers: Vec<u32> =
            std::iter::successors(tree.parent(self.selected), |&id| tree.parent(id)).collect();
        callers.into_iter().for_each(|id| self.set_open(id, true));
    }

    /// True when one node comes before another in the order of rows.
    fn is_before(&self, visible: &VisibleTree<'_, V>, first: u32, second: u32) -> bool {
        let callers = |id: u32| {
            let mut path: Vec<u32> = std::iter::successors(Some(id), |&id| visible.tree.parent(id)).collect();
            path.reverse();
            path
        };
        let (a, b) = (callers(first), callers(second));
        let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
        match (a.get(same), b.get(same)) {
            (None, _) => true,
            (_, None) => false,
            (Some(a), Some(b)) => {
                let siblings = visible.children(visible.tree.parent(*a).unwrap_or(Tree::ROOT));
                let place = |id: &u32| siblings.iter().position(|sibling| sibling == id);
                place(a) < place(b)
            }
        }
    }
}
