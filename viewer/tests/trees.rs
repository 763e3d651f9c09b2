//! Call trees and function tables, worked by hand.

use crate::shown;
use crate::support::Made;
use analysis::{Amount, Metric, Tree, functions};
use capture::{FrameId, NodeId};
use engine::Loaded;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// The paths of a tree with total and own part, as `a/b 300/3 own 300/3`, in order of the paths.
fn paths(loaded: &Loaded, tree: &Tree) -> Vec<String> {
    let mut paths = Vec::new();
    let mut walk = vec![(Tree::ROOT, String::new())];
    while let Some((id, above)) = walk.pop() {
        let node = tree.node(id);
        let path = format!("{above}/{}", loaded.names.label(node.label).name);
        let own = tree.own(id);
        let (total, calls) = (node.total.bytes, node.total.blocks);
        paths.push(format!("{path} {total}/{calls} own {}/{}", own.bytes, own.blocks));
        walk.extend(tree.children(id).map(|child| (child, path.clone())));
    }
    paths.sort();
    paths
}

/// The functions of a tree, as `f total/calls own bytes/calls`.
fn table(loaded: &Loaded, tree: &Tree) -> Vec<String> {
    let mut table: Vec<String> = functions(tree, &loaded.names)
        .into_iter()
        .map(|cost| {
            let name = &loaded.names.label(cost.label).name;
            let (total, own) = (cost.total, cost.own);
            format!("{name} {}/{} own {}/{}", total.bytes, total.blocks, own.bytes, own.blocks)
        })
        .collect();
    table.sort();
    table
}

fn made_of(calls: &[(&str, &str, u64)]) -> Loaded {
    let mut made = Made::new();
    let mut threads: Vec<(&str, capture::ThreadId)> = Vec::new();
    for (index, &(process, stack, size)) in calls.iter().enumerate() {
        let known = threads.iter().find(|(name, _)| *name == process).map(|(_, thread)| *thread);
        let thread = known.unwrap_or_else(|| made.process(process).1);
        if known.is_none() {
            threads.push((process, thread));
        }
        let stack = made.stack(stack);
        made.alloc(thread, 0x1000 + index as u64 * 0x1000, size, stack);
    }
    made.loaded("app.memprof")
}

fn top_down(loaded: &Loaded) -> Tree {
    Tree::top_down(&loaded.profile, &loaded.tables, &loaded.names, Metric::Bytes)
}

fn inverted(loaded: &Loaded, least: i64) -> Tree {
    Tree::inverted(&loaded.profile, &loaded.tables, &loaded.names, Metric::Bytes, least)
}

/// Check totals and own parts where `a` calls `b` three times and `c` once.
#[test]
fn callers_have_the_sum_of_their_callees() {
    let loaded =
        made_of(&[("p", "a > b", 100), ("p", "a > b", 100), ("p", "a > b", 100), ("p", "a > c", 50)]);
    let tree = top_down(&loaded);
    let expected = [
        "/[Everything] 350/4 own 0/0",
        "/[Everything]/p 350/4 own 0/0",
        "/[Everything]/p/a 350/4 own 0/0",
        "/[Everything]/p/a/b 300/3 own 300/3",
        "/[Everything]/p/a/c 50/1 own 50/1",
    ];
    assert_eq!(paths(&loaded, &tree), expected);
    assert_eq!(table(&loaded, &tree), ["a 350/4 own 0/0", "b 300/3 own 300/3", "c 50/1 own 50/1"]);
}

/// Check that a function is charged once for each stack, however often it stands there, and that no total exceeds
/// the capture's.
#[test]
fn recursion_is_charged_once() {
    for (stack, expected) in [
        ("f > f > f", vec!["f 10/1 own 10/1"]),
        ("f > g > f > g", vec!["f 10/1 own 0/0", "g 10/1 own 10/1"]),
        ("f > f > g", vec!["f 10/1 own 0/0", "g 10/1 own 10/1"]),
    ] {
        let loaded = made_of(&[("p", stack, 10)]);
        let tree = top_down(&loaded);
        assert_eq!(table(&loaded, &tree), expected, "{stack}");
        assert_eq!(tree.len(), 2 + stack.split(" > ").count(), "a node for each call of {stack}");
    }
}

/// Check that callers are attributed per process: what `foo` costs in one says nothing about the other.
#[test]
fn processes_keep_their_callers() {
    let loaded = made_of(&[("a", "bar > foo", 80), ("b", "baz > foo", 1)]);
    let expected = [
        "/[Everything] 81/2 own 0/0",
        "/[Everything]/foo 81/2 own 0/0",
        "/[Everything]/foo/bar 80/1 own 0/0",
        "/[Everything]/foo/bar/a 80/1 own 80/1",
        "/[Everything]/foo/baz 1/1 own 0/0",
        "/[Everything]/foo/baz/b 1/1 own 1/1",
    ];
    assert_eq!(paths(&loaded, &inverted(&loaded, 0)), expected);
}

/// Check that processes of one name stand under one node, and that all processes add up to the root.
#[test]
fn everything_is_the_sum_of_the_processes() {
    let mut made = Made::new();
    let stack = made.stack("main");
    for (name, size) in [("cc1", 1), ("cc1", 2), ("ld", 4)] {
        let (_, thread) = made.process(name);
        made.alloc(thread, 0x10, size, stack);
    }
    let loaded = made.loaded("make.memprof");
    let expected = [
        "/[Everything] 7/3 own 0/0",
        "/[Everything]/cc1 3/2 own 0/0",
        "/[Everything]/cc1/main 3/2 own 3/2",
        "/[Everything]/ld 4/1 own 0/0",
        "/[Everything]/ld/main 4/1 own 4/1",
    ];
    assert_eq!(paths(&loaded, &top_down(&loaded)), expected);
    assert_eq!(loaded.profile.total.allocated, Amount { blocks: 3, bytes: 7 });
}

/// Check that inlined functions are nodes of their own, and that two addresses of one function are one node.
#[test]
fn frames_become_functions() {
    let mut made = Made::new();
    let (_, thread) = made.process("p");
    let main = made.stack("main");
    let one = made.frame(Some("/bin/app"), &["inner", "middle", "outer"]);
    let two = made.frame(Some("/bin/app"), &["outer"]);
    let (one, two) = (made.node(main, one), made.node(main, two));
    made.alloc(thread, 0x10, 1, one);
    made.alloc(thread, 0x20, 2, two);
    let loaded = made.loaded("p.memprof");
    let expected = [
        "/[Everything] 3/2 own 0/0",
        "/[Everything]/p 3/2 own 0/0",
        "/[Everything]/p/main 3/2 own 0/0",
        "/[Everything]/p/main/outer 3/2 own 2/1",
        "/[Everything]/p/main/outer/middle 1/1 own 0/0",
        "/[Everything]/p/main/outer/middle/inner 1/1 own 1/1",
    ];
    assert_eq!(paths(&loaded, &top_down(&loaded)), expected);
}

/// Check that unknown functions of one library which call each other keep their levels, that those which call nothing are
/// one leaf, and that the library is charged once for each stack.
#[test]
fn unknown_functions_keep_their_levels() {
    let mut made = Made::new();
    let (_, thread) = made.process("p");
    let caller = made.stack("a");
    let [outer, inner, other] = [0; 3].map(|_| made.frame(Some("/lib/libx.so"), &[]));
    let callee = made.frame(Some("/bin/app"), &["b"]);
    let outer = made.node(caller, outer);
    let twice = made.node(outer, inner);
    let called = made.node(twice, callee);
    let leaves = [outer, made.node(caller, other)];
    for (at, (stack, bytes)) in [(called, 1), (leaves[0], 2), (leaves[1], 4)].into_iter().enumerate() {
        made.alloc(thread, 0x10 * (at as u64 + 1), bytes, stack);
    }
    let loaded = made.loaded("p.memprof");
    let tree = top_down(&loaded);
    let expected = [
        "/[Everything] 7/3 own 0/0",
        "/[Everything]/p 7/3 own 0/0",
        "/[Everything]/p/a 7/3 own 0/0",
        "/[Everything]/p/a/<in libx.so> 7/3 own 6/2",
        "/[Everything]/p/a/<in libx.so>/<in libx.so> 1/1 own 0/0",
        "/[Everything]/p/a/<in libx.so>/<in libx.so>/b 1/1 own 1/1",
    ];
    assert_eq!(paths(&loaded, &tree), expected);
    assert!(table(&loaded, &tree).contains(&"<in libx.so> 7/3 own 6/2".to_owned()));
}

/// Check that functions without names are told apart by where they begin: two addresses in one are one node, another one calls it, and
/// one of another file with that name says which file, but not where one file has several. In a line only the one that allocates says where, its callers are their file.
#[test]
fn unknown_functions_are_told_apart_by_their_starts() {
    let mut made = Made::new();
    let (_, thread) = made.process("p");
    let caller = made.stack("a");
    let libraries =
        [("/lib/libx.so", 0x200), ("/lib/libx.so", 0x100), ("/lib/libx.so", 0x100), ("/opt/libx.so", 0x100)];
    let [outer, one, same, other] = libraries.map(|(path, start)| {
        let frame = made.frame(Some(path), &[]);
        made.start(frame, start);
        frame
    });
    let outer = made.node(caller, outer);
    let stacks = [made.node(outer, one), made.node(outer, same), made.node(outer, other)];
    let twice = made.node(stacks[0], other);
    let deep = made.node(twice, one);
    for (at, (stack, bytes)) in stacks.into_iter().chain([deep]).zip([1, 2, 4, 8]).enumerate() {
        made.alloc(thread, 0x10 * (at as u64 + 1), bytes, stack);
    }
    let program = [0x300, 0x400].map(|start| {
        let frame = made.frame(Some("/bin/app"), &[]);
        made.start(frame, start);
        frame
    });
    let within = made.node(caller, program[0]);
    let within = made.node(within, program[1]);
    made.alloc(thread, 0x50, 16, within);
    let loaded = made.loaded("p.memprof");
    let (here, there) = ("<in libx.so+0x100> [lib/libx.so]", "<in libx.so+0x100> [opt/libx.so]");
    let table = table(&loaded, &top_down(&loaded));
    for expected in [
        "<in libx.so+0x200> [lib/libx.so] 15/4 own 0/0".to_owned(),
        format!("{here} 11/3 own 11/3"),
        format!("{there} 12/2 own 4/1"),
        "<in app+0x300> 16/1 own 0/0".to_owned(),
        "<in app+0x400> 16/1 own 16/1".to_owned(),
    ] {
        assert!(table.contains(&expected), "{expected} in {table:#?}");
    }
    let document = shown::report_json(&loaded, &Default::default());
    let mut starts: Vec<&str> = document["rows"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|row| row["stack"][0]["function_start"].as_str())
        .collect();
    starts.sort_unstable();
    assert_eq!(starts, ["0x100", "0x100", "0x100", "0x100", "0x400"], "{document:#}");
    let line = report::text::stack_line(&loaded, deep, &report::text::Style::default(), 0);
    assert_eq!(line, format!("{here} < <in libx.so> [opt/libx.so] < <in libx.so> [lib/libx.so] ×2 < a"));
}

/// Check that truncated stacks stand under one node at the outer side, and never as roots of their own; kinds of
/// calls stand nowhere.
#[test]
fn truncated_stacks_are_together() {
    let loaded = made_of(&[
        ("p", "[truncated stack] > f > f", 1),
        ("p", "[truncated stack] > g > calloc", 2),
        ("p", "[incomplete: broken stack] > h", 4),
        ("p", "main > f", 8),
    ]);
    let expected = [
        "/[Everything] 15/4 own 0/0",
        "/[Everything]/p 15/4 own 0/0",
        "/[Everything]/p/[incomplete: broken stack] 4/1 own 0/0",
        "/[Everything]/p/[incomplete: broken stack]/h 4/1 own 4/1",
        "/[Everything]/p/[truncated stack] 3/2 own 0/0",
        "/[Everything]/p/[truncated stack]/f 1/1 own 0/0",
        "/[Everything]/p/[truncated stack]/f/f 1/1 own 1/1",
        "/[Everything]/p/[truncated stack]/g 2/1 own 2/1",
        "/[Everything]/p/main 8/1 own 0/0",
        "/[Everything]/p/main/f 8/1 own 8/1",
    ];
    assert_eq!(paths(&loaded, &top_down(&loaded)), expected);
}

/// Check that an inverted tree takes apart what is large, leaves what is small, and loses nothing.
#[test]
fn small_branches_stay_closed() {
    let loaded = made_of(&[("p", "a > b", 99), ("p", "c > d", 1)]);
    let expected = [
        "/[Everything] 100/2 own 0/0",
        "/[Everything]/b 99/1 own 0/0",
        "/[Everything]/b/a 99/1 own 0/0",
        "/[Everything]/b/a/p 99/1 own 99/1",
        "/[Everything]/d 1/1 own 1/1",
    ];
    assert_eq!(paths(&loaded, &inverted(&loaded, 10)), expected);
}

/// Check that stacks of 10,000 frames are built, walked and written without recursion.
#[test]
fn deep_stacks_are_no_trouble() {
    let mut made = Made::new();
    let (_, thread) = made.process("p");
    let frames: Vec<FrameId> =
        (0..4).map(|index| made.frame(Some("/bin/app"), &[["a", "b", "c", "d"][index]])).collect();
    let mut node = NodeId::ROOT;
    for depth in 0..10_000 {
        let next = NodeId::from_index(made.tables.nodes.len());
        made.tables.nodes.push(capture::Node { parent: node, frame: frames[depth % 4] });
        node = next;
        made.alloc(thread, 0x10 + depth as u64 * 16, 1, node);
    }
    let loaded = made.loaded("deep.memprof");
    let tree = top_down(&loaded);
    assert_eq!(tree.len(), 10_002);
    assert_eq!(tree.node(Tree::ROOT).total.blocks, 10_000);
    let table = functions(&tree, &loaded.names);
    assert_eq!(table.iter().map(|cost| cost.own.blocks).sum::<i64>(), 10_000);
    let mut out = Vec::new();
    let options = report::ReportOptions { shape: report::Shape::Tree, ..Default::default() };
    report::text::report(&mut out, &loaded, &options, &report::text::Style::default()).unwrap();
    report::json::report(&mut out, &loaded, &options).unwrap();
    assert_eq!(inverted(&loaded, 2000).node(Tree::ROOT).total.blocks, 10_000);
}

/// Check that the allocating function is found in bounded time where a file claims endless plumbing: the innermost
/// one, since there is nothing but plumbing.
#[test]
fn endless_plumbing_is_not_followed() {
    let mut made = Made::new();
    let (_, thread) = made.process("p");
    let noise = made.frame(Some("/bin/app"), &["std::f"]);
    for depth in 0..30_000 {
        let parent = NodeId::from_index(made.tables.nodes.len() - 1);
        made.tables.nodes.push(capture::Node { parent, frame: noise });
        made.alloc(thread, 0x10 + depth * 16, 1, NodeId(parent.0 + 1));
    }
    let loaded = made.loaded("deep.memprof");
    let text = shown::report(&loaded, &Default::default());
    assert!(text.contains("30,000  std::f"), "{text}");
}

/// Check that a file whose tables refer to nothing, or to themselves, still has a tree.
#[test]
fn broken_tables_have_a_tree() {
    let mut made = Made::new();
    let (_, thread) = made.process("p");
    let node = |parent, frame| capture::Node { parent: NodeId(parent), frame: FrameId(frame) };
    made.tables.nodes.extend([node(1, 0), node(77, 99), node(1, 5)]);
    for (address, stack) in [(0x10, 1), (0x20, 2), (0x30, 3), (0x40, 4_000_000)] {
        made.alloc(thread, address, 1, NodeId(stack));
    }
    let loaded = made.loaded("broken.memprof");
    for tree in [top_down(&loaded), inverted(&loaded, 0)] {
        assert_eq!(tree.node(Tree::ROOT).total.blocks, 4);
    }
}

/// Sums by path of labels, the slow way: every stack is spelt out, every prefix gets its share.
fn spelt_out(calls: &[(usize, Vec<usize>, u64)], outwards: bool) -> BTreeMap<Vec<String>, i64> {
    let mut sums = BTreeMap::new();
    for (process, functions, size) in calls {
        let mut path: Vec<String> = functions.iter().map(|function| format!("f{function}")).collect();
        path.insert(0, format!("p{process}"));
        if outwards {
            path.reverse();
        }
        for length in 0..=path.len() {
            *sums.entry(path[..length].to_vec()).or_default() += size.cast_signed();
        }
    }
    sums
}

/// The same of a tree.
fn sums_of(loaded: &Loaded, tree: &Tree) -> BTreeMap<Vec<String>, i64> {
    let mut sums = BTreeMap::new();
    let mut walk = vec![(Tree::ROOT, Vec::new())];
    while let Some((id, path)) = walk.pop() {
        for child in tree.children(id) {
            let mut below = path.clone();
            below.push(loaded.names.label(tree.node(child).label).name.clone());
            walk.push((child, below));
        }
        assert!(sums.insert(path, tree.node(id).total.bytes).is_none(), "two nodes of one path");
    }
    sums
}

proptest! {
    /// Check that trees and function tables of random stacks, with recursion and many branches, are those that
    /// spelling out every stack gives.
    #[test]
    fn trees_are_as_if_spelt_out(
        calls in prop::collection::vec((0..3_usize, prop::collection::vec(0..14_usize, 1..6), 1..100_u64), 1..60)
    ) {
        let text = |functions: &[usize]| {
            functions.iter().map(|function| format!("f{function}")).collect::<Vec<_>>().join(" > ")
        };
        let named: Vec<(String, String, u64)> = calls
            .iter()
            .map(|(process, functions, size)| (format!("p{process}"), text(functions), *size))
            .collect();
        let borrowed: Vec<(&str, &str, u64)> =
            named.iter().map(|(process, stack, size)| (process.as_str(), stack.as_str(), *size)).collect();
        let loaded = made_of(&borrowed);
        let tree = top_down(&loaded);
        prop_assert_eq!(sums_of(&loaded, &tree), spelt_out(&calls, false));
        prop_assert_eq!(sums_of(&loaded, &inverted(&loaded, 0)), spelt_out(&calls, true));

        let mut totals: BTreeMap<String, (i64, i64)> = BTreeMap::new();
        for (_, functions, size) in &calls {
            for function in functions.iter().collect::<BTreeSet<_>>() {
                totals.entry(format!("f{function}")).or_default().0 += size.cast_signed();
            }
            totals.entry(format!("f{}", functions.last().unwrap())).or_default().1 += size.cast_signed();
        }
        let table: BTreeMap<String, (i64, i64)> = functions(&tree, &loaded.names)
            .into_iter()
            .map(|cost| (loaded.names.label(cost.label).name.clone(), (cost.total.bytes, cost.own.bytes)))
            .collect();
        prop_assert_eq!(table, totals);
    }
}
