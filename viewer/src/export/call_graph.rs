//! Who calls whom, and what that costs.
//!
//! ```text
//!  stack  main:12 > a:30 > b:7 > a:31           costs c
//!
//!  own    a:31                                  c
//!  total  main, a, b                            c     a once, though it stands there twice
//!  calls  main:12 ─► a   a:30 ─► b   b:7 ─► a   c     each call once for each stack
//! ```
//!
//! Memory is bounded by the different calls on all stacks.

use super::places::{Place, places};
use crate::analysis::{Cost, LabelId, Site};
use crate::loaded::Loaded;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;

/// The sums over all stacks of a capture. Processes are functions in it, which call the outermost ones.
#[derive(Debug, Default)]
pub(super) struct CallGraph {
    own: Sums<Place>,
    total: Sums<LabelId>,
    calls: Sums<(Place, LabelId)>,
}

impl CallGraph {
    pub(super) fn new(loaded: &Loaded) -> Self {
        let mut graph = Self::default();
        for (number, site) in loaded.profile.sites.iter().enumerate() {
            graph.add(loaded, site, number);
        }
        graph
    }

    fn add(&mut self, loaded: &Loaded, site: &Site, number: usize) {
        let mut callee: Option<Place> = None;
        for place in places(loaded, site) {
            match callee {
                None => self.own.add(place, &site.cost, number),
                Some(callee) => self.calls.add((place, callee.label), &site.cost, number),
            }
            self.total.add(place.label, &site.cost, number);
            callee = Some(place);
        }
    }

    /// What each place allocates itself, in order.
    pub(super) fn own(&self) -> Vec<(Place, Cost)> {
        self.own.sorted()
    }

    /// What each function allocates with all that it calls, in order.
    pub(super) fn total(&self) -> Vec<(LabelId, Cost)> {
        self.total.sorted()
    }

    /// What is allocated by calls of a function from a place, in order.
    pub(super) fn calls(&self) -> Vec<((Place, LabelId), Cost)> {
        self.calls.sorted()
    }
}

/// Sums by key, to which each stack adds once, however often the key stands on it.
#[derive(Debug)]
struct Sums<K> {
    /// With the number of the stack that added last.
    by_key: HashMap<K, (Cost, usize)>,
}

impl<K> Default for Sums<K> {
    fn default() -> Self {
        Self { by_key: HashMap::new() }
    }
}

impl<K: Copy + Eq + Hash + Ord> Sums<K> {
    fn add(&mut self, key: K, cost: &Cost, stack: usize) {
        match self.by_key.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert((*cost, stack));
            }
            Entry::Occupied(mut entry) if entry.get().1 != stack => {
                let (sum, last) = entry.get_mut();
                *sum += *cost;
                *last = stack;
            }
            Entry::Occupied(_) => {}
        }
    }

    fn sorted(&self) -> Vec<(K, Cost)> {
        let mut sums: Vec<(K, Cost)> = self.by_key.iter().map(|(key, (cost, _))| (*key, *cost)).collect();
        sums.sort_unstable_by_key(|(key, _)| *key);
        sums
    }
}
