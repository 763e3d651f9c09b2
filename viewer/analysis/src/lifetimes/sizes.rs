//! Which sizes are requested, by whom, and what an allocator adds.

use super::size::{SizeClass, usable_by_glibc};
use crate::base::cost::Amount;
use crate::count::tally::Tally;
use crate::count::watch::{Birth, Life, Watch};
use capture::{NodeId, Sampling, Tables};
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Observes a pass for sizes.
#[derive(Debug)]
pub struct Sizes {
    sampling: Option<Sampling>,
    rows: HashMap<(SizeClass, NodeId), Tally>,
    slack: BTreeMap<SizeClass, Tally>,
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
        let sampling = Sampling::new(tables.metadata.sample_interval);
        Self { sampling, rows: HashMap::new(), slack: BTreeMap::new() }
    }

    /// Finishes the table.
    pub fn finish(self) -> SizeTable {
        let mut rows: Vec<((SizeClass, NodeId), Tally)> = self.rows.into_iter().collect();
        rows.sort_unstable_by_key(|(key, _)| *key);
        let amounts = Tally::amounts(rows.iter().map(|(_, tally)| tally));
        let mut classes: BTreeMap<SizeClass, Vec<(NodeId, Amount)>> = BTreeMap::new();
        for (((class, node), _), amount) in rows.iter().zip(amounts) {
            classes.entry(*class).or_default().push((*node, amount));
        }
        let classes = classes.into_iter().map(|(class, mut stacks)| {
            stacks.sort_by_key(|(node, amount)| (Reverse((amount.blocks, amount.bytes)), *node));
            let allocated = stacks.iter().fold(Amount::ZERO, |sum, (_, amount)| sum + *amount);
            let slack = self.slack.get(&class).map_or(0, |tally| tally.amount().bytes);
            SizeRow { class, allocated, slack, stacks }
        });
        SizeTable { classes: classes.collect() }
    }
}

impl Watch for Sizes {
    type Attached = ();

    fn born(&mut self, birth: &Birth, _: Option<&Life<()>>) {
        let (class, sampling) = (SizeClass::of(birth.size), self.sampling);
        let new = || Tally::new(sampling);
        self.rows.entry((class, birth.node)).or_insert_with(new).add(birth.size);
        let slack = usable_by_glibc(birth.size).saturating_sub(birth.size);
        self.slack.entry(class).or_insert_with(new).add_part(birth.size, slack);
    }
}
