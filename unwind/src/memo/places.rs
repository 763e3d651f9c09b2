//! Where a frame's word is in the last stack.

/// Number of frames that can be distinguished.
const PLACES: usize = 256;

/// The indices of frames' words by the frames' stack pointers. The low bits of the stack pointer choose the place, so
/// the frames in 4 KiB of stack are distinguished; in a larger stack, newer frames replace older ones.
///
/// So a walk that comes to some sp need not search for the frame that was there last time: how many newer frames have
/// gone since is something that no branch prediction foresees. An index is only a hint: the caller compares the
/// frame.
#[derive(Debug)]
#[repr(transparent)]
pub(super) struct Places([u16; PLACES]);

impl Places {
    /// The index of the word that was last put in this place.
    #[inline(always)]
    pub(super) fn get(&self, sp: u64) -> usize {
        self.0.get(place(sp)).map_or(0, |frame| usize::from(*frame))
    }

    /// Notes a frame's word. If its index is too large to be stored, the frame is not found again.
    #[inline(always)]
    pub(super) fn put(&mut self, sp: u64, frame: usize) {
        if let Some(place) = self.0.get_mut(place(sp)) {
            *place = frame as u16;
        }
    }
}

/// Frames that have called another one end at multiples of 16.
#[inline(always)]
fn place(sp: u64) -> usize {
    (sp >> 4) as usize % PLACES
}
