//! What has changed between two moments of one recording.

use analysis::{Cost, Profile, Site, Span};
use std::collections::HashMap;

/// The second profile less the first, for the stacks that differ.
pub(in crate::commands) fn difference(before: &Profile, mut after: Profile) -> Profile {
    let known: HashMap<_, _> =
        before.sites.iter().map(|site| ((site.process, site.node), site.cost)).collect();
    let (from, to) = (before.span, after.span);
    if let (Span::At(from), Span::At(to)) = (from, to) {
        after.span = Span::Range { from, to };
    }
    after.spreads.clear();
    after.total = Cost::default();
    after.processes.iter_mut().for_each(|process| process.cost = Cost::default());
    let sites = std::mem::take(&mut after.sites);
    for Site { process, thread, node, cost } in sites {
        let cost = known.get(&(process, node)).map_or(cost, |before| cost - *before);
        if cost != Cost::default() {
            after.total += cost;
            after.processes[process.index()].cost += cost;
            after.sites.push(Site { process, thread, node, cost });
        }
    }
    after
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::{Amount, Instant, ProcessProfile};
    use capture::{NodeId, ProcessId};

    fn profile(rows: &[(u32, i64, i64)]) -> Profile {
        let cost = |&(node, allocated, leaked): &(u32, i64, i64)| {
            let amount = |bytes| Amount { blocks: bytes / 8, bytes };
            let cost = Cost { allocated: amount(allocated), leaked: amount(leaked), ..Cost::default() };
            Site { process: ProcessId(0), thread: None, node: NodeId(node), cost }
        };
        Profile {
            sites: rows.iter().map(cost).collect(),
            processes: vec![ProcessProfile::default()],
            span: Span::At(Instant::default()),
            ..Profile::default()
        }
    }

    /// Check that a stack has what was allocated meanwhile, that one which has less than before has less than nothing, and
    /// that one where nothing happened is left out.
    #[test]
    fn rows_are_subtracted() {
        let change = difference(
            &profile(&[(1, 80, 80), (2, 64, 64)]),
            profile(&[(1, 88, 16), (2, 64, 64), (3, 8, 8)]),
        );
        let rows =
            change.sites.iter().map(|site| (site.node.0, site.cost.allocated.bytes, site.cost.live().bytes));
        assert_eq!(rows.collect::<Vec<_>>(), [(1, 8, -64), (3, 8, 8)]);
        assert_eq!((change.total.allocated.bytes, change.total.live().bytes), (16, -56));
        assert_eq!(change.processes[0].cost, change.total);
        assert!(matches!(change.span, Span::Range { .. }));
    }
}
