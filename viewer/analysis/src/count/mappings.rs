//! Totals of the calls that ask the kernel for pages. They are kept apart from the heap's numbers: an allocator's
//! pages hold the blocks that are counted there.

use crate::base::cost::Amount;
use crate::base::parts::parts;
use capture::Action;
use serde::{Deserialize, Serialize};

/// Totals of `mmap`, `munmap`, `mremap` and `brk`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mappings {
    /// Successful `mmap` calls and their bytes.
    pub mapped: Amount,
    /// The part of `mapped` that an allocator asked for while serving a call.
    pub in_hook: Amount,
    /// Successful `munmap` calls and their bytes.
    pub unmapped: Amount,
    /// Successful `mremap` calls, and the bytes they added or, if negative, released.
    pub remapped: Amount,
    /// Changes of the program break, and the bytes they added together.
    pub breaks: Amount,
}

impl Mappings {
    /// Adds an event; those that are not mappings change nothing.
    pub(crate) fn note(&mut self, action: &Action) {
        match *action {
            Action::Map { length, in_hook, .. } => {
                self.mapped += Amount::block(length);
                if in_hook {
                    self.in_hook += Amount::block(length);
                }
            }
            Action::Unmap { length, .. } => self.unmapped += Amount::block(length),
            Action::UnmapFailed { length, .. } => self.unmapped -= Amount::block(length),
            Action::Remap { old_length, length, .. } => {
                self.remapped += Amount::block(length.wrapping_sub(old_length));
            }
            Action::Break { from, address, .. } => {
                self.breaks += Amount::block(address.wrapping_sub(from));
            }
            _ => {}
        }
    }
}

parts!(Mappings { mapped, in_hook, unmapped, remapped, breaks });

#[cfg(test)]
mod tests {
    use super::*;
    use capture::NodeId;

    /// Check that a failed unmapping takes its announcement back, and that growth is counted from where the break was,
    /// which the allocator moves, too.
    #[test]
    fn every_call_has_its_total() {
        let stack = NodeId::ROOT;
        let moved = |from, address| Action::Break { from, address, stack, in_hook: false };
        let mut totals = Mappings::default();
        for action in [
            Action::Map { address: 0x1000, length: 8192, stack, in_hook: true },
            Action::Map { address: 0x9000, length: 4096, stack, in_hook: false },
            Action::Remap { old_address: 0x9000, old_length: 4096, address: 0x9000, length: 1024, stack },
            Action::Unmap { address: 0x1000, length: 8192 },
            Action::Unmap { address: 0x9000, length: 1 },
            Action::UnmapFailed { address: 0x9000, length: 1 },
            moved(0x1000, 0x5000),
            moved(0x9000, 0xA000),
        ] {
            totals.note(&action);
        }
        assert_eq!(totals.mapped, Amount { blocks: 2, bytes: 12288 });
        assert_eq!(totals.in_hook, Amount { blocks: 1, bytes: 8192 });
        assert_eq!(totals.remapped, Amount { blocks: 1, bytes: -3072 });
        assert_eq!(totals.unmapped, Amount { blocks: 1, bytes: 8192 });
        assert_eq!(totals.breaks, Amount { blocks: 2, bytes: 0x5000 });
    }
}
