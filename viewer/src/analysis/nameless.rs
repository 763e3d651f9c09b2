//! Functions that have no name, by the reason.
//!
//! Each stack is asked once which reasons stand on it, which a set of bits answers from its root inwards:
//!
//! ```text
//!  main {} ── <in libx.so> {no symbols} ── ??? {no symbols, no mapping}
//! ```

use super::cost::Amount;
use super::frames::meaningful;
use super::metric::Metric;
use super::names::{Kind, Names};
use super::profile::Profile;
use super::stacks::rows;
use capture::{Frame, FrameId, ModuleId, NodeId, Tables};
use std::collections::{BTreeSet, HashMap};

/// Reasons that are told apart. There are ten; a file that claims more has the rest counted as the last one.
const MOST_REASONS: usize = 31;

/// A set that was not made yet.
const UNKNOWN: u32 = u32::MAX;

/// The functions that have no name for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nameless {
    /// The reason, as it was recorded; none when nobody has looked for a name.
    pub reason: Option<String>,
    /// Different addresses.
    pub frames: u64,
    /// The files that they are in, in the order of their first use; addresses outside of files are in none.
    pub modules: Vec<ModuleId>,
    /// What was allocated with such a function anywhere on the stack. Stacks with several reasons count for each.
    pub cost: Amount,
    /// What was allocated by such a function itself, the standard library's plumbing left out.
    pub own: Amount,
}

/// The reasons why functions on stacks that cost anything have no name, the most expensive first. Inlined functions
/// count with the function that they are in.
pub fn nameless(profile: &Profile, tables: &Tables, names: &Names, metric: Metric) -> Vec<Nameless> {
    let mut survey = Survey::new(tables, names);
    for row in rows(profile, metric) {
        let amount = metric.of(&row.cost);
        let set = survey.set(row.node);
        for (index, reason) in survey.reasons.iter_mut().enumerate() {
            if set >> index & 1 == 1 {
                reason.cost += amount;
            }
        }
        let innermost = meaningful(tables, names, row.node).next();
        let innermost = innermost
            .filter(|(_, step)| matches!(names.label(step.label).kind, Kind::InModule(_) | Kind::Unknown(_)));
        if let Some(index) = innermost.and_then(|(frame, _)| survey.reason_of(frame)) {
            survey.reasons[index].own += amount;
        }
    }
    let mut reasons = survey.reasons;
    reasons.sort_by_key(|reason| {
        std::cmp::Reverse((metric.order(reason.cost), metric.order(reason.own), reason.frames))
    });
    reasons
}

struct Survey<'a> {
    tables: &'a Tables,
    names: &'a Names,
    reasons: Vec<Nameless>,
    known: HashMap<Option<&'a str>, usize>,
    modules: BTreeSet<(usize, ModuleId)>,
    /// Place in `reasons`, by frame that was looked at; none for functions with a name.
    frames: HashMap<FrameId, Option<usize>>,
    /// Reasons on a stack, by node that was looked at.
    sets: Vec<u32>,
}

impl<'a> Survey<'a> {
    fn new(tables: &'a Tables, names: &'a Names) -> Self {
        Self {
            tables,
            names,
            reasons: Vec::new(),
            known: HashMap::new(),
            modules: BTreeSet::new(),
            frames: HashMap::new(),
            sets: vec![UNKNOWN; tables.nodes.len()],
        }
    }

    /// The reasons on a stack: outwards to the nearest caller that is known, and back in.
    fn set(&mut self, stack: NodeId) -> u32 {
        let mut path = Vec::new();
        let mut set = 0;
        for (id, node) in self.tables.stack(stack) {
            match self.sets[id.index()] {
                UNKNOWN => path.push((id, node.frame)),
                known => {
                    set = known;
                    break;
                }
            }
        }
        for (id, frame) in path.into_iter().rev() {
            if let Some(index) = self.reason_of(frame) {
                set |= 1 << index;
            }
            self.sets[id.index()] = set;
        }
        set
    }

    /// Why the owner of a frame's code has no name; none when it has one.
    fn reason_of(&mut self, frame: FrameId) -> Option<usize> {
        if let Some(&known) = self.frames.get(&frame) {
            return known;
        }
        let reason = self.look(frame);
        self.frames.insert(frame, reason);
        reason
    }

    fn look(&mut self, frame: FrameId) -> Option<usize> {
        let &Frame::Code { module, .. } = self.tables.frames.get(frame.index())? else { return None };
        let owner = self.names.steps(frame).last()?;
        if !matches!(self.names.label(owner.label).kind, Kind::InModule(_) | Kind::Unknown(_)) {
            return None;
        }
        let reason = self.tables.symbol(frame).and_then(|symbol| symbol.reason);
        let text = reason.map(|reason| self.tables.string(reason));
        let next = self.reasons.len();
        let index = *self.known.entry(text).or_insert(next.min(MOST_REASONS - 1));
        if index == next {
            self.reasons.push(Nameless { reason: text.map(str::to_owned), ..Nameless::default() });
        }
        self.reasons[index].frames += 1;
        if let Some(module) = module.filter(|&module| self.modules.insert((index, module))) {
            self.reasons[index].modules.push(module);
        }
        Some(index)
    }
}
