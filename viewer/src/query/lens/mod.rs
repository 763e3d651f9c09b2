//! How stacks are seen: which of them, and what of each.
//!
//! In this order:
//!
//! | option | keeps | changes |
//! |---|---|---|
//! | filter | stacks that an expression selects | |
//! | transparent | | takes these functions out of stacks |
//! | focus | stacks with one of these functions | the outermost of them becomes the root |
//! | callers | stacks with this function | ends them at the outermost one |
//! | fold | | what leads from the root to the outermost of these functions becomes `…` |
//! | group | | neighbours of one group become one, called after it |
//!
//! Nothing is counted twice: of several functions on a stack the outermost decides. What is not kept is summed up, and every view says so.
//!
//! ```text
//!  main > foo > a > malloc   10       focus foo, fold malloc and free:     foo    22
//!  main > foo > b > free      5                                            ├─ …   15
//!  main > foo > c             7                                            │  ├─ malloc 10
//!                                                                          │  └─ free    5
//!                                                                          └─ c    7
//! ```

mod grouping;
mod marshallers;
mod rewrite;

pub(crate) use grouping::owners_without;
pub use grouping::{Grouping, UnknownGrouping};

use super::expression::Expression;
use super::pattern::Pattern;
use crate::analysis::{Cost, Profile, Site, Spread};
use crate::loaded::Loaded;
use rewrite::Rewrite;

/// What of a capture is shown, and how. The default changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lens {
    /// Stacks that count.
    pub filter: Option<Expression>,
    /// Functions that are taken out of stacks.
    pub transparent: Vec<Pattern>,
    /// Take the well-known functions out that only pass calls on.
    pub without_marshallers: bool,
    /// Functions whose outermost one becomes the root.
    pub focus: Vec<Pattern>,
    /// Functions at which stacks end, seen from the root.
    pub callers: Vec<Pattern>,
    /// Functions that are pulled out under `…`.
    pub fold: Vec<Pattern>,
    /// What stands for a function.
    pub group: Option<Grouping>,
}

/// What a lens has left out, for views to say so.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// The filter, as it was written.
    pub filter: Option<String>,
    /// What rows are, where they are not functions.
    pub group: Option<Grouping>,
    /// The costs of what is not shown.
    pub hidden: Cost,
    /// The variances of that.
    pub hidden_spread: Cost<Spread>,
}

impl Lens {
    /// True when rows must be counted by threads for this.
    pub fn asks_for_threads(&self) -> bool {
        self.group == Some(Grouping::Thread) || self.filter.as_ref().is_some_and(Expression::asks_for_threads)
    }

    /// The capture as it is seen.
    pub fn apply(&self, loaded: Loaded) -> Loaded {
        self.apply_to_all(loaded, &mut []).0
    }

    /// The same with other profiles of the same tables, and what was left out of each.
    pub(crate) fn apply_to_all(
        &self,
        mut loaded: Loaded,
        others: &mut [&mut Profile],
    ) -> (Loaded, Vec<Option<Seen>>) {
        if *self == Self::default() {
            return (loaded, vec![None; others.len()]);
        }
        let whole = |profile: &Profile| (profile.total, profile.total_spread);
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
        let seen = others.iter().zip(whole_others).map(|(other, whole)| Some(self.seen(other, whole)));
        loaded.seen = Some(self.seen(&loaded.profile, whole_loaded));
        (loaded, seen.collect())
    }

    /// What was left out of a profile that had these sums.
    fn seen(&self, profile: &Profile, (mut hidden, mut hidden_spread): (Cost, Cost<Spread>)) -> Seen {
        hidden -= profile.total;
        hidden_spread -= profile.total_spread;
        let filter = self.filter.as_ref().map(ToString::to_string);
        Seen { filter, group: self.group, hidden, hidden_spread }
    }

    /// The filter alone, and the rest without it.
    pub(crate) fn split(mut self) -> (Self, Self) {
        let filter = self.filter.take();
        (Self { filter, ..Self::default() }, self)
    }

    /// True when stacks are not seen as they were recorded: it does more than to leave some out.
    pub fn changes_stacks(&self) -> bool {
        *self != Self { filter: self.filter.clone(), ..Self::default() }
    }
}
