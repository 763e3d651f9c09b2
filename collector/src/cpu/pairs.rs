//! Joins the two records of a page fault.
//!
//! ```text
//!   small records of a thread:        a    b    c    d
//!   those with stacks:                a         c    d      there was no room for that of b
//!   page faults:                      a·   b    c·   d·     · with stack
//! ```
//!
//! Either may come first. One without a partner after all other records of its time have been read stays alone.

use super::batch::Fault;
use rustc_hash::FxHashMap;

/// Records that wait for their other half, by thread.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    waiting: FxHashMap<u32, Fault>,
}

impl Pairs {
    /// Takes the next record of a thread; returns a fault that is now complete, or will not be completed.
    pub(super) fn add(&mut self, tid: u32, record: Fault) -> Option<Fault> {
        match self.waiting.remove(&tid) {
            Some(half) if half.address == record.address && half.node.is_some() != record.node.is_some() => {
                Some(Fault { node: half.node.or(record.node), ..half })
            }
            other => {
                self.waiting.insert(tid, record);
                other
            }
        }
    }

    /// Takes the records that still wait.
    pub(super) fn rest(&mut self) -> impl Iterator<Item = Fault> {
        self.waiting.drain().map(|(_, fault)| fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capture::Region;
    use proptest::prelude::*;

    proptest! {
        /// Check that each fault comes out once, whichever of its records arrive and in whatever order, and with its
        /// stack if that arrived.
        #[test]
        fn faults_come_out_once(
            faults in prop::collection::vec((0..3_u32, 0..3_u8, any::<bool>()), 0..40),
        ) {
            let (mut pairs, mut found, mut expected) = (Pairs::default(), Vec::new(), Vec::new());
            for (number, (tid, lost, stack_first)) in (1..).zip(faults) {
                let small =
                    Fault { ticks: number, task: tid, address: number, node: None, region: Region::Heap };
                let large = Fault { node: Some(7), ..small };
                let records: &[Fault] = match (lost, stack_first) {
                    (0, _) => &[small],
                    (1, _) => &[large],
                    (_, true) => &[large, small],
                    (_, false) => &[small, large],
                };
                found.extend(records.iter().filter_map(|record| pairs.add(tid, *record)));
                expected.push(if lost == 0 { small } else { large });
            }
            found.extend(pairs.rest());
            found.sort_by_key(|fault| fault.ticks);
            prop_assert_eq!(found, expected);
        }
    }
}
