//! Regions that programs mark: what each name has of them, how long they took, and what lies in any of them.
//!
//! ```text
//!  thread 1   ├─ load ─┤        ├─ load ─┤               two instances
//!  thread 2       ├─ load ──┤                ├─ load …    one more, and one that never ends
//!  union      ├─────────────┤   ├────────┤   ├────────    in any of them
//! ```
//!
//! An end closes the latest region of its name that its own thread has begun, else the latest of its process: a region may
//! end in another thread. One that nobody ends lasts as long as its process; an end of nothing is counted, and is none.

mod inside;

pub use inside::Inside;

use capture::{Mark, MarkKind, ProcessId, StringId, Tables, ThreadId};
use std::collections::HashMap;

/// The marks of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkName {
    /// The name.
    pub name: StringId,
    /// Marks that are moments, and no region.
    pub instants: u64,
    /// Its regions, in the order in which they began.
    pub regions: Vec<Region>,
    /// Ends of regions that nobody has seen begin.
    pub stray_ends: u64,
}

/// From the beginning of something to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Nanoseconds since the recording began.
    pub from: u64,
    /// Where it ends, or what it belongs to does.
    pub to: u64,
    /// False when nobody has ended it: its length is not known.
    pub has_ended: bool,
    /// Whose it is.
    pub process: ProcessId,
    /// Who began it.
    pub thread: ThreadId,
}

/// How long regions took, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// The shortest.
    pub min: u64,
    /// All together by their number.
    pub mean: u64,
    /// The longest.
    pub max: u64,
}

impl MarkName {
    /// How long its regions took, of those that have ended; none when there is no such region.
    pub fn lengths(&self) -> Option<Lengths> {
        let lengths = || self.regions.iter().filter(|region| region.has_ended).map(Region::length);
        let (min, max) = (lengths().min()?, lengths().max()?);
        let sum: u128 = lengths().map(u128::from).sum();
        let mean = sum / lengths().count().max(1) as u128;
        Some(Lengths { min, mean: u64::try_from(mean).unwrap_or(u64::MAX), max })
    }

    /// Regions that nobody has ended.
    pub fn unfinished(&self) -> u64 {
        self.regions.iter().filter(|region| !region.has_ended).count() as u64
    }
}

impl Region {
    fn length(&self) -> u64 {
        self.to.saturating_sub(self.from)
    }
}

/// The marks of a recording that took so long, by name, in the order in which names came up.
pub fn marks_by_name(tables: &Tables, duration_ns: u64) -> Vec<MarkName> {
    let mut names: Vec<MarkName> = Vec::new();
    let mut places: HashMap<StringId, usize> = HashMap::new();
    let mut open: HashMap<(ProcessId, StringId), Vec<(ThreadId, usize)>> = HashMap::new();
    for mark in &tables.marks {
        let place = *places.entry(mark.name).or_insert_with(|| {
            let (instants, regions, stray_ends) = Default::default();
            names.push(MarkName { name: mark.name, instants, regions, stray_ends });
            names.len() - 1
        });
        let (row, process) = (&mut names[place], process_of(tables, mark));
        let of_name = open.entry((process, mark.name)).or_default();
        match mark.kind {
            MarkKind::Instant => row.instants += 1,
            MarkKind::Begin => {
                of_name.push((mark.thread, row.regions.len()));
                let to = end_of(tables, process).unwrap_or(duration_ns).max(mark.time);
                let (from, thread) = (mark.time, mark.thread);
                row.regions.push(Region { from, to, has_ended: false, process, thread });
            }
            MarkKind::End => {
                let own = of_name.iter().rposition(|(thread, _)| *thread == mark.thread);
                match own.or(of_name.len().checked_sub(1)) {
                    Some(latest) => {
                        let region = &mut row.regions[of_name.remove(latest).1];
                        (region.to, region.has_ended) = (mark.time.max(region.from), true);
                    }
                    None => row.stray_ends += 1,
                }
            }
        }
    }
    names
}

fn process_of(tables: &Tables, mark: &Mark) -> ProcessId {
    // Nobody's marks belong together as those of a process that is not there.
    tables.threads.get(mark.thread.index()).map_or(ProcessId(u32::MAX), |thread| thread.process)
}

fn end_of(tables: &Tables, process: ProcessId) -> Option<u64> {
    tables.processes.get(process.index())?.end.as_ref().map(|end| end.time)
}

#[cfg(test)]
mod tests;
