//! All sentences shown to the user, except those about keys, which stand in the table of keys.

use viewer::format::counted;

pub(crate) const READING: &str = "reading …";
pub(crate) const COUNTING: &str = "counting …  (what is shown is the last answer)";
pub(crate) const WAITING: &str = "waiting for the first numbers …";
pub(crate) const PAUSED: &str = "PAUSED  ";
pub(crate) const NO_STACK_YET: &str = "nothing was allocated so far";
pub(crate) const NOTHING: &str = "nothing";

pub(crate) const EVENTS_WERE_LOST: &str = "events were lost: see 1";
pub(crate) const A_MOMENT: &str = "a moment";
pub(crate) const FOCUSED: &str = "focused";
pub(crate) const ESTIMATED: &str = "estimated from samples";

pub(crate) const BEGUN_ANEW: &str =
    "another recording has taken the place of this one: it is shown from now on";

pub(crate) const SELECT_A_FUNCTION: &str = "select a function first";
pub(crate) const NOT_ENDED: &str = "not ended";
pub(crate) const NO_SOURCE: &str = "the source of this is not known";
pub(crate) const NO_MARK: &str = "there is no mark";
pub(crate) const NOTHING_DURING: &str = "these marks are moments, during which nothing is allocated";
pub(crate) const NOT_GROUPED: &str = "not grouped";
pub(crate) const NO_FLAME_GRAPH: &str = "this page has no flame graph: take a name in .md or .txt";
pub(crate) const TOO_LONG_TO_COPY: &str = "it is longer than terminals take";

/// What commands say of rows beyond their limits, and what is said here instead.
pub(crate) const NOT_SHOWN_BY_COMMAND: &str = " not shown (--limit)";
pub(crate) const NOT_SHOWN: &str = " not shown";

pub(crate) const STILL_ALLOCATED: &str = "still allocated at the end";
pub(crate) const FREED_AT_ONCE: &str = "freed by the thread that allocated it, before its next allocation";
pub(crate) const NO_STACKS_OF_FREES: &str = "This recording has no stacks of frees, so it does not tell who frees whose blocks: run --free-stacks records \
     them. Which threads free blocks of others, page 0 shows without.";
pub(crate) const NO_PAGES_OF_SAMPLES: &str = "This recording has samples of blocks, so which pages have none is not known: record without --sample \
     for that.";
pub(crate) const PAGES_ARE_WHOLE: &str =
    "all blocks of a page count, so these numbers are of all stacks, whatever was chosen";
pub(crate) const ALLOCATED_BY: &str = "allocated by";
pub(crate) const FREED_BY: &str = "freed by";
pub(crate) const MEANING_OF_OTHERS: &str =
    "by others: by another thread than the one that had allocated them";
pub(crate) const BY_OTHERS: &str = "by others";
pub(crate) const INNERMOST_LINES: &str =
    "The innermost line of each stack that is not the standard library's";
pub(crate) const MARKS: &str = "Enter: all pages about what was allocated during the regions of a name";

pub(crate) const NO_SCAN: &str = "This recording has no scan of a process' memory, which tells what keeps it: run --scan-at-exit makes \
     one of each process at its end, scan PID one of a process while it is recorded.";
pub(crate) const CHOOSE_A_SCAN: &str = "Enter: what kept memory alive in this process, then";
pub(crate) const SCANS_ARE_WHOLE: &str = "this is for other pages: a scan is whole";
pub(crate) const NO_OTHER_SCAN: &str = "there is no other scan there";
pub(crate) const KEEPS_NOTHING_ALONE: &str = "it keeps nothing alone, so it is not in the tree";
pub(crate) const SORTED_AS_THEY_ARE: &str = "s sorts the tree: here the largest come first";
pub(crate) const NOT_SORTED: &str = "s sorts functions and trees: what stands here has its order";
pub(crate) const ALL_REACHABLE: &str = "Every block can be reached.";
pub(crate) const REACHABLE: &str = "[Reachable]";
pub(crate) const SEVERAL: &str =
    "No single root keeps these: several do together. What each of them leads to, which counts for each:";
pub(crate) const IN_ALL: &str = "in all";
pub(crate) const REFERS_TO: &str = "refers to";
pub(crate) const WHICH_CLASSES: &str =
    "blocks that begin with an object of a class of C++ that has virtual functions: others are not known";
pub(crate) const STOOD_STILL: &str = "stood still";
pub(crate) const TOO_DEEP: &str = "deeper in the tree than is shown";
pub(crate) const HOW_TO_SEE_DEEPER: &str =
    "What lies deeper than 500 rows is in the other lists: Tab turns to stacks, each with what keeps it.";
pub(crate) const SEE_BY_CHOOSING: &str = "f, F and t choose which stacks there are";
pub(crate) const SEE_BY_COMMAND: &str = "sysprof-memprof retained --json has all";
pub(crate) const COPY_BY_WRITING: &str = "W writes more of them into a file";
pub(crate) const COPY_BY_CHOOSING: &str = "close some, or choose fewer";
pub(crate) const GIVEN_UP: &str = "nobody waits for it any more";
pub(crate) const NO_SCAN_SHORT: &str = "no scan";

pub(crate) const ABOUT_THIS_RANGE: &str = "All pages are about this range; w: about everything again";
pub(crate) const ABOUT_ANOTHER_PART: &str =
    "All pages are about another part of the time: see above; w: about everything again";
pub(crate) const ABOUT_EVERYTHING: &str =
    "r: pages about this range   a: about the cursor's moment   d: what changed";

pub(crate) const SEARCH: &str = "Search: ";
pub(crate) const FILTER: &str = "Only stacks with: ";
pub(crate) const FILE: &str = "Write into: ";

pub(crate) const MOUSE: [&str; 2] = [
    "The mouse selects, a second click does what Enter does, the wheel scrolls, and a drag over the",
    "timeline chooses a range. Shift lets the terminal select text.",
];

/// Stacks left out for want of room.
pub(crate) fn more_stacks(rows: usize) -> String {
    counted(rows as u64, "more stack")
}

pub(crate) fn more_functions(rows: usize) -> String {
    counted(rows as u64, "more function")
}

/// Title of a list of callers.
pub(crate) fn callers_of(function: &str) -> String {
    format!("callers of {function}")
}

/// Functions that are taken out of stacks.
pub(crate) fn taken_out(functions: usize) -> String {
    format!("{functions} taken out")
}

/// A page with nothing to show.
pub(crate) fn nothing_to_show(of: &str, what: &str) -> String {
    format!("Nothing to show: {of} has no {what}.")
}

/// Nothing changed between two moments or captures.
pub(crate) fn nothing_changed(about: &str) -> String {
    format!("Nothing changed {about}.")
}

/// The two sides of a comparison.
pub(crate) fn compared(before: &str, after: &str, metric: &str) -> String {
    format!("from {before} to {after}, by {metric}")
}

/// A search without a hit.
pub(crate) fn not_found(sought: &str) -> String {
    format!("nothing has `{sought}` in its name")
}

/// The order of rows was changed.
pub(crate) fn sorted_by(what: &str) -> String {
    format!("sorted by {what}")
}

/// Leaks hidden by suppression rules.
pub(crate) fn left_out_by_rules(bytes: &str, blocks: i64) -> String {
    format!("{bytes} in {} left out by rules", counted(blocks, "block"))
}

/// Sum over the blocks of several stacks.
pub(crate) fn blocks_of_stacks(blocks: i64, stacks: usize) -> String {
    format!("{} of {}", counted(blocks, "block"), counted(stacks as i128, "stack"))
}

/// Which scan the pages are about.
pub(crate) fn scan_number(number: usize, count: usize) -> String {
    format!("scan {number} of {count}")
}

/// The same, with what the scan found.
pub(crate) fn scan_of(number: usize, count: usize, held: &str) -> String {
    format!("{} at {held}", scan_number(number, count))
}

/// Something to know before trusting the numbers.
pub(crate) fn warning(text: &str) -> String {
    format!("warning: {text}")
}

/// Choices that have no effect on a scan.
pub(crate) fn unheeded(chosen: &str) -> String {
    format!("not for scans, which are whole: {chosen}  (u, w: undo)")
}

/// Rows too deep in a tree to be shown.
pub(crate) fn hidden(rows: usize) -> String {
    format!("it goes deeper: {} not shown", counted(rows as u64, "more row"))
}

/// Rows left out of a list, and how to see them.
pub(crate) fn not_shown(rows: usize, way: &str) -> String {
    format!("{} not shown: {way}", counted(rows as u64, "more row"))
}

/// Rows left out of a copy, and how to get them.
pub(crate) fn not_copied(rows: usize, way: &str) -> String {
    format!("{} left out: {way}", counted(rows as u64, "more row"))
}

/// The part of some allocations that was never freed.
pub(crate) fn never_freed(left: &str, all: &str) -> String {
    format!("{left} of {all} allocated were never freed")
}

/// What a number of stacks freed.
pub(crate) fn freed_by_stacks(freed: &str, stacks: usize) -> String {
    let stacks = counted(stacks as u64, "stack");
    format!("{freed} freed by {stacks}")
}

/// What became of some blocks, how long they lived, and what share another thread freed.
pub(crate) fn of_blocks(
    size: &str,
    blocks: i64,
    what: &str,
    lifetime: Option<String>,
    by_others: Option<String>,
) -> String {
    let blocks = counted(blocks, "block");
    match lifetime {
        Some(lifetime) => match by_others {
            Some(share) => format!("{size} in {blocks} {what}  ({lifetime}, {share} by other threads)"),
            None => format!("{size} in {blocks} {what}  ({lifetime})"),
        },
        None => format!("{size} in {blocks} {what}"),
    }
}

/// Regions of a mark left out for want of room.
pub(crate) fn more_regions(rows: usize) -> String {
    counted(rows as u64, "more region")
}

/// The blocks of a stack.
pub(crate) fn own_and_retained(own: &str, retained: &str) -> String {
    format!("{own} of its own, {retained} retained")
}

/// A stack's unreachable blocks.
pub(crate) fn own_and_in_all(own: &str, all: &str) -> String {
    format!("{own} of its own, {all} with what they lead to")
}

/// What a root keeps alive.
pub(crate) fn kept_by_root(retained: &str) -> String {
    format!("{retained} retained by it alone: what it refers to stands under roots")
}

/// What a root refers to, and what it retains.
pub(crate) fn refers_and_retains(direct: &str, retained: &str) -> String {
    format!("refers to {direct}, {retained} retained by it alone")
}

/// Source that cannot be shown.
pub(crate) fn cannot_be_shown(reason: &str) -> String {
    format!("cannot be shown: {reason}")
}

/// A text was copied to the terminal's clipboard.
pub(crate) fn copied(text: &str) -> String {
    format!("copied {}, if your terminal allows it", lines(text))
}

/// A text could not be copied.
pub(crate) fn cannot_copy(error: &dyn std::error::Error) -> String {
    format!("cannot copy: {error}; W writes into a file")
}

/// A file was written.
pub(crate) fn wrote(text: &str, file: &str) -> String {
    format!("wrote {} into {file}", lines(text))
}

/// A file could not be written.
pub(crate) fn cannot_write(file: &str, error: &dyn std::error::Error) -> String {
    format!("cannot write {file}: {error}")
}

/// How to find source that is not on this machine.
pub(crate) const ELSEWHERE: &str = "not on this machine; --path-map says where it is";

/// Source that is not on this machine.
pub(crate) fn not_here(file: &str) -> String {
    format!("{file}: {ELSEWHERE}")
}

/// The editor was closed.
pub(crate) fn back_from(file: &str, seconds: u64) -> String {
    format!("back from {file} after {seconds} s")
}

/// The editor failed.
pub(crate) fn editor_ended(status: &dyn std::fmt::Display) -> String {
    format!("the editor ended with {status}")
}

/// The editor could not be started.
pub(crate) fn no_editor(error: &dyn std::error::Error) -> String {
    format!("cannot start the editor ({error}): set VISUAL or EDITOR")
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
