//! What is open at first: the largest rows, as far as they fit.

use super::{User, holding};
use crate::model::Pane;
use crate::support::Made;

/// Rows of a screen outside its tree.
const AROUND: u16 = 4;

fn shape() -> Made {
    holding(&[
        ("main > parse > list", 30),
        ("main > parse > term", 20),
        ("main > parse > name", 10),
        ("main > load > read", 25),
        ("main > load > map", 5),
        ("main > start", 10),
    ])
}

/// The visible rows of a tree, indented by level.
fn rows(pane: &Pane) -> Vec<String> {
    let Some((view, tree)) = pane.shown() else { return Vec::new() };
    let name = |id| view.loaded.names.label(tree.node(id).label).name.clone();
    let depth = |id| std::iter::successors(tree.parent(id), |&id| tree.parent(id)).count();
    pane.all_rows(1000).iter().map(|row| "  ".repeat(depth(row.id)) + &name(row.id)).collect()
}

/// The golden tree, with the height from which on each row is visible.
const GOLDEN: [(u16, &str); 11] = [
    (0, "[Everything]"),
    (0, "  app"),
    (3, "    main"),
    (6, "      parse"),
    (9, "        list"),
    (9, "        term"),
    (9, "        name"),
    (6, "      load"),
    (11, "        read"),
    (11, "        map"),
    (6, "      start"),
];

/// Check that a tree is opened as far as it fits the screen, the largest rows first, at least one level; if the
/// largest does not fit, a smaller one may.
#[test]
fn the_largest_are_open_as_far_as_there_is_room() {
    for height in 1..=30 {
        let mut user = User::new(&shape(), 100, height + AROUND);
        user.press("3");
        // Eight rows are too few for what parse calls, and enough for what load does.
        let is_seen = |least| least <= height || (height, least) == (8, 11);
        let seen = GOLDEN.into_iter().filter(|(least, _)| is_seen(*least));
        let expected: Vec<&str> = seen.map(|(_, row)| row).collect();
        assert_eq!(rows(user.model.pane()), expected, "{height} rows");
        // The rest of the screen is for what the user opens.
        assert!(expected.len() <= usize::from(height).max(2), "{height} rows");
    }
}

/// Check that the tree below everything is opened by exactly one level, however much room there is, and the one below
/// a function by at least one, however little.
#[test]
fn everything_is_one_level_and_every_tree_at_least_one() {
    for height in [6, 12, 50, 200] {
        let mut user = User::new(&shape(), 100, height);
        user.press("2<Home>");
        assert_eq!(rows(&user.model.functions.below), ["[Everything]", "  app"], "{height} rows");
        user.press("/parse<Enter>");
        let below = rows(&user.model.functions.below);
        assert_eq!(below, ["parse", "  list", "  term", "  name"], "{height} rows");
    }
    let mut user = User::new(&shape(), 100, 200);
    user.press("2/main<Enter>");
    assert_eq!(rows(&user.model.functions.below).len(), 9, "where there is room, as far as that goes");
}
