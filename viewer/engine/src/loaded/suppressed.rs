//! What rules have left out of the leaks.

use super::rule::Rule;
use analysis::{Amount, Spread};

/// What was left out of the blocks still allocated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Suppressed {
    /// Suppressed by rules, in total.
    pub total: Amount,
    /// The variances of `total`.
    pub spread: Spread,
    /// By rule: first all of the user's, then those of programs, then the built-in ones that hid anything.
    pub uses: Vec<Use>,
    /// What was too young; not part of any rule's sum.
    pub young: Amount,
    /// The variances of `young`.
    pub young_spread: Spread,
    /// The age limit for blocks, in nanoseconds.
    pub older_than_ns: Option<u64>,
    /// Programs that compute their list at run time, so that it cannot be read.
    pub unread: Vec<String>,
}

/// What a rule has hidden.
#[derive(Clone, Debug, PartialEq)]
pub struct Use {
    /// The rule.
    pub rule: Rule,
    /// What it hid.
    pub amount: Amount,
    /// The variances of `amount`.
    pub spread: Spread,
    /// Number of stacks.
    pub stacks: u64,
}
