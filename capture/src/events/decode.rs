//! Decodes columns into events: a total function of hostile bytes.

use std::ops::{Index, IndexMut, Range};

use super::address::{Block, Fit, IN_PLACE, Key, Model, address};
use super::bounds::Bounds;
use super::groups::GroupReader;
use super::kind::{Kind, Run};
use super::lines::LineReader;
use super::rare::Places;
use super::{COLUMNS, Column, PLANAR, planar};
use crate::columns;
use crate::error::Malformed;
use crate::event::{Action, Event, ReallocOutcome};
use crate::format::MAX_EVENTS;
use crate::ids::{NodeId, ThreadId};
use crate::planes::{self, Planes};
use crate::varint;

/// Events of one batch: few enough that the batch stays in the second-level cache between its writer and its reader.
const BATCH: usize = 4096;

/// Reads one chunk after the other, in batches.
pub(crate) struct Decoder {
    /// The payload; filled by the caller of [`Decoder::start`].
    payload: Vec<u8>,
    columns: [Range<usize>; COLUMNS],
    /// Unread rest of the [`PLANAR`] columns.
    planes: [Planes; PLANAR.len()],
    model: Model,
    /// The blocks of this chunk, by number.
    blocks: Vec<Block>,
    groups: GroupReader,
    left: usize,
    kinds: Run,
    thread: u32,
    thread_left: u64,
    times: LineReader,
    places: Places,
    unknown: u64,
}

/// The unread rest of the columns, and the payload that holds them.
struct Slices<'p> {
    payload: &'p [u8],
    columns: [&'p [u8]; COLUMNS],
}

impl<'p> Index<Column> for Slices<'p> {
    type Output = &'p [u8];

    #[inline(always)]
    fn index(&self, column: Column) -> &&'p [u8] {
        &self.columns[column as usize]
    }
}

impl IndexMut<Column> for Slices<'_> {
    #[inline(always)]
    fn index_mut(&mut self, column: Column) -> &mut Self::Output {
        &mut self.columns[column as usize]
    }
}

impl Decoder {
    pub(crate) fn new() -> Self {
        Decoder {
            payload: Vec::new(),
            columns: [const { 0..0 }; COLUMNS],
            planes: [const { Planes::NONE }; PLANAR.len()],
            model: Model::new(),
            blocks: Vec::new(),
            groups: GroupReader::new(),
            left: 0,
            kinds: Run::START,
            thread: 0,
            thread_left: 0,
            times: LineReader::default(),
            places: Places::default(),
            unknown: 0,
        }
    }

    /// The buffer for the next chunk's payload.
    pub(crate) fn payload(&mut self) -> &mut Vec<u8> {
        self.left = 0;
        &mut self.payload
    }

    /// Begins the chunk whose payload was put into [`Decoder::payload`].
    pub(crate) fn start(&mut self, events: usize) -> Result<(), Malformed> {
        if events > MAX_EVENTS {
            return Err(Malformed("a chunk has more events than the format allows"));
        }
        self.columns = columns::split(&self.payload)?;
        for (planes, column) in self.planes.iter_mut().zip(PLANAR) {
            let column = &mut self.columns[column as usize];
            (*column, *planes) = Planes::find(&self.payload, column.clone())?;
        }
        let range = |column: Column| self.columns[column as usize].clone();
        let columns = [Column::Stack, Column::SizeGroups, Column::PlacementGroups];
        let columns = columns.map(|column| &self.payload[range(column)]);
        self.groups.start(events, columns, range(Column::Size), range(Column::Placement))?;
        self.model.clear();
        self.blocks.clear();
        self.left = events;
        self.kinds = Run::START;
        (self.thread, self.thread_left) = (0, 0);
        self.times = LineReader::default();
        self.places = Places::default();
        Ok(())
    }

    /// Events of kinds that this version does not know, which were skipped.
    pub(crate) fn unknown(&self) -> u64 {
        self.unknown
    }

    /// Replaces `batch` by the next events of the chunk; leaves it empty when there are no more.
    pub(crate) fn next_batch(&mut self, bounds: Bounds, batch: &mut Vec<Event>) -> Result<(), Malformed> {
        batch.clear();
        while batch.is_empty() && self.left != 0 {
            let payload = std::mem::take(&mut self.payload);
            let columns = self.columns.clone().map(|range| &payload[range]);
            let mut slices = Slices { payload: &payload, columns };
            let result = self.fill(&mut slices, bounds, batch);
            for (range, rest) in self.columns.iter_mut().zip(slices.columns) {
                range.start = range.end - rest.len();
            }
            self.payload = payload;
            if result.is_err() {
                self.left = 0;
            }
            result?;
        }
        Ok(())
    }

    fn fill(
        &mut self,
        columns: &mut Slices,
        bounds: Bounds,
        batch: &mut Vec<Event>,
    ) -> Result<(), Malformed> {
        let mut room = BATCH.min(self.left);
        while room != 0 {
            if self.kinds.length == 0 {
                self.kinds = Run::take(self.kinds.kind, &mut columns[Column::Kind])?;
            }
            let count = self.kinds.length.min(room as u64);
            self.kinds.length -= count;
            room -= count as usize;
            self.left -= count as usize;
            match Kind::from_number(self.kinds.kind) {
                Some(Kind::Alloc) => self.repeat(count, columns, bounds, batch, Self::alloc)?,
                Some(Kind::Free) => self.repeat(count, columns, bounds, batch, Self::free)?,
                Some(kind) => {
                    self.repeat(count, columns, bounds, batch, |this, columns, thread, bounds| {
                        this.other(kind, columns, thread, bounds)
                    })?
                }
                None => self.skip(count, columns, bounds)?,
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn repeat(
        &mut self,
        count: u64,
        columns: &mut Slices,
        bounds: Bounds,
        batch: &mut Vec<Event>,
        mut action: impl FnMut(&mut Self, &mut Slices, u32, Bounds) -> Result<Action, Malformed>,
    ) -> Result<(), Malformed> {
        for _ in 0..count {
            let (thread, time) = self.thread_and_time(columns, bounds)?;
            let action = action(self, columns, thread, bounds)?;
            batch.push(Event { time, thread: ThreadId(thread), action });
        }
        Ok(())
    }

    /// Skips events of a later version: their records say how long they are.
    fn skip(&mut self, count: u64, columns: &mut Slices, bounds: Bounds) -> Result<(), Malformed> {
        for _ in 0..count {
            self.thread_and_time(columns, bounds)?;
            take_record(&mut columns[Column::Rare])?;
        }
        self.unknown += count;
        Ok(())
    }

    #[inline(always)]
    fn thread_and_time(&mut self, columns: &mut Slices, bounds: Bounds) -> Result<(u32, u64), Malformed> {
        if self.thread_left == 0 {
            let column = &mut columns[Column::Thread];
            self.thread = varint::take_u32(column)?;
            self.thread_left = varint::take(column)?.saturating_add(1);
            bounds.thread(self.thread)?;
        }
        self.thread_left -= 1;
        let column = &mut columns[Column::Time];
        let time = self.times.next(column)?;
        Ok((self.thread, time))
    }

    #[inline(always)]
    fn alloc(&mut self, columns: &mut Slices, thread: u32, bounds: Bounds) -> Result<Action, Malformed> {
        let (address, size, stack, _) = self.block(columns, thread, bounds)?;
        Ok(Action::Alloc { address, size, alignment: 0, stack })
    }

    #[inline(always)]
    fn free(&mut self, columns: &mut Slices, thread: u32, _: Bounds) -> Result<Action, Malformed> {
        let (key, class) = self.freed(columns, thread)?;
        self.model.freed(thread, key, class);
        Ok(Action::Free { address: address(key), stack: NodeId::ROOT })
    }

    /// The next number of a column that lies in planes.
    #[inline(always)]
    fn number(&mut self, columns: &mut Slices, column: Column) -> Result<u64, Malformed> {
        match *columns[column] {
            [first, ref rest @ ..] if first < planes::LONG => {
                columns[column] = rest;
                Ok(first.into())
            }
            _ => {
                let planes = &mut self.planes[planar(column)];
                take_long(planes, columns.payload, &mut columns[column])
            }
        }
    }

    /// A new block: address, size, stack, placement.
    #[inline(always)]
    fn block(
        &mut self,
        columns: &mut Slices,
        thread: u32,
        bounds: Bounds,
    ) -> Result<(u64, u64, NodeId, u8), Malformed> {
        let number = self.number(columns, Column::StackNumber)?;
        let (stack, size) = self.groups.stack_and_size(columns.payload, number)?;
        let (stack, fit) = (bounds.stack(stack)?, Fit::of(thread, size));
        let placement = self.groups.placement(columns.payload, fit.class())?;
        let key = match self.model.foreseen(fit, placement) {
            Some(key) => key,
            None if placement == 0 => {
                let delta = self.number(columns, Column::Address)?;
                self.model.lane(thread).top.wrapping_add(varint::unzigzag(delta))
            }
            None => return Err(Malformed("a block has an impossible placement")),
        };
        self.model.placed(thread, fit, key, placement);
        self.blocks.push(Block { key, class: fit.class() });
        Ok((address(key), size, stack, placement))
    }

    #[inline(always)]
    fn freed(
        &mut self,
        columns: &mut Slices,
        thread: u32,
    ) -> Result<(Key, Option<super::address::Class>), Malformed> {
        let token = self.number(columns, Column::Freed)?;
        if token == 0 {
            let delta = self.number(columns, Column::FreedAddress)?;
            return Ok((self.model.lane(thread).freed.wrapping_add(varint::unzigzag(delta)), None));
        }
        let lane = self.model.lane(thread);
        let number = lane.freed_block.wrapping_add(varint::unzigzag(token - 1));
        lane.freed_block = number;
        let block = usize::try_from(number).ok().and_then(|number| self.blocks.get(number));
        let block = block.ok_or(Malformed("a free refers to an unknown block"))?;
        Ok((block.key, Some(block.class)))
    }

    fn serial(&mut self, columns: &mut Slices, thread: u32) -> Result<u16, Malformed> {
        let lane = self.model.lane(thread);
        let serial = varint::take_delta(&mut columns[Column::Serial], lane.serial.into())?;
        lane.serial = u16::try_from(serial).map_err(|_| Malformed("a serial needs more than 16 bits"))?;
        Ok(lane.serial)
    }

    /// All kinds except the two that make up nearly all events.
    #[inline(never)]
    fn other(
        &mut self,
        kind: Kind,
        columns: &mut Slices,
        thread: u32,
        bounds: Bounds,
    ) -> Result<Action, Malformed> {
        Ok(match kind {
            Kind::Alloc => self.alloc(columns, thread, bounds)?,
            Kind::Free => self.free(columns, thread, bounds)?,
            Kind::AlignedAlloc => {
                let (address, size, stack, _) = self.block(columns, thread, bounds)?;
                let alignment = varint::take(&mut columns[Column::Alignment])?;
                Action::Alloc { address, size, alignment, stack }
            }
            Kind::FreeWithStack => {
                let (key, class) = self.freed(columns, thread)?;
                self.model.freed(thread, key, class);
                let lane = self.model.lane(thread);
                let stack = varint::take_delta(&mut columns[Column::FreeStack], lane.free_stack.into())?;
                let stack = bounds.stack(stack)?;
                lane.free_stack = stack.0;
                Action::Free { address: address(key), stack }
            }
            Kind::ReallocBegin => {
                let (key, class) = self.freed(columns, thread)?;
                self.model.reallocating(thread, key, class);
                Action::ReallocBegin { address: address(key), serial: self.serial(columns, thread)? }
            }
            Kind::ReallocBlock => {
                let serial = self.serial(columns, thread)?;
                let (address, size, stack, placement) = self.block(columns, thread, bounds)?;
                self.model.reallocated(thread, placement != IN_PLACE);
                Action::ReallocEnd { serial, outcome: ReallocOutcome::Block { address, size, stack } }
            }
            Kind::ReallocFailed => {
                Action::ReallocEnd { serial: self.serial(columns, thread)?, outcome: ReallocOutcome::Failed }
            }
            Kind::ReallocFreed => {
                self.model.reallocated(thread, true);
                Action::ReallocEnd { serial: self.serial(columns, thread)?, outcome: ReallocOutcome::Freed }
            }
            rare => self.places.take(rare, take_record(&mut columns[Column::Rare])?, bounds)?,
        })
    }
}

/// A number that is longer than its first byte.
#[inline(never)]
fn take_long(planes: &mut Planes, payload: &[u8], column: &mut &[u8]) -> Result<u64, Malformed> {
    match column.split_off_first() {
        Some(first) => planes.take(payload, *first),
        None => Err(planes::ENDS_EARLY),
    }
}

fn take_record<'p>(column: &mut &'p [u8]) -> Result<&'p [u8], Malformed> {
    let length = usize::try_from(varint::take(column)?).unwrap_or(usize::MAX);
    column.split_off(..length).ok_or(Malformed("a record is longer than its column"))
}
