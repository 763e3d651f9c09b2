//! Golden screens of every page; `UPDATE_GOLDEN=1` rewrites them.

use super::User;
use crate::model::Page;
use crate::support::Made;
use crate::support::fixtures::{reported, small};
use crate::support::golden::check_golden;
use analysis::query::Query;
use capture::{Action, Ended, FREE_STACKS};
use engine::{Analyzer, Naming};
use report::views::{Question, VIEWS, View};

/// A program that loads, peaks, and leaks a little.
pub(super) fn program() -> Made {
    let (mut made, process, thread, [load]) = Made::app_with(["main > load > read_file"]);
    let parse = made.stack("main > parse > expression > node");
    let token = made.stack("main > parse > token");
    let cache = made.stack("main > load > cache > map_insert");
    for block in 0..20 {
        made.alloc(thread, 0x10_0000 + block * 0x1000, 4096, load);
        made.alloc(thread, 0x20_0000 + block * 0x100, 100 + block, parse);
        made.alloc(thread, 0x30_0000, 32, token);
        made.free(thread, 0x30_0000);
    }
    made.mark(thread, capture::MarkKind::Instant, "loaded");
    for block in 0..20 {
        made.free(thread, 0x10_0000 + block * 0x1000);
        made.alloc(thread, 0x40_0000 + block * 0x1000, 512, cache);
    }
    made.end(process, thread, Ended::Exited(0));
    made.tables.metadata.command = vec!["./app".to_owned(), "--fast".to_owned()];
    made.tables.summary = Some(capture::Summary { duration_ns: made.time, ..capture::Summary::default() });
    made
}

/// Check the look of all pages on the smallest supported screen, and on a large one.
#[test]
fn pages_look_as_expected() {
    for (width, height) in [(80, 24), (200, 50)] {
        for (name, keys) in [
            ("overview", "1"),
            ("functions", "2<Down><Down>"),
            ("function", "2<Down><Down>v"),
            ("tree", "3"),
            ("tree-inverted", "3i"),
            ("flame", "4<Down><Down>"),
            ("time", "5"),
            ("diff", "5.d"),
            ("changes", "5 .D<Down><Down>"),
            ("leaks", "6"),
            ("temporary", "7"),
            ("sizes", "8"),
            ("lifetimes", "9"),
            ("threads", "0"),
            ("frees", "x"),
            ("pages", "p"),
            ("lines", "l"),
            ("marks", "R"),
            ("help", "?"),
            ("filter", "3fparse and"),
        ] {
            let mut user = User::new(&program(), width, height);
            check_golden(&format!("{width}x{height}/{name}.txt"), &user.press(keys).screen());
        }
    }
}

/// Check that Tab leads through all views that are registered, each with the columns of its tables.
#[test]
fn registered_views_have_pages() {
    let mut user = User::new(&program(), 200, 50);
    user.press("8");
    let mut missing: Vec<&str> = VIEWS.map(|view| view.id).into();
    for _ in VIEWS {
        let Page::View(id) = user.model.page else { panic!("{:?} is no view", user.model.page) };
        missing.retain(|missing| *missing != id);
        let question = Question {
            analyzer: Analyzer::open(&user.file()).unwrap(),
            query: &Query::default(),
            filter: None,
            naming: Naming::Stored,
        };
        let (_, document) = View::named(id).unwrap().ask(question).unwrap();
        let columns = document.for_people().flat_map(|table| &table.columns);
        let screen = user.screen();
        for title in columns.filter_map(|column| column.title.as_deref()) {
            assert!(screen.contains(title), "{id} lacks {title}:\n{screen}");
        }
        user.press("<Tab>");
    }
    assert_eq!(missing, [""; 0]);
}

/// A program whose messages another thread frees, except those that are refused or forgotten, recorded with the
/// stacks of frees.
pub(super) fn traced() -> Made {
    let (mut made, process, one) = Made::app();
    made.tables.metadata.options.push((FREE_STACKS.into(), true.to_string()));
    let other = made.thread(process);
    let [make, refuse, consume] =
        ["main > make_message", "main > serve > refuse", "run > consume"].map(|stack| made.stack(stack));
    for number in 0..10_u64 {
        made.alloc(one, 0x1000 + number * 0x100, 64, make);
        let address = 0x1000 + number * 0x100;
        match number {
            0..7 => made.event(other, Action::Free { address, stack: consume }),
            7 | 8 => made.event(one, Action::Free { address, stack: refuse }),
            _ => {}
        }
    }
    made.end(process, one, Ended::Exited(0));
    made.tables.summary = Some(capture::Summary { duration_ns: made.time, ..capture::Summary::default() });
    made
}

/// Check the look of pages about frees when these have stacks, from both sides.
#[test]
fn pages_of_frees_look_as_expected() {
    for (width, height) in [(80, 24), (200, 50)] {
        for (name, keys) in [("frees-of-stacks", "x"), ("frees-inverted", "xi"), ("function-frees", "xv")] {
            let mut user = User::new(&traced(), width, height);
            check_golden(&format!("{width}x{height}/{name}.txt"), &user.press(keys).screen());
        }
    }
}

/// Check that on narrow screens every number is a real one, on all pages with numbers: what does not fit is left out
/// or marked, and never cut to another number.
#[test]
fn numbers_are_never_cut() {
    let mut made = program();
    let (process, thread) = made.process("a-program-with-a-long-name");
    let stack = made.stack("main > serve > handle_request > allocate_1234567");
    for age in [1, 200, 3_000, 40_000] {
        for block in 0..1_234 {
            made.alloc(thread, 0x900_0000 + block * 0x1000, 1_000 + age, stack);
        }
        made.time += age * 1_000_000;
        (0..1_234).for_each(|block| made.free(thread, 0x900_0000 + block * 0x1000));
    }
    made.alloc(thread, 0x5000_0000, 123 << 30, stack);
    made.end(process, thread, Ended::Exited(0));
    made.tables.summary = Some(capture::Summary { duration_ns: made.time, ..capture::Summary::default() });
    let pages = ["1", "2", "2v", "3", "6", "7", "8", "9", "0", "l", "R", "2m", "9<Right>", "0<Right><Right>"];
    whole_numbers(&made, &pages, &[60, 62, 63, 75, 76, 80]);
    whole_numbers(&traced(), &["x", "xi", "xv"], &[60, 62, 63, 75, 76, 80]);
}

/// Checks that each number on pages of these widths also stands on a wide one. Keys that scroll a text sideways are
/// pressed on narrow ones only.
pub(super) fn whole_numbers(made: &Made, pages: &[&str], widths: &[u16]) {
    // All numbers of each page, without the tabs and the keys in the footer.
    let numbers = |width: u16, is_moved: bool| {
        let mut user = User::new(made, width, 50);
        let page = |keys: &&str| {
            let screen = user.press(if is_moved { keys } else { keys.trim_end_matches("<Right>") }).screen();
            let lines: Vec<&str> = screen.lines().collect();
            let words = lines[2..lines.len() - 1].iter().flat_map(|line| line.split_whitespace());
            let numbers = words.filter(|word| word.starts_with(|first: char| first.is_ascii_digit()));
            let numbers = numbers.map(|number| number.trim_end_matches('…').to_owned());
            (numbers.collect::<std::collections::BTreeSet<_>>(), screen)
        };
        pages.iter().map(page).collect::<Vec<_>>()
    };
    let all = numbers(300, false);
    for &width in widths {
        for ((narrow, screen), ((all, _), keys)) in numbers(width, true).iter().zip(all.iter().zip(pages)) {
            let others: Vec<&String> = narrow.difference(all).collect();
            assert!(others.is_empty(), "{keys} at {width}: {others:?}\n{screen}");
        }
    }
}

/// Check that all pages work for captures with nothing in them, and with everything left out.
#[test]
fn nothing_has_all_pages() {
    let mut nothing = Made::new();
    nothing.process("idle");
    for made in [Made::new(), nothing] {
        for page in "1234567890lRdDKxp".chars() {
            let mut user = User::new(&made, 80, 24);
            user.press(&page.to_string()).press("imo<Right><Enter><Down>/x<Enter>yYe<Back>");
            assert!(user.screen().contains("app.memprof"), "{page}");
        }
    }
    let mut user = User::new(&small(), 80, 24);
    assert!(user.press("3fnobody<Enter>").screen().contains("this selection has no allocations"));
    assert!(user.press("4").screen().contains("Nothing to show"));
    assert!(user.press("u").screen().contains("Everything"), "undone");
}

/// Check that names in a capture cannot control the terminal on any page, copies included.
#[test]
fn hostile_names_are_harmless() {
    let mut made = reported();
    let (process, thread) = made.process("\u{1b}[2Jevil");
    let stack = made.stack("\u{1b}]52;c;x\u{7} > \u{202e}reversed > a\nb");
    made.alloc(thread, 0x99_0000, 1 << 20, stack);
    made.end(process, thread, Ended::Exited(0));
    for page in "1234567890lRK".chars() {
        let mut user = User::new(&made, 120, 40);
        user.press(&page.to_string()).press("<Down><Down><Down>yY");
        user.assert_harmless(&page.to_string());
    }
}
