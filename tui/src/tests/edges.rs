//! What is easily missed: notes, keys of other pages, and names of another side.

use super::pages::program;
use super::{User, holding};
use crate::model::Page;
use crate::support::Made;
use analysis::Metric;
use capture::{Ended, Lost, Metadata, Summary};

/// A sampled program.
fn sampled() -> Made {
    let (mut made, process, thread) = Made::app();
    let (task, stack) = (made.task(process, 1000, "app"), made.stack("main > work"));
    made.alloc(thread, 0x1000, 400, stack);
    made.sample(task, 1, stack);
    made.end(process, thread, Ended::Exited(0));
    let mut summary = Summary::default();
    (summary.cpu.event, summary.cpu.refused) = ("cpu-clock".to_owned(), "a half has no samples".to_owned());
    (summary.cpu.samples, summary.cpu.truncated) = (100, 50);
    made.tables.summary = Some(summary);
    made
}

/// Check that pages of samples say what is missing, on any screen, and that pages of memory have the room to
/// themselves.
#[test]
fn pages_of_samples_say_what_is_missing() {
    for (width, height) in [(80, 24), (200, 50), (40, 12)] {
        let mut user = User::new(&sampled(), width, height);
        for page in ["2", "3", "4", "l"] {
            user.press(page);
            while user.model.question.metric != Metric::Cpu {
                user.press("m");
            }
            let screen = user.screen();
            let lines: Vec<&str> = screen.lines().skip(2).take(height as usize / 4).collect();
            let said = lines.join(" ");
            assert!(said.starts_with("warning: a half has no samples"), "{screen}");
            assert!(said.contains("warning: 50 of 100 samples have"), "{screen}");
            assert!(height < 24 || screen.contains("work"), "{screen}");
            while user.model.question.metric != Metric::Peak {
                user.press("m");
            }
            assert!(!user.screen().contains("warning: a half"), "{}", user.screen());
        }
    }
}

/// Check that lost events are seen, however long the command or the name of the file is.
#[test]
fn losses_are_said_beside_long_names() {
    let mut made = program();
    made.tables.metadata = Metadata { command: vec!["x".repeat(300)], ..Metadata::default() };
    let lost = Lost { reason: "ring full".to_owned(), events: 3, ..Lost::default() };
    made.tables.summary = Some(Summary { lost: vec![lost], ..Summary::default() });
    for width in [80, 120, 200] {
        let mut user = User::new(&made, width, 24);
        user.model.file = "f".repeat(150);
        let screen = user.screen();
        let title = screen.lines().next().unwrap();
        assert!(title.contains("events were lost: see 1") && title.trim_end().ends_with("peak"), "{title}");
    }
}

/// Check that keys without a meaning on a page change nothing on others, and that sorting says what it sorts.
#[test]
fn keys_change_nothing_elsewhere() {
    let mut user = User::new(&program(), 100, 30);
    for page in ["1", "5", "6", "l", "8"] {
        user.press(page).press("i<Tab>s");
        assert!(
            user.screen().contains("only functions and trees can be sorted"),
            "{page}: {}",
            user.screen()
        );
    }
    user.press("3");
    assert!(!user.model.is_inverted);
    let order = user.model.pane().order();
    user.press("2");
    assert_eq!(user.model.functions.focus, crate::model::Focus::Functions);
    user.press("3s");
    assert_ne!(user.model.pane().order(), order);
}

/// Check that the source of a function that changed is its own, even if other pages group functions.
#[test]
fn changed_functions_have_their_own_source() {
    let old = holding(&[("main > gone > alone", 100), ("main > other", 200)]);
    let new = holding(&[("main > keep", 100), ("main > grown", 200)]);
    let mut user = User::comparing(&new, Some(&old), 100, 30);
    user.press("D/grown<Enter>");
    assert_eq!((user.model.page, user.function().as_str()), (Page::Changes, "grown"));
    assert_eq!(user.press("ge").edited(), ("/src/g.c", 15));
}

/// Check that the ruler and the cursors tell times apart when zoomed in.
#[test]
fn times_of_a_part_are_told_apart() {
    let (mut made, process, thread, [stack]) = Made::app_with(["main"]);
    made.time = 5_000_000_000;
    for block in 0..10 {
        made.alloc(thread, 0x1000 * (block + 1), 100, stack);
    }
    made.end(process, thread, Ended::Exited(0));
    let mut user = User::new(&made, 100, 30);
    user.press("5");
    user.model.time.cursors = [5_002_000_000, 5_004_000_000];
    user.press("+");
    let screen = user.screen();
    let ruler = screen
        .lines()
        .find(|line| line.matches('│').count() > 4 && line.contains(" s│") || line.contains("│5.00"));
    let ruler = ruler.unwrap_or_else(|| panic!("{screen}"));
    let mut times: Vec<&str> = ruler.split('│').map(str::trim).filter(|time| time.ends_with('s')).collect();
    let all = times.len();
    times.dedup();
    assert!(all > 3 && times.len() == all, "{ruler}");
    assert!(screen.contains("A 5.00200 s: ") && screen.contains("B 5.00400 s: "), "{screen}");
}

/// Check that pages of single blocks say that an aggregated recording has none, as long as they are shown.
#[test]
fn aggregated_recordings_lack_pages() {
    let mut made = program();
    let every = ("aggregate".to_owned(), "1000000000".to_owned());
    made.tables.metadata = Metadata { options: vec![every], ..Metadata::default() };
    let mut user = User::new(&made, 80, 24);
    for page in ["8", "9", "0"] {
        user.press(page);
        for keys in ["", "<Down>", "<Right>", "?<Esc>"] {
            user.press(keys);
            let screen = user.screen();
            let body = screen.lines().skip(2).take(4).collect::<Vec<_>>().join(" ");
            assert!(body.contains("is aggregated: it has totals per stack"), "{page}{keys}: {screen}");
        }
    }
    user.press("3");
    assert!(user.screen().contains("[Everything]"), "{}", user.screen());
}

/// Check that blocks left out of the leaks by rules are reported as such.
#[test]
fn rules_leave_blocks_out() {
    assert_eq!(crate::catalogue::left_out_by_rules("1.00 KiB", 1), "1.00 KiB in 1 block suppressed");
    assert_eq!(crate::catalogue::left_out_by_rules("1.00 KiB", 1200), "1.00 KiB in 1,200 blocks suppressed");
}

/// Check that what is not the program's own is left out and comes back, and that the header says so.
#[test]
fn own_code_is_shown_alone() {
    let made = holding(&[("main > tokio::runtime::block_on > serve > std::vec::push", 400)]);
    let mut user = User::new(&made, 100, 30);
    let screen = user.press("3o").screen();
    assert!(screen.contains("tokio::runtime") && !screen.contains("own code"), "{screen}");
    let screen = user.press("O").screen();
    assert!(!screen.contains("tokio::runtime") && screen.contains("serve"), "{screen}");
    assert!(screen.contains("own code"), "{screen}");
    assert!(user.press("O").screen().contains("tokio::runtime"));
}
