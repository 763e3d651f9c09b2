//! How stacks are shown: which of them, and what of each.
//!
//! Applied in this order:
//!
//! | option | keeps | changes |
//! |---|---|---|
//! | filter | stacks that an expression selects | |
//! | transparent, my code | | removes these functions from stacks; a stack of nothing but others' functions keeps them |
//! | focus | stacks with one of these functions | the outermost of them becomes the root |
//! | callers | stacks with this function | ends them at the outermost one |
//! | fold | | the path from the root to the outermost of these functions becomes `…` |
//! | group | | neighbours of one group are merged and named after it |
//!
//! Nothing is counted twice: if several of the functions are on a stack, the outermost decides. What is not kept is
//! summed up, and every view says so.
//!
//! ```text
//!  main > foo > a > malloc   10       focus foo, fold malloc and free:     foo    22
//!  main > foo > b > free      5                                            ├─ …   15
//!  main > foo > c             7                                            │  ├─ malloc 10
//!                                                                          │  └─ free    5
//!                                                                          └─ c    7
//! ```

mod grouping;
mod my_code;
mod rewrite;

pub use grouping::owners_without;

use crate::loaded::{Grouping, Loaded, Seen};
use analysis::query::{Expression, Pattern, Unmatched, label, label_names};
use analysis::{Cost, Profile, Site, Spread};
use rewrite::Rewrite;

/// What part of a capture is shown, and how. The default changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lens {
    /// Only these stacks count.
    pub filter: Option<Expression>,
    /// Functions that are removed from stacks.
    pub transparent: Vec<Pattern>,
    /// Also remove what is not the program's own: functions of standard libraries, runtimes and interpreters.
    pub my_code: bool,
    /// Functions of which the outermost becomes the root.
    pub focus: Vec<Pattern>,
    /// Functions at which stacks end, seen from the root.
    pub callers: Vec<Pattern>,
    /// Functions that are folded under `…`.
    pub fold: Vec<Pattern>,
    /// What functions are grouped by.
    pub group: Option<Grouping>,
    /// Groups have what the standard library in them allocates for its callers. Otherwise that is its callers', who would
    /// all but vanish behind it in a tree; in a list of functions it would be missing from the total of its group.
    pub counts_library: bool,
}

impl Lens {
    /// True when this needs rows counted by threads.
    pub fn asks_for_threads(&self) -> bool {
        self.group == Some(Grouping::Thread) || self.filter.as_ref().is_some_and(Expression::asks_for_threads)
    }

    /// Applies the lens to a capture.
    pub fn apply(&self, loaded: Loaded) -> Loaded {
        self.apply_to_all(loaded, &mut []).0
    }

    /// The same for a view of it alone.
    pub(crate) fn show(&self, loaded: Loaded) -> Loaded {
        let mut loaded = self.apply(loaded);
        if loaded.seen.is_some() {
            // Several stacks may have become one, and threads are no longer needed.
            loaded.profile.merge_rows();
        }
        loaded
    }

    /// The same with further profiles of the same tables; returns what was left out of each.
    pub(crate) fn apply_to_all(
        &self,
        mut loaded: Loaded,
        others: &mut [&mut Profile],
    ) -> (Loaded, Vec<Option<Seen>>) {
        if *self == Self::default() {
            return (loaded, vec![None; others.len()]);
        }
        let whole = |profile: &Profile| (profile.total, profile.total_spread);
        let unmatched = self.unmatched(&loaded);
        let earlier = loaded.seen.take();
        let whole_loaded = whole(&loaded.profile);
        let whole_others: Vec<_> = others.iter().map(|other| whole(other)).collect();
        if let Some(filter) = &self.filter {
            let mut selection = filter.select(&loaded.tables, &loaded.names);
            let others = others.iter_mut().map(|other| &mut **other);
            for profile in std::iter::once(&mut loaded.profile).chain(others) {
                let mut contains = |site: &Site| selection.contains(site.process, site.thread, site.node);
                profile.keep(|site| contains(site).then_some(site.node));
            }
        }
        if self.changes_stacks() {
            let rewrite = Rewrite::new(self, &mut loaded.names, &loaded.tables);
            rewrite.apply(&mut loaded, others);
        }
        let seen =
            others.iter().zip(whole_others).map(|(other, whole)| Some(self.seen(other, whole, &unmatched)));
        let now = self.seen(&loaded.profile, whole_loaded, &unmatched);
        loaded.seen = Some(earlier.map_or(now.clone(), |earlier| earlier.followed_by(now)));
        (loaded, seen.collect())
    }

    /// What was left out of a profile; `total` and `spread` are those before.
    fn seen(
        &self,
        profile: &Profile,
        (total, spread): (Cost, Cost<Spread>),
        unmatched: &[Unmatched],
    ) -> Seen {
        let (hidden, hidden_spread) = (total - profile.total, spread - profile.total_spread);
        let filter = self.filter.as_ref().map(ToString::to_string);
        Seen { filter, unmatched: unmatched.to_vec(), group: self.group.clone(), hidden, hidden_spread }
    }

    /// The names that match nothing. Those of well-known functions need not be there.
    fn unmatched(&self, Loaded { tables, names, .. }: &Loaded) -> Vec<Unmatched> {
        let Self { filter, transparent, my_code: _, focus, callers, fold, group, .. } = self;
        let functions = [transparent, focus, callers, fold].into_iter().flatten();
        let is_absent = |pattern: &&Pattern| !names.labels().any(|label| pattern.names(label));
        let filter = filter.iter().flat_map(|filter| filter.unmatched(tables, names));
        let there = label_names(tables);
        let label = match group {
            Some(Grouping::Label(name))
                if !tables.processes.iter().any(|row| label(tables, row, name).is_some()) =>
            {
                Some(Unmatched::label(name, &there, &Grouping::ALL.each_ref().map(Grouping::name)))
            }
            _ => None,
        };
        let functions = functions.filter(is_absent).map(|name| Unmatched::function(name, names));
        filter.chain(functions).chain(label).collect()
    }

    /// The filter alone, and the lens without it.
    pub(crate) fn split(mut self) -> (Self, Self) {
        let filter = self.filter.take();
        (Self { filter, ..Self::default() }, self)
    }

    /// True when stacks are shown otherwise than recorded: the lens does more than leave some out.
    fn changes_stacks(&self) -> bool {
        *self != Self { filter: self.filter.clone(), ..Self::default() }
    }
}
