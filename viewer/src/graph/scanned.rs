//! A graph of what a scan found, and what is called what in it.

use super::{Classes, HeapGraph};
use crate::analysis::Amount;
use capture::Scan;
use std::collections::HashSet;

/// Which block kept which alive when a process was scanned.
#[derive(Debug)]
pub struct Scanned {
    /// The scan.
    pub scan: Scan,
    /// Which of the capture's scans it is, counted from 1.
    pub number: usize,
    /// How many there are.
    pub count: usize,
    /// Blocks may have been there that are not known, as of a process that was attached to: memory that lies in no known block counts
    /// as in use, so less is unreachable than there may be.
    pub is_partial: bool,
    /// Addresses of blocks that were freed later: if one of these seemed unreachable, the program had its address in another form.
    pub freed: HashSet<u64>,
    /// What roots are called, by their numbers: see [`super::root_name`].
    pub roots: Vec<String>,
    /// The graph.
    pub graph: HeapGraph,
    /// Of which classes of C++ its blocks are.
    pub classes: Classes,
}

impl Scanned {
    /// Blocks that seemed unreachable and were freed later.
    pub fn freed_later(&self) -> Amount {
        let blocks = self.graph.blocks().iter().zip((0..).map(super::BlockId));
        let mistaken = blocks
            .filter(|(block, id)| self.freed.contains(&block.address) && self.graph.keeper(*id).is_none());
        mistaken.fold(Amount::ZERO, |sum, (block, _)| sum + block.amount())
    }
}

/// How far what is said of several scans can be believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Processes that left blocks and were not scanned.
    pub unscanned: usize,
    /// Processes of which not all blocks are known.
    pub partial: usize,
    /// Bytes of memory that could not be read.
    pub unread: u64,
    /// Pointers for which there was no room: what is held only from there counts as unreachable, as with unread memory.
    pub lost: u64,
    /// Blocks that seemed unreachable and were freed later. They are in no number.
    pub freed_later: Amount,
}

impl Reach {
    /// Adds what is said of a scan.
    pub(crate) fn add(&mut self, scanned: &Scanned) {
        self.partial += usize::from(scanned.is_partial);
        self.unread = self.unread.saturating_add(scanned.scan.unread);
        let left_out = scanned.graph.figures().left_out;
        self.lost = self.lost.saturating_add(scanned.scan.lost).saturating_add(left_out);
        self.freed_later += scanned.freed_later();
    }

    /// True when blocks may be counted that can be reached.
    pub fn may_be_less(&self) -> bool {
        self.unread > 0 || self.lost > 0
    }

    /// True when there may be more than is counted.
    pub fn may_be_more(&self) -> bool {
        self.unscanned > 0 || self.partial > 0
    }
}
