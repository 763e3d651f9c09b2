//! What the first screen says of a capture, and what stays when another recording replaces it.

use super::pages::program;
use super::{User, holding};
use crate::model::{Model, Page};
use crate::support::Made;
use analysis::format::{bytes, count};
use engine::Naming;

/// Another program than the one of the pages.
fn other() -> Made {
    holding(&[("main > fetch > keep", 7777); 7])
}

/// Check that the first screen has the numbers of `info` as soon as it has anything.
#[test]
fn first_numbers_are_those_of_the_capture() {
    let user = User::new(&program(), 100, 40);
    assert_eq!(user.model.page, Page::Overview);
    let total = engine::open(&user.file(), Naming::Stored).unwrap().profile.total;
    let screen = user.screen();
    for number in [
        bytes(total.peak.bytes),
        count(total.peak.blocks),
        bytes(total.leaked.bytes),
        count(total.leaked.blocks),
        count(total.allocated.blocks),
        count(total.temporary.blocks),
    ] {
        assert!(screen.contains(&number), "{number} is not in\n{screen}");
    }
    // Before the first answer there are no numbers.
    let waiting = Model::new("app.memprof".to_owned(), user.model.screen);
    assert!(waiting.view().is_none());
}

/// Check that no page keeps anything of a recording that was replaced, whatever the user looked at.
#[test]
fn another_recording_empties_all_pages() {
    for keys in [
        "1",
        "2<Down><Down><Tab>",
        "3o",
        "3i<Down>",
        "4<Down><Enter>",
        "5..r",
        "6<Down>",
        "8",
        "l",
        "3fload<Enter>",
    ] {
        let mut user = User::new(&program(), 100, 40);
        // Each page was shown and is cached.
        user.press("123456789");
        user.press(keys);
        user.replace(&other());
        // What is cached may be drawn until something is requested; the first request detects the replacement.
        user.press("m");
        assert!(user.model.notice.as_deref().is_some_and(|notice| notice.contains("was replaced")), "{keys}");
        for page in ["1", "2", "3", "3i", "4", "5", "6", "7", "8", "9", "0", "l", "K"] {
            user.press(page);
            let screen = user.screen();
            for name in ["map_insert", "expression", "read_file", "token"] {
                assert!(!screen.contains(name), "{keys}, then {page}: {name} is in\n{screen}");
            }
        }
        user.press("1");
        assert!(user.screen().contains(&bytes(7 * 7777)), "{keys}\n{}", user.screen());
        user.press("3o");
        assert!(user.screen().contains("keep"), "{keys}\n{}", user.screen());
    }
}
