//! What changed between two profiles.
//!
//! ```text
//!  one capture    moment A ── Profile ─┐
//!                 moment B ── Profile ─┴─► Diff       rows of the same stack
//!
//!  two captures   OLD ── Tables, Profile ─┐
//!                 NEW ── Tables, Profile ─┴─ unite ─► one set of tables ─► pair ─► Diff
//! ```
//!
//! Everything is a subtraction, so the difference from B to A is the negated difference from A to B.

mod differing;
mod matcher;
mod pair;
mod renamed;
mod union;

use crate::base::cost::{Amount, Cost};
use crate::base::metric::Metric;
use crate::base::named::named;
use crate::base::spread::Spread;
use crate::count::profile::{Profile, Site};
use crate::names::frames::meaningful;
use crate::names::table::{Kind, Names};
use crate::rows::appearance::Appearance;
use crate::rows::tree::Tree;
use capture::{NodeId, ProcessId, Sampling, Tables};
use pair::RowMatcher;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;

pub use matcher::{Spelling, normal_name};
pub use pair::Match;
pub use union::{IdMap, Union, unite};

/// The change of one stack of one process, or of several that are alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiffRow {
    /// The process: of two captures, the newer one's if it has the stack.
    pub process: ProcessId,
    /// The stack, likewise.
    pub node: NodeId,
    /// What it cost before.
    pub before: Cost,
    /// What it costs after.
    pub after: Cost,
    /// How the two sides were matched.
    pub matched: Match,
    /// The variances of the difference: for two captures, the sums of both; for two moments of one, those of the
    /// blocks that differ.
    pub spread: Cost<Spread>,
}

impl DiffRow {
    /// The change.
    pub fn delta(&self) -> Cost {
        self.after - self.before
    }
}

named! {
    /// What became of a stack.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ChangeKind {
        /// It was not there before.
        New = "new",
        /// It has more.
        Grown = "grown",
        /// It has less.
        Shrunk = "shrunk",
        /// It is not there any more.
        Gone = "gone",
    }
}

impl ChangeKind {
    /// The kind of change between two amounts.
    pub fn of(metric: Metric, before: Amount, after: Amount) -> Self {
        match (before.is_zero(), after.is_zero()) {
            (true, _) => ChangeKind::New,
            (_, true) => ChangeKind::Gone,
            _ if metric.order(after) >= metric.order(before) => ChangeKind::Grown,
            _ => ChangeKind::Shrunk,
        }
    }
}

/// What changed.
#[derive(Clone, Debug, Default)]
pub struct Diff {
    /// One for each stack of each process, in no particular order.
    pub rows: Vec<DiffRow>,
    /// The sum of all of them before.
    pub before: Cost,
    /// The sum of all of them after.
    pub after: Cost,
    /// The variances of `before`.
    pub before_spread: Cost<Spread>,
    /// The variances of `after`.
    pub after_spread: Cost<Spread>,
    /// How a side was sampled; none if everything was recorded on both.
    pub sampling: Option<Sampling>,
}

impl Diff {
    /// The difference between two moments of one capture, matched by stack id. For a sampled capture, `between` is
    /// the profile of the range between the two moments, in either order: it tells which blocks are new. Without it,
    /// all blocks count as different, and the variances are far too large.
    pub fn of_moments(before: &Profile, after: &Profile, between: Option<&Profile>) -> Self {
        let keys =
            |process: ProcessId, node: NodeId| (u64::from(process.0) << 32 | u64::from(node.0), Match::Same);
        let mut diff = Self::gather(before, after, keys);
        if let Some(between) = between {
            let spreads = differing::spreads(before, after, between);
            for row in &mut diff.rows {
                row.spread = spreads.get(&(row.process, row.node)).copied().unwrap_or_default();
            }
        }
        diff
    }

    /// The difference between two captures whose profiles were brought into one set of tables: see [`Union`].
    pub fn of_captures(before: &Profile, after: &Profile, tables: &Tables, names: &Names) -> Self {
        let matcher = RowMatcher::new(before, after, tables, names);
        Self::gather(before, after, |process, node| matcher.key(process, node))
    }

    fn gather(before: &Profile, after: &Profile, key: impl Fn(ProcessId, NodeId) -> (u64, Match)) -> Self {
        let mut diff = Self {
            before: before.total,
            after: after.total,
            before_spread: before.total_spread,
            after_spread: after.total_spread,
            sampling: after.sampling.or(before.sampling),
            ..Self::default()
        };
        let mut places: HashMap<u64, usize> = HashMap::new();
        let mut row = |rows: &mut Vec<DiffRow>, site: &Site| {
            let (key, matched) = key(site.process, site.node);
            *places.entry(key).or_insert_with(|| {
                let (before, after, spread) = Default::default();
                rows.push(DiffRow { process: site.process, node: site.node, before, after, matched, spread });
                rows.len() - 1
            })
        };
        for (site, spread) in after.sites_with_spread() {
            let place = row(&mut diff.rows, site);
            diff.rows[place].after += site.cost;
            diff.rows[place].spread += spread;
        }
        for (site, spread) in before.sites_with_spread() {
            let place = row(&mut diff.rows, site);
            diff.rows[place].before += site.cost;
            diff.rows[place].spread += spread;
        }
        diff
    }

    /// The total change.
    pub fn delta(&self) -> Cost {
        self.after - self.before
    }

    /// The variances of the total change.
    pub fn spread(&self) -> Cost<Spread> {
        self.rows.iter().map(|row| row.spread).sum()
    }

    /// Rows that changed, over all processes, the greatest change first.
    pub fn changed(&self, metric: Metric) -> Vec<DiffRow> {
        changes(joined(self.rows.clone(), |node| node), metric)
    }

    /// The same, with stacks that a reader cannot tell apart joined into one row, as in
    /// [`rows_as_read`](crate::rows::appearance::rows_as_read).
    pub fn changed_as_read(&self, tables: &Tables, names: &Names, metric: Metric) -> Vec<DiffRow> {
        let appearance = Appearance::new(tables, names);
        let mut rows = joined(self.rows.clone(), |node| node);
        // The row shows the stack with the greatest change.
        sort(&mut rows, metric);
        changes(joined(rows, |node| appearance.of(node)), metric)
    }

    /// Total growth and total shrinkage, separately.
    pub fn gross(&self, metric: Metric) -> (Amount, Amount) {
        let ((grown, _), (shrunk, _)) = self.gross_with_spread(metric);
        (grown, shrunk)
    }

    /// The same, with variances.
    pub fn gross_with_spread(&self, metric: Metric) -> ((Amount, Spread), (Amount, Spread)) {
        let (mut grown, mut shrunk) = Default::default();
        for row in self.changed(metric) {
            let delta = metric.of(&row.delta());
            let (amount, spread): &mut (Amount, Spread) =
                if metric.order(delta) > (0, 0) { &mut grown } else { &mut shrunk };
            *amount += delta;
            *spread += metric.of(&row.spread);
        }
        (grown, shrunk)
    }

    /// Bytes before and after, by how their stacks were matched.
    pub fn matched(&self, metric: Metric) -> [(Match, i64, i64); 3] {
        let mut sums = [(Match::Same, 0_i64, 0_i64), (Match::Alike, 0, 0), (Match::Alone, 0, 0)];
        for row in &self.rows {
            let sum = sums.iter_mut().find(|(matched, ..)| *matched == row.matched);
            if let Some((_, before, after)) = sum {
                *before = before.wrapping_add(metric.of(&row.before).bytes);
                *after = after.wrapping_add(metric.of(&row.after).bytes);
            }
        }
        sums
    }

    /// Of each side, the part that was allocated by unnamed functions and matched nothing on the other side.
    pub fn nameless(&self, tables: &Tables, names: &Names, metric: Metric) -> [Amount; 2] {
        let is_nameless = |row: &&DiffRow| {
            let innermost = meaningful(tables, names, row.node).next();
            let kind = innermost.map(|(_, step)| names.label(step.label).kind);
            row.matched == Match::Alone && matches!(kind, Some(Kind::InModule(_) | Kind::Unknown(_)))
        };
        let rows = self.rows.iter().filter(is_nameless);
        rows.fold([Amount::ZERO; 2], |[before, after], row| {
            [before + metric.of(&row.before), after + metric.of(&row.after)]
        })
    }

    /// A tree of the changes, and one of the same shape whose nodes add up the changes below them in either
    /// direction: a node may have changed much though its sum did not.
    pub fn trees(&self, tables: &Tables, names: &Names, metric: Metric) -> (Tree, Tree) {
        let tree = |of: fn(Amount) -> Amount| {
            let site = |row: &DiffRow| {
                let peak = of(metric.of(&row.delta()));
                Site {
                    process: row.process,
                    thread: None,
                    node: row.node,
                    cost: Cost { peak, ..Cost::default() },
                }
            };
            let spread = |row: &DiffRow| Cost { peak: metric.of(&row.spread), ..Cost::<Spread>::default() };
            let spreads = self.sampling.map(|_| self.rows.iter().map(spread).collect()).unwrap_or_default();
            let sites = self.rows.iter().map(site).collect();
            let profile = Profile { sites, spreads, sampling: self.sampling, ..Profile::default() };
            Tree::top_down(&profile, tables, names, Metric::Peak)
        };
        (tree(|delta| delta), tree(either_way))
    }
}

/// The size of a change, whatever its direction.
pub fn size(metric: Metric, amount: Amount) -> (i64, i64) {
    let (first, second) = metric.order(amount);
    (first.saturating_abs(), second.saturating_abs())
}

/// Turns shrinkage into growth.
fn either_way(amount: Amount) -> Amount {
    Amount { blocks: amount.blocks.saturating_abs(), bytes: amount.bytes.saturating_abs() }
}

/// Joins rows with the same key; the first one gives the row its name.
fn joined<K: Hash + Eq>(rows: Vec<DiffRow>, key: impl Fn(NodeId) -> K) -> Vec<DiffRow> {
    let mut places: HashMap<K, usize> = HashMap::new();
    let mut joined: Vec<DiffRow> = Vec::new();
    for row in rows {
        match places.entry(key(row.node)) {
            Entry::Occupied(place) => {
                let sum = &mut joined[*place.get()];
                sum.before += row.before;
                sum.after += row.after;
                sum.spread += row.spread;
            }
            Entry::Vacant(place) => {
                place.insert(joined.len());
                joined.push(row);
            }
        }
    }
    joined
}

/// The rows that changed, the greatest change first.
fn changes(mut rows: Vec<DiffRow>, metric: Metric) -> Vec<DiffRow> {
    rows.retain(|row| !metric.of(&row.delta()).is_zero());
    sort(&mut rows, metric);
    rows
}

fn sort(rows: &mut [DiffRow], metric: Metric) {
    rows.sort_by_key(|row| (Reverse(size(metric, metric.of(&row.delta()))), row.node));
}
