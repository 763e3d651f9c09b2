//! Reserved ids of the pc table: frames that are not code.
//!
//! The kind of a call is the innermost node of its stack, and the reason why a stack does not reach its root is the
//! outermost: neither costs anything per event. The numbers are those of the capture format.

/// First id of the pc table that stands for a code address.
pub const FIRST_PC: u32 = 64;

macro_rules! pseudo {
    ($($(#[$doc:meta])* $name:ident = $number:literal;)*) => {
        $($(#[$doc])* pub const $name: u32 = $number;)*

        /// All reserved ids in use, by name.
        pub const ALL: &[(&str, u32)] = &[$((stringify!($name), $number)),*];
    };
}

pseudo! {
    /// `calloc`.
    CALLOC = 1;
    /// `realloc`.
    REALLOC = 2;
    /// `reallocarray`.
    REALLOCARRAY = 3;
    /// `posix_memalign`.
    POSIX_MEMALIGN = 4;
    /// `aligned_alloc`.
    ALIGNED_ALLOC = 5;
    /// `memalign`.
    MEMALIGN = 6;
    /// `valloc`.
    VALLOC = 7;
    /// `pvalloc`.
    PVALLOC = 8;
    /// `operator new`.
    NEW = 9;
    /// `operator new[]`.
    NEW_ARRAY = 10;
    /// `operator new` with an alignment.
    NEW_ALIGNED = 11;
    /// `operator new[]` with an alignment.
    NEW_ARRAY_ALIGNED = 12;
    /// `memprof_report_alloc`.
    REPORT_ALLOC = 13;
    /// `memprof_report_realloc`.
    REPORT_REALLOC = 14;
    /// `mmap`.
    MMAP = 20;
    /// `mremap`.
    MREMAP = 21;
    /// `brk` and `sbrk`.
    BRK = 22;
    /// The depth limit cut off the outer frames.
    TRUNCATED = 40;
    /// No unwind information for the outermost frame.
    NO_UNWIND_INFO = 41;
    /// Unreadable memory, or a stack pointer that did not rise.
    BROKEN = 42;
    /// The stack table or the pc table was full.
    STACK_TABLE_FULL = 43;
    /// No stack could be taken at this moment.
    NOT_TAKEN = 44;
}
