//! Any events, in any order.

use super::User;
use super::pages::program;
use crate::keys::BINDINGS;
use crate::support::fixtures::{reported, scanned, small};
use crate::update::Event;
use proptest::prelude::*;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Rect;
use ratatui::style::Modifier;

/// Something that happens.
#[derive(Clone, Debug)]
enum Happening {
    Key(KeyCode),
    Mouse(u8, u16, u16),
    Resize(u16, u16),
    Paste(String),
    /// The worker answers all requests.
    Answers,
}

fn happening() -> impl Strategy<Value = Happening> {
    let bound = (0..BINDINGS.len()).prop_map(|place| BINDINGS[place].0);
    let bound = bound.prop_filter("it would end", |code| *code != KeyCode::Char('q'));
    let other =
        prop::sample::select(vec![KeyCode::Esc, KeyCode::Char('x'), KeyCode::Char('ß'), KeyCode::Delete]);
    prop_oneof![
        8 => bound.prop_map(Happening::Key),
        1 => other.prop_map(Happening::Key),
        2 => (0..5_u8, 0..130_u16, 0..60_u16).prop_map(|(kind, x, y)| Happening::Mouse(kind, x, y)),
        1 => (0..210_u16, 0..70_u16).prop_map(|(width, height)| Happening::Resize(width, height)),
        1 => "[a-z*() ]{0,8}|\\PC{0,3}".prop_map(Happening::Paste),
        4 => Just(Happening::Answers),
    ]
}

fn event(happening: &Happening) -> Option<Event> {
    Some(match happening {
        Happening::Key(code) => Event::Key(KeyEvent::from(*code)),
        Happening::Mouse(kind, column, row) => {
            let kind = match kind {
                0 => MouseEventKind::Down(MouseButton::Left),
                1 => MouseEventKind::Drag(MouseButton::Left),
                2 => MouseEventKind::ScrollDown,
                3 => MouseEventKind::ScrollUp,
                _ => MouseEventKind::Moved,
            };
            Event::Mouse(MouseEvent { kind, column: *column, row: *row, modifiers: KeyModifiers::NONE })
        }
        Happening::Resize(width, height) => Event::Resize(Rect::new(0, 0, *width, *height)),
        Happening::Paste(text) => Event::Paste(text.clone()),
        Happening::Answers => return None,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// Check that whatever happens in whatever order, every screen can be drawn, the model's requests come to an end,
    /// and the selected row of a tree is on the screen.
    #[test]
    fn anything_can_happen(which in 0..4, happenings in prop::collection::vec(happening(), 1..60)) {
        let made = [program, small, reported, scanned][which as usize]();
        let mut user = User::new(&made, 80, 24);
        for happening in &happenings {
            match event(happening) {
                Some(event) => user.event(event),
                None => user.wait(),
            }
            user.buffer(true);
        }
        user.wait();
        user.event(Event::Resize(Rect::new(0, 0, 80, 24)));
        user.event(Event::Key(KeyEvent::from(KeyCode::Esc)));
        user.event(Event::Key(KeyEvent::from(KeyCode::Char('3'))));
        user.event(Event::Key(KeyEvent::from(KeyCode::Char('u'))));
        user.event(Event::Key(KeyEvent::from(KeyCode::Char('w'))));
        user.wait();
        prop_assume!(user.model.help.is_none() && !user.model.total().is_zero());
        let buffer = user.buffer(true);
        let selected = (2..23).filter(|&y| buffer[(50, y)].modifier.contains(Modifier::REVERSED)).count();
        prop_assert_eq!(selected, 1, "{}", user.screen());
        user.event(Event::Key(KeyEvent::from(KeyCode::Char('K'))));
        user.wait();
        let buffer = user.buffer(true);
        let selected = (3..23).filter(|&y| buffer[(50, y)].modifier.contains(Modifier::REVERSED)).count();
        prop_assert_eq!(selected, usize::from(user.model.scan().is_some()), "{}", user.screen());
    }
}
