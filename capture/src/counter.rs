//! Counters of processes and of the machine over time, and their columns in a file.

use crate::columns;
use crate::error::Malformed;
use crate::ids::ProcessId;
use crate::varint;

/// The value of a counter at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Nanoseconds since the recording began.
    pub time: u64,
    /// The process it belongs to; none for the machine's and the collector's own.
    pub process: Option<ProcessId>,
    /// What was counted.
    pub kind: CounterKind,
    /// Which of several: the processor's number for [`CounterKind::CpuBusy`], else 0.
    pub instance: u32,
    /// The value, in the unit of its kind.
    pub value: u64,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $number:literal $word:literal),+ $(,)?) => {
        /// What is counted. A later version may have more: readers skip the kinds they do not know.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum CounterKind {
            $($(#[$doc])* $name = $number),+
        }

        impl CounterKind {
            /// All of them.
            pub const ALL: &[CounterKind] = &[$(CounterKind::$name),+];

            /// Its name in JSON.
            pub fn name(self) -> &'static str {
                match self {
                    $(CounterKind::$name => $word),+
                }
            }
        }
    };
}

kinds! {
    /// Resident memory, bytes.
    Rss = 1 "rss_bytes",
    /// Memory in swap, bytes.
    Swap = 2 "swap_bytes",
    /// Proportional set size: resident memory with each shared page divided among its users, bytes.
    Pss = 3 "pss_bytes",
    /// Page faults so far that needed no disk access.
    MinorFaults = 4 "minor_faults",
    /// Page faults so far that needed one.
    MajorFaults = 5 "major_faults",
    /// CPU time so far in user mode, nanoseconds.
    UserTime = 6 "user_ns",
    /// CPU time so far in the kernel, nanoseconds.
    SystemTime = 7 "system_ns",
    /// Number of threads.
    Threads = 8 "threads",
    /// The most memory that was ever resident since the program began, as the kernel has it, bytes.
    PeakRss = 9 "peak_rss_bytes",
    /// At its end: the most that was ever resident in the process, with whatever programs it was before, or in any that
    /// it has waited for; bytes.
    FamilyPeakRss = 10 "family_peak_rss_bytes",
    /// Time that a processor of the machine was busy, nanoseconds.
    CpuBusy = 20 "cpu_busy_ns",
    /// CPU time of the collector so far, nanoseconds.
    CollectorTime = 21 "collector_ns",
    /// Resident memory of the collector, bytes.
    CollectorRss = 22 "collector_rss_bytes",
}

impl CounterKind {
    /// The kind with this number in files.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| *kind as u8 == number)
    }
}

/// Appends the columns of counters. Values of one series resemble each other but are not adjacent, so they are stored
/// as they are and left to the compressor.
pub(crate) fn put_counters(counters: &[Counter], payload: &mut Vec<u8>) {
    let mut columns: [Vec<u8>; 5] = Default::default();
    let [times, processes, kinds, instances, values] = &mut columns;
    let mut time = 0;
    for counter in counters {
        varint::put_delta(times, time, counter.time);
        varint::put(processes, counter.process.map_or(0, |process| u64::from(process.0) + 1));
        kinds.push(counter.kind as u8);
        varint::put(instances, counter.instance.into());
        varint::put(values, counter.value);
        time = counter.time;
    }
    columns::join(&columns, payload);
}

/// Takes `count` counters; leaves out those of unknown kinds.
pub(crate) fn take_counters(
    payload: &[u8],
    count: usize,
    processes: usize,
) -> Result<Vec<Counter>, Malformed> {
    let [mut times, mut owners, kinds, mut instances, mut values] =
        columns::split::<5>(payload)?.map(|range| &payload[range]);
    let Some(kinds) = kinds.get(..count) else { return Err(Malformed("a column ends inside a number")) };
    let mut counters = Vec::new();
    let mut time = 0;
    for &kind in kinds {
        time = varint::take_delta(&mut times, time)?;
        let process = match varint::take(&mut owners)?.checked_sub(1) {
            None => None,
            Some(id) if id < processes as u64 => Some(ProcessId(id as u32)),
            Some(_) => return Err(Malformed("a counter refers to an unknown process")),
        };
        let (instance, value) = (varint::take_u32(&mut instances)?, varint::take(&mut values)?);
        if let Some(kind) = CounterKind::from_number(kind) {
            counters.push(Counter { time, process, kind, instance, value });
        }
    }
    Ok(counters)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counter() -> impl Strategy<Value = Counter> {
        let process = prop::option::of((0..u32::MAX).prop_map(ProcessId));
        let kind = prop::sample::select(CounterKind::ALL);
        (any::<u64>(), process, kind, any::<u32>(), any::<u64>()).prop_map(
            |(time, process, kind, instance, value)| Counter { time, process, kind, instance, value },
        )
    }

    /// Check that no two kinds share a number or a name, and that each is found by its number.
    #[test]
    fn kinds_are_told_apart() {
        for (place, &kind) in CounterKind::ALL.iter().enumerate() {
            assert_eq!(CounterKind::from_number(kind as u8), Some(kind));
            assert!(CounterKind::ALL[..place].iter().all(|other| other.name() != kind.name()), "{kind:?}");
        }
    }

    /// Check that a counter of a kind added by a later version is left out, and its neighbours are not.
    #[test]
    fn unknown_kinds_are_left_out() {
        let of = |kind| Counter { time: 7, process: None, kind, instance: 0, value: 1 };
        let mut payload = Vec::new();
        put_counters(&[of(CounterKind::Rss), of(CounterKind::Swap)], &mut payload);
        let kinds = payload.windows(2).position(|pair| pair == [1, 2]).unwrap();
        payload[kinds] = 255;
        assert_eq!(take_counters(&payload, 2, 0), Ok(vec![of(CounterKind::Swap)]));
    }

    proptest! {
        /// Check that any counters come back.
        #[test]
        fn counters_come_back(counters in prop::collection::vec(counter(), 0..50)) {
            let mut payload = Vec::new();
            put_counters(&counters, &mut payload);
            prop_assert_eq!(take_counters(&payload, counters.len(), 1 << 32), Ok(counters));
        }

        /// Check that arbitrary bytes give counters of known processes or an error.
        #[test]
        fn arbitrary_bytes_stay_in_bounds(payload: Vec<u8>, count in 0usize..1 << 20) {
            if let Ok(counters) = take_counters(&payload, count, 2) {
                prop_assert!(counters.iter().all(|counter| counter.process.is_none_or(|id| id.0 < 2)));
            }
        }
    }
}
