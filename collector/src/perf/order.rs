//! Records of many rings, in the order of their times.
//!
//! Each ring is in order but for interrupts, and rings are read one after the other. So a record waits until everything
//! that was written before it has been read: [`HOLD`] longer than it took to read the rings. What comes later than that
//! is kept and counted.

use super::record::{self, Layout, What};
use crate::perf::time::Times;

/// Ticks are about as many as nanoseconds; records wait for some ten milliseconds.
pub(super) const HOLD: u64 = 50_000_000;

/// Bytes that wait at most, so that a clock gone wrong keeps no records for ever.
const MOST_BYTES: usize = 256 << 20;

/// Records that wait.
#[derive(Debug, Default)]
pub(super) struct Order {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    /// Bytes before this place are sorted into entries.
    known: usize,
    /// Time of the last record that was given out.
    last: u64,
    /// Records that came after younger ones had been given out.
    pub(super) late: u64,
    /// Bytes that were no records.
    pub(super) malformed: u64,
}

/// A record that waits.
#[derive(Clone, Copy, Debug)]
struct Entry {
    ticks: u64,
    /// Of records with one time, what comes first.
    rank: u8,
    layout: Layout,
    start: usize,
    end: usize,
}

impl Order {
    /// Takes what `fill` appends: the records of one ring, whose samples have this layout.
    pub(super) fn add(&mut self, times: &Times, layout: Layout, fill: impl FnOnce(&mut Vec<u8>)) {
        fill(&mut self.bytes);
        while let Some(rest) = self.bytes.get(self.known..).filter(|rest| !rest.is_empty()) {
            let Ok((bytes, _)) = record::split(rest) else {
                self.malformed += rest.len() as u64;
                self.known = self.bytes.len();
                return;
            };
            let (start, end) = (self.known, self.known + bytes.len());
            self.known = end;
            match record::parse(bytes, layout) {
                Ok(record) => {
                    let ticks = times.ticks(record.time);
                    self.late += u64::from(ticks < self.last);
                    self.entries.push(Entry { ticks, rank: rank(record.what), layout, start, end });
                }
                Err(record::Malformed) => self.malformed += bytes.len() as u64,
            }
        }
    }

    /// Whether so much waits that more is better left in the rings.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() > MOST_BYTES
    }

    /// Hands the records up to a time to `visit`, in order, each with its ticks and the layout of its ring, as long as it
    /// returns true. False when it ended that early.
    pub(super) fn until(&mut self, ticks: u64, mut visit: impl FnMut(u64, Layout, What<'_>) -> bool) -> bool {
        let limit = if self.is_full() { u64::MAX } else { ticks };
        // A stable sort: what is equal stays in the order of its ring.
        self.entries.sort_by_key(|entry| (entry.ticks, entry.rank));
        let due = self.entries.partition_point(|entry| entry.ticks <= limit);
        let mut given = 0;
        for entry in &self.entries[..due] {
            given += 1;
            self.last = self.last.max(entry.ticks);
            if let Ok(record) = record::parse(&self.bytes[entry.start..entry.end], entry.layout)
                && !visit(entry.ticks, entry.layout, record.what)
            {
                break;
            }
        }
        self.entries.drain(..given);
        self.compact();
        given == due
    }

    /// Gives the room of records that were given out back.
    fn compact(&mut self) {
        let mut bytes = Vec::with_capacity(self.entries.iter().map(|entry| entry.end - entry.start).sum());
        for entry in &mut self.entries {
            let start = bytes.len();
            bytes.extend_from_slice(&self.bytes[entry.start..entry.end]);
            (entry.start, entry.end) = (start, bytes.len());
        }
        if bytes.is_empty() {
            // Nothing waits: the memory is used again.
            self.bytes.clear();
        } else {
            self.bytes = bytes;
        }
        self.known = self.bytes.len();
    }
}

/// A process exists before it executes, it executes before it maps, and maps before it works.
fn rank(what: What<'_>) -> u8 {
    match what {
        What::Fork { .. } => 0,
        What::Comm { .. } => 1,
        What::Map(_) | What::KernelCode => 2,
        What::Sample(_) | What::Fault(_) | What::Hit(_) => 3,
        What::Lost { .. } | What::Throttle | What::Other => 4,
        What::Exit { .. } => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::event::RecordClock;
    use crate::perf::record::made;
    use crate::perf::ring::Conversion;
    use proptest::prelude::*;

    /// Ticks are times here.
    fn times() -> Times {
        Times::new(RecordClock::Native, Some(Conversion { zero: 0, mult: 1, shift: 0 }))
    }

    fn given(order: &mut Order, until: u64) -> Vec<String> {
        let mut seen = Vec::new();
        let is_over = order.until(until, |ticks, _, what| {
            seen.push(format!("{ticks} {what:?}"));
            true
        });
        assert!(is_over);
        seen
    }

    /// Check that of records with one time a fork comes before the exec, that before mappings, and these before samples.
    #[test]
    fn causes_come_before_effects() {
        let mut order = Order::default();
        let all = [made::exit(7, 5), made::sample(7, 5), made::map(7, 5), made::comm(7, 5), made::fork(7, 5)];
        for record in all {
            order.add(&times(), Layout::Work, |bytes| bytes.extend(record));
        }
        let seen = given(&mut order, 5).join(" ");
        let places: Vec<_> =
            ["Fork", "Comm", "Map", "Sample", "Exit"].map(|name| seen.find(name).unwrap()).into();
        assert!(places.is_sorted(), "{seen}");
    }

    /// Check that what comes too late is given out and counted.
    #[test]
    fn late_records_are_counted() {
        let mut order = Order::default();
        order.add(&times(), Layout::Work, |bytes| bytes.extend(made::sample(7, 100)));
        assert_eq!(given(&mut order, 100).len(), 1);
        order.add(&times(), Layout::Work, |bytes| bytes.extend(made::sample(7, 99)));
        assert_eq!((given(&mut order, 100).len(), order.late), (1, 1));
    }

    /// Check that records are given a few at a time to whoever wants no more, each once and in order, with what came meanwhile
    /// behind them.
    #[test]
    fn records_are_given_in_parts() {
        let mut order = Order::default();
        for time in (0..10).rev() {
            order.add(&times(), Layout::Work, |bytes| bytes.extend(made::sample(7, time)));
        }
        let mut seen = Vec::new();
        let mut parts = 0;
        while !order.until(9, |ticks, _, _| {
            seen.push(ticks);
            seen.len() % 3 != 0
        }) {
            parts += 1;
            order.add(&times(), Layout::Work, |bytes| bytes.extend(made::sample(7, 20 + parts)));
        }
        assert_eq!((seen, parts, order.late), ((0..10).collect(), 3, 0));
        assert_eq!(given(&mut order, 30).len(), 3);
    }

    proptest! {
        /// Check that any split of records over rings and rounds gives the same order, as long as none comes late.
        #[test]
        fn any_way_of_reading_gives_one_order(
            moments in prop::collection::vec((0u64..20, 0usize..5), 0..60),
            rings in prop::collection::vec(0usize..4, 60),
        ) {
            let make = |(time, kind): (u64, usize), number: u32| match kind {
                0 => made::fork(number, time),
                1 => made::comm(number, time),
                2 => made::map(number, time),
                3 => made::sample(number, time),
                _ => made::exit(number, time),
            };
            // No two are equal in time and kind, so that there is one right order.
            let mut moments: Vec<(u64, usize)> = moments;
            moments.sort_unstable();
            moments.dedup();
            let (mut at_once, mut in_turns) = (Order::default(), Order::default());
            for &moment in &moments {
                at_once.add(&times(), Layout::Work, |bytes| bytes.extend(make(moment, 9)));
            }
            let expected = given(&mut at_once, u64::MAX);
            let mut found = Vec::new();
            for turn in 0..=2 {
                for ring in (0..4).rev() {
                    in_turns.add(&times(), Layout::Work, |bytes| {
                        let of_ring = moments.iter().zip(&rings).filter(|((time, _), of)| **of == ring && time / 10 == turn);
                        of_ring.for_each(|(moment, _)| bytes.extend(make(*moment, 9)));
                    });
                }
                found.extend(given(&mut in_turns, turn * 10 + 9));
            }
            prop_assert_eq!(found, expected);
            prop_assert_eq!(in_turns.late, 0);
        }

        /// Check that any bytes are records or counted, and all of them are used up.
        #[test]
        fn hostile_bytes_are_counted(
            parts in prop::collection::vec(any::<Vec<u8>>(), 0..10),
            layout in prop::sample::select(&[Layout::Work, Layout::Touch, Layout::Stack]),
        ) {
            let mut order = Order::default();
            let length: usize = parts.iter().map(Vec::len).sum();
            let mut given = 0;
            for part in parts {
                order.add(&times(), layout, |bytes| bytes.extend(part));
                order.until(u64::MAX, |_, _, _| {
                    given += 1;
                    true
                });
            }
            prop_assert!(order.malformed + given * 8 <= length as u64);
            prop_assert!(order.bytes.is_empty());
        }
    }
}
