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
use crate::format::{MAX_EVENTS, MAX_EVENTS_BEFORE, TIME_UNIT_NS};
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
    /// Unread rest of the [`PLANAR`] columns, if they lie in planes.
    planes: Option<[Planes; PLANAR.len()]>,
    /// In the [`PLANAR`] columns, a byte below this is a whole number.
    long: u8,
    model: Model,
    /// The blocks of this chunk, by number.
    blocks: Vec<Block>,
    groups: GroupReader,
    /// The chunk has [`groups`](super::groups).
    is_grouped: bool,
    left: usize,
    kinds: Run,
    thread: u32,
    thread_left: u64,
    times: Times,
    places: Places,
    unknown: u64,
}

/// How a chunk's numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// Times as runs of events in one microsecond: format 1.0.
    Runs,
    /// Times as [lines](super::lines): format 1.1.
    Lines,
    /// Times as lines, and the columns of addresses in [planes](crate::planes): format 1.5.
    Planes,
    /// As `Planes`, with more events: format 1.7.
    Many,
    /// The same, with sizes and placements in [groups](super::groups): format 1.11.
    Groups,
}

impl Coding {
    /// Most events that a chunk may have.
    fn most_events(self) -> usize {
        match self {
            Coding::Runs | Coding::Lines | Coding::Planes => MAX_EVENTS_BEFORE,
            Coding::Many | Coding::Groups => MAX_EVENTS,
        }
    }
}

/// The first byte of a varint from here on is followed by more.
const LONG_VARINT: u8 = 0x80;

enum Times {
    /// Microseconds of the current run, and how many of its events are left.
    Runs {
        time: u64,
        left: u64,
    },
    Lines(LineReader),
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
            planes: None,
            long: LONG_VARINT,
            model: Model::new(),
            blocks: Vec::new(),
            groups: GroupReader::new(),
            is_grouped: false,
            left: 0,
            kinds: Run::START,
            thread: 0,
            thread_left: 0,
            times: Times::Lines(LineReader::default()),
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
    pub(crate) fn start(&mut self, events: usize, coding: Coding) -> Result<(), Malformed> {
        if events > coding.most_events() {
            return Err(Malformed("a chunk has more events than the format allows"));
        }
        self.columns = columns::split(&self.payload)?;
        (self.planes, self.long) = (None, LONG_VARINT);
        if matches!(coding, Coding::Planes | Coding::Many | Coding::Groups) {
            let mut all = [const { Planes::NONE }; PLANAR.len()];
            for (planes, column) in all.iter_mut().zip(PLANAR) {
                let column = &mut self.columns[column as usize];
                (*column, *planes) = Planes::find(&self.payload, column.clone())?;
            }
            (self.planes, self.long) = (Some(all), planes::LONG);
        }
        self.is_grouped = coding == Coding::Groups;
        if self.is_grouped {
            let range = |column: Column| self.columns[column as usize].clone();
            let columns = [Column::Stack, Column::SizeGroups, Column::PlacementGroups];
            let columns = columns.map(|column| &self.payload[range(column)]);
            self.groups.start(events, columns, range(Column::Size), range(Column::Placement))?;
        }
        self.model.clear();
        self.blocks.clear();
        self.left = events;
        self.kinds = Run::START;
        (self.thread, self.thread_left) = (0, 0);
        self.times = match coding {
            Coding::Runs => Times::Runs { time: 0, left: 0 },
            Coding::Lines | Coding::Planes | Coding::Many | Coding::Groups => {
                Times::Lines(LineReader::default())
            }
        };
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
        let time = match &mut self.times {
            Times::Lines(lines) => lines.next(column)?,
            Times::Runs { time, left } => {
                if *left == 0 {
                    *time = varint::take_delta(column, *time)?;
                    *left = varint::take(column)?.saturating_add(1);
                }
                *left -= 1;
                time.saturating_mul(TIME_UNIT_NS)
            }
        };
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

    /// The next number of a column that may lie in planes.
    #[inline(always)]
    fn number(&mut self, columns: &mut Slices, column: Column) -> Result<u64, Malformed> {
        match *columns[column] {
            [first, ref rest @ ..] if first < self.long => {
                columns[column] = rest;
                Ok(first.into())
            }
            _ => {
                let planes = self.planes.as_mut();
                let planes = planes.map(|all| &mut all[planar(column)]);
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
        let (stack, fit, size, placement) = if self.is_grouped {
            let number = self.number(columns, Column::StackNumber)?;
            let (stack, size) = self.groups.stack_and_size(columns.payload, number)?;
            let fit = Fit::of(thread, size);
            let placement = self.groups.placement(columns.payload, fit.class())?;
            (bounds.stack(stack)?, fit, size, placement)
        } else {
            let size = varint::take(&mut columns[Column::Size])?;
            let Some(&placement) = columns[Column::Placement].split_off_first() else {
                return Err(planes::ENDS_EARLY);
            };
            let lane = self.model.lane(thread);
            let stack = bounds.stack(varint::take_delta(&mut columns[Column::Stack], lane.stack.into())?)?;
            lane.stack = stack.0;
            (stack, Fit::of(thread, size), size, placement)
        };
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
            Kind::TracedFree => {
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
fn take_long(planes: Option<&mut Planes>, payload: &[u8], column: &mut &[u8]) -> Result<u64, Malformed> {
    let Some(planes) = planes else { return varint::take(column) };
    match column.split_off_first() {
        Some(first) => planes.take(payload, *first),
        None => Err(planes::ENDS_EARLY),
    }
}

fn take_record<'p>(column: &mut &'p [u8]) -> Result<&'p [u8], Malformed> {
    let length = usize::try_from(varint::take(column)?).unwrap_or(usize::MAX);
    column.split_off(..length).ok_or(Malformed("a record is longer than its column"))
}
