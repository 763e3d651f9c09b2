//! Which blocks are samples, so that the frees of all others need no record.
//!
//! One bit for every 8 bytes of address space, in leaves that are mapped when a region gets its first sample:
//!
//! ```text
//!  address  46         28 27     14 13       9 8      3         47 instead of 46 on ARM
//!          ┌─────────────┬─────────┬──────────┬────────┐
//!          │ region      │ part    │ word     │ bit    │
//!          └─────────────┴─────────┴──────────┴────────┘
//!  directory  2¹⁹ pointers, 4 MiB, private: most of it is never touched; on ARM twice as many
//!  leaf       how many bits are set in each of 2¹⁴ parts, 32 KiB: a cache line of them stands for 512 KiB of heap;
//!             and 2¹⁹ words, 4 MiB: a cache line stands for 4 KiB
//! ```
//!
//! - **It is exact.** Blocks are at least 8 bytes apart, so each has a bit of its own. The bit is set before the
//!   allocation returns and cleared before the block is given back. Whoever frees the block got its address from the
//!   thread that allocated it, and therefore sees the bit; the next owner of the address sets the bit after it was
//!   cleared. A part is counted from before the bit is set until after it was cleared. If an allocator returns addresses that are no multiples of 8, those blocks are refused as samples, and
//!   counted.
//! - **It is small.** A sample dirties at most two pages, and reading a page that was never written maps the kernel's
//!   zero page. All leaves together are never larger than a 63rd of the regions that contain samples. There are at
//!   most [`LEAVES`], enough for 1 TiB; when no more can be had, samples are refused and counted.
//! - **It is private.** A forked child has a copy, so it knows its parent's samples as its own blocks.
//! - **It is cheap.** A free reads one pointer, which is the same for a whole heap, and nearly always nothing else but
//!   the count of its part. All counts of a heap fit into near caches and a few pages; its words would compete with
//!   the heap for both.
//!
//! When every allocation is recorded, there is no directory, and every free is recorded, too. A process that is
//! recorded again keeps its directory and its leaves, emptied.

use crate::platform::{arch, sys};
use core::sync::atomic::{AtomicPtr, AtomicU16, AtomicU64, AtomicUsize, Ordering};

/// log₂ of the bytes that a bit stands for.
const GRANULE: u32 = 3;
/// log₂ of the bytes that a word stands for.
const WORD: u32 = GRANULE + 6;
/// log₂ of the bytes that a count stands for. It has room for as many blocks.
const PART: u32 = 14;
/// log₂ of the bytes that a leaf stands for.
const REGION: u32 = 28;
const REGIONS: usize = 1 << (arch::ADDRESS_BITS - REGION);
const PARTS: usize = 1 << (REGION - PART);
const WORDS: usize = 1 << (REGION - WORD);
/// Most leaves.
const LEAVES: usize = 4096;

/// The samples of a region.
struct Leaf {
    /// At least as many as there are bits set in each part.
    counts: [AtomicU16; PARTS],
    words: [AtomicU64; WORDS],
}

type Region = AtomicPtr<Leaf>;

/// The leaves, by region.
#[derive(Debug)]
struct Filter {
    /// Null when there is none, [`PAUSED`] or [`NO_BLOCK`] when no block is of interest.
    directory: AtomicPtr<Region>,
    /// The directory, once there was one: it is never unmapped.
    mapped: AtomicPtr<Region>,
    leaves: AtomicUsize,
}

/// No block is of interest for a while.
const PAUSED: *mut Region = core::ptr::without_provenance_mut(1);
/// No block is of interest any more.
const NO_BLOCK: *mut Region = core::ptr::without_provenance_mut(2);

static FILTER: Filter = Filter::new();

/// Blocks that an allocator got from itself, or that libc got from it, in the middle of a call that it served. They
/// are not recorded, and so neither are their ends, whoever frees them and when.
static INNER: Filter = Filter::new();

/// Adds such a block.
#[cold]
pub(crate) fn add_inner(address: usize) {
    // If there is no memory, the end of the block contradicts the rest of the recording.
    let _ = INNER.start_shared() && INNER.add(address);
}

/// Removes such a block, which is about to end or turns out to be what the outer call returns; false for any other.
// Cost: a load and a test as long as there was no such block.
#[inline(always)]
pub(crate) fn take_inner(address: usize) -> bool {
    !INNER.directory.load(Ordering::Relaxed).is_null() && INNER.take(address)
}

/// Makes room for samples; false when there is no memory.
#[cold]
pub(crate) fn start() -> bool {
    FILTER.start()
}

/// From now on, records the end of every block. Returns true.
#[cold]
pub(crate) fn accept_all() -> bool {
    FILTER.directory.store(core::ptr::null_mut(), Ordering::Relaxed);
    true
}

/// From now on, records the end of no block: the process is not recorded.
#[cold]
pub(crate) fn refuse() {
    FILTER.directory.store(NO_BLOCK, Ordering::Relaxed);
}

/// When everything is recorded: the end of no block is to be recorded until [`resume`]. When only samples are,
/// nothing changes, and samples are still removed when they end: none that ends in a pause is mistaken for a later
/// block.
#[cold]
pub(crate) fn pause() {
    FILTER.change(core::ptr::null_mut(), PAUSED);
}

/// Undoes [`pause`], but not [`refuse`].
#[cold]
pub(crate) fn resume() {
    FILTER.change(PAUSED, core::ptr::null_mut());
}

/// Forgets all blocks of a session that is over, when no hook of it is at work any more.
#[cold]
pub(crate) fn forget() {
    FILTER.forget();
}

/// Adds a block; false when it cannot be held. When everything is recorded, nothing is held and nothing refused.
pub(crate) fn add(address: usize) -> bool {
    FILTER.add(address)
}

/// True while the end of every block is recorded.
#[inline(always)]
pub(crate) fn takes_all() -> bool {
    // Relaxed: a flag. The guard decides whether the end is recorded.
    FILTER.directory.load(Ordering::Relaxed).is_null()
}

/// True when the end of a block must be recorded. Only a hint: another thread may be removing it.
// Cost: three loads and tests, and a fourth where there is a sample nearby.
#[inline(always)]
pub(crate) fn has(address: usize) -> bool {
    FILTER.has(address)
}

/// Removes a block that is about to end: true when its end must be recorded.
// Cost: as `has`; for a block that is not a sample nothing is written.
#[inline(always)]
pub(crate) fn take(address: usize) -> bool {
    FILTER.take(address)
}

impl Filter {
    const fn new() -> Self {
        Self {
            directory: AtomicPtr::new(core::ptr::null_mut()),
            mapped: AtomicPtr::new(core::ptr::null_mut()),
            leaves: AtomicUsize::new(0),
        }
    }

    fn start(&self) -> bool {
        // Relaxed, all of them: one thread starts, and publishes the session afterwards.
        let mut directory = self.mapped.load(Ordering::Relaxed);
        if directory.is_null() {
            directory = sys::map_sparse(REGIONS * size_of::<Region>()).cast();
            self.mapped.store(directory, Ordering::Relaxed);
        }
        self.directory.store(directory, Ordering::Relaxed);
        !directory.is_null()
    }

    /// The same for threads that come at once.
    fn start_shared(&self) -> bool {
        const BYTES: usize = REGIONS * size_of::<Region>();
        if self.directory.load(Ordering::Relaxed).is_null() {
            let fresh = sys::map_sparse(BYTES).cast::<Region>();
            let null = core::ptr::null_mut();
            // Relaxed: a new directory contains only zeros, and its leaves are published on their own.
            let first = self.directory.compare_exchange(null, fresh, Ordering::Relaxed, Ordering::Relaxed);
            if first.is_err() && !fresh.is_null() {
                // SAFETY: mapped above and not published.
                unsafe { sys::unmap(fresh.cast(), BYTES) };
            }
        }
        !self.directory.load(Ordering::Relaxed).is_null()
    }

    fn change(&self, from: *mut Region, to: *mut Region) {
        // Relaxed: a flag. Any other value stays.
        let _ = self.directory.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Leaves stay mapped, but empty: a free that is just looking at one finds nothing.
    fn forget(&self) {
        let directory = self.mapped.load(Ordering::Relaxed);
        if directory.is_null() || self.leaves.load(Ordering::Relaxed) == 0 {
            return;
        }
        for number in 0..REGIONS {
            let leaf = region(directory, number << REGION).load(Ordering::Acquire);
            if !leaf.is_null() {
                sys::clear_sparse(leaf.cast(), size_of::<Leaf>());
            }
        }
    }

    fn add(&self, address: usize) -> bool {
        let directory = self.directory.load(Ordering::Relaxed);
        if directory.addr() <= NO_BLOCK.addr() {
            return true;
        }
        if !is_aligned(address) || address >> REGION >= REGIONS {
            return false;
        }
        let Some(leaf) = self.leaf(region(directory, address)) else { return false };
        // Relaxed here and in `take`: the changes of one word, and those of one count, have a total order, and whoever
        // may free the block learned its address from this thread in some way that orders the two.
        count(leaf, address).fetch_add(1, Ordering::Relaxed);
        let before = word(leaf, address).fetch_or(1 << place(address), Ordering::Relaxed);
        if is_set(before, address) {
            count(leaf, address).fetch_sub(1, Ordering::Relaxed);
        }
        true
    }

    #[inline(always)]
    fn has(&self, address: usize) -> bool {
        let directory = self.directory.load(Ordering::Relaxed);
        if directory.addr() <= NO_BLOCK.addr() {
            return directory.is_null();
        }
        find(directory, address).is_some()
    }

    #[inline(always)]
    fn take(&self, address: usize) -> bool {
        let directory = self.directory.load(Ordering::Relaxed);
        if directory.addr() <= NO_BLOCK.addr() {
            return directory.is_null();
        }
        let Some(leaf) = find(directory, address) else { return false };
        // If two threads free the block, which is a bug of theirs, one of them records it.
        let before = word(leaf, address).fetch_and(!(1 << place(address)), Ordering::Relaxed);
        let is_first = is_set(before, address);
        if is_first {
            count(leaf, address).fetch_sub(1, Ordering::Relaxed);
        }
        is_first
    }

    /// The leaf of a region, mapped if need be.
    fn leaf(&self, region: &Region) -> Option<&'static Leaf> {
        leaf_of(region).or_else(|| self.map_leaf(region))
    }

    #[cold]
    #[inline(never)]
    fn map_leaf(&self, region: &Region) -> Option<&'static Leaf> {
        // Relaxed: a bound on which nothing else depends.
        if self.leaves.fetch_add(1, Ordering::Relaxed) >= LEAVES {
            self.leaves.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        let fresh = sys::map_sparse(size_of::<Leaf>()).cast::<Leaf>();
        let is_first = !fresh.is_null() && {
            // AcqRel: the second thread to come takes the first one's leaf.
            let null = core::ptr::null_mut();
            region.compare_exchange(null, fresh, Ordering::AcqRel, Ordering::Acquire).is_ok()
        };
        if !is_first {
            self.leaves.fetch_sub(1, Ordering::Relaxed);
            if !fresh.is_null() {
                // SAFETY: mapped above and not published.
                unsafe { sys::unmap(fresh.cast(), size_of::<Leaf>()) };
            }
        }
        leaf_of(region)
    }
}

/// The leaf of a block that was added.
#[inline(always)]
fn find(directory: *mut Region, address: usize) -> Option<&'static Leaf> {
    if address >> REGION >= REGIONS {
        return None;
    }
    let leaf = leaf_of(region(directory, address))?;
    let is_there = count(leaf, address).load(Ordering::Relaxed) != 0
        && is_set(word(leaf, address).load(Ordering::Relaxed), address)
        && is_aligned(address);
    is_there.then_some(leaf)
}

#[inline(always)]
fn region(directory: *mut Region, address: usize) -> &'static Region {
    // SAFETY: the directory has so many pointers, is initially zero, which is null, and stays mapped.
    unsafe { &*directory.wrapping_add((address >> REGION) % REGIONS) }
}

/// The leaf of a region, if it was mapped.
#[inline(always)]
fn leaf_of(region: &Region) -> Option<&'static Leaf> {
    // Acquire pairs with the exchange in `map_leaf`: a new leaf contains only zeros, but it must be mapped. On this
    // processor it is a plain load.
    let leaf = region.load(Ordering::Acquire);
    // SAFETY: null, or a mapping of this size, which begins as zeros, all of which are valid, and stays.
    unsafe { leaf.as_ref() }
}

/// How many samples there are in the part of the region that a block lies in.
#[inline(always)]
fn count(leaf: &Leaf, address: usize) -> &AtomicU16 {
    let [first, ..] = &leaf.counts;
    leaf.counts.get((address >> PART) % PARTS).unwrap_or(first)
}

/// The word with a block's bit.
#[inline(always)]
fn word(leaf: &Leaf, address: usize) -> &AtomicU64 {
    let [first, ..] = &leaf.words;
    leaf.words.get((address >> WORD) % WORDS).unwrap_or(first)
}

/// True when a block's bit is set in its word.
#[inline(always)]
fn is_set(word: u64, address: usize) -> bool {
    word >> place(address) & 1 != 0
}

#[inline(always)]
fn is_aligned(address: usize) -> bool {
    address.is_multiple_of(1 << GRANULE)
}

/// Which bit of its word is the block's.
#[inline(always)]
fn place(address: usize) -> usize {
    (address >> GRANULE) % 64
}

#[cfg(test)]
mod tests;
