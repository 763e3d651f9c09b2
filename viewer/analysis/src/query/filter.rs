//! Which blocks count.

use super::pattern::Pattern;
use super::unmatched::nearest;
use capture::{NodeId, ProcessId};
use std::ops::RangeInclusive;
use std::str::FromStr;

/// A test of a stack of a process, such as an expression over its functions.
pub type StackTest = dyn Fn(ProcessId, NodeId) -> bool + Send + Sync;

/// Which blocks count. An empty filter lets all of them pass.
#[derive(Default)]
pub struct Filter {
    /// Only those of any of these processes.
    pub processes: Vec<Selected>,
    /// Only those allocated by any of these threads.
    pub threads: Vec<Selected>,
    /// Only those of these sizes.
    pub sizes: Option<Sizes>,
    /// Only those whose stack passes through any of these files.
    pub modules: Vec<Pattern>,
    /// Only those allocated during a region of any of these names, in any thread.
    pub during: Vec<String>,
    /// Only those whose stack passes this test.
    pub stack: Option<Box<StackTest>>,
}

impl Filter {
    /// True when every block counts.
    pub fn is_empty(&self) -> bool {
        let Self { processes, threads, sizes, modules, during, stack } = self;
        let has_names = [processes, threads].iter().any(|names| !names.is_empty()) || !during.is_empty();
        !has_names && sizes.is_none() && modules.is_empty() && stack.is_none()
    }

    /// True when it has a condition on stacks.
    pub fn chooses_stacks(&self) -> bool {
        !self.modules.is_empty() || self.stack.is_some()
    }

    /// True when it may separate blocks of the same stack and process.
    pub fn divides_stacks(&self) -> bool {
        !self.threads.is_empty() || self.sizes.is_some() || !self.during.is_empty()
    }
}

/// A process or a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selected {
    /// The one with this id, or several: pids are reused.
    Id(u32),
    /// All with a name that matches.
    Name(Pattern),
}

impl FromStr for Selected {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(text.parse().map_or_else(|_| Self::Name(Pattern::glob(text)), Self::Id))
    }
}

/// Sizes of blocks in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes(pub RangeInclusive<u64>);

impl FromStr for Sizes {
    type Err = SizesError;

    /// Reads `64`, `64..4K`, `1M..` and `..256`, both ends included. Units are powers of 1024.
    fn from_str(text: &str) -> Result<Self, SizesError> {
        let error = || SizesError(text.to_owned());
        let end = |text: &str, open: u64| match text.trim() {
            "" => Some(open),
            text => bytes(text),
        };
        let range = match text.split_once("..") {
            Some((first, last)) => end(first, 0).zip(end(last, u64::MAX)).map(|(first, last)| first..=last),
            None => bytes(text.trim()).map(|size| size..=size),
        };
        range.filter(|range| !range.is_empty()).map(Self).ok_or_else(error)
    }
}

/// A number of bytes like `64`, `4K` or `1 MiB`; units are powers of 1024.
pub fn bytes(text: &str) -> Option<u64> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let shift = match unit.trim().trim_end_matches("iB").trim_end_matches('B') {
        "" => 0,
        "K" | "k" => 10,
        "M" | "m" => 20,
        "G" | "g" => 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// The text is not a range of sizes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a range of sizes: write it like 64, 64..4K or 1M..")]
pub struct SizesError(String);

/// Something that the capture does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the capture has no {what} `{name}`{others}")]
pub struct Unknown {
    pub(crate) what: &'static str,
    pub(crate) name: String,
    /// What it has instead, as `; it has a, b and 3 more`.
    pub others: String,
}

impl Unknown {
    /// Lists those that are nearest, or the first few that exist.
    pub fn new(what: &'static str, name: &str, there: impl IntoIterator<Item = String>) -> Self {
        const NAMED: usize = 8;
        let mut there: Vec<String> = there.into_iter().collect();
        let mut seen = std::collections::HashSet::new();
        there.retain(|name| seen.insert(name.clone()));
        let nearest = nearest(name, there.iter());
        let more = there.len().saturating_sub(NAMED);
        let others = match (there.as_slice(), more) {
            ([], _) => "; it has none".to_owned(),
            _ if !nearest.is_empty() => format!("; the nearest: {}", nearest.join(", ")),
            (all, 0) => format!("; it has {}", all.join(", ")),
            (all, more) => format!("; it has {} and {more} more", all[..NAMED].join(", ")),
        };
        Self { what, name: name.to_owned(), others }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check how sizes are written, and that anything else is refused.
    #[test]
    fn sizes_are_read() {
        for (text, expected) in [
            ("64", Some(64..=64)),
            ("64..4K", Some(64..=4096)),
            ("1M..", Some(1 << 20..=u64::MAX)),
            ("..256", Some(0..=256)),
            ("1 KiB .. 2KB", Some(1024..=2048)),
            ("9..8", None),
            ("", None),
            ("x", None),
            ("1.5K", None),
            ("99999999999G", None),
        ] {
            assert_eq!(text.parse::<Sizes>().ok().map(|sizes| sizes.0), expected, "{text:?}");
        }
    }

    /// Check that a message lists what exists, each once, but not all of a thousand.
    #[test]
    fn what_is_there_is_named() {
        let message =
            |there: &[&str]| Unknown::new("mark", "x", there.iter().map(|&name| name.to_owned())).to_string();
        assert_eq!(message(&[]), "the capture has no mark `x`; it has none");
        assert_eq!(message(&["a", "b", "a"]), "the capture has no mark `x`; it has a, b");
        assert_eq!(message(&["xy", "a"]), "the capture has no mark `x`; the nearest: xy");
        assert!(message(&["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]).ends_with("7, 8 and 2 more"));
    }
}
