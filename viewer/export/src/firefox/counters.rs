//! Tracks of what the kernel reported: resident memory, and CPU time of each process.

use super::tracks::{Tracks, at};
use crate::readings::{Quantity, Readings};
use capture::ProcessId;
use engine::Loaded;
use fxprof_processed_profile::CounterHandle;
use std::collections::HashMap;

/// A track, and its present value.
struct Counter {
    handle: CounterHandle,
    value: u64,
}

/// Adds those of all processes. The profile contains differences of resident memory, and in `processCPU` the
/// microseconds of CPU time.
pub(super) fn add(tracks: &mut Tracks<'_>, loaded: &Loaded) {
    let mut counters: HashMap<Quantity, Counter> = HashMap::new();
    for reading in Readings::new(&loaded.counters) {
        let (process, name, category, what) = match reading.of {
            Quantity::Resident(process) => (process, "rss", "Memory", "Resident memory (RSS)"),
            Quantity::Work(process) => (process, "processCPU", "CPU", "CPU time"),
            // The profile has no tracks for the machine.
            Quantity::Busy(_) => continue,
        };
        if !is_known(loaded, process) {
            continue;
        }
        let handle = tracks.process_handle(process, reading.time);
        let counter = counters.entry(reading.of).or_insert_with(|| {
            let handle = tracks.profile.add_counter(handle, name, category, what);
            Counter { handle, value: 0 }
        });
        let delta = match reading.of {
            Quantity::Resident(_) => reading.value as f64 - counter.value as f64,
            _ => reading.value as f64 / 1e3,
        };
        counter.value = reading.value;
        tracks.profile.add_counter_sample(counter.handle, at(reading.time), delta, 0);
    }
}

/// A growing file may have reported a process since it was counted.
fn is_known(loaded: &Loaded, process: ProcessId) -> bool {
    process.index() < loaded.tables.processes.len()
}
