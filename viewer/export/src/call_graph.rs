//! Who calls whom, and what that costs.
//!
//! ```text
//!  stack  main:12 > a:30 > b:7 > a:31           costs c
//!
//!  own    a:31                                  c
//!  total  main, a, b                            c     a once, though it occurs twice
//!  calls  main:12 ─► a   a:30 ─► b   b:7 ─► a   c     each call once for each stack
//! ```
//!
//! Memory is bounded by the distinct calls on all stacks.

use super::places::{Place, places_of};
use analysis::{Cost, LabelId};
use capture::{NodeId, ProcessId};
use engine::Loaded;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::ops::AddAssign;

/// Sums over all stacks of a capture, of any quantity. Processes are functions in it, which call the outermost ones.
#[derive(Debug)]
pub(super) struct CallGraph<T> {
    own: Sums<Place, T>,
    total: Sums<LabelId, T>,
    calls: Sums<(Place, LabelId), T>,
}

impl CallGraph<Cost> {
    /// From what the stacks cost.
    pub(super) fn new(loaded: &Loaded) -> Self {
        let sites = loaded.profile.sites.iter();
        Self::of(loaded, sites.map(|site| (site.process, site.node, site.cost)))
    }
}

impl<T: Copy + AddAssign> CallGraph<T> {
    /// From the given quantities of stacks of processes.
    pub(super) fn of(loaded: &Loaded, stacks: impl IntoIterator<Item = (ProcessId, NodeId, T)>) -> Self {
        let mut graph = Self { own: Sums::default(), total: Sums::default(), calls: Sums::default() };
        for (number, (process, node, value)) in stacks.into_iter().enumerate() {
            let mut callee: Option<Place> = None;
            for place in places_of(loaded, process, node) {
                match callee {
                    None => graph.own.add(place, value, number),
                    Some(callee) => graph.calls.add((place, callee.label), value, number),
                }
                graph.total.add(place.label, value, number);
                callee = Some(place);
            }
        }
        graph
    }

    /// What each place has itself, in order.
    pub(super) fn own(&self) -> Vec<(Place, T)> {
        self.own.sorted()
    }

    /// What each function has including its callees, in order.
    pub(super) fn total(&self) -> Vec<(LabelId, T)> {
        self.total.sorted()
    }

    /// What calls of a function from a place have, in order.
    pub(super) fn calls(&self) -> Vec<((Place, LabelId), T)> {
        self.calls.sorted()
    }
}

/// Sums by key; each stack adds to a key once, however often the key is on it.
#[derive(Debug)]
struct Sums<K, T> {
    /// With the number of the stack that last added to it.
    by_key: HashMap<K, (T, usize)>,
}

impl<K, T> Default for Sums<K, T> {
    fn default() -> Self {
        Self { by_key: HashMap::new() }
    }
}

impl<K: Copy + Eq + Hash + Ord, T: Copy + AddAssign> Sums<K, T> {
    fn add(&mut self, key: K, value: T, stack: usize) {
        match self.by_key.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert((value, stack));
            }
            Entry::Occupied(mut entry) if entry.get().1 != stack => {
                let (sum, last) = entry.get_mut();
                *sum += value;
                *last = stack;
            }
            Entry::Occupied(_) => {}
        }
    }

    fn sorted(&self) -> Vec<(K, T)> {
        let mut sums: Vec<(K, T)> = self.by_key.iter().map(|(key, (sum, _))| (*key, *sum)).collect();
        sums.sort_unstable_by_key(|(key, _)| *key);
        sums
    }
}
