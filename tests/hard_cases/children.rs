//! Processes that are created in unusual ways, and programs that are started from them.

use super::super::harness::{Capture, c, library, record};
use super::allocators::try_build;
use serde_json::Value;

/// The processes of a capture.
fn processes(capture: &Capture) -> Vec<Value> {
    capture.info()["processes"].as_array().cloned().unwrap_or_default()
}

/// First arguments of the processes of this name, sorted.
fn arguments_of(capture: &Capture, name: &str) -> Vec<String> {
    let all = processes(capture);
    let named = all.iter().filter(|process| process["name"] == name);
    let mut arguments: Vec<_> =
        named.map(|process| process["command"][1].as_str().unwrap_or("?").to_string()).collect();
    arguments.sort();
    arguments
}

/// Check that children which were created without libc are followed, and so are their children: each with its own
/// counts, and nothing unknown in it.
#[test]
fn forks_past_libc_are_followed() {
    let (_, capture) = record(c("forks_past_libc").build()).succeed();
    let all = processes(&capture);
    assert_eq!(all.len(), 1 + 2 + 4, "{all:#?}");
    let made_past_libc: Vec<_> = all.iter().filter(|process| process["inherited_frees"] == 50).collect();
    assert_eq!(made_past_libc.len(), 2, "{all:#?}");
    for process in made_past_libc {
        assert_eq!((&process["forked"], &process["exit"]), (&true.into(), &0.into()), "{process:#}");
        assert_eq!(process["allocations"], 1000, "{process:#}");
    }
    assert_eq!(all.iter().filter(|process| process["allocations"] == 1).count(), 4, "{all:#?}");
    assert_eq!(capture.info()["totals"]["leaked_blocks"], 0);
}

/// Check that a child of vfork's child, which has memory of its own, is followed, by whichever function it was
/// created, and that its parents' counts are unaffected.
#[test]
fn forks_in_a_vfork_are_followed() {
    let (_, capture) = record(c("forks_in_a_vfork").build()).succeed();
    let all = processes(&capture);
    assert_eq!(all.len(), 3, "{all:#?}");
    for child in &all[1..] {
        let expected =
            serde_json::json!({"allocations": 50, "inherited_frees": 1, "exit": 7, "forked": true});
        for (field, value) in expected.as_object().expect("it is one") {
            assert_eq!(&child[field], value, "{field}: {child:#}");
        }
    }
    for (size, frees) in [(2501, 1), (2502, 100), (2503, 2)] {
        assert_eq!(capture.row_of_size(size).number("frees"), frees, "{size}");
    }
    let totals = capture.info()["totals"].clone();
    for field in ["unmatched_frees", "leaked_blocks", "conflicts", "lost_allocations"] {
        assert_eq!(totals[field], 0, "{field}: {totals:#}");
    }
}

/// Check that a child which shares its parent's memory ends, fails to execute and executes without any of that being
/// attributed to its parent, which is still recorded; and that the executed program is followed.
#[test]
fn children_on_their_parents_memory_tell_nothing_of_their_end() {
    let program = c("shares_memory_with_its_child").build();
    let (_, capture) = record(program).arg(c("allocates_once").build()).succeed();
    assert_eq!(capture.row_of_size(2302).number("frees"), 4);
    // The heap is the parent's, whoever frees.
    assert_eq!(capture.row_of_size(2301).number("frees"), 1);
    let all = processes(&capture);
    let parent = &all[0];
    assert_eq!((&parent["ended"], &parent["exit"]), (&"exited".into(), &0.into()), "{parent:#}");
    assert_eq!((all.len(), arguments_of(&capture, "allocates_once")), (2, vec!["clone".to_string()]));
}

/// Check that children which share their parent's memory leave nothing behind there when they execute with a large
/// environment.
#[test]
fn large_environments_are_not_left_behind() {
    let program = c("shares_memory_with_its_child").build();
    let (ran, _) = record(program).arg(c("allocates_once").build()).arg("much").run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let left_behind: u64 = ran.text().trim().parse().expect("a number");
    assert!(left_behind < 100, "{left_behind} KiB");
}

/// Check that what children of vfork do to the heap, which is their parent's, is in their parent's counts, whether
/// they end, execute or are killed; and that if there are more blocks than the agent keeps notes of, the rest is
/// counted as lost.
#[test]
fn children_of_vfork_leave_their_parents_count_exact() {
    let program = c("vforks_and_allocates").build();
    let (_, capture) = record(&program).succeed();
    let totals = capture.info()["totals"].clone();
    for field in ["unmatched_frees", "leaked_blocks", "uncertain_blocks", "conflicts", "lost_allocations"] {
        assert_eq!(totals[field], 0, "{field}: {totals:#}");
    }
    let sizes = |capture: &Capture, wanted: &dyn Fn(u64) -> bool| -> Vec<u64> {
        capture.events().iter().map(|event| event.size).filter(|size| wanted(*size)).collect()
    };
    let expected = [1001, 1002, 2001, 2002, 200_003, 2004, 3001, 3002];
    assert_eq!(sizes(&capture, &|size| expected.contains(&size)), expected);
    let (ran, capture) = record(&program).arg("many").run();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let totals = capture.info()["totals"].clone();
    let kept = sizes(&capture, &|size| size == 4001).len() as u64;
    let lost = totals["lost_allocations"].as_u64().expect("a number");
    assert!(kept >= 50 && lost > 0, "{kept} kept, {lost} lost");
    // Frees of lost blocks are explained by the gap, or are unknown; none of it leaks.
    assert_eq!((kept + lost, &totals["leaked_blocks"]), (200, &Value::from(0)), "{totals:#}");
}

/// Check that all calls of a thread are recorded after a child of its vfork was killed in the middle of a hook.
#[test]
fn children_of_vfork_may_be_killed_in_hooks() {
    let (_, capture) = record(c("kills_in_vfork").flags(["-pthread"]).build()).succeed();
    capture.assert_sound();
    assert_eq!(capture.row_of_size(4321).number("allocations"), 1000);
}

/// Check that programs are followed that are started from the smallest stack that a thread may have, with the
/// environment cleared, empty, and large, by every function that takes its arguments one by one.
#[test]
fn programs_are_followed_from_small_stacks() {
    // Unoptimised code needs several times as much.
    let stack = if cfg!(debug_assertions) { 1 << 16 } else { 0 };
    let program = c("spawns_from_a_small_stack").build();
    let recording = record(program).arg(c("allocates_once").build()).arg(stack.to_string());
    let (_, capture) = recording.succeed();
    let expected = ["execl", "execle", "execle-short", "execlp", "large", "spawn"];
    assert_eq!(arguments_of(&capture, "allocates_once"), expected);
    let started = processes(&capture);
    let execl = started.iter().find(|process| process["command"][1] == "execl").expect("it was just found");
    assert_eq!(execl["command"].as_array().map(|command| command[1..].to_vec()).unwrap_or_default().len(), 6);
}

/// Check that nobody waits for the dynamic loader: a thread allocates while another one holds the loader's lock, and
/// a child that was forked meanwhile, in which nobody will ever release it, allocates and executes.
#[test]
fn locked_loader_stops_nobody() {
    let lender = library("lends_memory").flags(["-DFUNCTION=lends_late", "-DSIZE=3302"]).build();
    let program = c("holds_the_loaders_lock").build();
    let (_, capture) = record(program).arg(c("allocates_once").build()).arg(lender).succeed();
    let blocks: u64 = capture.rows_of_size(3302).iter().map(|row| row.number("frees")).sum();
    assert_eq!(blocks, 101);
    assert_eq!(arguments_of(&capture, "allocates_once"), ["held"]);
}

/// Check that programs for another processor are started as without a recording.
#[test]
fn programs_for_another_processor_are_started_without_the_agent() {
    let Some(program) = try_build(&c("allocates_once"), "cc", &["-m32"]) else { return };
    let starter = c("starts_programs").build();
    let (ran, capture) = record(starter).args([&program]).run();
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(capture.rows_of_size(1001).is_empty());
}
