//! Views of what blocks keep alive, of a graph whose numbers were worked out by hand.

use crate::fields::assert_described;
use crate::shown;
use crate::support::Made;
use analysis::Amount;
use capture::{Object, Scan, ThreadId};
use engine::Loaded;
use heap_graph::{Classes, GraphBuilder, HeldBlock, Rank, RootId, Scanned, Several, Source};
use report::text::{self, Extent, Style};
use report::{json, views};

const ROOTS: [&str; 3] = ["cache", "stack of main", "stack of \u{1b}[31mworker"];

/// A cache of 100 bytes that holds a list of three blocks, the last of which two stacks refer to as well, and which holds a
/// name; a block that is lost with a name, and two that hold each other.
fn made() -> (Loaded, Scanned) {
    let (mut made, _, thread, stacks) =
        Made::app_with(["main > insert", "main > push", "main > dup", "main > drop"]);
    let blocks = [(100, 0), (10, 1), (10, 1), (10, 1), (5, 2), (40, 3), (7, 2), (16, 1), (16, 1)];
    let address = |block: usize| 0x1000 + block as u64 * 0x100;
    let mut held = Vec::new();
    for (block, (size, stack)) in blocks.into_iter().enumerate() {
        made.alloc(thread, address(block), size, stacks[stack]);
        held.push(HeldBlock { address: address(block), size, node: stacks[stack], thread: ThreadId(0) });
    }
    held.push(HeldBlock { address: address(0) + 8, size: 3, node: stacks[0], thread: ThreadId(0) });
    let mut builder = GraphBuilder::new(held);
    for (root, to) in [(0, 0), (1, 3), (2, 3)] {
        builder.pointer(root, address(to), |from| Source::Root {
            root: RootId(from as u32),
            rank: Rank::Lasting,
            exact: false,
        });
    }
    for (from, to) in [(0, 1), (1, 2), (2, 3), (3, 4), (5, 6), (7, 8), (8, 7)] {
        builder.pointer(address(from), address(to), |_| Source::Ignored);
    }
    let (roots, graph) = (ROOTS.map(str::to_owned).to_vec(), builder.finish());
    let [list, name] = ["List<\u{1b}[31mint>", "Name"].map(|name| made.string(name));
    let objects = [(1, list), (2, list), (3, list), (6, name), (7, list), (8, list)];
    let objects = objects.map(|(block, class)| Object { at: address(block), class });
    let classes = Classes::new(&graph, objects);
    let scan = Scan { still_ns: 2_500_000, searched: 5 << 20, unread: 4096, lost: 1, ..Scan::default() };
    (
        made.loaded("app.memprof"),
        Scanned {
            scan,
            number: 2,
            count: 3,
            is_partial: true,
            freed: [address(5)].into(),
            roots,
            graph,
            classes,
        },
    )
}

fn written(write: impl FnOnce(&mut dyn std::io::Write, &Loaded, &Scanned) -> std::io::Result<()>) -> String {
    let (loaded, scanned) = made();
    shown::written(|out| write(out, &loaded, &scanned))
}

/// Check the text, and that what a limit hides is counted.
#[test]
fn the_text_says_what_keeps_what() {
    let style = Style::default();
    let text = |limit| {
        written(|out, loaded, scanned| {
            text::document(out, loaded, &views::retained(loaded, scanned), Extent::of_command(limit), &style)
        })
    };
    let expected = r"
app.memprof: at 0 ns: app (1000) held 214 B in 9 blocks, 79 B in 4 blocks unreachable
warning: 4.00 KiB of memory could not be read: blocks referenced only from there count as unreachable
warning: 1 pointer dropped for lack of room: blocks referenced only that way count as unreachable
warning: 40 B in 1 block that seems unreachable was freed later: its address was stored in another form
warning: 3 B in 1 block skipped: inside other blocks
  scan 2 of 3: the process was stopped for 2.50 ms while 5.00 MiB were searched
  retained: memory reachable only through these blocks; anything that looks like a pointer counts as one
  not all blocks are known: memory outside known blocks counts as in use, so more may be unreachable

  retained    share         own      blocks  stack
     120 B   88.9 %       100 B           1  insert (i.c:16) < main
                                               kept by cache
      35 B   25.9 %        30 B           3  push (p.c:14) < main
                                               20 B kept by insert (i.c:16) < main
                                               15 B kept by several roots
       5 B    3.7 %         5 B           1  dup (d.c:13) < main
                                               kept by push (p.c:14) < main

By root
  retained    share   refers to      blocks  root
     120 B   88.9 %       100 B           1  cache
       0 B      0 %        10 B           1  stack of main
       0 B      0 %        10 B           1  stack of \u{1b}[31mworker

By several roots
  retained    share   refers to      blocks  roots
      15 B   11.1 %         0 B           0  several roots
                                               what each of them leads to, counted for each:
                                               15 B from cache
                                               15 B from stack of main
                                               15 B from stack of \u{1b}[31mworker

By class
  retained    share         own      blocks  class
      35 B   25.9 %        30 B           3  List<\u{1b}[31mint>
                                               another 32 B in 2 blocks unreachable
       0 B      0 %         0 B           0  Name
                                               another 7 B in 1 block unreachable

Unreachable
  total: these blocks and all that is unreachable with them; each block counts once
     total    share         own      blocks  stack
      47 B   59.5 %        40 B           1  drop (d.c:14) < main
      32 B   40.5 %        16 B           1  push (p.c:14) < main
                                               1 of these in reference cycles
";
    assert_eq!(text(3), expected[1..]);
    for hidden in [
        "2 more stacks not shown",
        "2 more roots not shown",
        "1 more class not shown",
        "1 more stack not shown",
    ] {
        assert!(text(1).contains(hidden), "{hidden}");
    }
}

/// Check the tree, with all rows and with large ones only.
#[test]
fn the_tree_hangs_on_roots() {
    let style = Style::default();
    let tree = |cut| {
        let text = written(|out, loaded, scanned| text::retained_tree(out, loaded, scanned, cut, &style));
        text.split_once("\n\n").unwrap().1.to_owned()
    };
    let expected = "
  retained    share         own      blocks  kept
     135 B    100 %         0 B           0  [Reachable]
     120 B   88.9 %         0 B           0  ├─ cache
     120 B   88.9 %       100 B           1  │  insert (i.c:16) < main
      20 B   14.8 %        20 B           2  │  push (p.c:14) < main
      15 B   11.1 %         0 B           0  └─ several roots: cache, stack of main, stack of \\u{1b}[31mworker
      15 B   11.1 %        10 B           1     push (p.c:14) < main
       5 B    3.7 %         5 B           1     dup (d.c:13) < main
";
    assert_eq!(tree((0, 9)), expected[1..]);
    let expected = "
  retained    share         own      blocks  kept
     135 B    100 %         0 B           0  [Reachable]
     120 B   88.9 %         0 B           0  ├─ cache
     120 B   88.9 %       100 B           1  │  insert (i.c:16) < main
      20 B   14.8 %         0 B           0  │  1 more not shown (--json)
      15 B   11.1 %         0 B           0  └─ 1 more not shown (--json)
";
    assert_eq!(tree((20, 2)), expected[1..]);
}

/// Check numbers of the document, and that every field of it is described.
#[test]
fn the_document_has_the_same_numbers() {
    let document =
        written(|out, loaded, scanned| json::document(out, loaded, &views::retained(loaded, scanned)));
    let value: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(value["document"], "retained");
    assert_eq!(value["stacks"][0]["retained"]["bytes"], 120);
    assert_eq!(value["stacks"][0]["kept_by"][0]["root"], "cache");
    assert_eq!(value["stacks"][1]["kept_by"][1]["kind"], "several_roots");
    assert_eq!(value["several_roots"]["bytes"], 15);
    let from = |name: &str| serde_json::json!({ "name": name, "blocks": 2, "bytes": 15 });
    assert_eq!(value["several_roots_from"], serde_json::json!(ROOTS.map(from)));
    assert_eq!(value["several_roots_not_followed"], 0);
    assert_eq!(value["classes"][0]["name"], "List<\u{1b}[31mint>");
    let of_class =
        ["own", "retained", "unreachable"].map(|field| value["classes"][0][field]["bytes"].as_i64());
    assert_eq!(of_class, [Some(30), Some(35), Some(32)]);
    assert_eq!(value["unreachable_stacks"][0]["claimed"]["bytes"], 47);
    assert_eq!(value["unreachable_stacks"][1]["cycles"], 1);
    let led = |row: usize, field: &str| value["unreachable_stacks"][row]["leads_to"][0][field].as_i64();
    assert_eq!([led(0, "bytes"), led(1, "bytes"), led(1, "blocks")], [Some(7), Some(16), Some(1)]);
    assert_described("retained", &value);
}

/// Check that of many roots those are named that lead to most, and that the others are counted, also those that were not followed.
#[test]
fn other_roots_are_counted() {
    let root = |root: u32| (RootId(root), Amount { blocks: 1, bytes: i64::from(100 - root) });
    let lines = |roots: u32, not_followed| {
        let several = Several { roots: (0..roots).map(root).collect(), not_followed, ..Several::default() };
        let (loaded, _) = made();
        let lines = views::led_to(&several, &["a".to_owned(), "b".to_owned()]);
        lines.iter().map(|line| text::words(&loaded, line, 99)).collect::<Vec<_>>()
    };
    assert_eq!(lines(2, 0), ["100 B from a", "99 B from b"]);
    let expected = [
        "100 B from a",
        "99 B from b",
        "98 B from [root 2]",
        "97 B from [root 3]",
        "96 B from [root 4]",
        "95 B or less from each of 3 others",
        "1,000 others not followed (too many)",
    ];
    assert_eq!(lines(8, 1000), expected);
}
