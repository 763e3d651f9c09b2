//! The meaning of each number, worked by hand.

use crate::support::Made;
use analysis::{Amount, Anomalies, Instant, Moment};
use capture::{Action, Ended, NodeId, ReallocOutcome};

fn amount(blocks: i64, bytes: i64) -> Amount {
    Amount { blocks, bytes }
}

/// Check that a block that its thread frees before it allocates again is temporary, and no other one.
#[test]
fn temporary_is_freed_before_the_next_allocation() {
    let (mut made, process, one) = Made::app();
    let two = made.thread(process);
    let (brief, lasting) = (made.stack("main > brief"), made.stack("main > lasting"));
    for _ in 0..1000 {
        made.alloc(one, 0x100, 8, brief);
        made.free(one, 0x100);
    }
    for block in 0..10 {
        made.alloc(one, 0x1000 + block * 16, 16, lasting);
    }
    made.free(two, 0x1000 + 9 * 16);
    made.free(one, 0x1000 + 8 * 16);
    let profile = made.profile();
    let of = |node: NodeId| profile.sites.iter().find(|site| site.node == node).unwrap().cost;
    assert_eq!(of(brief).temporary, amount(1000, 8000));
    assert_eq!(of(lasting).temporary, Amount::ZERO, "the other thread's free and the older block");
    assert_eq!(of(lasting).allocated, amount(10, 160));
    assert_eq!(of(lasting).leaked, amount(8, 128));
}

/// Check that a block freed at an address that another thread was given meanwhile is not temporary.
#[test]
fn address_alone_does_not_make_temporary() {
    let (mut made, process, one) = Made::app();
    let two = made.thread(process);
    let stack = made.stack("main");
    made.alloc(one, 0x10, 8, stack);
    made.free(two, 0x10);
    made.alloc(two, 0x10, 8, stack);
    made.free(one, 0x10);
    assert_eq!(made.profile().total.temporary, Amount::ZERO);
}

/// Check each outcome of a realloc: what is counted, what stays, and what the peak holds.
#[test]
fn realloc_is_one_free_and_one_allocation() {
    let block = |address, size| ReallocOutcome::Block { address, size, stack: NodeId::ROOT };
    // outcome, allocated, freed, leaked, peak
    for (outcome, allocated, freed, leaked, peak) in [
        (block(0x10, 150), amount(2, 250), amount(1, 100), amount(1, 150), 150),
        (block(0x20, 150), amount(2, 250), amount(1, 100), amount(1, 150), 250),
        (ReallocOutcome::Failed, amount(1, 100), Amount::ZERO, amount(1, 100), 100),
        (ReallocOutcome::Freed, amount(1, 100), amount(1, 100), Amount::ZERO, 100),
    ] {
        let (mut made, _, thread) = Made::app();
        made.alloc(thread, 0x10, 100, NodeId::ROOT);
        made.realloc(thread, 7, 0x10, outcome);
        let profile = made.profile();
        assert_eq!(profile.total.allocated, allocated, "{outcome:?}");
        assert_eq!(profile.total.freed, freed, "{outcome:?}");
        assert_eq!(profile.total.leaked, leaked, "{outcome:?}");
        assert_eq!(profile.total.temporary, Amount::ZERO, "{outcome:?}");
        assert_eq!(profile.peak.held.bytes, peak, "{outcome:?}");
        assert_eq!(profile.anomalies(), Anomalies::default(), "{outcome:?}");
    }
}

/// Check that the address of a block that is being reallocated may be handed out before the call returns.
#[test]
fn address_is_free_while_realloc_runs() {
    let (mut made, process, one) = Made::app();
    let two = made.thread(process);
    made.alloc(one, 0x10, 100, NodeId::ROOT);
    made.event(one, Action::ReallocBegin { address: 0x10, serial: 1 });
    made.alloc(two, 0x10, 5, NodeId::ROOT);
    let outcome = ReallocOutcome::Block { address: 0x20, size: 200, stack: NodeId::ROOT };
    made.event(one, Action::ReallocEnd { serial: 1, outcome });
    made.free(two, 0x10);
    made.free(one, 0x20);
    let profile = made.profile();
    assert_eq!(profile.anomalies(), Anomalies::default());
    assert_eq!(profile.total.leaked, Amount::ZERO);
    assert_eq!(profile.peak.held.bytes, 305);
}

/// Check that a block stays live when its process dies within realloc, and is flagged.
#[test]
fn death_within_realloc_leaves_the_block() {
    let (mut made, process, thread) = Made::app();
    made.alloc(thread, 0x10, 100, NodeId::ROOT);
    made.event(thread, Action::ReallocBegin { address: 0x10, serial: 1 });
    made.end(process, thread, Ended::Signaled(9));
    let profile = made.profile();
    assert_eq!(profile.total.leaked, amount(1, 100));
    assert_eq!(profile.processes[0].in_realloc, amount(1, 100));
}

/// Check that frees of a child are inherited, of the parent's later blocks unmatched, and that neither's heap
/// changes the other's.
#[test]
fn forked_child_knows_its_parents_blocks() {
    let (mut made, parent, one) = Made::app();
    for address in [0x10, 0x20, 0x30] {
        made.alloc(one, address, 100, NodeId::ROOT);
    }
    made.free(one, 0x30);
    let (_, two) = made.fork(parent);
    made.alloc(one, 0x40, 100, NodeId::ROOT);
    made.free(one, 0x20);
    made.free(two, 0x10); // inherited, still live in the parent
    made.free(two, 0x20); // inherited, freed by the parent after the fork
    made.free(two, 0x30); // freed before the fork
    made.free(two, 0x40); // allocated after it
    made.free(two, 0x10); // a second time
    let profile = made.profile();
    let expected = Anomalies { inherited_frees: 2, unmatched_frees: 3, ..Anomalies::default() };
    assert_eq!(profile.processes[1].anomalies, expected);
    assert_eq!(profile.processes[0].anomalies, Anomalies::default());
    assert_eq!(profile.total.leaked, amount(2, 200), "the child counts none of what it inherited");
    assert_eq!(profile.processes[1].peak, Moment::default());
}

/// Check that inheritance goes through generations and outlives the ancestors.
#[test]
fn grandchildren_inherit_from_the_dead() {
    let (mut made, first, one) = Made::app();
    made.alloc(one, 0x10, 1, NodeId::ROOT);
    made.alloc(one, 0x20, 1, NodeId::ROOT);
    let (second, two) = made.fork(first);
    made.free(two, 0x20);
    made.alloc(two, 0x30, 1, NodeId::ROOT);
    let (_, three) = made.fork(second);
    made.end(first, one, Ended::Exited(0));
    made.end(second, two, Ended::Exited(0));
    made.free(three, 0x10); // of the first
    made.free(three, 0x30); // of the second
    made.free(three, 0x20); // freed by the second before the fork
    let anomalies = made.profile().processes[2].anomalies;
    assert_eq!((anomalies.inherited_frees, anomalies.unmatched_frees), (2, 1));
}

/// Check that a child inherits what its parent had inherited at the fork, whatever the parent frees later.
#[test]
fn inheritance_is_as_of_the_fork() {
    let (mut made, first, one) = Made::app();
    made.alloc(one, 0x10, 1, NodeId::ROOT);
    let (second, two) = made.fork(first);
    let (_, three) = made.fork(second);
    made.free(two, 0x10);
    made.free(three, 0x10);
    for process in &made.profile().processes[1..] {
        assert_eq!(process.anomalies, Anomalies { inherited_frees: 1, ..Anomalies::default() });
    }
}

/// Check that what another thread allocates between the record of a fork and the call is inherited, too, whether or not the
/// parent keeps it; and that what the parent allocates when the child is there, is not.
#[test]
fn blocks_of_other_threads_at_the_fork_are_inherited() {
    let (mut made, parent, one) = Made::app();
    let other = made.thread(parent);
    let stack = made.stack("main");
    made.alloc(one, 0x10, 1, stack);
    made.event(one, Action::Fork { fork: 1 });
    made.alloc(other, 0x20, 1, stack);
    made.alloc(other, 0x30, 1, stack);
    made.free(one, 0x10);
    let (child, thread) = made.fork(parent);
    made.events.last_mut().expect("its start").action = Action::ProcessStart { process: child, fork: 1 };
    made.free(one, 0x20);
    made.alloc(other, 0x40, 1, stack);
    for address in [0x10, 0x20, 0x30, 0x40] {
        made.free(thread, address);
    }
    let profile = made.profile();
    let expected = Anomalies { inherited_frees: 3, unmatched_frees: 1, ..Anomalies::default() };
    assert_eq!(profile.processes[child.index()].anomalies, expected);
    assert_eq!(profile.processes[parent.index()].anomalies, Anomalies::default());
}

/// Check that a child does not inherit a block that a realloc had begun to move at the fork.
#[test]
fn block_within_realloc_is_not_inherited() {
    let (mut made, parent, one) = Made::app();
    made.alloc(one, 0x10, 1, NodeId::ROOT);
    made.event(one, Action::ReallocBegin { address: 0x10, serial: 1 });
    let (_, two) = made.fork(parent);
    made.event(one, Action::ReallocEnd { serial: 1, outcome: ReallocOutcome::Failed });
    made.free(two, 0x10);
    assert_eq!(made.profile().processes[1].anomalies.unmatched_frees, 1);
}

/// Check that what exec leaves behind is neither leaked nor live in the next image.
#[test]
fn exec_ends_a_heap() {
    let mut made = Made::new();
    let (before, one) = made.process("sh");
    made.alloc(one, 0x10, 100, NodeId::ROOT);
    made.end(before, one, Ended::Exec);
    let (_, two) = made.process_row(capture::Process { parent: Some(before), ..Default::default() });
    made.alloc(two, 0x10, 30, NodeId::ROOT);
    let profile = made.profile();
    assert_eq!(profile.total.at_exec, amount(1, 100));
    assert_eq!(profile.total.leaked, amount(1, 30));
    assert_eq!(profile.peak.held, amount(1, 100));
    assert_eq!(profile.anomalies(), Anomalies::default());
}

/// Check that blocks which lived through a gap are uncertain, and that each contradiction after it is explained
/// by a loss.
#[test]
fn gaps_make_uncertain() {
    let (mut made, _, thread) = Made::app();
    made.alloc(thread, 0x10, 1, NodeId::ROOT); // never freed: uncertain
    made.alloc(thread, 0x20, 2, NodeId::ROOT); // its free is lost
    made.event(thread, Action::GapBegin);
    made.event(thread, Action::GapEnd { allocations: 3, frees: 4 });
    made.alloc(thread, 0x20, 4, NodeId::ROOT);
    made.free(thread, 0x30); // its allocation was lost
    made.alloc(thread, 0x40, 8, NodeId::ROOT);
    made.alloc(thread, 0x40, 16, NodeId::ROOT); // outside of any gap
    let profile = made.profile();
    assert_eq!(profile.total.uncertain, amount(1, 1));
    assert_eq!(profile.total.leaked, amount(2, 20));
    let expected = Anomalies { lost_frees: 1, lost_allocations: 1, conflicts: 1, ..Anomalies::default() };
    assert_eq!(profile.anomalies(), expected);
    let gaps = profile.gaps();
    assert_eq!((gaps.gaps, gaps.allocations, gaps.frees), (1, 3, 4));
}

/// Check that a gap of one process casts no doubt on another.
#[test]
fn gaps_stay_in_their_process() {
    let mut made = Made::new();
    let (_, one) = made.process("a");
    let (_, two) = made.process("b");
    made.alloc(one, 0x10, 1, NodeId::ROOT);
    made.alloc(two, 0x10, 2, NodeId::ROOT);
    made.event(one, Action::GapBegin);
    let total = made.profile().total;
    assert_eq!((total.uncertain, total.leaked), (amount(1, 1), amount(1, 2)));
}

/// Check that the peak is that of the sum, and that each process has its own.
#[test]
fn peak_is_of_the_sum() {
    let mut made = Made::new();
    let (_, one) = made.process("a");
    let (_, two) = made.process("b");
    let (x, y) = (made.stack("main > x"), made.stack("main > y"));
    made.alloc(one, 0x10, 100, x);
    made.free(one, 0x10);
    made.alloc(one, 0x10, 60, y);
    made.alloc(two, 0x10, 70, x);
    made.alloc(two, 0x20, 0, x);
    made.free(two, 0x10);
    let profile = made.profile();
    assert_eq!(profile.peak, Moment { held: amount(2, 130), at: Instant::after(6, 6_000_000) });
    assert_eq!(profile.processes[0].peak.held.bytes, 100);
    assert_eq!(profile.processes[1].peak.held.bytes, 70);
    let shares: Vec<i64> = profile.sites.iter().map(|site| site.cost.peak.bytes).collect();
    assert_eq!(shares, [0, 60, 70]);
    assert_eq!(profile.total.peak, profile.peak.held);
}

/// Check that pages are counted beside the heap, never in it.
#[test]
fn mappings_are_no_allocations() {
    let (mut made, _, thread) = Made::app();
    let stack = NodeId::ROOT;
    made.event(thread, Action::Map { address: 0x1000, length: 4096, stack, in_hook: false });
    made.event(thread, Action::Break { from: 0, address: 0x1000, stack, in_hook: false });
    let profile = made.profile();
    assert_eq!(profile.mappings().mapped, amount(1, 4096));
    assert_eq!(profile.mappings().breaks, amount(1, 4096));
    assert_eq!(profile.own_pages.bytes, 2 * 4096);
    assert_eq!(profile.total, Default::default());
    assert_eq!(profile.peak, Moment::default());
}

/// Check that what a still running process holds is leaked so far, and told apart.
#[test]
fn running_processes_are_told_apart() {
    let mut made = Made::new();
    let (gone, one) = made.process("gone");
    let (_, two) = made.process("running");
    made.alloc(one, 0x10, 1, NodeId::ROOT);
    made.alloc(two, 0x10, 2, NodeId::ROOT);
    made.end(gone, one, Ended::Exited(0));
    let profile = made.profile();
    assert_eq!(profile.total.leaked, amount(2, 3));
    assert_eq!(profile.still_running(), amount(1, 2));
}

/// Check that a process whose end is recorded is not taken for a running one when the file was cut before the
/// reason was written.
#[test]
fn end_without_a_reason_is_unknown() {
    let (mut made, process, thread) = Made::app();
    made.alloc(thread, 0x10, 1, NodeId::ROOT);
    made.event(thread, Action::ProcessEnd { process });
    made.free(thread, 0x10);
    let profile = made.profile();
    assert_eq!(profile.processes[0].ended, Ended::Unknown);
    assert_eq!(profile.still_running(), Amount::ZERO);
    assert_eq!((profile.total.leaked, profile.stray_events), (amount(1, 1), 1));
}

/// Check that the most pages beside the allocators are those of all processes at one time, and that a process which
/// has ended holds none.
#[test]
fn pages_beside_the_allocator_are_summed() {
    let mut made = Made::new();
    let stack = made.stack("main");
    let map = |address, length, in_hook| Action::Map { address, length, stack, in_hook };
    let (first, one) = made.process("a");
    made.event(one, map(0x10000, 0x4000, false));
    made.event(one, map(0x20000, 0x8000, true));
    let (_, two) = made.process("b");
    made.event(two, map(0x10000, 0x2000, false));
    let at = made.time;
    made.end(first, one, Ended::Exited(0));
    made.event(two, map(0x40000, 0x3000, false));
    let pages = made.profile().own_pages;
    assert_eq!((pages.bytes, pages.time), (0x6000, at));
}

/// Check that a child's frees of blocks that its parent's record lacks are laid to that gap.
#[test]
fn gaps_of_a_parent_explain_frees_of_its_child() {
    let (mut made, parent, one) = Made::app();
    made.event(one, Action::GapBegin);
    made.event(one, Action::GapEnd { allocations: 1, frees: 0 });
    let (_, two) = made.fork(parent);
    made.free(two, 0x10);
    let expected = Anomalies { lost_allocations: 1, ..Anomalies::default() };
    assert_eq!(made.profile().processes[1].anomalies, expected);
}
