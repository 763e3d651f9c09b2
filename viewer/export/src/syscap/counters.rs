//! Counters: what each process holds, what the kernel reports about it, and how busy processors are.
//!
//! ```text
//!  CTRDEF   each counter once: category, name, description, number and type
//!  CTRSET   numbers and values, in groups of eight; a number of 0 is an empty slot
//! ```

use super::frame::{Frame, Kind, LONGEST_TEXT};
use super::frames::Frames;
use crate::readings::{Quantity, Reading};
use analysis::process_name;
use capture::{CounterKind, ProcessId};
use engine::Loaded;
use std::collections::HashMap;

/// Counters in one frame, at 128 bytes each.
const DEFINED_AT_ONCE: usize = LONGEST_TEXT / 128;

/// Values in a group, and groups in a frame, at 96 bytes each.
const GROUP: usize = 8;
const GROUPS_AT_ONCE: usize = LONGEST_TEXT / 96;

/// What a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Counted {
    /// Bytes that a process allocated and did not free.
    Held(ProcessId),
    /// A reading of a counter.
    Read(Quantity),
}

/// A value in a frame.
#[derive(Clone, Copy, Debug)]
enum Value {
    Whole(i64),
    Share(f64),
}

/// All counters, by what they count.
pub(super) struct Counters {
    numbers: HashMap<Counted, u32>,
    /// Values of one moment that are to be written.
    waiting: Vec<(u32, Value)>,
}

impl Counters {
    /// Gives each counter of the capture a number, and writes their definitions.
    pub(super) fn define(loaded: &Loaded, frames: &mut Frames<'_>) -> Self {
        let rows = loaded.profile.processes.iter().enumerate();
        let allocating = rows.filter(|(_, row)| row.cost.allocated.blocks > 0);
        let mut known: Vec<Counted> =
            allocating.map(|(place, _)| Counted::Held(ProcessId::from_index(place))).collect();
        known.extend(loaded.counters.iter().filter_map(|(process, kind, instance, _)| {
            match (kind, process) {
                (CounterKind::Rss, Some(process)) => Some(Counted::Read(Quantity::Resident(process))),
                (CounterKind::SystemTime, Some(process)) => Some(Counted::Read(Quantity::Work(process))),
                (CounterKind::CpuBusy, None) => Some(Counted::Read(Quantity::Busy(instance))),
                _ => None,
            }
        }));
        // Numbers have 24 bits.
        known.truncate((1 << 24) - 1);
        let time = frames.time(0);
        for (chunk, some) in known.chunks(DEFINED_AT_ONCE).enumerate() {
            let mut frame = Frame::new(Kind::Counters, -1, time);
            frame.u16(some.len() as u16).u16(0).u32(0);
            for (place, counted) in some.iter().enumerate() {
                define(loaded, *counted, number(chunk * DEFINED_AT_ONCE + place), &mut frame);
            }
            frames.write(&mut frame);
        }
        let numbers = known.into_iter().enumerate().map(|(place, counted)| (counted, number(place)));
        Self { numbers: numbers.collect(), waiting: Vec::new() }
    }

    /// Adds what a process holds to the values of a moment.
    pub(super) fn held(&mut self, process: ProcessId, bytes: i64) {
        self.add(Counted::Held(process), Value::Whole(bytes));
    }

    /// Adds a reading.
    pub(super) fn read(&mut self, reading: &Reading) {
        let value = match reading.of {
            Quantity::Resident(_) => Value::Whole(reading.value.cast_signed()),
            Quantity::Work(_) | Quantity::Busy(_) => {
                let time = reading.time.saturating_sub(reading.since).max(1);
                Value::Share(100.0 * reading.value as f64 / time as f64)
            }
        };
        self.add(Counted::Read(reading.of), value);
    }

    fn add(&mut self, counted: Counted, value: Value) {
        if let Some(number) = self.numbers.get(&counted) {
            self.waiting.push((*number, value));
        }
    }

    /// Writes the values of a moment.
    pub(super) fn write(&mut self, time: u64, frames: &mut Frames<'_>) {
        for values in self.waiting.chunks(GROUP * GROUPS_AT_ONCE) {
            let mut frame = Frame::new(Kind::Values, -1, frames.time(time));
            frame.u16(values.len().div_ceil(GROUP) as u16).u16(0).u32(0);
            for group in values.chunks(GROUP) {
                for place in 0..GROUP {
                    frame.u32(group.get(place).map_or(0, |(number, _)| *number));
                }
                for place in 0..GROUP {
                    frame.u64(match group.get(place) {
                        Some((_, Value::Whole(value))) => value.cast_unsigned(),
                        Some((_, Value::Share(value))) => value.to_bits(),
                        None => 0,
                    });
                }
            }
            frames.write(&mut frame);
        }
        self.waiting.clear();
    }
}

/// Numbers begin with 1.
fn number(place: usize) -> u32 {
    place as u32 + 1
}

/// ```text
///  0  category, 32 bytes   32  name, 32   64  description, 52   116  number u24, type u8   120  first value
/// ```
fn define(loaded: &Loaded, counted: Counted, number: u32, frame: &mut Frame) {
    let of = |process: ProcessId| {
        let row = loaded.tables.processes.get(process.index());
        row.map_or_else(String::new, |row| format!("{} ({})", process_name(row), row.pid))
    };
    let (category, name, what) = match counted {
        Counted::Held(process) => ("Memory", format!("Heap of {}", of(process)), "Live bytes"),
        Counted::Read(Quantity::Resident(process)) => {
            ("Memory", format!("RSS of {}", of(process)), "Resident memory in bytes")
        }
        Counted::Read(Quantity::Work(process)) => ("CPU of processes", of(process), "Percent of one CPU"),
        // Sysprof looks for these words.
        Counted::Read(Quantity::Busy(cpu)) => ("CPU Percent", format!("Total CPU {cpu}"), "Percent busy"),
    };
    let is_share = matches!(counted, Counted::Read(Quantity::Work(_) | Quantity::Busy(_)));
    frame.short_text(category, 32).short_text(&name, 32).short_text(what, 52);
    frame.u32(number | (u32::from(is_share) << 24)).u64(0);
}
