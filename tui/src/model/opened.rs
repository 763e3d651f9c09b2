//! Which nodes of a tree are open, for any tree.
//!
//! A node is identified by the path of names to it, so it stays open when numbers, order or range change. *All open*
//! is a flag with exceptions: it costs the same for ten nodes and ten million.

use std::collections::HashSet;

/// A node, identified by the path of names to it.
pub(crate) type Key = u64;

/// The open nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Opened {
    /// Whether nodes are open that are no exception.
    all: bool,
    exceptions: HashSet<Key>,
}

impl Opened {
    /// True when the children of a node are visible.
    pub(crate) fn is_open(&self, key: Key) -> bool {
        self.all != self.exceptions.contains(&key)
    }

    /// Opens or closes one node.
    pub(crate) fn set(&mut self, key: Key, open: bool) {
        if open == self.all {
            self.exceptions.remove(&key);
        } else {
            self.exceptions.insert(key);
        }
    }

    /// Opens or closes all nodes.
    pub(crate) fn set_all(&mut self, open: bool) {
        *self = Self { all: open, exceptions: HashSet::new() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that all can be opened, with exceptions, and closed.
    #[test]
    fn all_is_a_flag_with_exceptions() {
        let mut opened = Opened::default();
        opened.set(1, true);
        assert!(opened.is_open(1) && !opened.is_open(2));
        opened.set_all(true);
        opened.set(2, false);
        assert!(opened.is_open(1) && !opened.is_open(2) && opened.is_open(3));
        opened.set(2, true);
        assert!(opened.is_open(2));
        opened.set_all(false);
        assert!(!opened.is_open(1) && !opened.is_open(3));
    }
}
