//! Stacks of an interpreter.

use crate::{agent, name};
use core::ffi::c_uint;
use core::sync::atomic::{AtomicPtr, Ordering};

/// A function of a program that an interpreter runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    number: c_uint,
}

impl Function {
    /// The function of this name in this file, `""` for none: the same each time, and best kept beside its code. A process
    /// has at most 65,536; frames of further ones are left out of stacks.
    pub fn new(name: &str, file: &str) -> Self {
        let number =
            name::with_c_string(name, |name| name::with_c_string(file, |file| agent::function(name, file)));
        Self { number }
    }
}

/// What a stack provider fills in: the frames of the calling thread, the innermost first.
#[derive(Debug)]
pub struct Frames<'a> {
    room: &'a mut [agent::Frame],
    count: usize,
}

impl Frames<'_> {
    /// Adds a frame: a function, the line that it has come to, 0 if that is not known, and an address within the machine's
    /// frame that runs it, such as that of a local variable of the function that evaluates. A frame without a place, a null
    /// pointer, stands behind the innermost frame of the machine. Frames beyond the room that there is only count.
    pub fn push<T: ?Sized>(&mut self, function: Function, line: u32, place: *const T) {
        if let Some(frame) = self.room.get_mut(self.count) {
            *frame = agent::Frame { function: function.number, line, place: place.cast() };
        }
        self.count = self.count.saturating_add(1);
    }
}

/// Says what the calling thread's interpreter runs. It is called from within allocations of any thread: it takes no lock
/// that may be held there, does not wait and does not panic, which would end the process. What it allocates is not
/// recorded, but counted as lost.
pub type StackProvider = fn(&mut Frames<'_>);

/// The provider's address, null while there is none.
static PROVIDER: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// Has a provider asked for each stack that is recorded from here on; `None` ends it. Another thread may still be in the
/// one from before when this returns. It takes the place of a provider that was set by way of C, and the other way round.
pub fn set_stack_provider(provider: Option<StackProvider>) {
    let address = provider.map_or(core::ptr::null_mut(), |provider| provider as *mut ());
    // Release pairs with the Acquire load in `provide`.
    PROVIDER.store(address, Ordering::Release);
    agent::set_stack_provider(provider.map(|_| provide as agent::Provider));
}

unsafe extern "C" fn provide(frames: *mut agent::Frame, room: usize) -> usize {
    // Acquire pairs with the Release store in `set_stack_provider`.
    let provider = PROVIDER.load(Ordering::Acquire);
    if provider.is_null() {
        return 0;
    }
    // SAFETY: the only addresses stored are those of such functions.
    let provider = unsafe { core::mem::transmute::<*mut (), StackProvider>(provider) };
    // SAFETY: the agent lends so many frames for the call, initialised, to nobody else.
    let room = unsafe { core::slice::from_raw_parts_mut(frames, room) };
    let mut frames = Frames { room, count: 0 };
    provider(&mut frames);
    frames.count
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that frames lie in their order, and that what there is no room for counts.
    #[test]
    fn frames_are_filled_in_up_to_their_room() {
        fn three(frames: &mut Frames<'_>) {
            (1..=3).for_each(|line| frames.push(Function { number: 7 }, line, core::ptr::null::<u8>()));
        }
        let none = agent::Frame { function: 0, line: 0, place: core::ptr::null() };
        let mut room = [none; 3];
        set_stack_provider(Some(three));
        // SAFETY: the room is ours and as large as is said.
        assert_eq!(unsafe { provide(room.as_mut_ptr(), 2) }, 3);
        assert_eq!(room.map(|frame| (frame.function, frame.line)), [(7, 1), (7, 2), (0, 0)]);
        set_stack_provider(None);
        // SAFETY: as above.
        assert_eq!(unsafe { provide(room.as_mut_ptr(), 2) }, 0);
    }
}
