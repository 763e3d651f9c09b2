//! Encodes events into columns.

use std::mem;

use super::address::{Class, Fit, IN_PLACE, Key, Model, UNFORESEEN, key};
use super::groups::{PlacementWriter, SizeWriter};
use super::kind::{Kind, Run};
use super::lines::LineWriter;
use super::rare::Places;
use super::{COLUMNS, Column, PLANAR, planar};
use crate::columns;
use crate::event::{Action, Event, ReallocOutcome};
use crate::format::{MAX_EVENTS, MAX_RAW, TIME_UNIT_NS};
use crate::ids::{BlockNumber, NodeId};
use crate::meta;
use crate::planes::PlaneWriter;
use crate::varint;

/// Events of a chunk, half of what a reader takes. Twice as many take 1 % less in the file in the median of real
/// programs, and 4 MiB more of memory while they are collected.
pub(super) const EVENTS: usize = MAX_EVENTS / 2;

/// A chunk also ends at this size, half of the limit; only odd streams reach it before [`EVENTS`].
const FULL: usize = MAX_RAW / 2;

/// Events between two looks at the size. An event takes less than 128 bytes, so this cannot overshoot the other half.
const LOOK_EVERY: usize = 4096;
const _: () = assert!(LOOK_EVERY * 128 < MAX_RAW - FULL && EVENTS.is_multiple_of(LOOK_EVERY));

/// Collects one chunk of events. Memory is bounded by [`EVENTS`] and [`FULL`].
pub(crate) struct Encoder {
    columns: [Vec<u8>; COLUMNS],
    /// The [`PLANAR`] columns.
    planes: [PlaneWriter; PLANAR.len()],
    model: Model,
    /// New blocks of earlier chunks.
    earlier: u64,
    /// New blocks of this one.
    blocks: u64,
    sizes: SizeWriter,
    placements: PlacementWriter,
    kinds: Run,
    kind_before: u8,
    threads: (u32, u64),
    lines: LineWriter,
    places: Places,
    rare: Vec<u8>,
    events: usize,
    first_time: u64,
    last_time: u64,
}

/// What the chunk's header says of a finished payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Finished {
    pub(crate) events: u32,
    /// Bounds of all stored times, nanoseconds.
    pub(crate) first_time: u64,
    pub(crate) last_time: u64,
}

impl Encoder {
    pub(crate) fn new() -> Self {
        Encoder {
            columns: [const { Vec::new() }; COLUMNS],
            planes: Default::default(),
            model: Model::new(),
            earlier: 0,
            blocks: 0,
            sizes: SizeWriter::default(),
            placements: PlacementWriter::new(),
            kinds: Run::START,
            kind_before: Run::START.kind,
            threads: (0, 0),
            lines: LineWriter::new(),
            places: Places::default(),
            rare: Vec::new(),
            events: 0,
            first_time: u64::MAX,
            last_time: 0,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.events == 0
    }

    /// True when the chunk must be finished before another event is pushed.
    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.events.is_multiple_of(LOOK_EVERY) && (self.events == EVENTS || self.raw_length() > FULL)
    }

    fn raw_length(&self) -> usize {
        let in_planes: usize = self.planes.iter().map(PlaneWriter::len).sum();
        let in_groups = self.sizes.len() + self.placements.len();
        in_planes + in_groups + self.columns.iter().map(Vec::len).sum::<usize>()
    }

    /// Adds an event, and the block that it frees or begins to resize, if that is known.
    // Cost: about 15 ns without compression; the model stays in the second-level cache. Where the caller knows the
    // kind, the compiler drops all other branches.
    #[inline(always)]
    pub(crate) fn push(&mut self, event: &Event, freed: Option<BlockNumber>) {
        let thread = event.thread.0;
        match event.action {
            Action::Alloc { address, size, alignment: 0, stack } => {
                self.begin(Kind::Alloc, thread, event.time);
                self.put_block::<false>(thread, address, size, stack);
            }
            Action::Free { address, stack: NodeId::ROOT } => {
                self.begin(Kind::Free, thread, event.time);
                self.put_free(thread, address, freed);
            }
            _ => self.put_other(event, freed),
        }
    }

    /// Adds any event but the two common kinds: an allocation here is aligned, a free has a stack.
    #[inline(never)]
    fn put_other(&mut self, event: &Event, freed: Option<BlockNumber>) {
        let thread = event.thread.0;
        self.begin(Kind::of(&event.action), thread, event.time);
        match event.action {
            Action::Alloc { address, size, alignment, stack } => {
                self.put_block::<false>(thread, address, size, stack);
                varint::put(self.column(Column::Alignment), alignment);
            }
            Action::Free { address, stack } => {
                self.put_free(thread, address, freed);
                let before = mem::replace(&mut self.model.lane(thread).free_stack, stack.0);
                varint::put_delta(self.column(Column::FreeStack), before.into(), stack.0.into());
            }
            Action::ReallocBegin { address, serial } => {
                let (key, class) = self.put_freed(thread, address, freed);
                self.model.reallocating(thread, key, class);
                self.put_serial(thread, serial);
            }
            Action::ReallocEnd { serial, outcome } => {
                self.put_serial(thread, serial);
                match outcome {
                    ReallocOutcome::Block { address, size, stack } => {
                        let placement = self.put_block::<true>(thread, address, size, stack);
                        self.model.reallocated(thread, placement != IN_PLACE);
                    }
                    ReallocOutcome::Failed => {}
                    ReallocOutcome::Freed => self.model.reallocated(thread, true),
                }
            }
            _ => self.put_rare(&event.action),
        }
    }

    /// Hands over the payload of all events since the last call, in parts that each have numbers of one kind, and
    /// begins the next chunk.
    pub(crate) fn finish<T>(&mut self, take: impl FnOnce(Finished, &[&[u8]]) -> T) -> T {
        if self.events != 0 {
            self.end_kinds();
            self.end_threads();
            self.lines.end(&mut self.columns[Column::Time as usize]);
        }
        self.end_groups();
        for (planes, column) in self.planes.iter().zip(PLANAR) {
            planes.put_count(&mut self.columns[column as usize]);
        }
        let finished = Finished {
            events: self.events as u32,
            // A line may pass beside its events, but by less than this.
            first_time: self.first_time.saturating_sub(TIME_UNIT_NS),
            last_time: self.last_time.saturating_add(TIME_UNIT_NS),
        };
        let columns =
            || self.columns.iter().enumerate().map(|(number, column)| (column, self.planes_of(number)));
        let mut header = Vec::new();
        let lengths = columns().map(|(column, planes)| column.len() + planes.map_or(0, PlaneWriter::len));
        columns::put_header(lengths, &mut header);
        let mut parts = vec![header.as_slice()];
        for (column, planes) in columns() {
            parts.push(column);
            parts.extend(planes.into_iter().flat_map(PlaneWriter::parts));
        }
        let taken = take(finished, &parts);
        self.clear();
        taken
    }

    /// The planes of a column, if it has any besides its bytes in `columns`.
    fn planes_of(&self, number: usize) -> Option<&PlaneWriter> {
        PLANAR.iter().position(|column| *column as usize == number).map(|place| &self.planes[place])
    }

    fn clear(&mut self) {
        self.columns.iter_mut().for_each(Vec::clear);
        self.planes.iter_mut().for_each(PlaneWriter::clear);
        self.model.clear();
        (self.kinds, self.kind_before) = (Run::START, Run::START.kind);
        self.threads = (0, 0);
        self.places = Places::default();
        self.earlier += self.blocks;
        (self.events, self.blocks) = (0, 0);
        (self.first_time, self.last_time) = (u64::MAX, 0);
    }

    #[inline(always)]
    fn column(&mut self, column: Column) -> &mut Vec<u8> {
        &mut self.columns[column as usize]
    }

    /// Adds what every event has.
    #[inline(always)]
    fn begin(&mut self, kind: Kind, thread: u32, time: u64) {
        if self.kinds.kind != kind as u8 || self.kinds.length == 0 {
            self.end_kinds();
            self.kind_before = self.kinds.kind;
            self.kinds = Run { kind: kind as u8, length: 0 };
        }
        self.kinds.length += 1;
        if self.threads.0 != thread {
            self.end_threads();
            self.threads = (thread, 0);
        }
        self.threads.1 += 1;
        self.events += 1;
        self.first_time = self.first_time.min(time);
        self.last_time = self.last_time.max(time);
        self.lines.push(time, &mut self.columns[Column::Time as usize]);
    }

    #[inline(always)]
    fn end_kinds(&mut self) {
        if self.kinds.length != 0 {
            self.kinds.put(self.kind_before, &mut self.columns[Column::Kind as usize]);
        }
    }

    #[inline(never)]
    fn end_threads(&mut self) {
        let (thread, length) = self.threads;
        if length != 0 {
            let column = self.column(Column::Thread);
            varint::put(column, thread.into());
            varint::put(column, length - 1);
        }
    }

    #[inline]
    fn put_block<const REALLOC: bool>(&mut self, thread: u32, address: u64, size: u64, stack: NodeId) -> u8 {
        let key = key(address);
        let fit = Fit::of(thread, size);
        let placement = self.model.placement(fit, key, REALLOC);
        self.placements.put(fit.class(), placement);
        if placement == UNFORESEEN {
            let top = self.model.lane(thread).top;
            self.planes[planar(Column::Address)].put_delta(top, key);
        }
        self.blocks += 1;
        self.model.placed(thread, fit, key, placement);
        let stack = self.sizes.put(stack.0, size);
        self.planes[planar(Column::StackNumber)].put(stack.into());
        placement
    }

    #[inline]
    fn put_free(&mut self, thread: u32, address: u64, freed: Option<BlockNumber>) {
        let (key, class) = self.put_freed(thread, address, freed);
        self.model.freed(thread, key, class);
    }

    #[inline(always)]
    fn put_freed(&mut self, thread: u32, address: u64, freed: Option<BlockNumber>) -> (Key, Option<Class>) {
        let key = key(address);
        let lane = self.model.lane(thread);
        // A reader has the blocks of this chunk only.
        let number = freed.and_then(|freed| freed.0.checked_sub(self.earlier));
        match number.and_then(|number| Some((number, self.placements.class(number)?))) {
            Some((number, class)) => {
                let before = mem::replace(&mut lane.freed_block, number);
                let distance = varint::zigzag(number.wrapping_sub(before));
                self.planes[planar(Column::Freed)].put(distance + 1);
                (key, Some(class))
            }
            None => {
                let freed = lane.freed;
                self.planes[planar(Column::Freed)].put(0);
                self.planes[planar(Column::FreedAddress)].put_delta(freed, key);
                (key, None)
            }
        }
    }

    /// Writes the columns that lie in groups.
    fn end_groups(&mut self) {
        let columns =
            [Column::Placement, Column::Size, Column::Stack, Column::SizeGroups, Column::PlacementGroups];
        let columns = self.columns.get_disjoint_mut(columns.map(|column| column as usize));
        let [placements, sizes, stacks, size_groups, placement_groups] =
            columns.expect("these are five different ones");
        let order = self.planes[planar(Column::StackNumber)].numbers();
        self.sizes.finish(order, [stacks, size_groups, sizes]);
        self.placements.finish(placement_groups, placements);
    }

    fn put_serial(&mut self, thread: u32, serial: u16) {
        let before = mem::replace(&mut self.model.lane(thread).serial, serial);
        varint::put_delta(self.column(Column::Serial), before.into(), serial.into());
    }

    fn put_rare(&mut self, action: &Action) {
        self.places.put(action, &mut self.rare);
        let column = &mut self.columns[Column::Rare as usize];
        meta::put_bytes(column, &self.rare);
        self.rare.clear();
    }
}
