//! Walks over the visible rows of a tree, some of whose nodes are open, without a list of them.
//!
//! ```text
//!  ▾ [Everything]        next(row): its first child if it is open, else its next sibling, else that of a caller
//!    ▾ app               a row that is the only child stands in its parent's column, so that stacks of hundreds
//!    ▸ main              of frames can be read
//! ```

use super::labelled::Labelled;
use super::opened::{Key, Opened};
use analysis::{Amount, Tree, natural};
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

/// What siblings are ordered by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Order {
    /// The largest total first.
    #[default]
    Total,
    /// The largest own part first.
    Own,
    /// By name.
    Name,
}

impl Order {
    /// The next order.
    pub(crate) fn next(self) -> Self {
        match self {
            Self::Total => Self::Own,
            Self::Own => Self::Name,
            Self::Name => Self::Total,
        }
    }

    /// Its name, with the words for the two numbers.
    pub(crate) fn name(self, total: &'static str, own: &'static str) -> &'static str {
        match self {
            Self::Total => total,
            Self::Own => own,
            Self::Name => "name",
        }
    }
}

/// A tree in an order, and which of its nodes are open.
#[derive(Debug)]
pub(crate) struct VisibleTree<'a, V> {
    pub(crate) tree: &'a Tree,
    pub(crate) shown: &'a V,
    pub(crate) order: Order,
    pub(crate) opened: &'a Opened,
    pub(crate) memo: &'a Memo,
}

/// Cached facts about a tree in an order: cleared when either changes.
#[derive(Debug, Default)]
pub(crate) struct Memo {
    children: RefCell<HashMap<u32, Rc<[u32]>>>,
    places: RefCell<HashMap<u32, (Key, u32)>>,
}

/// The key of a node, from its mark and the key above it.
fn key_below(above: Key, mark: &str) -> Key {
    let mut hasher = DefaultHasher::new();
    (above, mark).hash(&mut hasher);
    hasher.finish()
}

impl<V: Labelled> VisibleTree<'_, V> {
    /// Number of nodes whose children were looked at: what the walks have cost.
    #[cfg(test)]
    pub(crate) fn looked_at(&self) -> usize {
        self.memo.children.borrow().len()
    }

    /// The children of a node in order.
    pub(crate) fn children(&self, id: u32) -> Rc<[u32]> {
        if let Some(children) = self.memo.children.borrow().get(&id) {
            return children.clone();
        }
        let mut children: Vec<u32> = self.tree.children(id).collect();
        let (name, metric) = (|id: u32| self.shown.name(self.tree.node(id).label), self.shown.metric());
        let cost = |id: u32| -> Amount {
            if self.order == Order::Own { self.tree.own(id) } else { self.tree.node(id).total }
        };
        children.sort_by(|&a, &b| {
            let by_name = || natural(name(a), name(b)).then(a.cmp(&b));
            match self.order {
                Order::Name => by_name(),
                _ => metric.order(cost(b)).cmp(&metric.order(cost(a))).then_with(by_name),
            }
        });
        let children: Rc<[u32]> = children.into();
        self.memo.children.borrow_mut().insert(id, children.clone());
        children
    }

    /// A node's key, and its column.
    pub(crate) fn place(&self, id: u32) -> (Key, u32) {
        let mut path = Vec::new();
        let mut at = Some(id);
        let mut place = (0, 0);
        while let Some(id) = at {
            if let Some(&known) = self.memo.places.borrow().get(&id) {
                place = known;
                break;
            }
            path.push(id);
            at = self.tree.parent(id);
        }
        while let Some(id) = path.pop() {
            let mark = self.shown.mark(self.tree.node(id).label);
            let is_only = self.tree.parent(id).is_none_or(|parent| {
                let is_single = self.tree.children(parent).nth(1).is_none();
                is_single && !self.shown.divides(self.tree.node(parent).label)
            });
            place = (key_below(place.0, &mark), place.1 + u32::from(!is_only));
            self.memo.places.borrow_mut().insert(id, place);
        }
        place
    }

    /// True when the children of a node are visible.
    pub(crate) fn is_open(&self, id: u32) -> bool {
        self.opened.is_open(self.place(id).0)
    }

    /// True when a node has children.
    pub(crate) fn has_children(&self, id: u32) -> bool {
        self.tree.children(id).next().is_some()
    }

    /// The row below.
    pub(crate) fn next(&self, id: u32) -> Option<u32> {
        if self.is_open(id)
            && let Some(&first) = self.children(id).first()
        {
            return Some(first);
        }
        let mut id = id;
        loop {
            if let Some(next) = self.sibling(id, 1) {
                return Some(next);
            }
            id = self.tree.parent(id)?;
        }
    }

    /// The row above.
    pub(crate) fn previous(&self, id: u32) -> Option<u32> {
        match self.sibling(id, -1) {
            Some(above) => Some(self.last_of(above)),
            None => self.tree.parent(id),
        }
    }

    /// The last visible row below a node, or the node itself.
    pub(crate) fn last_of(&self, mut id: u32) -> u32 {
        while self.is_open(id)
            && let Some(&last) = self.children(id).last()
        {
            id = last;
        }
        id
    }

    /// The rows from `first` on.
    pub(crate) fn rows(&self, first: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(Some(first), |&id| self.next(id))
    }

    /// How many rows there are, which needs no sorting of siblings.
    // Cost: a hash for each row.
    pub(crate) fn count(&self) -> usize {
        let mut count = 0;
        let mut ahead = vec![(Tree::ROOT, self.place(Tree::ROOT).0)];
        while let Some((id, key)) = ahead.pop() {
            count += 1;
            if self.opened.is_open(key) {
                let below = self.tree.children(id);
                ahead.extend(below.map(|child| {
                    let mark = self.shown.mark(self.tree.node(child).label);
                    (child, key_below(key, &mark))
                }));
            }
        }
        count
    }

    /// The nearest visible node: a caller, if one of them is closed.
    pub(crate) fn seen(&self, id: u32) -> u32 {
        let mut seen = id;
        let mut at = self.tree.parent(id);
        while let Some(caller) = at {
            if !self.is_open(caller) {
                seen = caller;
            }
            at = self.tree.parent(caller);
        }
        seen
    }

    fn sibling(&self, id: u32, step: isize) -> Option<u32> {
        let siblings = self.children(self.tree.parent(id)?);
        let place = siblings.iter().position(|&sibling| sibling == id)?;
        siblings.get(place.checked_add_signed(step)?).copied()
    }
}
