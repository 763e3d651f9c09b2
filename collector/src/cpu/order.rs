//! Records of many rings, in order of time.
//!
//! Each ring is in order, except around interrupts, and rings are read one after the other. So a record waits until
//! everything written before it has been read: [`HOLD`] longer than it took to read the rings. Records that come even
//! later are kept and counted.

use super::record::{self, Layout, Payload};
use super::time::Times;

/// A tick is about a nanosecond; records wait for some ten milliseconds.
pub(super) const HOLD: u64 = 50_000_000;

/// Waiting bytes from which on more is better left in the rings: what waits at the end of a recording delays that
/// end.
const ENOUGH_BYTES: usize = 32 << 20;

/// Most bytes that wait, so that a clock gone wrong does not hold records for ever.
const MOST_BYTES: usize = 256 << 20;

/// Bytes of memory that are kept for reuse.
const MOST_KEPT: usize = 4 << 20;

/// Records that wait to be delivered.
#[derive(Debug, Default)]
pub(super) struct Order {
    bytes: Vec<u8>,
    /// What still waits is moved here, and the two buffers are swapped: memory that was used before has its pages.
    spare: Vec<u8>,
    entries: Vec<Entry>,
    /// Bytes before this offset are sorted into entries.
    known: usize,
    /// Time of the last record delivered.
    last: u64,
    /// Records that came after later ones had been delivered.
    pub(super) late: u64,
    /// Bytes that were not records.
    pub(super) malformed: u64,
}

/// Receives the records.
pub(super) trait Reader {
    /// Takes a record, with its ticks and the layout of its ring.
    fn take(&mut self, ticks: u64, layout: Layout, payload: Payload<'_>);

    /// Called after each record; may add more records.
    fn meanwhile(&mut self, _: &mut Order) {}
}

/// A record that waits.
#[derive(Clone, Copy, Debug)]
struct Entry {
    ticks: u64,
    /// Orders records with the same time.
    rank: u8,
    layout: Layout,
    start: usize,
    end: usize,
}

impl Order {
    /// Takes what `fill` appends: the records of one ring, whose samples have this layout. Returns the time of the
    /// last one.
    pub(super) fn add(&mut self, times: &Times, layout: Layout, fill: impl FnOnce(&mut Vec<u8>)) -> u64 {
        fill(&mut self.bytes);
        let mut last = self.last;
        while let Some(rest) = self.bytes.get(self.known..).filter(|rest| !rest.is_empty()) {
            let Ok((bytes, _)) = record::split(rest) else {
                self.malformed += rest.len() as u64;
                self.known = self.bytes.len();
                return last;
            };
            let (start, end) = (self.known, self.known + bytes.len());
            self.known = end;
            match record::parse(bytes, layout) {
                Ok(record) => {
                    let ticks = times.ticks(record.time);
                    self.late += u64::from(ticks < self.last);
                    self.entries.push(Entry { ticks, rank: rank(record.payload), layout, start, end });
                    last = ticks;
                }
                Err(record::Malformed) => self.malformed += bytes.len() as u64,
            }
        }
        last
    }

    /// After this time, that of a ring's last record, process records may be missing.
    pub(super) fn add_gap(&mut self, ticks: u64, layout: Layout) {
        self.entries.push(Entry { ticks, rank: rank(Payload::Gap), layout, start: 0, end: 0 });
    }

    /// Whether so much waits that samples are better left in the rings.
    pub(super) fn has_enough(&self) -> bool {
        self.bytes.len() > ENOUGH_BYTES
    }

    /// Whether so much waits that even process records are better left in their rings.
    pub(super) fn has_too_much(&self) -> bool {
        self.bytes.len() > MOST_BYTES / 2
    }

    /// Delivers the records up to a time to `reader`, in order.
    pub(super) fn until(&mut self, ticks: u64, reader: &mut impl Reader) {
        let limit = if self.bytes.len() > MOST_BYTES { u64::MAX } else { ticks };
        // A stable sort: equal records stay in the order of their ring.
        self.entries.sort_by_key(|entry| (entry.ticks, entry.rank));
        let due = self.entries.partition_point(|entry| entry.ticks <= limit);
        let due: Vec<Entry> = self.entries.drain(..due).collect();
        for entry in due {
            self.last = self.last.max(entry.ticks);
            if entry.start == entry.end {
                reader.take(entry.ticks, entry.layout, Payload::Gap);
            } else if let Ok(record) = record::parse(&self.bytes[entry.start..entry.end], entry.layout) {
                reader.take(entry.ticks, entry.layout, record.payload);
            }
            reader.meanwhile(self);
        }
        self.compact();
    }

    /// Gives back the room of delivered records.
    fn compact(&mut self) {
        for entry in &mut self.entries {
            let start = self.spare.len();
            self.spare.extend_from_slice(&self.bytes[entry.start..entry.end]);
            (entry.start, entry.end) = (start, self.spare.len());
        }
        std::mem::swap(&mut self.bytes, &mut self.spare);
        self.spare.clear();
        // Releases what piled up during a standstill.
        self.spare.shrink_to(MOST_KEPT);
        self.known = self.bytes.len();
    }
}

/// A process exists before it executes, executes before it maps, and maps before it works.
fn rank(payload: Payload<'_>) -> u8 {
    match payload {
        Payload::Fork { .. } => 0,
        Payload::Comm { .. } => 1,
        Payload::Map(_) | Payload::KernelCode => 2,
        Payload::Sample(_) | Payload::Fault(_) => 3,
        Payload::Lost { .. } | Payload::Throttle | Payload::Other => 4,
        Payload::Exit { .. } => 5,
        Payload::Gap => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::RecordClock;
    use super::super::record::made;
    use super::super::ring::Conversion;
    use super::*;
    use proptest::prelude::*;

    /// A clock whose ticks equal its times.
    fn times() -> Times {
        Times::new(RecordClock::Native, Some(Conversion { zero: 0, mult: 1, shift: 0 }))
    }

    /// The records delivered, as text.
    #[derive(Default)]
    struct Seen(Vec<String>);

    impl Reader for Seen {
        fn take(&mut self, ticks: u64, _: Layout, payload: Payload<'_>) {
            self.0.push(format!("{ticks} {payload:?}"));
        }
    }

    fn given(order: &mut Order, until: u64) -> Vec<String> {
        let mut seen = Seen::default();
        order.until(until, &mut seen);
        seen.0
    }

    /// Check that among records with one time a fork comes before the exec, the exec before mappings, and mappings
    /// before samples.
    #[test]
    fn causes_come_before_effects() {
        let mut order = Order::default();
        let all = [made::exit(7, 5), made::sample(7, 5), made::map(7, 5), made::comm(7, 5), made::fork(7, 5)];
        for record in all {
            order.add(&times(), Layout::CpuSamples, |bytes| bytes.extend(record));
        }
        let seen = given(&mut order, 5).join(" ");
        let places: Vec<_> =
            ["Fork", "Comm", "Map", "Sample", "Exit"].map(|name| seen.find(name).unwrap()).into();
        assert!(places.is_sorted(), "{seen}");
    }

    /// Check that records that come too late are delivered and counted.
    #[test]
    fn late_records_are_counted() {
        let mut order = Order::default();
        order.add(&times(), Layout::CpuSamples, |bytes| bytes.extend(made::sample(7, 100)));
        assert_eq!(given(&mut order, 100).len(), 1);
        order.add(&times(), Layout::CpuSamples, |bytes| bytes.extend(made::sample(7, 99)));
        assert_eq!((given(&mut order, 100).len(), order.late), (1, 1));
    }

    /// Check that a gap comes after its ring's last record, and before what other rings recorded later.
    #[test]
    fn gaps_come_behind_the_last_record() {
        let mut order = Order::default();
        let last = order.add(&times(), Layout::CpuSamples, |bytes| {
            bytes.extend([made::fork(7, 3), made::sample(7, 5)].concat());
        });
        order.add_gap(last, Layout::CpuSamples);
        order.add(&times(), Layout::CpuSamples, |bytes| bytes.extend(made::sample(8, 6)));
        let seen = given(&mut order, 9);
        let begin: Vec<&str> = seen.iter().map(|text| text.split([' ', '(']).nth(1).unwrap()).collect();
        assert_eq!(begin, ["Fork", "Sample", "Gap", "Sample"]);
        // For a ring that gave nothing it is the present.
        assert_eq!(order.add(&times(), Layout::CpuSamples, |_| ()), 6);
    }

    /// Check that records added during delivery are kept for the next time, and none is lost or delivered twice.
    #[test]
    fn records_may_come_meanwhile() {
        #[derive(Default)]
        struct Adds(Vec<u64>);
        impl Reader for Adds {
            fn take(&mut self, ticks: u64, _: Layout, _: Payload<'_>) {
                self.0.push(ticks);
            }

            fn meanwhile(&mut self, order: &mut Order) {
                let time = 100 + self.0.len() as u64;
                order.add(&times(), Layout::CpuSamples, |bytes| bytes.extend(made::sample(7, time)));
            }
        }
        let mut order = Order::default();
        for time in (0..10).rev() {
            order.add(&times(), Layout::CpuSamples, |bytes| bytes.extend(made::sample(7, time)));
        }
        let mut adds = Adds::default();
        order.until(9, &mut adds);
        assert_eq!((adds.0, order.late), ((0..10).collect(), 0));
        let rest = given(&mut order, 200);
        assert!(rest.iter().map(|text| text[..3].parse::<u64>().unwrap()).eq(101..=110), "{rest:?}");
    }

    proptest! {
        /// Check that however records are split over rings and rounds, they come out in the same order, as long as
        /// none comes late.
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
            // No two are equal in time and kind, so only one order is right.
            let mut moments: Vec<(u64, usize)> = moments;
            moments.sort_unstable();
            moments.dedup();
            let (mut at_once, mut in_turns) = (Order::default(), Order::default());
            for &moment in &moments {
                at_once.add(&times(), Layout::CpuSamples, |bytes| bytes.extend(make(moment, 9)));
            }
            let expected = given(&mut at_once, u64::MAX);
            let mut found = Vec::new();
            for turn in 0..=2 {
                for ring in (0..4).rev() {
                    in_turns.add(&times(), Layout::CpuSamples, |bytes| {
                        let of_ring = moments.iter().zip(&rings).filter(|((time, _), of)| **of == ring && time / 10 == turn);
                        of_ring.for_each(|(moment, _)| bytes.extend(make(*moment, 9)));
                    });
                }
                found.extend(given(&mut in_turns, turn * 10 + 9));
            }
            prop_assert_eq!(found, expected);
            prop_assert_eq!(in_turns.late, 0);
        }

        /// Check that arbitrary bytes are either records or counted, and all are consumed.
        #[test]
        fn hostile_bytes_are_counted(
            parts in prop::collection::vec(any::<Vec<u8>>(), 0..10),
            layout in prop::sample::select(&[Layout::CpuSamples, Layout::Faults, Layout::FaultsWithStacks]),
        ) {
            let mut order = Order::default();
            let length: usize = parts.iter().map(Vec::len).sum();
            let mut given_all = 0;
            for part in parts {
                order.add(&times(), layout, |bytes| bytes.extend(part));
                given_all += given(&mut order, u64::MAX).len() as u64;
            }
            prop_assert!(order.malformed + given_all * 8 <= length as u64);
            prop_assert!(order.bytes.is_empty());
        }
    }
}
