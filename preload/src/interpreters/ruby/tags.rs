//! Where evaluations are on the machine stack.
//!
//! Each evaluation, and whatever else may be left by an exception, has a tag in its native frame, and the tags are a
//! list. In a tag is the address at which that function goes on after an exception: that of an evaluation is the same
//! for all of them. So it is the address of which there are as many as there are evaluations, at any time.
//!
//! ```text
//!  main ─ protect ─ evaluate ─ each ─ ensure ─ evaluate ─ malloc
//!         tag A     tag B             tag C    tag B              two evaluations, so it is B
//! ```
//!
//! What the address is, is known once there were several evaluations and only one address occurred as often. Where
//! `setjmp` hides addresses, it hides equal ones equally.

use super::layout::CONTEXT_TAG;
use crate::interpreters::known_memory::KnownMemory;
use core::sync::atomic::{AtomicU64, Ordering};

/// Most tags that are read.
const MOST: usize = 4096;
/// Offsets in a tag of the address, and of the next tag, further out: with the compiler's `setjmp`, and with glibc's.
const FORMS: [(u64, u64); 2] =
    if cfg!(target_arch = "x86_64") { [(24, 56), (72, 216)] } else { [(24, 56), (104, 328)] };

/// The address, once it is known. Relaxed: a number, and what it leads to is only where frames stand.
static EVALUATION: AtomicU64 = AtomicU64::new(0);

/// A tag, and the address at which its function goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tag {
    place: u64,
    address: u64,
}

/// The tags of a thread, innermost first, and those that are evaluations'. Zeroed memory has none.
pub(crate) struct Tags {
    tags: [Tag; MOST],
    count: usize,
    places: [u64; MOST],
}

impl Tags {
    /// The places of so many evaluations, outermost first, behind the place of frames that belong to none of them. If
    /// frames are missing further out (`is_cut`), these are the innermost evaluations, and frames before them belong to
    /// the one before. `is_at_script` says that the innermost frame is a script's.
    pub(crate) fn places(
        &mut self,
        context: u64,
        evaluations: usize,
        is_cut: bool,
        is_at_script: bool,
        memory: &mut KnownMemory,
    ) -> &[u64] {
        self.count = 0;
        for form in FORMS {
            if self.read(context, form, memory).is_some() {
                break;
            }
            self.count = 0;
        }
        let tags = self.tags.get(..self.count).unwrap_or(&[]);
        let address = match EVALUATION.load(Ordering::Relaxed) {
            0 if is_cut => 0,
            0 => find(tags, evaluations, is_at_script),
            known => known,
        };
        let found = tags.iter().filter(|tag| tag.address == address).count();
        let outer = if is_cut { found.saturating_sub(evaluations.saturating_add(1)) } else { 0 };
        let places = tags.iter().rev().filter(|tag| tag.address == address).map(|tag| tag.place).skip(outer);
        let first = if is_cut && found > evaluations { 0 } else { 1 };
        let mut count = first;
        if let Some(first) = self.places.first_mut() {
            *first = 0;
        }
        for (to, from) in self.places.iter_mut().skip(first).zip(places) {
            *to = from;
            count = count.saturating_add(1);
        }
        self.places.get(..count).unwrap_or(&[])
    }

    /// Reads all tags; `None` if they are no list along the stack.
    fn read(&mut self, context: u64, (address, next): (u64, u64), memory: &mut KnownMemory) -> Option<()> {
        let mut place = memory.word(context.checked_add(CONTEXT_TAG.into())?)?;
        let mut before = 0;
        while place != 0 {
            if place <= before {
                return None;
            }
            let tag = Tag { place, address: memory.word(place.checked_add(address)?)? };
            *self.tags.get_mut(self.count)? = tag;
            self.count = self.count.checked_add(1)?;
            before = place;
            place = memory.word(place.checked_add(next)?)?;
        }
        Some(())
    }
}

/// The address of which there are so many as there are evaluations; 0 if there is none.
fn find(tags: &[Tag], evaluations: usize, is_at_script: bool) -> u64 {
    let count = |of: &Tag| tags.iter().filter(|tag| tag.address == of.address).count();
    let mut found = tags.iter().filter(|tag| count(tag) == evaluations).map(|tag| tag.address);
    let Some(innermost) = found.next() else { return 0 };
    if found.all(|other| other == innermost) {
        if evaluations > 1 {
            EVALUATION.store(innermost, Ordering::Relaxed);
        }
        return innermost;
    }
    // What protects the whole comes before the first evaluation, and what a function of the interpreter's protects
    // behind it.
    let of_innermost = tags.first().filter(|tag| is_at_script && count(tag) == evaluations);
    let second = tags.len().checked_sub(2).and_then(|second| tags.get(second));
    of_innermost.or(second).map_or(0, |tag| tag.address)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tags with these addresses, outermost first.
    fn tags(addresses: &[u64]) -> Vec<Tag> {
        let tag = |(index, address): (usize, &u64)| Tag { place: 8 * (index as u64 + 1), address: *address };
        addresses.iter().rev().enumerate().map(tag).collect()
    }

    /// Check that the address is the one that occurs as often as there are evaluations.
    #[test]
    fn evaluations_are_told_by_their_number() {
        assert_eq!(find(&tags(&[1, 2, 3, 2]), 2, false), 2);
        assert_eq!(
            find(&tags(&[1, 2, 3, 3, 2, 3, 2]), 3, false),
            2,
            "two occur three times, one further out"
        );
        assert_eq!(find(&tags(&[1, 2, 3]), 1, false), 2, "the second");
        assert_eq!(find(&tags(&[1, 3, 2]), 1, true), 2, "the innermost");
        assert_eq!(find(&tags(&[1, 1]), 1, true), 0);
        assert_eq!(find(&[], 1, true), 0);
    }
}
