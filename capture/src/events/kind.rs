//! The kinds of events in files, and their column.
//!
//! Allocations and frees alternate in short runs, so a run names its kind only when it is not the expected one:
//!
//! ```text
//!   alloc alloc free alloc thread-end      first expected: alloc
//!   02          00   00    01 11           (length - 1) * 2 + 1 if a kind follows
//! ```

use crate::error::Malformed;
use crate::event::{Action, ReallocOutcome};
use crate::numbered::numbered;
use crate::varint;

numbered! {
    /// Number of a kind of event in files. Kinds from 8 on keep all their fields in one length-prefixed record, and
    /// so do all kinds that later versions add: a reader can skip those it does not know.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Kind: u8 {
        Alloc = 0,
        Free = 1,
        AlignedAlloc = 2,
        FreeWithStack = 3,
        ReallocBegin = 4,
        ReallocBlock = 5,
        ReallocFailed = 6,
        ReallocFreed = 7,
        Map = 8,
        MapInHook = 9,
        Unmap = 10,
        UnmapFailed = 11,
        Remap = 12,
        Break = 13,
        ProcessStart = 14,
        ProcessEnd = 15,
        ThreadStart = 16,
        ThreadEnd = 17,
        GapBegin = 18,
        GapEnd = 19,
        Fork = 20,
        Unsampled = 21,
        Pause = 22,
        Resume = 23,
        PoolAlloc = 24,
        PoolFree = 25,
        PoolRealloc = 26,
        Mark = 27,
        Sum = 28,
        Figure = 29,
        Snapshot = 30,
        AllocFailed = 31,
    }
}

impl Kind {
    pub(super) fn of(action: &Action) -> Self {
        match *action {
            Action::Alloc { alignment: 0, .. } => Kind::Alloc,
            Action::Alloc { .. } => Kind::AlignedAlloc,
            Action::Free { stack: crate::NodeId::ROOT, .. } => Kind::Free,
            Action::Free { .. } => Kind::FreeWithStack,
            Action::ReallocBegin { .. } => Kind::ReallocBegin,
            Action::ReallocEnd { outcome: ReallocOutcome::Block { .. }, .. } => Kind::ReallocBlock,
            Action::ReallocEnd { outcome: ReallocOutcome::Failed, .. } => Kind::ReallocFailed,
            Action::ReallocEnd { outcome: ReallocOutcome::Freed, .. } => Kind::ReallocFreed,
            Action::Map { in_hook: false, .. } => Kind::Map,
            Action::Map { in_hook: true, .. } => Kind::MapInHook,
            Action::Unmap { .. } => Kind::Unmap,
            Action::UnmapFailed { .. } => Kind::UnmapFailed,
            Action::Remap { .. } => Kind::Remap,
            Action::Break { .. } => Kind::Break,
            Action::ProcessStart { .. } => Kind::ProcessStart,
            Action::ProcessEnd { .. } => Kind::ProcessEnd,
            Action::ThreadStart => Kind::ThreadStart,
            Action::ThreadEnd => Kind::ThreadEnd,
            Action::GapBegin => Kind::GapBegin,
            Action::GapEnd { .. } => Kind::GapEnd,
            Action::Fork { .. } => Kind::Fork,
            Action::Unsampled => Kind::Unsampled,
            Action::Pause => Kind::Pause,
            Action::Resume => Kind::Resume,
            Action::PoolAlloc { .. } => Kind::PoolAlloc,
            Action::PoolFree { .. } => Kind::PoolFree,
            Action::PoolRealloc { .. } => Kind::PoolRealloc,
            Action::Mark { .. } => Kind::Mark,
            Action::Sum { .. } => Kind::Sum,
            Action::Figure { .. } => Kind::Figure,
            Action::Snapshot => Kind::Snapshot,
            Action::AllocFailed { .. } => Kind::AllocFailed,
        }
    }
}

/// The kind of a run that does not name one.
fn expected_after(kind: u8) -> u8 {
    if kind == Kind::Alloc as u8 { Kind::Free as u8 } else { Kind::Alloc as u8 }
}

/// Consecutive events of one kind; at the beginning of a chunk, of no kind and length 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) kind: u8,
    pub(super) length: u64,
}

impl Run {
    pub(super) const START: Run = Run { kind: Kind::Free as u8, length: 0 };

    /// Appends this run, which follows one of kind `before`.
    pub(super) fn put(self, before: u8, column: &mut Vec<u8>) {
        let named = self.kind != expected_after(before);
        varint::put(column, (self.length - 1) << 1 | u64::from(named));
        if named {
            column.push(self.kind);
        }
    }

    /// Takes the run that follows one of kind `before`.
    pub(super) fn take(before: u8, column: &mut &[u8]) -> Result<Self, Malformed> {
        let token = varint::take(column)?;
        let kind = match token & 1 {
            0 => expected_after(before),
            _ => *column.split_off_first().ok_or(Malformed("a column ends inside a run"))?,
        };
        Ok(Run { kind, length: (token >> 1) + 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that the picture above is what is written and read.
    #[test]
    fn pictured_runs_have_these_bytes() {
        let runs = [(0, 2), (1, 1), (0, 1), (17, 1)].map(|(kind, length)| Run { kind, length });
        let mut column = Vec::new();
        let mut before = Run::START.kind;
        for run in runs {
            run.put(before, &mut column);
            before = run.kind;
        }
        assert_eq!(column, [2, 0, 0, 1, 0x11]);
        let (mut rest, mut before) = (column.as_slice(), Run::START.kind);
        for run in runs {
            let found = Run::take(before, &mut rest).unwrap();
            assert_eq!((found.kind, found.length), (run.kind, run.length));
            before = found.kind;
        }
    }
}
