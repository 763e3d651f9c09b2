//! Exit codes of commands that judge.

use crate::files::capture_of;
use crate::support::{World, ran};
use std::io;

/// Check that what is judged has its exit code though nobody reads the result, and that a view without a verdict is no failure
/// then.
#[test]
fn verdicts_are_told_when_nobody_reads() {
    let world = World::new();
    capture_of(3, &world.path("work/old"));
    capture_of(100, &world.path("work/new"));
    for (arguments, expected) in [
        (&["diff", "old", "new", "--by", "allocations", "--fail-over", "8"][..], 1),
        (&["diff", "old", "new", "--by", "allocations", "--fail-over", "8", "--json"], 1),
        (&["diff", "old", "new", "--by", "allocations", "--fail-over", "1M"], 0),
        (&["diff", "old", "new", "--by", "cpu", "--fail-over", "1M"], 2),
        (&["check", "new", "--max-allocations", "3"], 1),
        (&["check", "new", "--max-allocations", "3", "--format", "json"], 1),
        (&["check", "new", "--max-allocations", "3", "--format", "junit"], 1),
        (&["check", "new", "--max-allocations", "100"], 0),
        (&["diff", "old", "new"], 0),
        (&["report", "new"], 0),
    ] {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let unread = ran(world.tool(arguments).stdout(writer).output().unwrap());
        assert_eq!(unread.code, Some(expected), "{arguments:?}: {}", unread.stderr);
    }
}
