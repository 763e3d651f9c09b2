//! Where a frame's word stands in the last stack.

/// Frames that can be told apart.
const PLACES: usize = 256;

/// The numbers of frames' words by the frames' stack pointers, whose low bits choose the place: the frames of 4 KiB of stack are told apart.
/// A larger stack's newer frames push older ones out.
///
/// So a walk that comes to some sp need not look for the frame that was there last time: how many newer ones have gone since
/// is what no processor foresees. A number is a hint, and whoever asks compares the frame.
#[derive(Debug)]
#[repr(transparent)]
pub(super) struct Places([u16; PLACES]);

impl Places {
    /// The number of the word that was put in this place last.
    #[inline(always)]
    pub(super) fn get(&self, sp: u64) -> usize {
        self.0.get(place(sp)).map_or(0, |frame| usize::from(*frame))
    }

    /// Notes a frame's word. One whose number is too large to be noted is not met again.
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
