//! Stacks under frames for the kinds of calls, as a thread found them last.
//!
//! A program in C++ allocates by `operator new` in a handful of places, each time under the same frame. The stash has those
//! stacks, too, but in memory that is seldom in a near cache.

/// Stacks that are kept.
const PLACES: usize = 64;

/// A stack, and the same under a frame for a kind of call. Zeroed ones are free: no kind is 0.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    stack: u32,
    kind: u32,
    under: u32,
}

/// What a thread has found. It is true for one session.
#[derive(Clone, Debug)]
pub(crate) struct Kinds {
    places: [Known; PLACES],
}

impl Default for Kinds {
    fn default() -> Self {
        Self { places: [Known::default(); PLACES] }
    }
}

impl Kinds {
    /// The id of a stack under a frame for a `kind`, which is not 0: the one that is known, or else what `find` says.
    #[inline(always)]
    pub(crate) fn id(&mut self, stack: u32, kind: u32, find: impl FnOnce() -> Option<u32>) -> Option<u32> {
        let known = self.places.get_mut(stack as usize % PLACES)?;
        if known.stack != stack || known.kind != kind {
            *known = Known { stack, kind, under: find()? };
        }
        Some(known.under)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that what is asked for is found once, as long as nothing else takes its place, and that the kind matters.
    #[test]
    fn stacks_are_found_once() {
        let mut kinds = Kinds::default();
        let mut asked = Vec::new();
        let places = PLACES as u32;
        for (id, kind) in [(0, 7), (1, 7), (0, 7), (0, 8), (0, 7), (1, 7), (1 + places, 7), (1, 7)] {
            let found = kinds.id(id, kind, || {
                asked.push((id, kind));
                Some(id * 100 + kind)
            });
            assert_eq!(found, Some(id * 100 + kind));
        }
        assert_eq!(asked, [(0, 7), (1, 7), (0, 8), (0, 7), (1 + places, 7), (1, 7)]);
    }

    /// Check that what could not be found is asked for again.
    #[test]
    fn what_is_not_found_is_not_kept() {
        let mut kinds = Kinds::default();
        assert_eq!(kinds.id(3, 7, || None), None);
        assert_eq!(kinds.id(3, 7, || Some(9)), Some(9));
    }
}
