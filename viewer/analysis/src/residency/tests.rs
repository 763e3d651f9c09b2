//! Compares the sums with a replay that visits every byte.

use super::*;
use crate::count::builder::ProfileBuilder;
use capture::Region;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Page size of these tests: small, so that pages and blocks overlap in every way.
const PAGE: u64 = 512;

/// Selects everything.
struct All;

impl Choice for All {
    fn takes(&mut self, _: &Birth) -> bool {
        true
    }

    fn takes_stack(&mut self, _: ProcessId, _: NodeId) -> bool {
        true
    }
}

/// Something that happens, each later than the previous one.
#[derive(Clone, Copy, Debug)]
enum Step {
    Touch { address: u64, stack: u32, region: Region },
    Event(Action),
}

fn step() -> impl Strategy<Value = Step> {
    let place = || (0..64_u64).prop_map(|place| place * 128);
    let length = || prop_oneof![0..200_u64, 0..3000_u64];
    let stack = || (0..4_u32).prop_map(NodeId);
    let region = prop::sample::select(&Region::ALL);
    let event = prop_oneof![
        6 => (place(), length(), stack())
            .prop_map(|(address, size, stack)| Action::Alloc { address, size, alignment: 0, stack }),
        4 => place().prop_map(|address| Action::Free { address, stack: NodeId::ROOT }),
        1 => (place(), length(), any::<bool>()).prop_map(|(address, length, in_hook)| Action::Map {
            address,
            length,
            stack: NodeId::ROOT,
            in_hook
        }),
        1 => (place(), length()).prop_map(|(address, length)| Action::Unmap { address, length }),
        1 => (place(), length(), place(), length()).prop_map(|(old_address, old_length, address, length)| {
            let stack = NodeId::ROOT;
            // The kernel moves whole pages.
            let (old_address, address) = (old_address / PAGE * PAGE, address / PAGE * PAGE);
            Action::Remap { old_address, old_length, address, length, stack }
        }),
        1 => place().prop_map(|address| Action::Break { from: 0, address, stack: NodeId::ROOT, in_hook: false }),
    ];
    prop_oneof![
        10 => (0..8192_u64, 0..4_u32, region).prop_map(|(address, stack, region)| Step::Touch { address, stack, region }),
        15 => event.prop_map(Step::Event),
    ]
}

/// One process with one thread, which is the task of all faults.
fn tables() -> Tables {
    let faults = FaultSummary { is_recorded: true, page_bytes: PAGE, ..FaultSummary::default() };
    let process = Some(ProcessId(0));
    Tables {
        processes: vec![capture::Process::default()],
        threads: vec![capture::Thread::default()],
        tasks: vec![capture::Task { process, ..capture::Task::default() }],
        nodes: vec![capture::Node { parent: NodeId(0), frame: capture::FrameId(0) }; 4],
        summary: Some(capture::Summary { faults, ..capture::Summary::default() }),
        ..Tables::default()
    }
}

fn found(steps: &[Step], look: Look) -> ResidencyTable {
    let tables = tables();
    let timed = || (1_u64..).zip(steps);
    let faults = timed().filter_map(|(time, step)| match *step {
        Step::Touch { address, stack, region } => {
            Some(Fault { time, address, stack: NodeId(stack), region, ..Fault::default() })
        }
        Step::Event(_) => None,
    });
    let mut faults: std::vec::IntoIter<Fault> = faults.collect::<Vec<_>>().into_iter();
    let mut builder = ProfileBuilder::watched(&tables, Residency::new(&tables, || faults.next(), All, look));
    for (time, step) in timed().filter(|(time, _)| *time <= look.until) {
        if let Step::Event(action) = *step {
            builder.event(&Event { time, thread: capture::ThreadId(0), action });
        }
    }
    builder.finish_watched().1.finish()
}

/// The same, page by page and byte by byte.
#[derive(Default)]
struct Naive {
    pages: BTreeMap<u64, (NodeId, u64, Region)>,
    ground: std::collections::BTreeSet<u64>,
    blocks: BTreeMap<u64, (u64, NodeId)>,
}

impl Naive {
    fn pages_of(address: u64, length: u64) -> std::ops::Range<u64> {
        if length == 0 {
            return 0..0;
        }
        address / PAGE..(address + length).div_ceil(PAGE)
    }

    fn free(&mut self, address: u64) {
        if let Some((size, _)) = self.blocks.remove(&address) {
            self.ground.extend(Self::pages_of(address, size));
        }
    }

    fn unmap(&mut self, address: u64, length: u64) {
        for page in Self::pages_of(address, length) {
            self.pages.remove(&page);
            self.ground.remove(&page);
        }
    }

    fn step(&mut self, time: u64, step: Step) {
        match step {
            Step::Touch { address, stack, region } => {
                let page = self.pages.entry(address / PAGE).or_insert((NodeId(stack), time, region));
                if page.0 == NodeId::ROOT {
                    page.0 = NodeId(stack);
                }
            }
            Step::Event(Action::Alloc { address, size, stack, .. }) => {
                self.free(address);
                self.blocks.insert(address, (size, stack));
            }
            Step::Event(Action::Free { address, .. }) => self.free(address),
            Step::Event(Action::Map { address, length, .. } | Action::Unmap { address, length }) => {
                self.unmap(address, length);
            }
            Step::Event(Action::Remap { old_address, old_length, address, length, .. }) => {
                let from = Self::pages_of(old_address, old_length);
                let moved: Vec<_> =
                    from.clone().map(|page| (page - from.start, self.pages.get(&page).copied())).collect();
                self.unmap(old_address, old_length);
                self.unmap(address, length);
                let to = Self::pages_of(address, length);
                for (place, page) in moved.into_iter().filter(|(place, _)| to.contains(&(to.start + place))) {
                    if let Some(page) = page {
                        self.pages.insert(to.start + place, page);
                    }
                }
            }
            Step::Event(Action::Break { address, .. }) => {
                for page in address.div_ceil(PAGE).. {
                    if self.pages.range(page..).next().is_none_or(|(_, page)| page.2 != Region::Heap) {
                        break;
                    }
                    self.pages.retain(|number, (.., region)| *number != page || *region != Region::Heap);
                }
            }
            Step::Event(_) => {}
        }
    }

    fn block_at(&self, address: u64) -> Option<(u64, NodeId)> {
        let all = self.blocks.iter().find(|(start, (size, _))| (**start..**start + size).contains(&address));
        all.map(|(start, (_, node))| (*start, *node))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Check that each resident byte is counted once and in its category, for its allocator and for its toucher, at
    /// any moment and for any beginning of a range.
    #[test]
    fn every_resident_byte_is_counted_once(
        steps in prop::collection::vec(step(), 0..60),
        since in 0..40_u64,
        until in 0..80_u64,
    ) {
        let look = Look { since, until, with_ended: true };
        let table = found(&steps, look);
        let mut naive = Naive::default();
        for (time, step) in (1_u64..).zip(&steps).filter(|(time, _)| *time <= until) {
            naive.step(time, *step);
        }
        let (mut sums, mut held, mut touched) =
            (ResidencySums::default(), BTreeMap::<NodeId, i64>::new(), BTreeMap::<NodeId, (u64, u64)>::new());
        for (number, (stack, _, region)) in naive.pages.iter().filter(|(_, page)| page.1 >= since) {
            let owners: Vec<_> = (number * PAGE..(number + 1) * PAGE).map(|byte| naive.block_at(byte)).collect();
            let in_blocks = owners.iter().flatten().count();
            owners.iter().flatten().for_each(|(_, node)| *held.entry(*node).or_default() += 1);
            let row = touched.entry(*stack).or_default();
            *row = (row.0 + PAGE, row.1 + in_blocks as u64);
            sums.blocks += in_blocks as i64;
            let rest = PAGE as i64 - in_blocks as i64;
            match region {
                _ if in_blocks > 0 => sums.slack += rest,
                Region::Stack => sums.stacks += rest,
                Region::File => sums.files += rest,
                Region::Heap => sums.free += rest,
                _ if naive.ground.contains(number) => sums.free += rest,
                Region::Unknown => sums.unknown += rest,
                Region::Anonymous => sums.anonymous += rest,
            }
        }
        sums.held = naive.blocks.values().map(|(size, _)| *size as i64).sum();
        prop_assert_eq!(table.sums, sums);
        let resident = table.held.iter().filter(|row| row.resident > 0);
        let rows: BTreeMap<NodeId, i64> = resident.map(|row| (row.node, row.resident)).collect();
        prop_assert_eq!(rows, held);
        let rows: BTreeMap<_, _> =
            table.touched.iter().map(|row| (row.node, (row.bytes, row.in_blocks))).collect();
        prop_assert_eq!(rows, touched);
    }
}

/// Check that a process that ended counts as it was then, unless a later moment is asked for, and that one that
/// executed another program counts for nothing.
#[test]
fn processes_end_with_what_they_had() {
    for (ended, with_ended, expected) in
        [(Ended::Exited(0), true, PAGE), (Ended::Exited(0), false, 0), (Ended::Exec, true, 0)]
    {
        let mut tables = tables();
        tables.processes[0].end = Some(capture::ProcessEnd { ended, time: 5 });
        // The last one comes when the process is no longer recorded.
        let faults = [(1, 9), (6, 99 * PAGE)];
        let mut faults =
            faults.map(|(time, address)| Fault { time, address, ..Fault::default() }).into_iter();
        let look = Look { since: 0, until: u64::MAX, with_ended };
        let mut builder =
            ProfileBuilder::watched(&tables, Residency::new(&tables, || faults.next(), All, look));
        let alloc = Action::Alloc { address: 0, size: 10, alignment: 0, stack: NodeId(1) };
        for (time, action) in [(2, alloc), (5, Action::ProcessEnd { process: ProcessId(0) })] {
            builder.event(&Event { time, thread: capture::ThreadId(0), action });
        }
        let table = builder.finish_watched().1.finish();
        assert_eq!(table.sums.total(), expected as i64, "{ended:?} {with_ended}");
        assert_eq!(table.sums.blocks, if expected > 0 { 10 } else { 0 });
    }
}

/// Check that if huge pages are always enabled, a page with no other page touched nearby may be a huge one, and that
/// this is reported.
#[test]
fn huge_pages_are_a_doubt() {
    for (when, pages, at_most) in
        [("always", [1, 9], 2 * (2048 - PAGE)), ("always", [1, 2], 0), ("madvise", [1, 9], 0)]
    {
        let mut tables = tables();
        let told = &mut tables.summary.as_mut().unwrap().faults;
        (told.huge_pages, told.huge_page_bytes) = (when.to_owned(), 2048);
        let faults =
            pages.map(|page| Fault { address: page * PAGE, region: Region::Anonymous, ..Fault::default() });
        let mut faults = faults.into_iter();
        let look = Look { since: 0, until: 9, with_ended: true };
        let table = ProfileBuilder::watched(&tables, Residency::new(&tables, || faults.next(), All, look));
        assert_eq!(table.finish_watched().1.finish().huge_at_most, at_most, "{when} {pages:?}");
    }
}
