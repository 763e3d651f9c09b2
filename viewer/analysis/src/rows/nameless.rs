//! Functions without a name, by the reason.
//!
//! The reasons that occur on a stack are a set of bits, computed once per stack from its root down:
//!
//! ```text
//!  main {} ── <in libx.so> {no symbols} ── ??? {no symbols, no mapping}
//! ```

use super::stack_map::StackMap;
use super::stacks::rows;
use crate::base::cost::Amount;
use crate::base::metric::Metric;
use crate::count::profile::Profile;
use crate::names::frames::meaningful;
use crate::names::table::{Kind, Names};
use capture::{Frame, FrameId, ModuleId, NodeId, Tables};
use std::collections::{BTreeSet, HashMap};

/// Most reasons that are told apart. There are a dozen; if a file claims more, the rest counts as the last one.
const MOST_REASONS: usize = 31;

/// The functions that lack a name for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nameless {
    /// The reason as recorded; none when no name was looked for.
    pub reason: Option<String>,
    /// Distinct addresses.
    pub frames: u64,
    /// The files they are in, in the order of first use; addresses outside of files are not listed.
    pub modules: Vec<ModuleId>,
    /// What was allocated with such a function anywhere on the stack. Stacks with several reasons count for each.
    pub cost: Amount,
    /// What such a function allocated itself, not counting library frames.
    pub own: Amount,
}

/// Why functions on stacks that cost anything have no name, the most expensive reason first. Inlined functions count
/// with the function that contains them.
pub fn nameless(profile: &Profile, tables: &Tables, names: &Names, metric: Metric) -> Vec<Nameless> {
    let (mut survey, mut sets) = (Survey::new(tables, names), StackMap::new(tables));
    sets.restart(0);
    for row in rows(profile, metric) {
        let amount = metric.of(&row.cost);
        let set = survey.set(row.node, &mut sets);
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

/// How many distinct addresses have no name, on all stacks that cost anything.
pub fn nameless_addresses(profile: &Profile, tables: &Tables, names: &Names, metric: Metric) -> u64 {
    let (mut survey, mut sets) = (Survey::new(tables, names), StackMap::new(tables));
    sets.restart(0);
    for site in profile.sites.iter().filter(|site| !metric.of(&site.cost).is_zero()) {
        survey.set(site.node, &mut sets);
    }
    survey.reasons.iter().map(|reason| reason.frames).sum()
}

struct Survey<'a> {
    tables: &'a Tables,
    names: &'a Names,
    reasons: Vec<Nameless>,
    known: HashMap<Option<&'a str>, usize>,
    modules: BTreeSet<(usize, ModuleId)>,
    /// By frame that was looked at, its index in `reasons`; none for functions with a name.
    frames: Vec<Option<Option<u8>>>,
}

impl<'a> Survey<'a> {
    fn new(tables: &'a Tables, names: &'a Names) -> Self {
        Self {
            tables,
            names,
            reasons: Vec::new(),
            known: HashMap::new(),
            modules: BTreeSet::new(),
            frames: vec![None; tables.frames.len()],
        }
    }

    /// The reasons on a stack.
    fn set(&mut self, stack: NodeId, sets: &mut StackMap<'_>) -> u32 {
        sets.place(stack, |set, frame| set | self.reason_of(frame).map_or(0, |index| 1 << index))
    }

    /// Why the function that contains a frame's code has no name; none when it has one.
    fn reason_of(&mut self, frame: FrameId) -> Option<usize> {
        let known = *self.frames.get(frame.index())?;
        let reason = known.unwrap_or_else(|| self.look(frame));
        self.frames[frame.index()] = Some(reason);
        reason.map(usize::from)
    }

    fn look(&mut self, frame: FrameId) -> Option<u8> {
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
        u8::try_from(index).ok()
    }
}
