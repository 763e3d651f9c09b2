//! Everything that does not fit says so, and how to see it.

use super::{User, areas, holding};
use crate::support::Made;
use capture::{Ended, MarkKind};

/// Stacks of a program, each with a block that is left: more than lists and copies have rows.
const STACKS: u64 = 5_200;

/// A program with these stacks, and a scan in which a word of the program's variables points to each block.
fn wide() -> Made {
    let (mut made, process, thread) = Made::app();
    let [heap, data] = [0x5555_0000_0000_u64, 0x7f20_0000_0000];
    let main = made.stack("main");
    for number in 0..STACKS {
        let frame = made.frame(Some("/bin/app"), &[&format!("f{number}")]);
        let stack = made.node(main, frame);
        made.alloc(thread, heap + number * 64, 32, stack);
    }
    let areas = areas(&mut made, heap..heap + STACKS * 64, data..data + STACKS * 64);
    let pointers: Vec<_> = (0..STACKS).map(|number| (data + number * 8, heap + number * 64)).collect();
    made.scan(process, &areas, &pointers);
    made.end(process, thread, Ended::Exited(0));
    made
}

/// Check that a copy to the clipboard ends with the number of rows it leaves out, and how to get more of them: for a
/// tree, for functions, and for a list, which itself leaves some out; that a complete copy ends with its last row;
/// and that a file, which has all, does so, too.
#[test]
fn copies_say_what_they_leave_out() {
    let mut user = User::new(&wide(), 100, 30);
    for (page, rows) in [("3o", STACKS + 3), ("2", STACKS + 2), ("6", STACKS), ("Ko", STACKS + 2), ("Kii", 1)]
    {
        for (key, cell) in [("y", ""), ("Y", " |")] {
            let text = user.press(page).press(key).copied().to_owned();
            let last = text.lines().last().unwrap_or_default();
            let left = rows.saturating_sub(2_000);
            let thousands = format!("{},{:03}", left / 1_000, left % 1_000);
            let said = format!("{thousands} more rows omitted: W writes more to a file");
            assert_eq!(last.contains(&said) && last.ends_with(cell), left > 0, "{page}: {last}");
            assert!(!text.lines().rev().skip(1).any(|line| line.contains("omitted")), "{page}");
        }
        let text = user.press("W<Back><Back>txt<Enter>").copied();
        assert!(!text.contains("omitted"), "{page}");
        let numbers = text.lines().filter(|line| line.contains(" %")).count() as u64;
        assert_eq!(numbers, if page == "6" { 5_000 } else { rows }, "{page}");
    }
}

/// Check that the last row of a list that is cut says how many more there are, and how to see them: by a filter, if
/// there is one; and that the row leads nowhere and is not found by a search.
#[test]
fn lists_end_with_what_they_leave_out() {
    let mut user = User::new(&wide(), 80, 24);
    for (page, way) in
        [("6", "f, F and t choose"), ("l", "f, F and t choose"), ("Ki", "retained --json has all")]
    {
        let screen = user.press(page).press("<End>").screen();
        assert!(screen.contains("200 more rows not shown: ") && screen.contains(way), "{page}: {screen}");
        let before = user.model.page;
        user.press("<Enter>e<Right>");
        assert_eq!(user.model.page, before, "{page}");
        user.press("/more rows<Enter>");
        assert!(user.model.notice.is_some(), "{page}: it is no stack");
    }
    let screen = user.press("6ff1?? or f5*<Enter><End>").screen();
    assert!(!screen.contains("not shown"), "{screen}");
}

/// Check that regions of a mark that do not fit are counted, on a small screen, and those beyond the limit, too.
#[test]
fn regions_without_room_are_counted() {
    let (mut made, process, thread) = Made::app();
    for _ in 0..600 {
        made.mark(thread, MarkKind::Begin, "load");
        made.mark(thread, MarkKind::End, "load");
    }
    made.end(process, thread, Ended::Exited(0));
    for height in [24, 50, 2_000] {
        let mut user = User::new(&made, 80, height);
        let screen = user.press("R").screen();
        let shown = screen.lines().filter(|line| line.contains("  for ")).count();
        assert!(screen.contains(&format!("{} more regions", 600 - shown)), "{shown}: {screen}");
        assert_eq!(shown == 500, height == 2_000);
    }
}

/// Check that functions of a stack that do not fit are counted, on small screens and on one that fits all.
#[test]
fn functions_without_room_are_counted() {
    let names: Vec<String> = (0..60).map(|function| format!("f{function}")).collect();
    let made = holding(&[(&names.join(" > "), 32)]);
    for height in [20, 24, 50, 300] {
        let screen = User::new(&made, 80, height).press("6").screen();
        let (_, details) = screen.split_once("────").expect("details are below a line");
        let shown = details.lines().filter(|line| line.starts_with('f')).count();
        let is_said = details.contains(&format!("{} more functions", 60 - shown));
        assert!(shown > 0 && is_said != (shown == 60) && (shown == 60) == (height == 300), "{screen}");
    }
}
