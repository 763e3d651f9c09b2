//! Events of the rare kinds, which have no columns: one record each.

use std::mem;

use super::bounds::Bounds;
use super::kind::Kind;
use crate::aggregate::{FigureKind, SumKind};
use crate::error::Malformed;
use crate::event::Action;
use crate::varint;

/// The last values in rare events. Addresses of mappings differ by whole pages, those of a pool's blocks by multiples
/// of 16.
#[derive(Default)]
pub(super) struct Places {
    page: u64,
    block: u64,
    /// Stack of the last sum.
    stack: u64,
}

impl Places {
    /// Appends the fields of an event to an empty record.
    pub(super) fn put(&mut self, action: &Action, record: &mut Vec<u8>) {
        match *action {
            Action::Map { address, length, stack, .. } => {
                self.put_page(record, address);
                varint::put(record, length);
                varint::put(record, stack.0.into());
            }
            Action::Unmap { address, length } | Action::UnmapFailed { address, length } => {
                self.put_page(record, address);
                varint::put(record, length);
            }
            Action::Remap { old_address, old_length, address, length, stack } => {
                self.put_page(record, old_address);
                varint::put(record, old_length);
                self.put_page(record, address);
                varint::put(record, length);
                varint::put(record, stack.0.into());
            }
            Action::Break { from, address, stack, in_hook } => {
                self.put_page(record, address);
                varint::put(record, stack.0.into());
                varint::put_delta(record, address, from);
                varint::put(record, in_hook.into());
            }
            Action::ProcessStart { process, fork } => {
                varint::put(record, process.0.into());
                varint::put(record, fork.into());
            }
            Action::ProcessEnd { process } => varint::put(record, process.0.into()),
            Action::Fork { fork } => varint::put(record, fork.into()),
            Action::GapEnd { allocations, frees } => {
                varint::put(record, allocations);
                varint::put(record, frees);
            }
            Action::PoolAlloc { pool, address, size, stack } => {
                varint::put(record, pool.0.into());
                self.put_block(record, address);
                varint::put(record, size);
                varint::put(record, stack.0.into());
            }
            Action::PoolFree { pool, address } => {
                varint::put(record, pool.0.into());
                self.put_block(record, address);
            }
            Action::PoolRealloc { pool, old, address, size, stack } => {
                varint::put(record, pool.0.into());
                self.put_block(record, old);
                self.put_block(record, address);
                varint::put(record, size);
                varint::put(record, stack.0.into());
            }
            Action::Mark { mark } => varint::put(record, mark.0.into()),
            Action::Sum { kind, stack, blocks, bytes } => {
                varint::put(record, kind as u64);
                varint::put_delta(record, mem::replace(&mut self.stack, stack.0.into()), stack.0.into());
                varint::put(record, blocks);
                varint::put(record, bytes);
            }
            Action::Figure { kind, value } => {
                varint::put(record, kind as u64);
                varint::put_delta(record, 0, value);
            }
            Action::AllocFailed { size, factors, alignment, error, stack } => {
                varint::put(record, size);
                varint::put(record, alignment);
                varint::put(record, error.into());
                varint::put(record, stack.0.into());
                if let Some((count, each)) = factors {
                    varint::put(record, count);
                    varint::put(record, each);
                }
            }
            Action::ThreadStart
            | Action::ThreadEnd
            | Action::GapBegin
            | Action::Unsampled
            | Action::Pause
            | Action::Resume
            | Action::Snapshot => {}
            Action::Alloc { .. }
            | Action::Free { .. }
            | Action::ReallocBegin { .. }
            | Action::ReallocEnd { .. } => unreachable!("events of blocks have columns"),
        }
    }

    /// Reads an event from its record, which may be longer in files of later versions.
    pub(super) fn take(
        &mut self,
        kind: Kind,
        mut record: &[u8],
        bounds: Bounds,
    ) -> Result<Action, Malformed> {
        let record = &mut record;
        Ok(match kind {
            Kind::Map | Kind::MapInHook => Action::Map {
                address: self.take_page(record)?,
                length: varint::take(record)?,
                stack: bounds.stack(varint::take(record)?)?,
                in_hook: kind == Kind::MapInHook,
            },
            Kind::Unmap => Action::Unmap { address: self.take_page(record)?, length: varint::take(record)? },
            Kind::UnmapFailed => {
                Action::UnmapFailed { address: self.take_page(record)?, length: varint::take(record)? }
            }
            Kind::Remap => Action::Remap {
                old_address: self.take_page(record)?,
                old_length: varint::take(record)?,
                address: self.take_page(record)?,
                length: varint::take(record)?,
                stack: bounds.stack(varint::take(record)?)?,
            },
            Kind::Break => {
                let address = self.take_page(record)?;
                let stack = bounds.stack(varint::take(record)?)?;
                let from = varint::take_delta(record, address)?;
                Action::Break { from, address, stack, in_hook: varint::take(record)? != 0 }
            }
            Kind::ProcessStart => Action::ProcessStart {
                process: bounds.process(varint::take(record)?)?,
                // 0 where the field is missing, as with all fields that a record lacks.
                fork: if record.is_empty() { 0 } else { take_fork(record)? },
            },
            Kind::ProcessEnd => Action::ProcessEnd { process: bounds.process(varint::take(record)?)? },
            Kind::ThreadStart => Action::ThreadStart,
            Kind::ThreadEnd => Action::ThreadEnd,
            Kind::Fork => Action::Fork { fork: take_fork(record)? },
            Kind::GapBegin => Action::GapBegin,
            Kind::Unsampled => Action::Unsampled,
            Kind::GapEnd => {
                Action::GapEnd { allocations: varint::take(record)?, frees: varint::take(record)? }
            }
            Kind::Pause => Action::Pause,
            Kind::Resume => Action::Resume,
            Kind::PoolAlloc => Action::PoolAlloc {
                pool: bounds.name(varint::take(record)?)?,
                address: self.take_block(record)?,
                size: varint::take(record)?,
                stack: bounds.stack(varint::take(record)?)?,
            },
            Kind::PoolFree => Action::PoolFree {
                pool: bounds.name(varint::take(record)?)?,
                address: self.take_block(record)?,
            },
            Kind::PoolRealloc => Action::PoolRealloc {
                pool: bounds.name(varint::take(record)?)?,
                old: self.take_block(record)?,
                address: self.take_block(record)?,
                size: varint::take(record)?,
                stack: bounds.stack(varint::take(record)?)?,
            },
            Kind::Mark => Action::Mark { mark: bounds.mark(varint::take(record)?)? },
            Kind::Sum => {
                let kind = SumKind::of(varint::take(record)?);
                self.stack = varint::take_delta(record, self.stack)?;
                let stack = bounds.stack(self.stack)?;
                Action::Sum { kind, stack, blocks: varint::take(record)?, bytes: varint::take(record)? }
            }
            Kind::Figure => Action::Figure {
                kind: FigureKind::of(varint::take(record)?),
                value: varint::take_delta(record, 0)?,
            },
            Kind::Snapshot => Action::Snapshot,
            Kind::AllocFailed => {
                let (size, alignment) = (varint::take(record)?, varint::take(record)?);
                let error = varint::take_u32(record)?;
                let stack = bounds.stack(varint::take(record)?)?;
                let factors = if record.is_empty() {
                    None
                } else {
                    Some((varint::take(record)?, varint::take(record)?))
                };
                Action::AllocFailed { size, factors, alignment, error, stack }
            }
            _ => return Err(Malformed("an event has an impossible kind")),
        })
    }

    fn put_page(&mut self, record: &mut Vec<u8>, address: u64) {
        let page = address.rotate_right(12);
        varint::put_delta(record, mem::replace(&mut self.page, page), page);
    }

    fn take_page(&mut self, record: &mut &[u8]) -> Result<u64, Malformed> {
        self.page = varint::take_delta(record, self.page)?;
        Ok(self.page.rotate_left(12))
    }

    fn put_block(&mut self, record: &mut Vec<u8>, address: u64) {
        let block = address.rotate_right(4);
        varint::put_delta(record, mem::replace(&mut self.block, block), block);
    }

    fn take_block(&mut self, record: &mut &[u8]) -> Result<u64, Malformed> {
        self.block = varint::take_delta(record, self.block)?;
        Ok(self.block.rotate_left(4))
    }
}

fn take_fork(record: &mut &[u8]) -> Result<u32, Malformed> {
    u32::try_from(varint::take(record)?).map_err(|_| Malformed("the number of a fork is too large"))
}
