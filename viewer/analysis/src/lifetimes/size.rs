//! Sizes in powers of two, and how an allocator rounds them.

use crate::format::bytes;
use std::fmt;

/// A class of sizes: 0, up to 16, up to 32 and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SizeClass(u8);

/// log₂ of the end of the smallest class: what the smallest block of most allocators holds.
const FIRST: u32 = 4;

impl SizeClass {
    /// The class of a size.
    pub fn of(size: u64) -> Self {
        match size {
            0 => Self(0),
            size => Self((1 + (64 - (size - 1).leading_zeros()).saturating_sub(FIRST)) as u8),
        }
    }

    /// The largest size in it.
    pub fn last(self) -> u64 {
        match self.0 {
            0 => 0,
            place => 1_u64.checked_shl(FIRST + u32::from(place) - 1).unwrap_or(u64::MAX),
        }
    }

    /// The smallest size in it.
    pub fn first(self) -> u64 {
        match self.0 {
            0 => 0,
            place => Self(place - 1).last() + 1,
        }
    }
}

impl fmt::Display for SizeClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = bytes(i64::try_from(self.last()).unwrap_or(i64::MAX));
        if self.0 == 0 { f.write_str("0 B") } else { write!(f, "≤ {last}") }
    }
}

/// Usable bytes of the block that glibc's allocator returns for a request on 64-bit machines with default settings: a
/// chunk has 8 bytes of overhead, is a multiple of 16 and at least 32 (`request2size` of malloc.c). A chunk of 128 KiB
/// or more is mapped with 8 bytes more, in whole pages, until such a block is freed and the threshold rises, or if the
/// end of the heap has room for it. This is a model: other allocators differ, and an alignment costs more.
pub fn usable_by_glibc(size: u64) -> u64 {
    const THRESHOLD: u64 = 128 << 10;
    let Some(chunk) = size.checked_add(8).and_then(|size| size.checked_next_multiple_of(16)) else {
        return size;
    };
    match chunk {
        ..=32 => 24,
        33..THRESHOLD => chunk - 8,
        _ => chunk
            .checked_add(8)
            .and_then(|size| size.checked_next_multiple_of(4096))
            .map_or(size, |pages| pages - 16),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that every size has one class, whose ends are in it.
    #[test]
    fn classes_are_powers_of_two() {
        for (size, first, last) in
            [(0, 0, 0), (1, 1, 16), (16, 1, 16), (17, 17, 32), (32, 17, 32), (33, 33, 64), (4096, 2049, 4096)]
        {
            let class = SizeClass::of(size);
            assert_eq!((class.first(), class.last()), (first, last), "{size}");
        }
        assert_eq!(SizeClass::of(u64::MAX).last(), u64::MAX);
        assert_eq!(
            (SizeClass::of(0).to_string().as_str(), SizeClass::of(3000).to_string().as_str()),
            ("0 B", "≤ 4.00 KiB")
        );
    }

    /// Check the model against `malloc_usable_size` of glibc.
    #[test]
    fn usable_sizes_are_those_of_glibc() {
        for (size, usable) in [
            (0, 24),
            (1, 24),
            (24, 24),
            (25, 40),
            (40, 40),
            (41, 56),
            (1000, 1000),
            (1001, 1016),
            (131_048, 131_048),
            (131_049, 135_152),
            (131_072, 135_152),
            (33 * 4096 - 24, 33 * 4096 - 16),
            (33 * 4096 - 23, 34 * 4096 - 16),
            (33 * 4096 - 16, 34 * 4096 - 16),
            (33 * 4096 - 15, 34 * 4096 - 16),
            (1 << 20, (1 << 20) + 4080),
            (u64::MAX, u64::MAX),
        ] {
            assert_eq!(usable_by_glibc(size), usable, "{size}");
        }
    }
}
