//! Data of synthetic scans: its sums, however much is left out, and its size.

use super::*;
use analysis::{Amount, ProfileBuilder};
use capture::{
    Frame, FrameId, Node, NodeId, Process, Scan, SourceFrame, StringId, Symbolized, Tables, ThreadId,
};
use engine::Source as File;
use heap_graph::{Classes, GraphBuilder, HeldBlock, Pace, Rank, RootId, Source};
use serde_json::Value;
use std::collections::HashMap;

/// A process in which each of `stacks` roots holds a block of one stack, which holds one of another stack; further
/// blocks hold each other in pairs.
fn made(stacks: u32, name: impl Fn(u32) -> String) -> (Loaded, Scanned) {
    let mut tables = Tables {
        processes: vec![Process { pid: 7, name: "app".to_owned(), ..Process::default() }],
        nodes: vec![Node { parent: NodeId::ROOT, frame: FrameId(0) }],
        ..Tables::default()
    };
    for stack in 0..stacks {
        let frame = FrameId(stack);
        tables.frames.push(Frame::Code { module: None, address: u64::from(stack), exact: false });
        tables.strings.push(name(stack));
        let names = vec![SourceFrame { function: Some(StringId(stack)), file: None, line: None }];
        tables.symbols.push(Some(Symbolized { frame, names, ..Symbolized::default() }));
        tables.nodes.push(Node { parent: NodeId::ROOT, frame });
    }
    let address = |block: u32| 0x10_0000 + u64::from(block) * 0x1000;
    // What a block holds has the next block's stack.
    let stack = |block: u32| (block / 4 + u32::from(block % 4 == 1)) % stacks;
    let held = (0..4 * stacks).map(|block| HeldBlock {
        address: address(block),
        size: u64::from(block % 97 + 1),
        node: NodeId(1 + stack(block)),
        thread: ThreadId(0),
    });
    let mut builder = GraphBuilder::new(held.collect());
    for group in 0..stacks {
        let [top, below, one, other] = [0, 1, 2, 3].map(|place| address(4 * group + place));
        let root = RootId(group);
        builder.pointer(8 * u64::from(group), top, |_| Source::Root {
            root,
            rank: Rank::Lasting,
            exact: false,
        });
        for (from, to) in [(top, below), (one, other), (other, one)] {
            builder.pointer(from, to, |_| Source::Ignored);
        }
    }
    let (profile, file) = (ProfileBuilder::new(&tables).finish(), File::default());
    let roots = (0..stacks).map(|root| format!("root {root}")).collect();
    let scan = Scan::default();
    let graph = builder.finish();
    let freed = Default::default();
    let scanned = Scanned {
        scan,
        number: 1,
        count: 1,
        is_partial: false,
        freed,
        roots,
        graph,
        classes: Classes::default(),
    };
    (Loaded::new(tables, profile, file), scanned)
}

/// The head, and the columns by name.
fn read(data: &[u8]) -> (Value, HashMap<String, Vec<i64>>) {
    let length = u32::from_le_bytes(data[..4].try_into().unwrap()) as usize;
    let head: Value = serde_json::from_slice(&data[4..4 + length]).unwrap();
    let mut bytes = data[4 + length..].iter();
    let mut number = || {
        let (mut value, mut shift) = (0_u64, 0);
        loop {
            let byte = *bytes.next().unwrap();
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return (value >> 1).cast_signed() ^ -((value & 1).cast_signed());
            }
        }
    };
    let columns = head["columns"].as_array().unwrap().iter().map(|column| {
        let count = column["count"].as_u64().unwrap();
        let mut sum = 0;
        let read = (0..count).map(|_| {
            let value = number();
            sum += value;
            if column["rising"] == true { sum } else { value }
        });
        (column["name"].as_str().unwrap().to_owned(), read.collect())
    });
    let columns = columns.collect();
    (head, columns)
}

/// Check that the data plus what is left out equals the numbers of the graph, in all tables and the tree, and that
/// the data has as many rows as allowed.
#[test]
fn what_is_left_out_is_summed() {
    let (loaded, scanned) = made(50, |stack| format!("f{stack}"));
    let found = Found::new(&scanned, &Pace::default()).unwrap();
    let figures = scanned.graph.figures();
    for most in [0, 1, 7, 49, 50, 1000] {
        let (head, columns) = read(&data::data(&loaded, &scanned, &found, most).unwrap());
        for unit in ["bytes", "blocks"] {
            let of = |amount: Amount| if unit == "bytes" { amount.bytes } else { amount.blocks };
            let sum = |name: &str| columns[&format!("{name}.{unit}")].iter().sum::<i64>();
            let left = |part: &str| head["left_out"][part][unit].as_i64().unwrap();
            let reachable = of(figures.reachable);
            assert_eq!(sum("retained.own") + left("stacks"), reachable, "{most}");
            let several = head[format!("several_{unit}")].as_i64().unwrap();
            assert_eq!(sum("kept_by_root.all") + left("roots") + several, reachable, "{most}");
            assert_eq!(sum("kept.own") + sum("kept.hidden") + left("tree"), reachable, "{most}");
            let unreachable = of(figures.blocks) - reachable;
            assert_eq!(sum("unreachable.all") + left("unreachable"), unreachable, "{most}");
            assert!(reachable > 0 && unreachable > 0);
        }
        let rows = |name: &str| columns[name].len();
        assert_eq!(rows("kept.level"), most.min(found.tree.rows.len()));
        assert_eq!(rows("retained.holders"), most.min(50));
        let left = head["left_out"]["stacks"]["rows"].as_u64().unwrap() as usize;
        assert_eq!(left + rows("retained.holders"), found.retained.stacks.len());
        // Every holder has a name.
        let (stacks, roots) = (rows("stack.node") as i64, rows("root.name") as i64);
        let known = |holder: &i64| (-stacks..=roots).contains(holder);
        assert!(columns["kept.holder"].iter().chain(&columns["holder.number"]).all(known));
    }
}

/// Check that a caller can give up: the work ends at any check that says so, and the result is the same otherwise.
#[test]
fn data_is_given_up_when_nobody_waits() {
    let (loaded, scanned) = made(20_000, |stack| format!("f{stack}"));
    let asked = std::cell::Cell::new(0);
    let until = |question: u32| {
        asked.set(0);
        let is_wanted = || asked.replace(asked.get() + 1) < question;
        scan(&loaded, &scanned, &Pace::while_wanted(&is_wanted)).unwrap()
    };
    // The first result computes what the graph caches for the others.
    let whole = until(u32::MAX).expect("it is wanted");
    assert!(until(u32::MAX).as_ref() == Some(&whole));
    let questions = asked.get();
    assert!(questions > 10, "{questions}");
    for question in [0, 1, questions / 2, questions - 1] {
        assert!(until(question).is_none(), "{question} of {questions}");
    }
    assert!(until(questions) == Some(whole));
}

/// Check that a scan with more names than fit has data of the right size, and that no name gets into the markup.
#[test]
fn large_scans_fit() {
    let hostile = |stack: u32| {
        let mut state = u64::from(stack) + 1;
        let letters = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(b'!' + (state >> 33) as u8 % 90)
        });
        format!("</script>{}", letters.take(400).collect::<String>())
    };
    let (loaded, scanned) = made(3000, hostile);
    let room = 200_000;
    let packed = packed(&loaded, &scanned, &Pace::default(), room, Compression::fast()).unwrap().unwrap();
    assert!((room / 4..=room).contains(&packed.len()), "{}", packed.len());
    let mut scans = HeldScans::choose(std::slice::from_ref(&scanned.scan));
    scans.add(&loaded, &scanned).unwrap();
    let markup = scans.markup();
    assert_eq!(markup.matches("</script>").count(), 1);
    assert!(markup.starts_with("\n<script id=\"scan-1\" type=\"application/octet-stream\">"));
    assert_eq!(HeldScans::default().markup(), "");
}

/// Check which scans a page has: the last one, and the largest ones, a few of each process.
#[test]
fn the_last_scan_and_the_largest_are_chosen() {
    let scan = |process: u32, searched: u64| Scan {
        process: capture::ProcessId(process),
        searched,
        ..Scan::default()
    };
    let of = |scans: &[Scan]| HeldScans::choose(scans).places().to_vec();
    assert_eq!(of(&[]), [0_usize; 0]);
    assert_eq!(of(&[scan(0, 9), scan(1, 5)]), [0, 1]);
    let of_one: Vec<Scan> = [7, 3, 9, 8, 2, 6, 1].map(|searched| scan(0, searched)).to_vec();
    assert_eq!(of(&of_one), [0, 2, 3, 6]);
    let of_many: Vec<Scan> = (0..100).map(|process| scan(process, u64::from(process % 50))).collect();
    let chosen = of(&of_many);
    assert_eq!(chosen.len(), 64);
    assert!(chosen.contains(&99) && chosen.contains(&49) && !chosen.contains(&50));
}
