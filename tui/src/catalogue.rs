//! All sentences shown to the user, except those about keys, which stand in the table of keys.

use analysis::format::counted;

pub(crate) const READING: &str = "reading …";
pub(crate) const COUNTING: &str = "counting …  (showing the last answer)";
pub(crate) const WAITING: &str = "waiting for the first numbers …";
pub(crate) const PAUSED: &str = "PAUSED  ";
pub(crate) const NO_STACK_YET: &str = "nothing allocated so far";
pub(crate) const NOTHING: &str = "nothing";

pub(crate) const EVENTS_WERE_LOST: &str = "events were lost: see 1";
pub(crate) const A_MOMENT: &str = "a moment";
pub(crate) const FOCUSED: &str = "focused";
pub(crate) const ESTIMATED: &str = "estimated from samples";

pub(crate) const BEGUN_ANEW: &str = "the recording was replaced: showing the new one";

pub(crate) const SELECT_A_FUNCTION: &str = "select a function first";
pub(crate) const NOT_ENDED: &str = "not ended";
pub(crate) const NO_SOURCE: &str = "no source line known here";
pub(crate) const NO_MARK: &str = "no marks";
pub(crate) const NOTHING_DURING: &str = "these marks are moments without a duration";
pub(crate) const MY_CODE: &str = "own code";
pub(crate) const NOT_GROUPED: &str = "not grouped";
pub(crate) const NO_FLAME_GRAPH: &str = "no flame graph on this page: use a name in .md or .txt";
pub(crate) const TOO_LONG_TO_COPY: &str = "too long for the terminal's clipboard";

pub(crate) const STILL_ALLOCATED: &str = "still allocated at the end";
pub(crate) const FREED_AT_ONCE: &str = "freed by the thread that allocated it, before its next allocation";
pub(crate) const NO_STACKS_OF_FREES: &str = "This recording has no stacks of frees: record them with run --free-stacks. Page 0 shows which threads free blocks \
     of others even without.";
pub(crate) const NO_PAGES_OF_SAMPLES: &str =
    "This recording is sampled, so which pages have no block is unknown: record without --sample.";
pub(crate) const PAGES_ARE_WHOLE: &str = "all blocks of a page count: these numbers ignore the selection";
pub(crate) const INNERMOST_LINES: &str = "The innermost line of each stack outside the standard library";
pub(crate) const MARKS: &str = "Enter: limit all pages to allocations during this mark's regions";

pub(crate) const NO_SCAN: &str = "This recording has no memory scan, which shows what keeps blocks alive: run --scan-at-exit scans each process at its \
     end, scan PID a process while it is recorded.";
pub(crate) const CHOOSE_A_SCAN: &str = "Enter: what kept memory alive in this process at that moment";
pub(crate) const SCANS_ARE_WHOLE: &str = "not on this page: a scan is always whole";
pub(crate) const NO_OTHER_SCAN: &str = "no other scan in that direction";
pub(crate) const KEEPS_NOTHING_ALONE: &str = "it keeps nothing alone: not in the tree";
pub(crate) const SORTED_AS_THEY_ARE: &str = "only the tree can be sorted: this list is largest first";
pub(crate) const NOT_SORTED: &str = "only functions and trees can be sorted";
pub(crate) const ALL_REACHABLE: &str = "All blocks are reachable.";
pub(crate) const REACHABLE: &str = "[Reachable]";
pub(crate) const WHICH_CLASSES: &str =
    "blocks that begin with a C++ object with virtual functions: other classes are not known";
pub(crate) const TOO_DEEP: &str = "deeper in the tree than shown";
pub(crate) const HOW_TO_SEE_DEEPER: &str =
    "Rows deeper than 500 are in the other lists: Tab shows stacks, each with what keeps it.";
pub(crate) const SEE_BY_CHOOSING: &str = "f, F and t choose stacks";
pub(crate) const SEE_BY_COMMAND: &str = "sysprof-memprof retained --json has all";
pub(crate) const COPY_BY_WRITING: &str = "W writes more to a file";
pub(crate) const COPY_BY_CHOOSING: &str = "close some, or choose fewer stacks";
pub(crate) const GIVEN_UP: &str = "cancelled";
pub(crate) const NO_SCAN_SHORT: &str = "no scan";

pub(crate) const ABOUT_THIS_RANGE: &str = "All pages show this range only; w: everything again";
pub(crate) const ABOUT_ANOTHER_PART: &str = "All pages show another range, see above; w: everything again";
pub(crate) const ABOUT_EVERYTHING: &str =
    "r: limit pages to this range   a: to the cursor's moment   d: what changed";

pub(crate) const SEARCH: &str = "Search: ";
pub(crate) const FILTER: &str = "Only stacks with: ";
pub(crate) const FILE: &str = "Write to: ";

pub(crate) const MOUSE: [&str; 2] = [
    "A click selects, a second click is Enter, the wheel scrolls, and dragging over the timeline",
    "selects a range. Hold Shift to select text of the terminal.",
];

/// How to find source that is not on this machine.
pub(crate) const ELSEWHERE: &str = "not on this machine (see --path-map)";

/// Sentences with gaps.
macro_rules! sentences {
    ($($(#[$about:meta])* $name:ident($($gap:ident: $type:ty),+) = $text:expr;)+) => {
        $(
            $(#[$about])*
            pub(crate) fn $name($($gap: $type),+) -> String {
                $text
            }
        )+
    };
}

sentences! {
    /// Stacks left out for want of room.
    more_stacks(rows: usize) = counted(rows as u64, "more stack");
    /// Functions left out for want of room.
    more_functions(rows: usize) = counted(rows as u64, "more function");
    /// Title of a list of callers.
    callers_of(function: &str) = format!("callers of {function}");
    /// Functions that are taken out of stacks.
    taken_out(functions: usize) = format!("{functions} removed");
    /// A page with nothing to show.
    nothing_to_show(of: &str, what: &str) = format!("Nothing to show: {of} has no {what}.");
    /// Nothing changed between two moments or captures.
    nothing_changed(about: &str) = format!("Nothing changed {about}.");
    /// The two sides of a comparison.
    compared(before: &str, after: &str, metric: &str) = format!("from {before} to {after}, by {metric}");
    /// A search without a hit.
    not_found(sought: &str) = format!("no name contains `{sought}`");
    /// The order of rows was changed.
    sorted_by(what: &str) = format!("sorted by {what}");
    /// Leaks hidden by suppression rules.
    left_out_by_rules(bytes: &str, blocks: i64) =
        format!("{bytes} in {} suppressed", counted(blocks, "block"));
    /// Sum over the blocks of several stacks.
    blocks_of_stacks(blocks: i64, stacks: usize) =
        format!("{} of {}", counted(blocks, "block"), counted(stacks as i128, "stack"));
    /// Which scan the pages are about.
    scan_number(number: usize, count: usize) = format!("scan {number} of {count}");
    /// The same, with what the scan found.
    scan_of(number: usize, count: usize, held: &str) = format!("{} at {held}", scan_number(number, count));
    /// Something to know before trusting the numbers.
    warning(text: &str) = format!("warning: {text}");
    /// Choices that have no effect on a scan.
    unheeded(chosen: &str) = format!("ignored, scans are always whole: {chosen}  (u, w: undo)");
    /// Rows too deep in a tree to be shown.
    hidden(rows: usize) = format!("{} deeper, not shown", counted(rows as u64, "more row"));
    /// Rows left out of a list, and how to see them.
    not_shown(rows: usize, way: &str) = format!("{} not shown: {way}", counted(rows as u64, "more row"));
    /// Rows left out of a copy, and how to get them.
    not_copied(rows: usize, way: &str) = format!("{} omitted: {way}", counted(rows as u64, "more row"));
    /// Regions of a mark left out for want of room.
    more_regions(rows: usize) = counted(rows as u64, "more region");
    /// The blocks of a stack.
    own_and_retained(own: &str, retained: &str) = format!("own {own}, retained {retained}");
    /// What a root keeps alive.
    kept_by_root(retained: &str) =
        format!("{retained} retained by it alone; the list of roots shows what it refers to");
    /// Source that cannot be shown.
    cannot_be_shown(reason: &str) = format!("cannot be shown: {reason}");
    /// A text was copied to the terminal's clipboard.
    copied(text: &str) = format!("copied {}, if your terminal allows it", lines(text));
    /// A text could not be copied.
    cannot_copy(error: &dyn std::error::Error) = format!("cannot copy: {error}; W writes to a file");
    /// A file was written.
    wrote(text: &str, file: &str) = format!("wrote {} to {file}", lines(text));
    /// A file could not be written.
    cannot_write(file: &str, error: &dyn std::error::Error) = format!("cannot write {file}: {error}");
    /// Source that is not on this machine.
    not_here(file: &str) = format!("{file}: {ELSEWHERE}");
    /// The editor was closed.
    back_from(file: &str, seconds: u64) = format!("back from {file} after {seconds} s");
    /// The editor failed.
    editor_ended(status: &dyn std::fmt::Display) = format!("the editor failed: {status}");
    /// The editor could not be started.
    no_editor(error: &dyn std::error::Error) =
        format!("cannot start the editor ({error}): set VISUAL or EDITOR");
}

fn lines(text: &str) -> String {
    counted(text.lines().count() as i128, "line")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    /// Check that no sentence stands anywhere else: two consecutive words in a string of the program.
    #[test]
    fn sentences_stand_here() {
        let mut ahead = vec![PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))];
        let mut found = Vec::new();
        while let Some(path) = ahead.pop() {
            if path.is_dir() {
                ahead.extend(
                    fs::read_dir(&path).expect("it is ours").map(|entry| entry.expect("so is it").path()),
                );
            } else if !is_elsewhere(&path) {
                let text = fs::read_to_string(&path).expect("sources are text");
                let own = text.split("#[cfg(test)]").next().unwrap_or_default();
                let lines = own
                    .lines()
                    .map(str::trim)
                    .filter(|line| !line.starts_with("//") && !line.starts_with("#["));
                found.extend(
                    lines
                        .filter(|line| says_something(line))
                        .map(|line| format!("{}: {line}", path.display())),
                );
            }
        }
        assert!(found.is_empty(), "{found:#?}");
    }

    /// True for this file, the table of keys, and tests.
    fn is_elsewhere(path: &Path) -> bool {
        ["catalogue.rs", "keys.rs", "tests.rs"].iter().any(|name| path.ends_with(name))
            || path.components().any(|part| part.as_os_str() == "tests")
    }

    fn says_something(line: &str) -> bool {
        let is_for_programmers =
            ["expect(", "Err(io::Error", "panic!", "unreachable!"].iter().any(|word| line.contains(word));
        let texts = line.split('"').skip(1).step_by(2);
        !is_for_programmers && texts.into_iter().any(has_two_words)
    }

    fn has_two_words(text: &str) -> bool {
        let is_word = |word: &str| word.len() > 1 && word.chars().all(|letter| letter.is_ascii_lowercase());
        let words: Vec<&str> = text.split(' ').collect();
        words.windows(2).any(|pair| pair.iter().all(|word| is_word(word)))
    }
}
