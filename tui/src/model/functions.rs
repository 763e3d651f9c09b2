//! The three lists: functions, callers of the selected one, and its callees.

use super::cursor::Cursor;
use super::pane::Pane;
use super::visible_tree::Order;
use crate::work::View;
use analysis::{Amount, FunctionCost, LabelId, Opening, Tree};
use std::sync::Arc;

/// The list that keys act on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Focus {
    /// All functions.
    #[default]
    Functions,
    /// The callers of the selected function.
    Callers,
    /// What the selected function calls.
    Below,
}

/// The page of functions.
#[derive(Debug, Default)]
pub(crate) struct Functions {
    view: Option<Arc<View>>,
    /// The list that keys act on.
    pub(crate) focus: Focus,
    /// Position in the list of functions.
    pub(crate) cursor: Cursor,
    /// Position among the callers.
    pub(crate) callers_cursor: Cursor,
    /// The tree below the selected function.
    pub(crate) below: Pane,
    callers: Arc<[(LabelId, Amount)]>,
}

impl Functions {
    /// Takes a view; the function of the same name stays selected.
    pub(crate) fn adopt(&mut self, view: &Arc<View>) {
        if self.view.as_ref().is_some_and(|shown| Arc::ptr_eq(shown, view)) {
            return;
        }
        let name = self.selected_name();
        self.view = Some(view.clone());
        self.callers = Arc::from([]);
        if let Some(label) = name.and_then(|name| find(view, &name)) {
            self.place_at(label);
        }
    }

    /// Takes the callers and callees of the selected function.
    pub(crate) fn adopt_neighbours(
        &mut self,
        view: &Arc<View>,
        callers: &Arc<[(LabelId, Amount)]>,
        below: &Arc<Tree>,
        rows: usize,
    ) {
        self.callers = callers.clone();
        let label = below.node(Tree::ROOT).label;
        let is_other = self.below.shown().is_some_and(|(shown, tree)| {
            let name = |view: &View, label| view.loaded.names.label(label).name.clone();
            name(shown, tree.node(Tree::ROOT).label) != name(view, label)
        });
        if is_other {
            self.below.forget();
            self.callers_cursor = Cursor::default();
        }
        let opening = if label == LabelId::EVERYTHING { Opening::OneLevel } else { Opening::Rows(rows) };
        self.below.adopt(view.clone(), below.clone(), opening);
    }

    /// Number of rows of the list: the whole, and each function.
    pub(crate) fn len(&self) -> usize {
        self.view.as_ref().map_or(0, |view| view.functions.len() + 1)
    }

    /// A row of the list: a function, what it has including everything that it calls, and its own part.
    pub(crate) fn row(&self, place: usize) -> Option<(LabelId, Amount, Amount)> {
        let view = self.view.as_ref()?;
        let Some(place) = place.checked_sub(1) else {
            return Some((LabelId::EVERYTHING, view.tree.node(Tree::ROOT).total, Amount::ZERO));
        };
        let place = *self.places(view).get(place)?;
        let FunctionCost { label, total, own, .. } = *view.functions.get(place as usize)?;
        Some((label, total, own))
    }

    /// The function that the other lists are about.
    pub(crate) fn selected(&self) -> Option<LabelId> {
        self.row(self.cursor.selected).map(|(label, ..)| label)
    }

    /// Its name.
    pub(crate) fn selected_name(&self) -> Option<String> {
        let (label, view) = self.selected().zip(self.view.as_ref())?;
        Some(view.loaded.names.label(label).name.clone())
    }

    /// The callers of the selected function.
    pub(crate) fn callers(&self) -> &[(LabelId, Amount)] {
        &self.callers
    }

    /// The function that keys act on: the selected one of the list with the focus.
    pub(crate) fn focused(&self) -> Option<LabelId> {
        match self.focus {
            Focus::Functions => self.selected(),
            Focus::Callers => self.callers.get(self.callers_cursor.selected).map(|(label, _)| *label),
            Focus::Below => self.below.label(),
        }
    }

    /// The view on the page.
    pub(crate) fn view(&self) -> Option<&Arc<View>> {
        self.view.as_ref()
    }

    /// The position in the list with the focus, and the length of that list; none if the tree has the focus.
    pub(crate) fn list(&mut self) -> Option<(&mut Cursor, usize)> {
        let (functions, callers) = (self.len(), self.callers.len());
        match self.focus {
            Focus::Functions => Some((&mut self.cursor, functions)),
            Focus::Callers => Some((&mut self.callers_cursor, callers)),
            Focus::Below => None,
        }
    }

    /// Makes a function the selected one.
    pub(crate) fn go_to(&mut self, label: LabelId) {
        self.place_at(label);
        self.focus = Focus::Functions;
    }

    /// Sorts the list and the tree by the next order, and returns it.
    pub(crate) fn sort(&mut self) -> Order {
        let selected = self.selected();
        let order = self.below.sort();
        if let Some(label) = selected {
            self.place_at(label);
        }
        order
    }

    /// Selects the next function whose name passes; false when there is none.
    pub(crate) fn find(&mut self, passes: impl Fn(&str) -> bool) -> bool {
        let Some(view) = self.view.clone() else { return false };
        let count = self.len();
        let is_it = |place: &usize| {
            self.row(*place).is_some_and(|(label, ..)| passes(&view.loaded.names.label(label).name))
        };
        let found = (1..=count).map(|step| (self.cursor.selected + step) % count.max(1)).find(is_it);
        self.cursor.selected = found.unwrap_or(self.cursor.selected);
        found.is_some()
    }

    fn place_at(&mut self, label: LabelId) {
        let place = (0..self.len()).find(|&place| self.row(place).is_some_and(|(of, ..)| of == label));
        self.cursor.selected = place.unwrap_or(self.cursor.selected);
    }

    fn places<'v>(&self, view: &'v View) -> &'v [u32] {
        let [total, own, name] = &view.orders;
        match self.below.order() {
            Order::Total => total,
            Order::Own => own,
            Order::Name => name,
        }
    }
}

/// The function with this name, including the whole.
fn find(view: &View, name: &str) -> Option<LabelId> {
    let functions = view.functions.iter().map(|cost| cost.label);
    std::iter::once(LabelId::EVERYTHING)
        .chain(functions)
        .find(|&label| view.loaded.names.label(label).name == name)
}
