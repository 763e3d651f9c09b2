//! Readings in, keys in, screens out.

use super::draw::draw;
use super::model::Model;
use super::update::{Command, press};
use crate::draw::Theme;
use crate::support::Made;
use crate::support::fixtures::small;
use crate::support::golden::check_golden;
use crate::tests::{codes, text_of};
use analysis::{Amount, functions_of};
use engine::live::{By, Change, Figures, Function, Order, Reading, Row};
use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;
use std::sync::Arc;

/// Stacks `main > run > f0`, `f1` and so on; the first holds most.
fn reading(stacks: usize, lost: u64) -> Reading {
    let mut made = Made::new();
    let amount = |blocks: usize, size: i64| {
        let blocks = i64::try_from(blocks).unwrap();
        Amount { blocks, bytes: blocks * size }
    };
    let row = |index: usize| {
        let node = made.stack(&format!("main > run > f{index}"));
        let (held, step) = (amount(stacks - index, 1000), amount(1, 500));
        let allocated = amount(4 * stacks, 10_000);
        let now = Figures { held, allocated, temporary: amount(stacks, 10_000), ..Figures::default() };
        let step =
            Figures { held: step, allocated: amount(2000, 100), freed: amount(7, 1), ..Figures::default() };
        Row { node, change: Change { now, step, since: now } }
    };
    let rows: Vec<Row> = (0..stacks).map(row).collect();
    let mut total = Change::default();
    rows.iter().for_each(|row| total += row.change);
    Reading {
        pid: 4711,
        process: "app".to_owned(),
        time_ns: 83_000_000_000,
        step_ns: 2_000_000_000,
        since_ns: 83_000_000_000,
        by: By::Stacks,
        order: Order::Held,
        total,
        rows,
        functions: Vec::new(),
        hidden: (12, Change::default()),
        loaded: Arc::new(made.loaded("app.memprof")),
        unknown_frees: 3,
        lost,
        rss: Some(12 << 20),
        threads: Some(4),
        sample_interval: None,
        is_over: false,
    }
}

/// The same by functions: those that allocate, each with the numbers of its stack.
fn functions(stacks: usize) -> Reading {
    let mut reading = reading(stacks, 0);
    for row in std::mem::take(&mut reading.rows) {
        let Reading { loaded, functions, .. } = &mut reading;
        let (_, step) =
            functions_of(&loaded.tables, &loaded.names, row.node).next().expect("it has functions");
        functions.push(Function { label: step.label, own: row.change, total: row.change });
    }
    Reading { by: By::Total, ..reading }
}

/// A user in front of a screen.
struct User(Model);

impl User {
    fn new(width: u16, height: u16) -> Self {
        User(Model::new(Rect::new(0, 0, width, height), (By::Stacks, Order::Held)))
    }

    fn press(&mut self, keys: &str) -> Vec<Command> {
        let codes = codes(keys);
        codes.into_iter().filter_map(|code| press(&mut self.0, KeyEvent::from(code))).collect()
    }

    fn screen(&self) -> String {
        let mut buffer = Buffer::empty(self.0.screen);
        draw(&mut buffer, &self.0, &Theme { color: true });
        text_of(&buffer)
    }
}

/// Check the screen before the first reading, with one, with an unfolded stack, and with many lost events.
#[test]
fn screens_look_as_expected() {
    for (width, height) in [(80, 24), (200, 50)] {
        let golden = |name: &str, user: &User| {
            check_golden(&format!("{width}x{height}/top {name}.txt"), &user.screen())
        };
        let mut user = User::new(width, height);
        golden("waits", &user);
        user.0.take(reading(5, 0));
        golden("rows", &user);
        user.press("<Down><Enter>");
        golden("stack", &user);
        user.0.take(reading(40, 1234));
        user.press("<End> ");
        golden("lost", &user);
        user.press(" f");
        user.0.take(functions(5));
        user.press("<Down>");
        golden("functions", &user);
    }
}

/// Check which keys are wishes for the recording side, and that all ways to leave exist.
#[test]
fn keys_are_wishes() {
    let mut user = User::new(80, 24);
    user.0.take(reading(3, 0));
    let sorts = [
        Command::Sort(Order::Growth),
        Command::Sort(Order::Rate),
        Command::Sort(Order::Calls),
        Command::Sort(Order::Held),
    ];
    assert_eq!(user.press("ssss"), sorts);
    assert_eq!(user.press("fff"), [By::Total, By::Own, By::Stacks].map(Command::By));
    assert_eq!(user.press("r<Down><Enter>xq"), [Command::Reset, Command::Leave]);
    let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(press(&mut user.0, interrupt), Some(Command::Leave));
}

/// Check that the selected stack stays selected when others come before it, that the first position stays the first,
/// and that nothing changes on a frozen screen.
#[test]
fn selection_follows_its_stack() {
    let mut user = User::new(80, 24);
    user.0.take(reading(5, 0));
    let swapped = || {
        let mut reading = reading(5, 0);
        reading.rows.swap(0, 3);
        reading
    };
    let first = user.0.stacks()[0].node;
    user.0.take(swapped());
    assert_eq!(user.0.selected_place(), 0);
    user.press("<Down><Down><Down>");
    assert_eq!(user.0.stacks()[3].node, first);
    user.0.take(reading(5, 0));
    assert_eq!(user.0.selected_place(), 0);
    user.press("<Down> ");
    let before = user.screen();
    user.0.take(swapped());
    assert_eq!(user.screen(), before);
    user.press(" ");
    user.0.take(reading(2, 0));
    assert_eq!(user.0.count(), 2);
}

/// Check that a selected function stays selected wherever it moves, and that it does not unfold.
#[test]
fn selection_follows_its_function() {
    let mut user = User::new(80, 24);
    user.press("f");
    user.0.take(functions(5));
    user.press("<Down><Down><Enter>");
    let mut swapped = functions(5);
    swapped.functions.swap(2, 4);
    user.0.take(swapped);
    assert_eq!((user.0.selected_place(), user.0.open, user.0.lines().len()), (4, None, 5));
}

/// Check that a process that has allocated nothing says so, and that hostile names do nothing to the terminal.
#[test]
fn odd_readings_can_be_drawn() {
    let mut user = User::new(80, 24);
    let nothing =
        Reading { hidden: (0, Change::default()), process: "a\u{1b}[31mb".to_owned(), ..reading(0, 0) };
    user.0.take(nothing);
    assert!(user.screen().contains("nothing allocated so far"), "{}", user.screen());
    assert!(!user.screen().contains('\u{1b}'));
    let other = Reading { loaded: Arc::new(small().loaded("x")), rows: Vec::new(), ..reading(1, 0) };
    user.0.take(other);
    user.press("<Enter><End>");
    user.screen();
}

proptest! {
    /// Check that any keys and readings, on a screen of any size, leave one that can be drawn, with the selected row
    /// on it.
    #[test]
    fn anything_can_be_drawn(
        steps in prop::collection::vec((prop::option::of(0..60_usize), "[sfr xjk]|<(Enter|Esc|Up|Down|PgUp|PgDn|Home|End)>"), 1..30),
        width in 0..120_u16,
        height in 0..40_u16,
    ) {
        let mut user = User::new(width, height);
        for (stacks, key) in steps {
            if let Some(stacks) = stacks {
                user.0.take(if user.0.by == By::Stacks { reading(stacks, 0) } else { functions(stacks) });
            }
            user.press(&key);
            user.screen();
            let (lines, place) = (user.0.lines(), user.0.selected_place());
            let line = lines.iter().position(|line| *line == super::model::Line::Row(place)).unwrap_or(0);
            prop_assert!(user.0.first <= line && line < user.0.first + user.0.height().max(1));
        }
    }
}
