//! The graph of a scan, with the names it needs.

use crate::classes::Classes;
use crate::graph::HeapGraph;
use analysis::Amount;
use capture::Scan;
use std::collections::HashSet;

/// Which block kept which alive when a process was scanned.
#[derive(Debug)]
pub struct Scanned {
    /// The scan.
    pub scan: Scan,
    /// The number of the scan in the capture, counted from 1.
    pub number: usize,
    /// Number of scans in the capture.
    pub count: usize,
    /// Blocks may be unknown, as in a process that was attached to: memory in no known block then counts as in use,
    /// so some unreachable blocks may be missing.
    pub is_partial: bool,
    /// Addresses of blocks that were freed later: if one of them seemed unreachable, the program held its address in
    /// another form.
    pub freed: HashSet<u64>,
    /// The names of roots, by number: see [`super::root_name()`].
    pub roots: Vec<String>,
    /// The graph.
    pub graph: HeapGraph,
    /// The C++ classes of its blocks.
    pub classes: Classes,
}

impl Scanned {
    /// Blocks that seemed unreachable and were freed later.
    pub fn freed_later(&self) -> Amount {
        let blocks = self.graph.blocks().iter().zip((0..).map(crate::block::BlockId));
        let mistaken = blocks
            .filter(|(block, id)| self.freed.contains(&block.address) && self.graph.dominator(*id).is_none());
        mistaken.fold(Amount::ZERO, |sum, (block, _)| sum + block.amount())
    }
}

/// How reliable a statement about several scans is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Processes that left blocks but were not scanned.
    pub unscanned: usize,
    /// Processes with unknown blocks.
    pub partial: usize,
    /// Bytes of memory that could not be read.
    pub unread: u64,
    /// Pointers that there was no room for: what only they hold counts as unreachable, as for unread memory.
    pub lost: u64,
    /// Blocks that seemed unreachable and were freed later. They are not counted anywhere else.
    pub freed_later: Amount,
}

impl Reach {
    /// Adds a scan.
    pub fn add(&mut self, scanned: &Scanned) {
        self.partial += usize::from(scanned.is_partial);
        self.unread = self.unread.saturating_add(scanned.scan.unread);
        let left_out = scanned.graph.figures().left_out;
        self.lost = self.lost.saturating_add(scanned.scan.lost).saturating_add(left_out);
        self.freed_later += scanned.freed_later();
    }

    /// True when reachable blocks may have been counted.
    pub fn may_be_less(&self) -> bool {
        self.unread > 0 || self.lost > 0
    }

    /// True when unreachable blocks may be missing.
    pub fn may_be_more(&self) -> bool {
        self.unscanned > 0 || self.partial > 0
    }
}
