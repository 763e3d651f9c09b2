//! A thread's cache of stacks under a frame for the kind of call.
//!
//! A C++ program calls `operator new` in a handful of places, each time under the same frame. The stack table has those
//! stacks, too, but in memory that is rarely in a near cache.

/// Entries of the cache.
const PLACES: usize = 64;

/// A stack, and the same stack under a frame for a kind of call. Zeroed entries are free: no kind is 0.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    stack: u32,
    kind: u32,
    under: u32,
}

/// A thread's cache, valid for one session.
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
    /// The id of a stack under a frame for a `kind`, which is not 0, if cached.
    #[inline(always)]
    pub(crate) fn known(&self, stack: u32, kind: u32) -> Option<u32> {
        let known = self.places.get(stack as usize % PLACES)?;
        (known.stack == stack && known.kind == kind).then_some(known.under)
    }

    /// Caches an id.
    pub(crate) fn keep(&mut self, stack: u32, kind: u32, under: u32) {
        if let Some(known) = self.places.get_mut(stack as usize % PLACES) {
            *known = Known { stack, kind, under };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that an entry is found until another one takes its place, and that the kind matters.
    #[test]
    fn stacks_are_known_until_others_take_their_places() {
        let mut kinds = Kinds::default();
        let other = PLACES as u32;
        assert_eq!(kinds.known(0, 7), None);
        kinds.keep(0, 7, 107);
        kinds.keep(1, 7, 207);
        assert_eq!(
            [(0, 7), (1, 7), (0, 8), (other, 7)].map(|(id, kind)| kinds.known(id, kind)),
            [Some(107), Some(207), None, None]
        );
        kinds.keep(0, 8, 108);
        kinds.keep(1 + other, 7, 307);
        assert_eq!(
            [(0, 7), (0, 8), (1, 7), (1 + other, 7)].map(|(id, kind)| kinds.known(id, kind)),
            [None, Some(108), None, Some(307)]
        );
    }
}
