//! Changes to the program's own code.

use super::moved::{JUMP, ROOM};
use crate::platform::sys::GUARD;
use core::ffi::c_void;
use rustix::fs::{Mode, OFlags};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags};

/// Most functions that can be redirected to us.
pub(crate) const PLACES: usize = 256;
const BYTES: usize = PLACES * size_of::<Place>();
/// With a guard on either side.
const WHOLE: usize = BYTES.next_multiple_of(GUARD) + 2 * GUARD;

/// The page is this far below the module, or twice as far, and so on, since other libraries may lie below. With the
/// guard behind it, it must end where the module begins.
const STEP: usize = 1 << 17;
const _: () = assert!(BYTES.next_multiple_of(GUARD) + GUARD <= STEP);
/// The largest distance is the smallest one times 2 to this power: no jump reaches further than 2 GiB.
const DOUBLINGS: u32 = 13;

/// For one function: the way to its hook, and its moved beginning.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Place {
    /// `jmp [rip]`, and the hook that it jumps to.
    jump: [u8; 8],
    hook: usize,
    moved: [u8; ROOM],
    /// Padding, so that jumps lead to multiples of sixteen.
    unused: u64,
}

const _: () = assert!(size_of::<Place>() == 80);

/// Memory for code, near enough to the program's for its jumps.
#[derive(Debug)]
pub(super) struct Page {
    start: *mut u8,
}

impl Page {
    /// A new page below `address`, the start of the program: the memory above may grow. Between guards, as all memory
    /// of ours, within which it is writable until it is finished.
    pub(super) fn below(address: usize) -> Option<Self> {
        let flags = MapFlags::PRIVATE | MapFlags::FIXED_NOREPLACE;
        (0..=DOUBLINGS).find_map(|times| {
            let start = (address & !(STEP - 1)).checked_sub(STEP << times)?;
            let hint = core::ptr::without_provenance_mut(start.checked_sub(GUARD)?);
            // SAFETY: a new mapping that replaces none.
            let mapped = unsafe { rustix::mm::mmap_anonymous(hint, WHOLE, ProtFlags::empty(), flags) };
            let page = Self { start: mapped.ok()?.wrapping_byte_add(GUARD).cast() };
            let flags = MprotectFlags::READ | MprotectFlags::WRITE;
            // Kernels that do not know the flag treat the address as a hint.
            if page.start.addr() == start
                // SAFETY: our own mapping.
                && unsafe { rustix::mm::mprotect(page.start.cast(), BYTES, flags) }.is_ok()
            {
                Some(page)
            } else {
                page.give_up();
                None
            }
        })
    }

    /// Where the beginning of a function is moved to.
    pub(super) fn moved(&self, index: usize) -> *mut c_void {
        self.place(index).wrapping_byte_add(core::mem::offset_of!(Place, moved)).cast()
    }

    /// Where the function's calls must lead.
    pub(super) fn entry(&self, index: usize) -> u64 {
        self.place(index).addr() as u64
    }

    /// Fills a place; `index` is below [`PLACES`].
    pub(super) fn fill(&mut self, index: usize, hook: *const c_void, moved: [u8; ROOM]) {
        // jmp qword ptr [rip + 2]; nop; nop
        let jump = [0xff, 0x25, 2, 0, 0, 0, 0x90, 0x90];
        let place = Place { jump, hook: hook.expose_provenance(), moved, unused: 0 };
        if index < PLACES {
            // SAFETY: within the mapping, which is still writable, and ours alone.
            unsafe { self.place(index).write(place) };
        }
    }

    /// Makes the page executable; false if that is forbidden.
    pub(super) fn finish(&self) -> bool {
        let flags = MprotectFlags::READ | MprotectFlags::EXEC;
        // SAFETY: our own mapping, which nobody writes any more.
        unsafe { rustix::mm::mprotect(self.start.cast(), BYTES, flags) }.is_ok()
    }

    /// Unmaps the page, when nothing leads there.
    pub(super) fn give_up(self) {
        // SAFETY: our own mapping, to which nobody refers.
        let _ = unsafe { rustix::mm::munmap(self.start.wrapping_byte_sub(GUARD).cast(), WHOLE) };
    }

    fn place(&self, index: usize) -> *mut Place {
        self.start.cast::<Place>().wrapping_add(index)
    }
}

/// A change of a function's first bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub(super) address: u64,
    pub(super) from: [u8; JUMP],
    pub(super) to: [u8; JUMP],
}

/// Changes read-only code. If one change fails, none is made and the result is false.
///
/// The changes go through `/proc/self/mem`, so the code is never writable to anybody.
pub(super) fn change(changes: &[Change]) -> bool {
    let Ok(memory) = rustix::fs::open(c"/proc/self/mem", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
    else {
        return false;
    };
    let write = |bytes: &[u8; JUMP], address| rustix::io::pwrite(&memory, bytes, address) == Ok(JUMP);
    let made = changes.iter().take_while(|change| write(&change.to, change.address)).count();
    if made < changes.len() {
        // What could be written once can be written again, and part of the failed change may have been written.
        for change in changes.iter().take(made.wrapping_add(1)) {
            write(&change.from, change.address);
        }
    }
    made == changes.len()
}
