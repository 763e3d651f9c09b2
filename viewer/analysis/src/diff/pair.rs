//! Matches the stacks of two captures.
//!
//! A stack is matched by its functions with their files and lines or, if that finds no partner, by its functions
//! alone: an edit above a function moves its lines without changing the function.
//!
//! ```text
//!  old              new
//!  f:10 < main:3    f:10 < main:3      same
//!  f:20 < main:3    f:22 < main:4      alike: functions without lines
//!  g:7  < main:3                       alone
//! ```

use crate::count::profile::Profile;
use crate::names::table::{Names, Step};
use crate::rows::appearance::numbers;
use capture::{NodeId, ProcessId, Tables};
use std::collections::HashMap;

/// How two stacks were found to be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// By everything that is known.
    Same,
    /// By functions and binaries, not by lines.
    Alike,
    /// Not matched: it is in only one of the two captures.
    Alone,
}

/// What identifies a row: the process name and the stack.
type Place = (u32, u32);

#[derive(Clone, Copy, Default, PartialEq)]
struct Sides {
    before: bool,
    after: bool,
}

#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
}

impl Sides {
    fn add(&mut self, side: Side) {
        match side {
            Side::Before => self.before = true,
            Side::After => self.after = true,
        }
    }

    fn both(self) -> bool {
        self.before && self.after
    }
}

/// The rows of two profiles in one set of tables, and their matches.
pub(super) struct RowMatcher<'a> {
    names: &'a Names,
    same: Vec<u32>,
    alike: Vec<u32>,
    sides_same: HashMap<Place, Sides>,
    /// Rows that have no partner in `sides_same`.
    sides_alike: HashMap<Place, Sides>,
}

impl<'a> RowMatcher<'a> {
    pub(super) fn new(before: &Profile, after: &Profile, tables: &Tables, names: &'a Names) -> Self {
        let same = numbers(tables, names, |step| (step.label, text(tables, step), step.line));
        let alike = numbers(tables, names, |step| step.label);
        let mut matcher =
            Self { names, same, alike, sides_same: HashMap::new(), sides_alike: HashMap::new() };
        for (profile, side) in [(before, Side::Before), (after, Side::After)] {
            for site in &profile.sites {
                let place = matcher.place(&matcher.same, site.process, site.node);
                matcher.sides_same.entry(place).or_default().add(side);
            }
        }
        for (profile, side) in [(before, Side::Before), (after, Side::After)] {
            for site in &profile.sites {
                let same = matcher.place(&matcher.same, site.process, site.node);
                if !matcher.sides_same[&same].both() {
                    let place = matcher.place(&matcher.alike, site.process, site.node);
                    matcher.sides_alike.entry(place).or_default().add(side);
                }
            }
        }
        matcher
    }

    /// A number that matching rows have in common, and how they matched.
    pub(super) fn key(&self, process: ProcessId, node: NodeId) -> (u64, Match) {
        let same = self.place(&self.same, process, node);
        if self.sides_same.get(&same).is_some_and(|sides| sides.both()) {
            return (number(same, 0), Match::Same);
        }
        let alike = self.place(&self.alike, process, node);
        match self.sides_alike.get(&alike).is_some_and(|sides| sides.both()) {
            true => (number(alike, 1), Match::Alike),
            false => (number(same, 0), Match::Alone),
        }
    }

    fn place(&self, numbers: &[u32], process: ProcessId, node: NodeId) -> Place {
        (self.names.process(process).0, numbers.get(node.index()).copied().unwrap_or(0))
    }
}

/// A place as one word; processes have few distinct names.
fn number((process, stack): Place, kind: u64) -> u64 {
    u64::from(process) << 33 | kind << 32 | u64::from(stack)
}

/// The source file of a step, as text: each capture has strings of its own.
fn text<'a>(tables: &'a Tables, step: &Step) -> Option<&'a str> {
    step.file.map(|file| tables.string(file))
}
