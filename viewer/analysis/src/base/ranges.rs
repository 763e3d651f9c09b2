//! Sets of pages, as ranges that neither overlap nor touch.

use std::collections::BTreeMap;

/// A set of pages by their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Adds the pages from `first` up to, but not including, `end`.
    // Cost: logarithmic in the ranges, plus one step for each range joined, which was added once.
    pub(crate) fn add(&mut self, first: u64, end: u64) {
        if first >= end {
            return;
        }
        let (mut first, mut end) = (first, end);
        while let Some((&start, &stop)) = self.0.range(..=end).next_back().filter(|(_, stop)| **stop >= first)
        {
            if start <= first && stop >= end {
                return;
            }
            self.0.remove(&start);
            (first, end) = (first.min(start), end.max(stop));
        }
        self.0.insert(first, end);
    }

    /// Removes pages.
    pub(crate) fn remove(&mut self, first: u64, end: u64) {
        if first >= end {
            return;
        }
        while let Some((&start, &stop)) = self.0.range(..end).next_back().filter(|(_, stop)| **stop > first) {
            self.0.remove(&start);
            if start < first {
                self.0.insert(start, first);
            }
            if stop > end {
                self.0.insert(end, stop);
            }
            if start <= first {
                return;
            }
        }
    }

    /// The ranges in order of address: the first page of each and the one after its last.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().map(|(&first, &end)| (first, end))
    }

    pub(crate) fn contains(&self, page: u64) -> bool {
        self.0.range(..=page).next_back().is_some_and(|(_, stop)| page < *stop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        /// Check that ranges equal the set of their pages, and that no two touch.
        #[test]
        fn ranges_are_sets(steps in prop::collection::vec((0..40_u64, 0..12_u64, any::<bool>()), 0..60)) {
            let (mut ranges, mut single) = (Ranges::default(), HashSet::new());
            for (first, length, adds) in steps {
                let end = first + length;
                if adds {
                    ranges.add(first, end);
                    single.extend(first..end);
                } else {
                    ranges.remove(first, end);
                    single.retain(|page| !(first..end).contains(page));
                }
                for page in 0..60 {
                    prop_assert_eq!(ranges.contains(page), single.contains(&page), "{} of {:?}", page, ranges);
                }
                let all: Vec<_> = ranges.0.iter().collect();
                prop_assert!(all.windows(2).all(|pair| pair[0].1 < pair[1].0), "{:?}", ranges);
            }
        }
    }
}
