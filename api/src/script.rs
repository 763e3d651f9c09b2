//! Stacks of an interpreter.

use crate::{agent, name};
use core::ffi::c_uint;
use core::sync::atomic::{AtomicPtr, Ordering};

/// A function that an interpreter runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    number: c_uint,
}

impl Function {
    /// The function of this name in this file, `""` for none: the same each time, and best kept beside its code. A
    /// process has at most 65,536 functions; frames of any more are left out of stacks.
    pub fn new(name: &str, file: &str) -> Self {
        let number =
            name::with_c_string(name, |name| name::with_c_string(file, |file| agent::function(name, file)));
        Self { number }
    }
}

/// What a stack provider fills in: the frames of the calling thread, innermost first.
#[derive(Debug)]
pub struct Frames<'a> {
    room: &'a mut [agent::Frame],
    count: usize,
}

impl Frames<'_> {
    /// Adds a frame: a function, the line that it has reached (0 if unknown), and an address within the native frame
    /// that runs it, such as that of a local variable of the evaluating function. A frame without a place, a null
    /// pointer, is recorded as called by the innermost native frame. Frames for which there is no room are only
    /// counted.
    pub fn push<T: ?Sized>(&mut self, function: Function, line: u32, place: *const T) {
        if let Some(frame) = self.room.get_mut(self.count) {
            *frame = agent::Frame { function: function.number, line, place: place.cast() };
        }
        self.count = self.count.saturating_add(1);
    }
}

/// Reports what the calling thread's interpreter is running. It is called within allocations of any thread, so it
/// must take no lock that may be held there, not wait, and not panic, which would end the process. What it allocates
/// is not recorded, but counted as lost.
pub type StackProvider = fn(&mut Frames<'_>);

/// The provider's address, null while there is none.
static PROVIDER: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// Sets the provider that is called for each stack that is recorded from now on; `None` removes it. Another thread
/// may still be running the previous one when this returns. It replaces a provider that was set through C, and vice
/// versa.
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
    // SAFETY: only addresses of such functions are stored.
    let provider = unsafe { core::mem::transmute::<*mut (), StackProvider>(provider) };
    // SAFETY: the agent lends so many initialised frames for this call, to nobody else.
    let room = unsafe { core::slice::from_raw_parts_mut(frames, room) };
    let mut frames = Frames { room, count: 0 };
    provider(&mut frames);
    frames.count
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that frames are stored in their order, and that those without room are counted.
    #[test]
    fn frames_are_filled_in_up_to_their_room() {
        fn three(frames: &mut Frames<'_>) {
            (1..=3).for_each(|line| frames.push(Function { number: 7 }, line, core::ptr::null::<u8>()));
        }
        let none = agent::Frame { function: 0, line: 0, place: core::ptr::null() };
        let mut room = [none; 3];
        set_stack_provider(Some(three));
        // SAFETY: the room is ours and has the given size.
        assert_eq!(unsafe { provide(room.as_mut_ptr(), 2) }, 3);
        assert_eq!(room.map(|frame| (frame.function, frame.line)), [(7, 1), (7, 2), (0, 0)]);
        set_stack_provider(None);
        // SAFETY: as above.
        assert_eq!(unsafe { provide(room.as_mut_ptr(), 2) }, 0);
    }
}
