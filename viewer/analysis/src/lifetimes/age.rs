//! Lifetimes in powers of ten.

use crate::count::watch::{Death, End};
use std::fmt;

/// A class of lifetimes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Age(u8);

/// The upper end of each class in nanoseconds, and its name.
const CLASSES: [(u64, &str); 9] = [
    (1_000, "< 1 µs"),
    (10_000, "< 10 µs"),
    (100_000, "< 100 µs"),
    (1_000_000, "< 1 ms"),
    (10_000_000, "< 10 ms"),
    (100_000_000, "< 100 ms"),
    (1_000_000_000, "< 1 s"),
    (10_000_000_000, "< 10 s"),
    (u64::MAX, "≥ 10 s"),
];

impl Age {
    /// Its end was not seen.
    pub const LEFT: Age = Age(CLASSES.len() as u8);

    /// All classes, the shortest first, [`Self::LEFT`] last.
    pub fn all() -> impl Iterator<Item = Age> {
        (0..=Self::LEFT.0).map(Age)
    }

    /// The class of a lifetime whose end was seen.
    pub fn of(nanoseconds: u64) -> Self {
        let place = CLASSES.iter().position(|(end, _)| nanoseconds < *end);
        Self(place.unwrap_or(CLASSES.len() - 1) as u8)
    }

    /// The class of a block that was born at `made` and died like this.
    pub fn at(death: &Death, made: u64) -> Self {
        match death.end {
            End::Freed { .. } | End::Resized { .. } => Self::of(death.at.time.saturating_sub(made)),
            End::Displaced { .. } | End::Left { .. } => Self::LEFT,
        }
    }

    /// The first lifetime that is too long for the class; none for the longest, and where no end was seen.
    pub fn end_ns(self) -> Option<u64> {
        CLASSES.get(usize::from(self.0)).map(|(end, _)| *end).filter(|&end| end != u64::MAX)
    }
}

impl fmt::Display for Age {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(CLASSES.get(usize::from(self.0)).map_or("to the end", |(_, name)| name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that each class begins where the previous one ends.
    #[test]
    fn classes_are_powers_of_ten() {
        for (nanoseconds, expected) in [
            (0, "< 1 µs"),
            (999, "< 1 µs"),
            (1_000, "< 10 µs"),
            (999_999, "< 1 ms"),
            (9_999_999_999, "< 10 s"),
            (10_000_000_000, "≥ 10 s"),
            (u64::MAX, "≥ 10 s"),
        ] {
            assert_eq!(Age::of(nanoseconds).to_string(), expected, "{nanoseconds}");
        }
        assert_eq!(Age::all().last(), Some(Age::LEFT));
        assert_eq!((Age::LEFT.to_string().as_str(), Age::LEFT.end_ns()), ("to the end", None));
    }
}
