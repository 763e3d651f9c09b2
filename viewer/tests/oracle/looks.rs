//! Looks at a recording that goes on, against a pass over all of it.

use super::{events, family};
use crate::support::Made;
use analysis::{Amount, ProfileBuilder, RowTotals};
use capture::{Action, Event, Tables};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// As much of the tables as the events need: what a capture has that was written so far.
fn needed(tables: &Tables, events: &[Event]) -> Tables {
    let thread = |event: &Event| event.thread.index() + 1;
    let threads = events.iter().map(thread).max().unwrap_or(0);
    let named = |event: &Event| match event.action {
        Action::ProcessStart { process, .. } | Action::ProcessEnd { process } => process.index() + 1,
        _ => 0,
    };
    let of_threads = tables.threads[..threads].iter().map(|thread| thread.process.index() + 1);
    let processes = of_threads.chain(events.iter().map(named)).max().unwrap_or(0);
    let mut needed = tables.clone();
    needed.threads.truncate(threads);
    needed.processes.truncate(processes);
    needed
}

/// Rows by process and stack.
fn rows(row_totals: impl Iterator<Item = RowTotals>) -> BTreeMap<(u32, u32), [Amount; 4]> {
    let numbers = |row: RowTotals| [row.held + row.left, row.allocated, row.freed, row.temporary];
    row_totals.map(|row| ((row.process.0, row.node.0), numbers(row))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Check that at each look all rows are those of a pass that ends there, however many looks there were before and
    /// though the tables grow.
    #[test]
    fn looks_are_what_a_pass_would_find(events in events(), lengths in prop::collection::vec(0..80_usize, 1..8)) {
        let made = Made { tables: family(), events, ..Made::default() };
        let mut growing = ProfileBuilder::new(&needed(&made.tables, &[])).without_frees();
        let mut seen = 0;
        for length in lengths {
            let (from, to) = (seen, (seen + length).min(made.events.len()));
            seen = to;
            growing.grow(&needed(&made.tables, &made.events[..to]));
            growing.events(&made.events[from..to]);
            let mut builder = ProfileBuilder::new(&made.tables);
            builder.events(&made.events[..to]);
            let (profile, ()) = builder.cut();
            // A look does not ask who frees: it has no rows of stacks that only do that.
            let allocating = profile.sites.iter().filter(|site| !site.cost.allocated.is_zero());
            let expected = allocating.map(|site| RowTotals {
                process: site.process,
                node: site.node,
                held: Amount::ZERO,
                allocated: site.cost.allocated,
                freed: site.cost.freed,
                temporary: site.cost.temporary,
                left: site.cost.leaked + site.cost.uncertain,
            });
            prop_assert_eq!(rows(growing.row_totals()), rows(expected));
            prop_assert_eq!(growing.position(), to as u64);
            for (process, of) in (0..).zip(&profile.processes) {
                let anomalies = growing.process_anomalies(capture::ProcessId(process));
                prop_assert_eq!((anomalies.anomalies, anomalies.gaps), (of.anomalies, of.gaps));
            }
        }
    }
}
