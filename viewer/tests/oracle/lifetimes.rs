//! An observer that takes the same sums from births and deaths.

use analysis::{Amount, Birth, Cost, Death, End, Instant, Left, Life, Watch};
use capture::NodeId;
use std::collections::BTreeMap;

/// What births and deaths add up to, by process and stack.
#[derive(Debug, Default)]
pub(crate) struct Lifetimes {
    pub(crate) costs: BTreeMap<(u32, u32), Cost>,
    /// Blocks that died and were not born, or died twice, or came back with what belongs to another.
    pub(crate) confused: Vec<String>,
    /// Blocks whose end nobody freed: a later allocation took their place.
    pub(crate) displaced: u64,
    /// Blocks that came from others.
    pub(crate) resized: u64,
    /// Old blocks that said so at their end.
    pub(crate) outgrown: u64,
    pub(crate) events: u64,
    births: Vec<Option<(Birth, NodeId)>>,
}

impl Lifetimes {
    /// Blocks that never died.
    pub(crate) fn immortal(&self) -> usize {
        self.births.iter().flatten().count()
    }

    fn cost(&mut self, process: u32, node: NodeId) -> &mut Cost {
        self.costs.entry((process, node.0)).or_default()
    }
}

impl Watch for Lifetimes {
    /// Which birth it was.
    type Attached = usize;

    fn born(&mut self, birth: &Birth, old: Option<&Life<usize>>) -> usize {
        self.cost(birth.process.0, birth.node).allocated += Amount::block(birth.size);
        self.resized += u64::from(old.is_some());
        self.births.push(Some((*birth, birth.node)));
        self.births.len() - 1
    }

    fn died(&mut self, life: &Life<usize>, death: &Death) {
        let born = self.births.get_mut(life.attached).and_then(Option::take);
        let fits = |(birth, node): &(Birth, NodeId)| {
            let same = (birth.address, birth.size, birth.thread, birth.process);
            same == (life.address, life.size, life.thread, life.process)
                && *node == life.node
                && birth.at <= death.at
        };
        if !born.as_ref().is_some_and(fits) {
            self.confused.push(format!("{born:?} {life:?} {death:?}"));
        }
        let amount = Amount::block(life.size);
        match death.end {
            End::Displaced { .. } => self.displaced += 1,
            End::Resized { .. } => self.outgrown += 1,
            _ => {}
        }
        if let End::Freed { stack, .. } | End::Resized { stack, .. } = death.end {
            self.cost(life.process.0, stack).frees += amount;
        }
        let cost = self.cost(life.process.0, life.node);
        match death.end {
            End::Freed { is_temporary, .. } => {
                cost.freed += amount;
                cost.temporary += if is_temporary { amount } else { Amount::ZERO };
            }
            End::Resized { .. } => cost.freed += amount,
            End::Displaced { .. } => {}
            End::Left { left: Left::Leaked, .. } => cost.leaked += amount,
            End::Left { left: Left::Uncertain, .. } => cost.uncertain += amount,
            End::Left { left: Left::AtExec, .. } => cost.at_exec += amount,
        }
    }

    fn event(&mut self, at: Instant, _: &capture::Event) {
        self.events += 1;
        assert_eq!(at.position, self.events);
    }
}
