//! System calls, made directly: they neither touch `errno` nor pass through our own hooks.

use crate::platform::address_space;
use crate::platform::allowed_calls::{self, Need};
use crate::platform::{arch, errno};
use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MprotectFlags, MremapFlags, ProtFlags};
use rustix::thread::futex;
use rustix::thread::{MembarrierCommand, membarrier};
use shared_ring_futex::word;

/// Inaccessible bytes on either side of all memory of ours, so that a program which runs past its own memory dies there,
/// as it would where we map nothing. A multiple of the size of any page.
pub(crate) const GUARD: usize = 1 << 16;
/// The same on both sides.
const GUARDS: usize = 2 * GUARD;

/// Zeroed private memory between guards, or null.
pub(crate) fn map_private(bytes: usize) -> *mut c_void {
    if !allowed_calls::allows(Need::Map) {
        return null_mut();
    }
    let Some(start) = reserve(bytes) else { return null_mut() };
    // SAFETY: reserved just now.
    if !unsafe { open(start, bytes) } {
        // SAFETY: nobody knows it.
        unsafe { unmap(start, bytes) };
        return null_mut();
    }
    // No memory of programs has both kinds of advice; by them the collector recognizes ours, which holds copies of
    // the program's addresses but keeps no block alive. The advice for random access has no effect on memory without
    // a file.
    advise(start, bytes, &[Advice::LinuxDontDump, Advice::Random]);
    start
}

/// Maps so many bytes by `map`, without counting them against the program's limit.
fn beside_the_program(bytes: usize, map: impl FnOnce() -> Option<*mut c_void>) -> Option<*mut c_void> {
    address_space::grow(bytes);
    let start = map();
    if start.is_none() {
        address_space::shrink(bytes);
    }
    start
}

/// [`map_private`] for memory of which little will be touched: without huge pages.
pub(crate) fn map_sparse(bytes: usize) -> *mut c_void {
    let start = map_private(bytes);
    advise(start, bytes, &[Advice::LinuxNoHugepage]);
    start
}

/// Gives advice about new memory, unless it is null. Advice that is not taken costs memory, nothing else.
fn advise(start: *mut c_void, bytes: usize, advice: &[Advice]) {
    for advice in advice.iter().filter(|_| !start.is_null()) {
        // SAFETY: advice about memory that we just mapped and nobody uses yet.
        let _ = unsafe { rustix::mm::madvise(start, bytes, *advice) };
    }
}

/// Reserves address space without memory, between guards.
pub(crate) fn reserve(bytes: usize) -> Option<*mut c_void> {
    let whole = bytes.checked_add(GUARDS)?;
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: a new anonymous mapping at an address of the kernel's choice touches nothing that exists.
    let map = || unsafe { rustix::mm::mmap_anonymous(null_mut(), whole, ProtFlags::empty(), flags) }.ok();
    beside_the_program(whole, map).map(|start| start.wrapping_byte_add(GUARD))
}

/// Makes the addresses behind an image of ours inaccessible, as far as nobody else has them, since its last bytes are
/// its variables.
#[cold]
pub(crate) fn guard_behind(end: u64) {
    // Where pages are larger, this is refused, or right.
    let place = core::ptr::without_provenance_mut((end as usize).next_multiple_of(4096));
    let sizes = (0..=4).map(|times| GUARD >> times);
    let _ = sizes.into_iter().any(|bytes| guard_at(place, bytes));
}

fn guard_at(place: *mut c_void, bytes: usize) -> bool {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED_NOREPLACE;
    // SAFETY: a new mapping that replaces none.
    let map = || unsafe { rustix::mm::mmap_anonymous(place, bytes, ProtFlags::empty(), flags) }.ok();
    let Some(mapped) = beside_the_program(bytes, map) else { return false };
    if mapped != place {
        // Kernels that do not know the flag treat the address as a hint.
        // SAFETY: mapped just now, and nobody knows it.
        let _ = unsafe { rustix::mm::munmap(mapped, bytes) };
        address_space::shrink(bytes);
    }
    true
}

/// Maps zeroed private memory at a place, in one step.
///
/// # Safety
/// The range lies in one that [`reserve`] returned, and all its users can cope with zeros and this access.
pub(crate) unsafe fn map_private_at(start: *mut c_void, bytes: usize, access: ProtFlags) -> bool {
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED;
    // SAFETY: the caller vouches for the range.
    unsafe { rustix::mm::mmap_anonymous(start, bytes, access, flags) }.is_ok()
}

/// Maps a file's memory at a place.
///
/// # Safety
/// The range lies in one that [`reserve`] returned, and nobody uses it.
pub(crate) unsafe fn map_shared_at(
    start: *mut c_void,
    bytes: usize,
    access: ProtFlags,
    file: BorrowedFd<'_>,
) -> bool {
    let flags = MapFlags::SHARED | MapFlags::NORESERVE | MapFlags::FIXED;
    // SAFETY: the caller vouches for the range.
    unsafe { rustix::mm::mmap(start, bytes, access, flags, file, 0) }.is_ok()
}

/// The first page of a file, mapped for reading between guards.
pub(crate) fn map_page_of(file: &OwnedFd) -> Option<*mut c_void> {
    let start = reserve(4096)?;
    // SAFETY: reserved just now.
    let is_mapped = unsafe { map_shared_at(start, 4096, ProtFlags::READ, file.as_fd()) };
    if !is_mapped {
        // SAFETY: nobody knows it.
        unsafe { unmap(start, 4096) };
    }
    is_mapped.then_some(start)
}

/// Replaces pages that others read by zeros.
pub(crate) fn map_zeros_over(start: *mut c_void, bytes: usize) {
    let _ = map_over(start, bytes, ProtFlags::READ);
}

/// Replaces shared pages by private memory, which reads as zeros; false when that fails.
pub(crate) fn map_private_over(start: *mut c_void, bytes: usize) -> bool {
    map_over(start, bytes, ProtFlags::READ | ProtFlags::WRITE)
}

fn map_over(start: *mut c_void, bytes: usize, access: ProtFlags) -> bool {
    let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
    // SAFETY: pages of ours that stay readable; every bit pattern is valid for those who read them.
    unsafe { rustix::mm::mmap_anonymous(start, bytes, access, flags) }.is_ok()
}

/// Moves pages of [`map_page_of`] over others in one step. False when that failed; the pages that were to move are
/// unmapped then.
pub(crate) fn move_over(from: *mut c_void, to: *mut c_void, bytes: usize) -> bool {
    // SAFETY: nobody knows `from` yet, and the pages at `to` stay readable; every bit pattern is valid for those who
    // read them.
    let moved = unsafe { rustix::mm::mremap_fixed(from, bytes, bytes, MremapFlags::MAYMOVE, to) };
    if moved.is_err() {
        // SAFETY: as above.
        unsafe { unmap(from, bytes) };
    } else {
        // What was mapped there is gone. The guards go one by one: anybody may map something between them now.
        for guard in [from.wrapping_byte_sub(GUARD), from.wrapping_byte_add(bytes)] {
            // SAFETY: a guard of ours, whose memory has moved.
            let _ = unsafe { rustix::mm::munmap(guard, GUARD) };
        }
        address_space::shrink(bytes.saturating_add(GUARDS));
    }
    moved.is_ok()
}

/// Zeroes memory of [`map_sparse`] and gives its pages back to the kernel.
pub(crate) fn clear_sparse(start: *mut c_void, bytes: usize) {
    // SAFETY: private memory whose users know that it may become zero, its contents being meaningless now.
    let _ = unsafe { rustix::mm::madvise(start, bytes, Advice::LinuxDontNeed) };
}

/// The thread that prepares fences, or did; 0 while there was none.
static PREPARING: AtomicU32 = AtomicU32::new(0);

/// Prepares [`fence_in_all_threads`]. In a process with one thread this costs nothing. With several, the kernel waits
/// for a grace period of all processors, tens of milliseconds; so a short-lived thread of our own does it.
pub(crate) fn register_fences() {
    let command = MembarrierCommand::RegisterPrivateExpedited;
    let beside = || without_signals(|| arch::membarrier_beside(command as i32, &PREPARING)) == 0;
    if is_single_threaded() || !beside() {
        // If this is refused, so are the fences.
        let _ = membarrier(command);
    }
}

/// True when libc says that there was never another thread; where it does not say, as with musl, when there is none
/// now.
#[cold]
pub(crate) fn is_single_threaded() -> bool {
    let known: *const AtomicU8 = arch::weak!("__libc_single_threaded").cast();
    // SAFETY: libc's own byte, if it has one. Relaxed: nobody creates a thread while this one loads a library.
    match unsafe { known.as_ref() } {
        Some(known) => known.load(Ordering::Relaxed) != 0,
        // Links to the folder of a process' threads if there is one thread: its name, its own `.`, and the thread's
        // `..`.
        None => rustix::fs::stat(c"/proc/self/task").is_ok_and(|folder| folder.st_nlink == 3),
    }
}

/// A full fence in every thread of this process; false when the kernel has none, or has not prepared it yet.
pub(crate) fn fence_in_all_threads() -> bool {
    let fence = || membarrier(MembarrierCommand::PrivateExpedited);
    fence()
        .or_else(|error| {
            // Relaxed: a number. A forked child is another process and has no such thread.
            let preparing = PREPARING.load(Ordering::Relaxed);
            if preparing != 0 && arch::probe_thread(process_id(), preparing) == 0 {
                return Err(error);
            }
            membarrier(MembarrierCommand::RegisterPrivateExpedited)?;
            fence()
        })
        .is_ok()
}

/// Copies memory of this process; `thread` is the id of any of its threads. The kernel does the reading, so the
/// memory may be unmapped at any time: the result is then `FAULT`.
pub(crate) fn copy(thread: u32, from: u64, to: &mut [u8]) -> Result<(), Errno> {
    let bytes = to.len();
    let to = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: bytes };
    let from = libc::iovec { iov_base: core::ptr::without_provenance_mut(from as usize), iov_len: bytes };
    match arch::copy_from_process(thread, &to, &from) {
        copied if copied == bytes as i64 => Ok(()),
        // The copy ended at a page that is not mapped.
        0.. => Err(Errno::FAULT),
        error => Err(Errno::from_raw_os_error(-error as i32)),
    }
}

/// The same as words.
pub(crate) fn copy_words<const N: usize>(thread: u32, from: u64) -> Result<[u64; N], Errno> {
    let mut words = [[0; 8]; N];
    copy(thread, from, words.as_flattened_mut())?;
    Ok(words.map(u64::from_ne_bytes))
}

/// True when the word at `address` can be read. Where asking is forbidden, nothing counts as readable.
#[cold]
pub(crate) fn is_readable(address: u64) -> bool {
    allowed_calls::allows(Need::Probe) && arch::probe(address)
}

/// False when a thread of this process is gone.
pub(crate) fn is_alive(thread: u32) -> bool {
    arch::probe_thread(process_id(), thread) != -i64::from(libc::ESRCH)
}

/// True when there is no thread with this id, neither here nor in a process that shares our memory.
pub(crate) fn is_gone(thread: u32) -> bool {
    allowed_calls::allows(Need::Threads) && arch::probe_any_thread(thread) == -i64::from(libc::ESRCH)
}

/// Unmaps memory of [`map_private`] or [`map_sparse`], with its guards.
///
/// # Safety
/// Nothing refers to the memory any more.
pub(crate) unsafe fn unmap(start: *mut c_void, bytes: usize) {
    if !allowed_calls::allows(Need::Map) {
        return;
    }
    let whole = bytes.saturating_add(GUARDS);
    // SAFETY: the caller vouches for it; on failure the memory stays mapped, which is harmless.
    if unsafe { rustix::mm::munmap(start.wrapping_byte_sub(GUARD), whole) }.is_ok() {
        address_space::shrink(whole);
    }
}

/// A page that the kernel zeroes in forked children, or null.
pub(crate) fn map_wiped_on_fork(bytes: usize) -> *mut c_void {
    let page = map_private(bytes);
    if page.is_null() {
        return page;
    }
    // SAFETY: advice about memory that we just mapped and nobody uses yet.
    match unsafe { rustix::mm::madvise(page, bytes, Advice::LinuxWipeOnFork) } {
        Ok(()) => page,
        Err(_) => null_mut(),
    }
}

/// Makes mapped memory accessible.
///
/// # Safety
/// The range lies within a mapping of ours.
pub(crate) unsafe fn open(start: *mut c_void, bytes: usize) -> bool {
    // SAFETY: the caller vouches for the range.
    unsafe { rustix::mm::mprotect(start, bytes, MprotectFlags::READ | MprotectFlags::WRITE) }.is_ok()
}

/// Makes memory inaccessible.
///
/// # Safety
/// The memory is ours, and nobody uses it.
pub(crate) unsafe fn close(start: *mut c_void, bytes: usize) -> bool {
    // SAFETY: the caller vouches for the range.
    unsafe { rustix::mm::mprotect(start, bytes, MprotectFlags::empty()) }.is_ok()
}

/// Does something that no signal handler of this thread may see half done.
#[cold]
pub(crate) fn without_signals<R>(work: impl FnOnce() -> R) -> R {
    if !allowed_calls::allows(Need::Map) {
        return work();
    }
    // If a sandbox refuses the call, no signals are blocked, and none count as blocked before: the call at the end
    // would be refused, too.
    let before = arch::block_signals(u64::MAX);
    let result = work();
    arch::block_signals(before);
    result
}

/// Waits until the word differs from `expected`, or somebody wakes us, or the time is over. Where waiting is
/// forbidden, it spins for a moment.
pub(crate) fn wait(cell: &core::sync::atomic::AtomicU64, expected: u64, milliseconds: u64) {
    if !allowed_calls::allows(Need::Futex) {
        (0..1000).for_each(|_| core::hint::spin_loop());
        return;
    }
    let timeout = futex::Timespec {
        tv_sec: (milliseconds / 1000) as i64,
        tv_nsec: ((milliseconds % 1000) * 1_000_000) as i64,
    };
    // Whatever the result, the caller checks again.
    let _ = futex::wait(word(cell), futex::Flags::empty(), expected as u32, Some(&timeout));
}

/// Wakes the thread that waits on the word, unless that is forbidden: sleepers here also check by themselves from
/// time to time.
pub(crate) fn wake(word: &core::sync::atomic::AtomicU32) {
    if !allowed_calls::allows(Need::Futex) {
        return;
    }
    // At most one thread waits; nothing depends on which.
    let _ = futex::wake(word, futex::Flags::empty(), 1);
}

/// The calling thread's id in its own pid namespace.
pub(crate) fn thread_id() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned()
}

/// The process' id in its own pid namespace.
pub(crate) fn process_id() -> u32 {
    rustix::process::getpid().as_raw_nonzero().get().cast_unsigned()
}

/// `CLOCK_MONOTONIC_RAW`.
pub(crate) fn monotonic_raw_ns() -> u64 {
    let [seconds, nanoseconds] = if has_vdso() {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicRaw);
        [now.tv_sec as u64, now.tv_nsec as u64]
    } else {
        arch::monotonic_raw()
    };
    seconds.wrapping_mul(1_000_000_000).wrapping_add(nanoseconds)
}

/// Whether the program has a vDSO. Under valgrind it has none, and rustix would use valgrind's own, which is not
/// mapped.
fn has_vdso() -> bool {
    static ANSWER: AtomicU8 = AtomicU8::new(0);
    // Relaxed: all threads get the same answer.
    match ANSWER.load(Ordering::Relaxed) {
        0 => {
            let saved = errno::get();
            // SAFETY: reads a number. If there is none, `errno` is set.
            let found = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) } != 0;
            errno::set(saved);
            ANSWER.store(if found { 1 } else { 2 }, Ordering::Relaxed);
            found
        }
        answer => answer == 1,
    }
}

mod shared_ring_futex {
    use core::sync::atomic::{AtomicU32, AtomicU64};

    /// The low half of a position, which a futex can wait on.
    pub(super) fn word(cell: &AtomicU64) -> &AtomicU32 {
        // SAFETY: an AtomicU64 is at least as large and aligned as an AtomicU32, and its first half is the low one
        // on this little-endian machine.
        unsafe { &*core::ptr::from_ref(cell).cast::<AtomicU32>() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    /// Check that fences are prepared by a thread that ends afterwards.
    #[test]
    fn fences_are_prepared_by_a_thread_of_their_own() {
        // The test harness has a thread of its own, so the process has several.
        register_fences();
        let thread = PREPARING.load(Ordering::Relaxed);
        assert_ne!(thread, 0);
        let begun = Instant::now();
        while !fence_in_all_threads() || arch::probe_thread(process_id(), thread) == 0 {
            assert!(begun.elapsed() < Duration::from_secs(60), "thread {thread} is still there");
            std::thread::sleep(Duration::from_millis(1));
        }
        let error = arch::probe_thread(process_id(), thread);
        assert_eq!(error, -i64::from(libc::ESRCH));
    }

    /// Check that readable memory is told from pages that nobody may read, from non-canonical addresses, and from
    /// null.
    #[test]
    fn only_memory_is_readable() {
        let word = 1_u64;
        assert!(is_readable((&raw const word).addr() as u64));
        for address in [0, 8, 4096 - 8, 1 << 47, u64::MAX - 7] {
            assert!(!is_readable(address), "{address:#x}");
        }
    }
}
