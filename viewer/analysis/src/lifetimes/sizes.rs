//! Which sizes are requested, by whom, and what an allocator adds.

use super::size::{SizeClass, usable_by_glibc};
use crate::base::cost::Amount;
use crate::count::tally::Tallies;
use crate::count::watch::{Birth, Life, Watch};
use capture::{NodeId, Tables};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Observes a pass for sizes.
#[derive(Debug)]
pub struct Sizes {
    rows: Tallies<(SizeClass, NodeId)>,
    slack: Tallies<SizeClass>,
}

/// The result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SizeTable {
    /// Classes, the smallest first.
    pub classes: Vec<SizeRow>,
}

/// One class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeRow {
    /// The class.
    pub class: SizeClass,
    /// What was allocated.
    pub allocated: Amount,
    /// Bytes that glibc would add, by [`usable_by_glibc`].
    pub slack: i64,
    /// The stacks that allocated it, most calls first.
    pub stacks: Vec<(NodeId, Amount)>,
}

impl Sizes {
    /// For the capture with these tables.
    pub fn new(tables: &Tables) -> Self {
        Self { rows: Tallies::new(tables), slack: Tallies::new(tables) }
    }

    /// Finishes the table.
    pub fn finish(self) -> SizeTable {
        let mut classes: BTreeMap<SizeClass, Vec<(NodeId, Amount)>> = BTreeMap::new();
        for ((class, node), [amount]) in self.rows.finish() {
            classes.entry(class).or_default().push((node, amount));
        }
        // Every block is in a row and has its slack, so the classes of both are the same.
        let classes =
            classes.into_iter().zip(self.slack.finish()).map(|((class, mut stacks), (_, [slack]))| {
                stacks.sort_by_key(|(node, amount)| (Reverse((amount.blocks, amount.bytes)), *node));
                let allocated = stacks.iter().fold(Amount::ZERO, |sum, (_, amount)| sum + *amount);
                SizeRow { class, allocated, slack: slack.bytes, stacks }
            });
        SizeTable { classes: classes.collect() }
    }
}

impl Watch for Sizes {
    type Attached = ();

    fn born(&mut self, birth: &Birth, _: Option<&Life<()>>) {
        let class = SizeClass::of(birth.size);
        self.rows.add((class, birth.node), birth.size);
        let slack = usable_by_glibc(birth.size).saturating_sub(birth.size);
        self.slack.of(class)[0].add_part(birth.size, slack);
    }
}
