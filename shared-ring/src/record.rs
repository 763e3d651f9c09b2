//! Records on the wire: what a hook writes into its thread's ring.
//!
//! ```text
//!  every record begins with  63           20 19 18      0
//!                           ┌───────────────┬──┬─────────┐
//!                           │ field 44 bits │k │ Δt      │
//!                           └───────────────┴──┴─────────┘
//!  free       1 word   field = address >> 4, k = 0
//!  malloc     2 words  field = address >> 4, k = 1   │ stack 32 | size 32 │
//!  escape     n words  field < 64 = the opcode       │ … as the opcode says │
//!  name       n words  field < 4096, see [`name`]
//! ```
//!
//! No block lies below 64 KiB (the kernel keeps those pages unmapped), so small fields are free to mean something
//! else. Δt counts [`TIME_SHIFT`]-shifted ticks since the ring's last record; a longer pause is reported by
//! [`Opcode::Time`] first. Example: `malloc(24)` = `0x5581_2340` with stack 7, three units after the last record, is
//! `0x0000_5581_2348_0003`, `0x0000_0007_0000_0018`: field `0x0558_1234`, k = 1, Δt = 3.
//!
//! The words of a record are committed together, so a reader never sees part of one.

pub mod name;

use name::Named;

/// Ticks are shifted right by this before they are stored: 16 ticks are 6 ns at 2.6 GHz.
pub const TIME_SHIFT: u32 = 4;
/// Δt must be below this.
pub const DELTA_LIMIT: u64 = 1 << 19;
/// Fields below this are opcodes, with the length of a name above the opcode's six bits.
pub const OPCODES: u64 = 1 << 12;
/// Most words of one record without a name.
pub const MAX_WORDS: usize = 6;

const KIND: u64 = 1 << 19;
pub(crate) const FIELD_SHIFT: u32 = 20;

/// The kinds of escape records. The numbers are part of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Opcode {
    /// Absolute time of the ring.
    Time = 1,
    /// A thread takes over the ring: slot, tid, absolute time.
    Owner = 2,
    /// The thread gives the ring back.
    End = 3,
    /// An allocation that the short form can't hold.
    AllocLong = 4,
    /// A free of an odd address.
    FreeLong = 5,
    /// See [`Record::ReallocBegin`].
    ReallocBegin = 6,
    /// See [`Record::ReallocEnd`].
    ReallocEnd = 7,
    /// See [`Record::ReallocFailed`].
    ReallocFailed = 8,
    /// See [`Record::ReallocFreed`].
    ReallocFreed = 9,
    /// See [`Record::Map`].
    Map = 10,
    /// See [`Record::Unmap`].
    Unmap = 11,
    /// See [`Record::UnmapFailed`].
    UnmapFailed = 12,
    /// See [`Record::Remap`].
    Remap = 13,
    /// See [`Record::Break`].
    Break = 14,
    /// See [`Record::GapBegin`].
    GapBegin = 15,
    /// See [`Record::GapEnd`].
    GapEnd = 16,
    /// See [`Record::Exec`].
    Exec = 17,
    /// See [`Record::ExecFailed`].
    ExecFailed = 18,
    /// See [`Record::Exit`].
    Exit = 19,
    /// See [`Record::Fork`].
    Fork = 20,
    /// See [`Record::Unsampled`].
    Unsampled = 21,
    /// See [`Record::Pause`].
    Pause = 22,
    /// See [`Record::Resume`].
    Resume = 23,
    /// See [`Record::ReportAlloc`].
    ReportAlloc = 24,
    /// See [`Record::ReportFree`].
    ReportFree = 25,
    /// See [`Record::ReportRealloc`].
    ReportRealloc = 26,
    /// See [`Named::Pool`].
    Pool = 27,
    /// See [`Named::Mark`].
    Mark = 28,
    /// See [`Record::FreeWithStack`].
    FreeWithStack = 29,
    /// See [`Record::AllocFailed`].
    AllocFailed = 30,
}

impl Opcode {
    /// All opcodes with the number of words of their records, not counting names.
    pub const ALL: [(Opcode, usize); 30] = [
        (Opcode::Time, 2),
        (Opcode::Owner, 3),
        (Opcode::End, 1),
        (Opcode::AllocLong, 4),
        (Opcode::FreeLong, 2),
        (Opcode::ReallocBegin, 2),
        (Opcode::ReallocEnd, 4),
        (Opcode::ReallocFailed, 2),
        (Opcode::ReallocFreed, 2),
        (Opcode::Map, 4),
        (Opcode::Unmap, 3),
        (Opcode::UnmapFailed, 3),
        (Opcode::Remap, 6),
        (Opcode::Break, 4),
        (Opcode::GapBegin, 1),
        (Opcode::GapEnd, 3),
        (Opcode::Exec, 1),
        (Opcode::ExecFailed, 1),
        (Opcode::Exit, 2),
        (Opcode::Fork, 2),
        (Opcode::Unsampled, 1),
        (Opcode::Pause, 1),
        (Opcode::Resume, 1),
        (Opcode::ReportAlloc, 4),
        (Opcode::ReportFree, 3),
        (Opcode::ReportRealloc, 5),
        (Opcode::Pool, 2),
        (Opcode::Mark, 2),
        (Opcode::FreeWithStack, 3),
        (Opcode::AllocFailed, 5),
    ];

    /// True if records of this opcode end with a name.
    pub fn has_name(self) -> bool {
        matches!(self, Opcode::Pool | Opcode::Mark)
    }
}

/// A record's meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// The ring's time is now this, in shifted ticks.
    Time {
        /// Absolute shifted ticks.
        time: u64,
    },
    /// From here on the thread `tid` of the process in `slot` writes.
    Owner {
        /// Process slot.
        slot: u32,
        /// Thread id in the process' own pid namespace.
        tid: u32,
        /// Absolute shifted ticks.
        time: u64,
    },
    /// The writing thread is done with the ring.
    End,
    /// A new block.
    Alloc {
        /// Its address.
        address: u64,
        /// Bytes requested.
        size: u64,
        /// Alignment requested, 0 for none.
        alignment: u64,
        /// Stack id.
        stack: u32,
    },
    /// A block is about to be freed.
    Free {
        /// Its address.
        address: u64,
    },
    /// The same when stacks of frees are wanted.
    FreeWithStack {
        /// Its address.
        address: u64,
        /// Stack id.
        stack: u32,
    },
    /// `realloc` of this block is about to happen.
    ReallocBegin {
        /// The old block.
        address: u64,
        /// Connects begin and end within the thread.
        serial: u16,
    },
    /// The `realloc` returned a block.
    ReallocEnd {
        /// As in the begin.
        serial: u16,
        /// The new block.
        address: u64,
        /// Bytes requested.
        size: u64,
        /// Stack id.
        stack: u32,
    },
    /// The `realloc` failed; the old block is unchanged.
    ReallocFailed {
        /// As in the begin.
        serial: u16,
    },
    /// The `realloc` to size 0 freed the block.
    ReallocFreed {
        /// As in the begin.
        serial: u16,
    },
    /// Pages were mapped.
    Map {
        /// Start.
        address: u64,
        /// Bytes.
        length: u64,
        /// Stack id.
        stack: u32,
        /// The call came from inside another hook: the allocator's own.
        in_hook: bool,
    },
    /// Pages are about to be unmapped.
    Unmap {
        /// Start.
        address: u64,
        /// Bytes.
        length: u64,
    },
    /// The unmapping failed.
    UnmapFailed {
        /// Start.
        address: u64,
        /// Bytes.
        length: u64,
    },
    /// A mapping was moved or resized.
    Remap {
        /// Old start.
        old_address: u64,
        /// Old bytes.
        old_length: u64,
        /// New start.
        address: u64,
        /// New bytes.
        length: u64,
        /// Stack id.
        stack: u32,
    },
    /// The program break was moved.
    Break {
        /// Where it was.
        from: u64,
        /// Where it is now.
        address: u64,
        /// Stack id.
        stack: u32,
        /// The call came from inside another hook: the allocator's own.
        in_hook: bool,
    },
    /// From here on records of this thread were lost.
    GapBegin,
    /// The loss ended.
    GapEnd {
        /// Allocations that were not recorded.
        allocations: u64,
        /// Frees that were not recorded.
        frees: u64,
    },
    /// The process is about to exec: its heap ends unless [`Record::ExecFailed`] follows.
    Exec,
    /// The exec failed.
    ExecFailed,
    /// The process is about to exit with this code.
    Exit {
        /// As given to `exit`.
        code: i32,
    },
    /// The process is about to fork; the child inherits what is live now. The child's slot has the same number.
    Fork {
        /// Starts at 1, and is unique in a process and its ancestors.
        fork: u32,
    },
    /// Since its last sample, the thread has allocated blocks that are no samples.
    Unsampled,
    /// From here on the program wants nothing recorded, in any of its threads.
    Pause,
    /// From here on it wants everything recorded again.
    Resume,
    /// The program reported a new block in one of its pools.
    ReportAlloc {
        /// Number of the pool in the process, from 1.
        pool: u32,
        /// The block's address, or whatever else distinguishes the blocks of this pool.
        address: u64,
        /// Bytes.
        size: u64,
        /// Stack id.
        stack: u32,
    },
    /// The program reported that a block of a pool is about to be freed.
    ReportFree {
        /// Number of the pool.
        pool: u32,
        /// The block.
        address: u64,
    },
    /// The program reported that a block of a pool has another size, and perhaps another place.
    ReportRealloc {
        /// Number of the pool.
        pool: u32,
        /// The old block.
        old: u64,
        /// The new block.
        address: u64,
        /// The new size in bytes.
        size: u64,
        /// Stack id.
        stack: u32,
    },
    /// Something is given a name, which follows: see [`name::Name::of`].
    Named(Named),
    /// A call that should have returned memory returned none. The innermost frame of the stack says which call it
    /// was, as for blocks.
    AllocFailed {
        /// Bytes requested.
        size: u64,
        /// Alignment requested, which may be an impossible one; 0 for none.
        alignment: u64,
        /// Number of elements of this size if the product of both overflows, otherwise 0.
        count: u64,
        /// What the call left in `errno`, or returned instead; 0 if unknown.
        error: u32,
        /// Stack id.
        stack: u32,
    },
}

/// A malloc in the short form; `None` when it does not fit.
// Cost: three shifts, two tests.
#[inline(always)]
pub fn short_alloc(address: u64, size: u64, stack: u32, delta: u64) -> Option<[u64; 2]> {
    let field = short_field(address).filter(|_| size >> 32 == 0)?;
    Some([field << FIELD_SHIFT | KIND | delta, u64::from(stack) << 32 | size])
}

/// A free in the short form; `None` when it does not fit.
#[inline(always)]
pub fn short_free(address: u64, delta: u64) -> Option<u64> {
    Some(short_field(address)? << FIELD_SHIFT | delta)
}

/// An address as the field of a short form.
#[inline(always)]
fn short_field(address: u64) -> Option<u64> {
    // The low bits of an unaligned address end up on top, where they are out of range like those of an address that
    // is too high.
    let field = address.rotate_right(4);
    (field.wrapping_sub(OPCODES) < (1 << 44) - OPCODES).then_some(field)
}

/// The words of any record, and how many of them count. Records with a name get an empty one. `delta` is below
/// [`DELTA_LIMIT`].
pub fn encode(record: Record, delta: u64) -> ([u64; MAX_WORDS], usize) {
    let delta = delta & (DELTA_LIMIT - 1);
    let first = |opcode: Opcode| (opcode as u64) << FIELD_SHIFT | delta;
    let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    match record {
        Record::Alloc { address, size, alignment: 0, stack } => {
            if let Some([first, second]) = short_alloc(address, size, stack, delta) {
                return ([first, second, 0, 0, 0, 0], 2);
            }
        }
        Record::Free { address } => {
            if let Some(word) = short_free(address, delta) {
                return ([word, 0, 0, 0, 0, 0], 1);
            }
        }
        _ => {}
    }
    match record {
        Record::Time { time } => ([first(Opcode::Time), time, 0, 0, 0, 0], 2),
        Record::Owner { slot, tid, time } => ([first(Opcode::Owner), pair(slot, tid), time, 0, 0, 0], 3),
        Record::End => ([first(Opcode::End), 0, 0, 0, 0, 0], 1),
        Record::Alloc { address, size, alignment, stack } => {
            // Alignments are powers of two; 0 stays 0.
            let log2 = if alignment == 0 { 0 } else { alignment.trailing_zeros() + 1 };
            ([first(Opcode::AllocLong), address, size, pair(stack, log2), 0, 0], 4)
        }
        Record::Free { address } => ([first(Opcode::FreeLong), address, 0, 0, 0, 0], 2),
        Record::FreeWithStack { address, stack } => {
            ([first(Opcode::FreeWithStack), address, u64::from(stack), 0, 0, 0], 3)
        }
        Record::ReallocBegin { address, serial } => {
            ([first(Opcode::ReallocBegin), address << 16 | u64::from(serial), 0, 0, 0, 0], 2)
        }
        Record::ReallocEnd { serial, address, size, stack } => {
            ([first(Opcode::ReallocEnd), address << 16 | u64::from(serial), size, u64::from(stack), 0, 0], 4)
        }
        Record::ReallocFailed { serial } => {
            ([first(Opcode::ReallocFailed), u64::from(serial), 0, 0, 0, 0], 2)
        }
        Record::ReallocFreed { serial } => ([first(Opcode::ReallocFreed), u64::from(serial), 0, 0, 0, 0], 2),
        Record::Map { address, length, stack, in_hook } => {
            ([first(Opcode::Map), address, length, pair(stack, u32::from(in_hook)), 0, 0], 4)
        }
        Record::Unmap { address, length } => ([first(Opcode::Unmap), address, length, 0, 0, 0], 3),
        Record::UnmapFailed { address, length } => {
            ([first(Opcode::UnmapFailed), address, length, 0, 0, 0], 3)
        }
        Record::Remap { old_address, old_length, address, length, stack } => {
            ([first(Opcode::Remap), old_address, old_length, address, length, u64::from(stack)], 6)
        }
        Record::Break { from, address, stack, in_hook } => {
            ([first(Opcode::Break), from, address, pair(stack, u32::from(in_hook)), 0, 0], 4)
        }
        Record::Unsampled => ([first(Opcode::Unsampled), 0, 0, 0, 0, 0], 1),
        Record::Pause => ([first(Opcode::Pause), 0, 0, 0, 0, 0], 1),
        Record::Resume => ([first(Opcode::Resume), 0, 0, 0, 0, 0], 1),
        Record::ReportAlloc { pool, address, size, stack } => {
            ([first(Opcode::ReportAlloc), address, size, pair(stack, pool), 0, 0], 4)
        }
        Record::ReportFree { pool, address } => {
            ([first(Opcode::ReportFree), address, u64::from(pool), 0, 0, 0], 3)
        }
        Record::ReportRealloc { pool, old, address, size, stack } => {
            ([first(Opcode::ReportRealloc), old, address, size, pair(stack, pool), 0], 5)
        }
        Record::Named(named) => {
            let (words, length) = named.encode(&[], delta);
            let [first, second, ..] = words;
            ([first, second, 0, 0, 0, 0], length)
        }
        Record::AllocFailed { size, alignment, count, error, stack } => {
            ([first(Opcode::AllocFailed), size, alignment, count, pair(stack, error), 0], 5)
        }
        Record::GapBegin => ([first(Opcode::GapBegin), 0, 0, 0, 0, 0], 1),
        Record::GapEnd { allocations, frees } => ([first(Opcode::GapEnd), allocations, frees, 0, 0, 0], 3),
        Record::Exec => ([first(Opcode::Exec), 0, 0, 0, 0, 0], 1),
        Record::ExecFailed => ([first(Opcode::ExecFailed), 0, 0, 0, 0, 0], 1),
        Record::Exit { code } => ([first(Opcode::Exit), u64::from(code as u32), 0, 0, 0, 0], 2),
        Record::Fork { fork } => ([first(Opcode::Fork), u64::from(fork), 0, 0, 0, 0], 2),
    }
}

pub(crate) const fn kind_bit() -> u64 {
    KIND
}

pub(crate) const fn field_shift() -> u32 {
    FIELD_SHIFT
}
