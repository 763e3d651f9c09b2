//! The pages about a scan: their numbers are those of `retained`, and keys lead from one to the other.

use super::pages::{program, whole_numbers};
use super::{CLICK, User, areas};
use crate::model::{Labelled, Page};
use crate::support::Made;
use crate::support::fixtures::scanned;
use crate::support::golden::check_golden;
use crate::update::Effect;
use crate::work::{Answer, Asked, Request, RetainedMemory, RowTarget, retained_cells};
use analysis::query::Part;
use analysis::{Amount, Metric, Tree};
use capture::{Ended, NodeId, Scan, ThreadId};
use engine::{Analyzer, Naming};
use heap_graph::{Classes, GraphBuilder, HeldBlock, Holder, Pace, Rank, RootId, Scanned, Source, WhichScan};
use ratatui::crossterm::event::MouseEventKind;
use ratatui::style::Modifier;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

fn user() -> User {
    User::new(&scanned(), 100, 30)
}

/// The results of the scan on the screen.
fn kept(user: &User) -> Arc<RetainedMemory> {
    user.model.retained().expect("there is one")
}

/// The output of `retained --json`.
fn document(user: &User, number: usize) -> Value {
    let which = WhichScan::Number(number);
    let (loaded, scanned) = Analyzer::open(&user.file()).unwrap().graph(&which, Naming::Stored).unwrap();
    let mut out = Vec::new();
    report::json::document(&mut out, &loaded, &report::views::retained(&loaded, &scanned)).unwrap();
    serde_json::from_slice(&out).unwrap()
}

fn amount(value: &Value) -> Amount {
    let number = |key: &str| value[key].as_i64().unwrap_or_else(|| panic!("no {key} in {value}"));
    Amount { blocks: number("blocks"), bytes: number("bytes") }
}

fn rows(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Check the look of all pages about a scan on a narrow, a small and a large screen.
#[test]
fn pages_about_scans_look_as_expected() {
    for (width, height) in [(40, 20), (80, 24), (200, 50)] {
        for (name, keys) in [
            ("retained", "Ko"),
            ("retained-of-a-stack", "Ko<Down><Down>"),
            ("retained-by-stack", "K<Tab><Down>"),
            ("retained-by-root", "K<Tab><Tab>"),
            ("retained-by-class", "Kiii<Down>"),
            ("unreachable", "Kiiii<Down>"),
            ("scans", "K<Tab><Tab><Tab><Tab><Tab>"),
            ("retained-unheeded", "3fmain<Enter>gK"),
        ] {
            let mut user = User::new(&scanned(), width, height);
            check_golden(&format!("{width}x{height}/{name}.txt"), &user.press(keys).screen());
        }
        let mut user = User::new(&program(), width, height);
        check_golden(&format!("{width}x{height}/retained-without-scan.txt"), &user.press("K").screen());
    }
}

/// Check for each scan that the rows of stacks, roots, classes and unreachable blocks have the numbers of `retained
/// --json`, in its order, and that the tree adds up to the same: by roots, by stacks, and what the topmost blocks of
/// each stack retain.
#[test]
fn numbers_are_those_of_the_command() {
    let [all, list] = [scanned(), list(40)];
    for (made, number) in [(&all, 1), (&all, 2), (&all, 3), (&list, 1)] {
        let mut user = User::new(made, 100, 30);
        user.press("K");
        (number..user.model.scans()).for_each(|_| {
            user.press(",");
        });
        let (kept, json) = (kept(&user), document(&user, number));
        let whole = amount(&json["reachable"]);
        let numbers = |list: &crate::work::StackList| {
            list.rows.iter().map(|row| row.numbers.clone()).collect::<Vec<_>>()
        };
        let expected = |rows: &[Value], keys: [&str; 2], whole| {
            let row = |row: &Value| retained_cells(amount(&row[keys[0]]), amount(&row[keys[1]]), whole);
            rows.iter().map(row).map(Vec::from).collect::<Vec<_>>()
        };
        let stacks = rows(&json["stacks"]);
        assert_eq!(numbers(&kept.stacks), expected(stacks, ["retained", "own"], whole));
        let mut by_root = expected(rows(&json["roots"]), ["retained", "direct"], whole);
        let several = amount(&json["several_roots"]);
        by_root.extend((!several.is_zero()).then(|| retained_cells(several, Amount::ZERO, whole).into()));
        assert_eq!(numbers(&kept.roots), by_root);
        assert_eq!(numbers(&kept.classes), expected(rows(&json["classes"]), ["retained", "own"], whole));
        let lost = rows(&json["unreachable_stacks"]);
        let unreachable = amount(&json["unreachable"]);
        assert_eq!(numbers(&kept.unreachable), expected(lost, ["claimed", "own"], unreachable));

        let tree = &kept.tree;
        let target = |id| kept.label(tree.node(id).label).target;
        assert_eq!(tree.node(Tree::ROOT).total, whole);
        let mut of_roots: BTreeMap<&str, Amount> = tree
            .children(Tree::ROOT)
            .map(|id| (kept.name(tree.node(id).label), tree.node(id).total))
            .collect();
        for root in rows(&json["roots"]) {
            let found = of_roots.remove(root["name"].as_str().unwrap()).unwrap_or_default();
            assert_eq!(found, amount(&root["retained"]), "{root}");
        }
        assert_eq!(of_roots.into_values().fold(Amount::ZERO, |sum, left| sum + left), several);
        let (mut own, mut topmost) = (BTreeMap::new(), BTreeMap::new());
        for id in 0..tree.len() as u32 {
            let RowTarget::For(Holder::Stack(node)) = target(id) else { continue };
            *own.entry(node).or_insert(Amount::ZERO) += kept.own(id);
            let mut above = std::iter::successors(tree.parent(id), |&id| tree.parent(id));
            if above.all(|above| target(above) != target(id)) {
                *topmost.entry(node).or_insert(Amount::ZERO) += tree.node(id).total;
            }
        }
        assert_eq!(own.len(), stacks.len());
        for (row, stack) in kept.stacks.rows.iter().zip(stacks) {
            let node = row.node.expect("it is a stack");
            assert_eq!((own[&node], topmost[&node]), (amount(&stack["own"]), amount(&stack["retained"])));
        }
    }
}

/// Check that the last scan is shown first, that keys and the list lead to others, that there is none before the
/// first, and that going back leads to the previous one.
#[test]
fn scans_are_chosen() {
    let mut user = user();
    user.press("K");
    assert!(user.screen().contains("scan 3 of 3 at"), "{}", user.screen());
    let last = kept(&user);
    user.press(",,");
    assert_eq!(user.model.scan(), Some(1));
    assert!(Arc::ptr_eq(&last.loaded, &kept(&user).loaded), "names are there once");
    user.press(",");
    assert!(user.model.notice.is_some() && user.model.scan() == Some(1));
    user.press("iiiii/worker<Enter><Enter>");
    assert_eq!((user.model.page, user.model.scan()), (Page::Retained, Some(2)));
    assert!(
        user.screen().contains("worker (1001) held 1000 B in 1 block, all reachable"),
        "{}",
        user.screen()
    );
    assert!(user.press("iiii").screen().contains("All blocks are reachable."), "{}", user.screen());
    user.press("<Back><Back><Back><Back><Back>");
    assert_eq!((user.model.page, user.model.scan()), (Page::Scans, Some(1)));
    let asked =
        |user: &User| user.requests.iter().filter(|asked| matches!(asked, Request::Retained(_))).count();
    let before = asked(&user);
    user.press("K.,.,i");
    assert_eq!(asked(&user), before, "what is known is not asked");
}

/// Check that choices for other pages are reported to have no effect on a scan, change none of its numbers, and are
/// refused there; but that all pages can show the moment of the scan, which is what the scan shows.
#[test]
fn choices_for_other_pages_are_refused() {
    let mut user = user();
    let whole = user.press("Ko").screen();
    for key in "fFtgmMr".chars() {
        user.press(&key.to_string());
        assert!(user.model.notice.take().is_some_and(|notice| notice.contains("not on this page")), "{key}");
        assert!(user.model.prompt.is_none() && user.screen() == whole, "{key}");
    }
    user.press("3fpush<Enter>K");
    assert!(user.screen().contains("ignored, scans are always whole: only push"), "{}", user.screen());
    let numbers = |screen: &str| screen.lines().filter(|line| line.contains(" B ")).count();
    assert!(numbers(&user.screen()) > 0 && user.screen().contains("insert"), "{}", user.screen());
    user.press("u");
    assert_eq!(user.screen(), whole, "undone");
    user.press("a");
    assert!(matches!(user.model.question.part, Part::At(_)));
    assert_eq!(user.screen(), whole, "it is that moment");
    assert!(user.press(",").screen().contains("whole: at"), "{}", user.screen());
    user.press("w.");
    assert_eq!(user.screen(), whole);
}

/// Check that a stack leads to its function, by what was live at the moment of the scan, and back; that a root leads
/// to what it keeps; and that the editor gets the line.
#[test]
fn rows_lead_on() {
    let mut user = user();
    user.press("Ko/push<Enter>e<Enter>");
    assert_eq!(user.edited().0, "/src/p.c");
    assert_eq!((user.model.page, user.function().as_str()), (Page::Functions, "push"));
    assert_eq!(user.model.question.metric, Metric::Live);
    let (_, _, own) = user.model.functions.row(user.model.functions.cursor.selected).unwrap();
    assert_eq!(own, Amount { blocks: 5, bytes: 62 }, "those that are unreachable, too");
    user.press("<Back>");
    assert_eq!((user.model.page, user.model.question.part.clone()), (Page::Retained, Part::Whole));
    user.press("ii/of app<Enter><Enter>");
    let name = |user: &User| {
        let (kept, _) = user.model.retained_tree.shown().unwrap();
        kept.name(user.model.retained_tree.label().unwrap()).to_owned()
    };
    assert_eq!((user.model.page, name(&user).as_str()), (Page::Retained, "variables of app"));
    user.press("ii/libq<Enter><Enter>");
    assert!(user.model.notice.is_some() && user.model.page == Page::RetainedRoots, "it keeps nothing alone");
    user.press("K<Home>i/push<Enter><Right>");
    let (kept, tree) = user.model.retained_tree.shown().unwrap();
    let id = user.model.retained_tree.selected().unwrap();
    assert_eq!((user.model.page, tree.node(id).total.bytes, kept.own(id).bytes), (Page::Retained, 20, 20));
    assert!(
        user.press("<Back>").model.page == Page::RetainedStacks
            && user.press("<Left>").model.notice.is_none()
    );
}

/// Check that open and selected rows stay so in another scan, that rows can be sorted, and that repeating a search
/// goes on.
#[test]
fn open_rows_stay_open_in_other_scans() {
    let mut user = user();
    user.press("Kco/dup<Enter>");
    let selected = |user: &User| {
        let (kept, _) = user.model.retained_tree.shown().unwrap();
        kept.name(user.model.retained_tree.label().unwrap()).to_owned()
    };
    let open = user.model.retained_tree.all_rows(100).len();
    assert!(selected(&user).starts_with("dup") && open == 7, "{}", user.screen());
    for keys in ["iiiii<Home><Enter>", "iiiii<End><Enter>", "s", "s", "s", "iiiiii"] {
        user.press(keys);
        assert!(selected(&user).starts_with("dup"), "after {keys}");
        assert_eq!(user.model.retained_tree.all_rows(100).len(), open, "after {keys}");
    }
    user.press("<Left>");
    assert!(selected(&user).starts_with("push"));
    user.press("<Left>");
    assert_eq!(user.model.retained_tree.all_rows(100).len(), open - 1);
}

/// Check that the row of blocks that no single root keeps says which roots keep them together, in the list of roots
/// and in the tree.
#[test]
fn what_several_roots_keep_says_which() {
    for keys in ["Kii<End>", "Ko/several<Enter>"] {
        let mut user = user();
        let screen = user.press(keys).screen();
        for root in ["15 B from variables of app", "15 B from variables of libq.so"] {
            assert!(screen.contains(root), "{keys}: {screen}");
        }
        assert!(!screen.contains("from stack"), "stacks keep what nothing else leads to: {screen}");
    }
}

/// Check that nothing of a scan is left when another recording has replaced its own.
#[test]
fn another_recording_has_no_old_scans() {
    for keys in ["Ko", "Ki", "Kiii", "Kiiii", "Kiiiii"] {
        let mut user = user();
        user.press(keys);
        user.replace(&program());
        user.press("D").press("K,");
        for page in ["K", "i", "i", "i", "i"] {
            assert!(user.press(page).screen().contains("has no memory scan"), "{keys}: {}", user.screen());
        }
        assert!(user.press("i").screen().contains("no scan"), "{keys}: {}", user.screen());
    }
}

/// Check that without a scan all pages say how to get one, in full even on a narrow screen, and in a copy.
#[test]
fn captures_without_scans_say_how_to_get_one() {
    let mut user = User::new(&program(), 40, 20);
    for page in ["K", "i", "i", "i", "i"] {
        let words = user.press(page).screen().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("run --scan-at-exit scans each process at its end"), "{words}");
        let (_, sentence) = words.split_once(" This recording").expect("it is below the titles");
        assert!(sentence.contains("while it is recorded."), "{words}");
    }
    user.press("y,.a<Enter>e");
    let copied =
        user.effects.iter().any(|effect| matches!(effect, Effect::Copy(text) if text.contains("scan")));
    assert!(copied && user.requests.iter().all(|asked| !matches!(asked, Request::Retained(_))));
}

/// Check that the title of the shown page is whole on narrow screens, and that the mouse finds titles where they are.
#[test]
fn titles_follow_the_page() {
    let mut user = User::new(&scanned(), 40, 20);
    for keys in ["K", "i", "i", "i", "i", "i"] {
        user.press(keys);
        let line = user.screen().lines().nth(2).unwrap().to_owned();
        let (_, title) = Page::OF_SCANS.into_iter().find(|(page, _)| *page == user.model.page).unwrap();
        let column = line.find(title).unwrap_or_else(|| panic!("{title} is in {line}"));
        let page = user.model.page;
        user.mouse(CLICK, column as u16, 2);
        assert_eq!(user.model.page, page);
    }
}

/// Check that the mouse switches to another list, selects a row, opens it at the second click, and scrolls.
#[test]
fn the_mouse_works_on_scans() {
    let mut user = user();
    user.press("K");
    let line =
        |user: &User, name: &str| user.screen().lines().position(|line| line.contains(name)).unwrap() as u16;
    let at = line(&user, "variables of app");
    user.mouse(CLICK, 60, at);
    assert!(user.screen().lines().nth(at.into()).unwrap().contains('▾'), "{}", user.screen());
    user.mouse(CLICK, 60, at);
    assert!(user.screen().lines().nth(at.into()).unwrap().contains('▸'), "{}", user.screen());
    user.mouse(MouseEventKind::ScrollUp, 60, at);
    assert_eq!(user.model.retained_tree.selected(), Some(Tree::ROOT));
    user.mouse(CLICK, 1, 3);
    let titles = user.screen().lines().nth(2).unwrap().to_owned();
    user.mouse(CLICK, titles.find("stacks").unwrap() as u16, 2);
    assert_eq!(user.model.page, Page::RetainedStacks);
    let at = line(&user, "dup");
    user.mouse(CLICK, 60, at);
    assert!(user.model.selected_stack().is_some() && user.model.cursor_now().selected == 2);
    user.mouse(CLICK, 60, at);
    assert_eq!(user.function(), "dup");
}

/// Check that copies have all open rows, with all numbers, and what to know before trusting them.
#[test]
fn copies_have_all_numbers() {
    let mut user = User::new(&scanned(), 40, 20);
    let text = user.press("Koy").copied();
    assert!(text.contains("warning: 40 B in 1 block that seems unreachable was freed later"), "{text}");
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = text.lines().map(words).collect();
    for line in [
        "retained share own blocks kept",
        "135 B 100 % 0 B 0 [Reachable]",
        "20 B 14.8 % 20 B 2 push (p.c:14) < main",
    ] {
        assert!(lines.iter().any(|copied| copied == line), "{line}\n{text}");
    }
    for (list, line) in [
        ("stacks", "35 B 25.9 % 30 B 3 push (p.c:14) < main"),
        ("unreachable", "32 B 40.5 % 16 B 1 push (p.c:14) < main"),
    ] {
        let text = user.press(if list == "stacks" { "iY" } else { "iiiY" }).copied();
        assert!(words(&text.replace('|', " ").replace('`', "")).contains(line), "{list}\n{text}");
    }
}

/// Check that if a stack has more functions than fit, those of the standard library are left out first.
#[test]
fn the_meaningful_functions_of_a_stack_are_seen() {
    let (mut made, process, thread) = Made::app();
    let inner = (0..20).map(|number| format!(" > std::vector<int>::f{number}(int)")).collect::<String>();
    let stack = made.stack(&format!("main > fill{inner} > operator new(unsigned long)"));
    made.alloc(thread, 0x1000, 8, stack);
    made.scan(process, &[], &[(0x10, 0x1000)]);
    made.end(process, thread, Ended::Exited(0));
    for (height, seen, unseen) in [(20, "fill  f.c:", "operator new"), (120, "operator new", "…")] {
        let screen = User::new(&made, 100, height).press("Kiiii").screen();
        assert!(screen.contains(seen) && !screen.contains(unseen), "{height}: {screen}");
    }
}

/// A linked list of this length, whose blocks come from two alternating stacks, held by a variable. The lines of both
/// stacks are the same.
fn list(length: u64) -> Made {
    let (mut made, process, thread) = Made::app();
    let deep = "main > f9 > f8 > f7 > f6 > f5 > f4 > f3 > push";
    let stacks = [format!("one > {deep}"), format!("two > {deep}")].map(|text| made.stack(&text));
    let [heap, data] = [0x5555_0000_0000, 0x7f20_0000_0000];
    let areas = areas(&mut made, heap..heap + length * 64, data..data + 64);
    for number in 0..length {
        made.alloc(thread, heap + number * 64, 32, stacks[number as usize % 2]);
    }
    let link = |number: u64| (heap + number * 64, heap + (number + 1) * 64);
    let pointers: Vec<_> = std::iter::once((data, heap)).chain((0..length - 1).map(link)).collect();
    made.scan(process, &areas, &pointers);
    made.end(process, thread, Ended::Exited(0));
    made
}

/// Check that a linked list of two alternating stacks, as deep as it is long, is shown down to a level, with a row
/// for what is below; that opening all of it and going to its end costs a screen, and that two stacks with the same
/// lines are told apart.
#[test]
fn deep_trees_end_in_a_row() {
    let mut user = User::new(&list(3000), 100, 30);
    user.press("Ko<End>");
    assert!(user.screen().contains("1 more row deeper, not shown"), "{}", user.screen());
    assert!(user.screen().contains("Tab shows stacks, each with what keeps it"), "{}", user.screen());
    let kept = kept(&user);
    let last = kept.tree.len() as u32 - 1;
    assert_eq!((kept.tree.len(), kept.own(last)), (502, Amount::ZERO));
    let own: i64 = (0..=last).map(|id| kept.own(id).bytes).sum();
    assert_eq!(
        (own + kept.tree.node(last).total.bytes, kept.tree.node(0).total.bytes),
        (3000 * 32, 3000 * 32)
    );
    let marks: Vec<_> = (2..4).map(|id| kept.mark(kept.tree.node(id).label)).collect();
    let names: Vec<_> = (2..4).map(|id| kept.name(kept.tree.node(id).label)).collect();
    assert!(marks[0] != marks[1] && names[0] == names[1], "{names:?}");
    assert!(user.press("o<Home>").screen().contains("[Reachable]"));
}

/// Check that the cost of wide trees is that of the rows on the screen.
#[test]
fn large_graphs_cost_their_screen() {
    let (mut made, process, thread) = Made::app();
    let [heap, data] = [0x5555_0000_0000_u64, 0x7f20_0000_0000];
    let areas = areas(&mut made, heap..heap + (1 << 20), data..data + 4096);
    let block = |number: u64| heap + number * 1024;
    let frames: Vec<_> =
        (0..30).map(|name| made.frame(Some("/bin/app"), &[format!("f{name}").as_str()])).collect();
    let mut pointers = Vec::new();
    for first in 0..30 {
        let outer = made.node(NodeId::ROOT, frames[first as usize]);
        made.alloc(thread, block(first), 512, outer);
        pointers.push((data + first * 8, block(first)));
        for second in 0..30 {
            let (inner, number) = (made.node(outer, frames[second as usize]), 30 + first * 30 + second);
            made.alloc(thread, block(number), 8 + second, inner);
            pointers.push((block(first) + 8 + second * 8, block(number)));
        }
    }
    made.scan(process, &areas, &pointers);
    made.end(process, thread, Ended::Exited(0));
    let mut user = User::new(&made, 100, 30);
    user.press("K");
    assert_eq!(kept(&user).tree.len(), 2 + 30 + 900);
    for keys in ["o", "<PgDn>", "s", "o<Down><Down>"] {
        user.press(keys).screen();
        let looked_at = user.model.retained_tree.visible().unwrap().looked_at();
        assert!(looked_at <= 4 * 26, "{keys}: {looked_at} nodes");
    }
}

/// Check that on narrow screens every number on pages about scans is a real one.
#[test]
fn numbers_of_scans_are_never_cut() {
    whole_numbers(&list(30), &["Ko", "i", "i", "i", "i"], &[30, 40, 59, 60, 61, 76, 80, 99]);
    whole_numbers(&scanned(), &["Ko<Down><Down>", "i", "i", "i", "i"], &[30, 40, 59, 60, 61, 76, 80, 99]);
}

/// Check that names of libraries, processes and functions cannot control the terminal, and that the selection is
/// visible without colours.
#[test]
fn pages_about_scans_are_harmless_and_need_no_colours() {
    let mut made = scanned();
    let evil = made.string("/lib/\u{1b}]52;c;x\u{7}\u{202e}");
    made.tables.scans.iter_mut().flat_map(|scan| &mut scan.areas).for_each(|area| area.name = evil);
    made.tables.processes.iter_mut().for_each(|process| process.name = "\u{1b}[2Jevil".to_owned());
    let mut user = User::new(&made, 100, 40);
    for keys in ["Koy", "iY", "iY", "iY", "iY"] {
        user.press(keys);
        user.assert_harmless(keys);
        let plain = user.buffer(false);
        let is_reversed = |&row: &u16| plain[(60, row)].modifier.contains(Modifier::REVERSED);
        assert_eq!((3..39).filter(is_reversed).count(), 1, "{keys}");
    }
}

/// Check that making rows with names can be cancelled, too, in each of the lists and the tree: only a bounded number
/// of them is made between two checks.
#[test]
fn rows_are_given_up() {
    const STACKS: u32 = 3000;
    let mut made = Made::new();
    made.process("app");
    let nodes: Vec<_> = (0..STACKS).map(|stack| made.stack(&format!("f{stack}"))).collect();
    let address = |block: u32| 0x10_0000 + u64::from(block) * 0x1000;
    let held = (0..2 * STACKS).map(|block| HeldBlock {
        address: address(block),
        size: 16,
        node: nodes[(block % STACKS) as usize],
        thread: ThreadId(0),
    });
    let mut builder = GraphBuilder::new(held.collect());
    // Each of the first blocks has its own root; the others have none.
    for root in 0..STACKS {
        let source = Source::Root { root: RootId(root), rank: Rank::Lasting, exact: false };
        builder.pointer(8 * u64::from(root), address(root), |_| source);
    }
    let (roots, graph) = ((0..STACKS).map(|root| format!("root {root}")).collect(), builder.finish());
    let freed = Default::default();
    let scanned = Scanned {
        scan: Scan::default(),
        number: 1,
        count: 1,
        is_partial: false,
        freed,
        roots,
        graph,
        classes: Classes::default(),
    };
    let loaded = Arc::new(made.loaded("app.memprof"));
    let asked = std::cell::Cell::new(0);
    let until = |question: u32| {
        asked.set(0);
        let is_wanted = || asked.replace(asked.get() + 1) < question;
        RetainedMemory::new(loaded.clone(), &scanned, &Pace::while_wanted(&is_wanted))
    };
    let kept = until(u32::MAX).expect("it is wanted");
    let rows = [&kept.stacks, &kept.roots, &kept.unreachable].map(|list| list.rows.len());
    assert_eq!((rows, kept.tree.len()), ([3000; 3], 1 + 2 * 3000));
    let questions = asked.get();
    let rows = rows.iter().sum::<usize>() + kept.tree.len();
    assert!(questions as usize > rows / 128, "{questions} questions for {rows} rows");
    assert!((0..questions).step_by(questions as usize / 8).all(|question| until(question).is_none()));
    assert!(until(questions).is_some());
}

/// Check that a scan that nobody waits for any more is cancelled, and requested again when it is wanted again.
#[test]
fn scans_are_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("app.memprof");
    scanned().write(&file);
    let options = crate::options::Options {
        file,
        baseline: None,
        naming: Naming::Stored,
        path_map: Vec::new(),
        color: true,
    };
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let mut asked = Asked::new(options, stop.clone());
    assert!(matches!(asked.answer(&Request::Retained(3)), Answer::Failed(_)));
    stop.store(false, std::sync::atomic::Ordering::Relaxed);
    assert!(matches!(asked.answer(&Request::Retained(3)), Answer::Retained(_)));
    let mut out_of_reach = asked.answer(&Request::Retained(9));
    assert!(matches!(&mut out_of_reach, Answer::Failed(reason) if reason.contains("no number 9")));
}
