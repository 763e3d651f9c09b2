//! Pages of blocks that were freed. Those that no block is on any more may have been kept by the allocator, or given
//! back.

use super::pages::PAGE;
use crate::base::ranges::Ranges;
use capture::{Action, ProcessId};
use std::collections::HashMap;
use std::ops::Range;

/// glibc initially maps blocks of this size and larger separately.
const MAPPED: u64 = 128 << 10;
/// From this size on it always does: the threshold rises no further.
const ALWAYS_MAPPED: u64 = 32 << 20;
/// Offset in its page of a block that was mapped: 0 where an alignment was asked for, otherwise after the header.
const MAPPED_AT: [u64; 2] = [0, 16];

/// Such pages of all processes.
#[derive(Debug, Default)]
pub(super) struct Freed(HashMap<ProcessId, Ranges>);

impl Freed {
    /// A block was freed.
    // Cost: a lookup among the few ranges that a heap soon consists of.
    pub(super) fn note(&mut self, process: ProcessId, address: u64, size: u64) {
        let pages = pages_of(address, size);
        let ranges = self.0.entry(process).or_default();
        if is_mapped(address, size) {
            ranges.remove(pages.start, pages.end);
        } else {
            ranges.add(pages.start, pages.end);
        }
    }

    /// Pages that are unmapped or replaced hold nothing of what was there.
    pub(super) fn follow(&mut self, process: ProcessId, action: &Action) {
        let (address, length) = match *action {
            Action::Map { address, length, .. } | Action::Unmap { address, length } => (address, length),
            Action::Remap { old_address, old_length, .. } => (old_address, old_length),
            _ => return,
        };
        if let Some(ranges) = self.0.get_mut(&process) {
            let pages = pages_of(address, length);
            ranges.remove(pages.start, pages.end);
        }
    }

    /// A process has none any more.
    pub(super) fn forget(&mut self, process: ProcessId) {
        self.0.remove(&process);
    }

    /// A block is on these pages.
    pub(super) fn take(&mut self, process: ProcessId, pages: Range<u64>) {
        if let Some(ranges) = self.0.get_mut(&process) {
            ranges.remove(pages.start, pages.end);
        }
    }

    /// All that are left.
    pub(super) fn iter(&self) -> impl Iterator<Item = (ProcessId, Range<u64>)> {
        self.0
            .iter()
            .flat_map(|(&process, ranges)| ranges.iter().map(move |(first, end)| (process, first..end)))
    }
}

/// True when libc mapped a block separately, judging by its size and address: its pages go when it is freed. This is
/// glibc's convention, which no event reports.
pub(super) fn is_mapped(address: u64, size: u64) -> bool {
    size >= ALWAYS_MAPPED || size >= MAPPED && MAPPED_AT.contains(&(address % PAGE))
}

/// The pages that contain these bytes; an empty block is on one page.
pub(super) fn pages_of(address: u64, size: u64) -> Range<u64> {
    address / PAGE..address.saturating_add(size.max(1) - 1) / PAGE + 1
}
