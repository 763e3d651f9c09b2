//! Regions that programs mark: the regions of each name, how long they took, and what happened inside them.
//!
//! ```text
//!  thread 1   ├─ load ─┤        ├─ load ─┤               two instances
//!  thread 2       ├─ load ──┤                ├─ load …    one more, and one that never ends
//!  union      ├─────────────┤   ├────────┤   ├────────    in any of them
//! ```
//!
//! An end closes the latest open region of its name that its own thread began, or else the latest of its process: a
//! region may end in another thread. A region that is never ended lasts as long as its process; an end without a
//! region is counted, but is not a region.

mod inside;

pub use inside::Inside;

use capture::{Mark, MarkKind, ProcessId, StringId, Tables, ThreadId};
use std::collections::HashMap;

/// The marks of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkName {
    /// The name.
    pub name: StringId,
    /// Marks of moments rather than regions.
    pub instants: u64,
    /// Its regions, in the order in which they began.
    pub regions: Vec<Region>,
    /// Ends of regions whose beginning was not seen.
    pub stray_ends: u64,
}

/// An interval with a beginning and an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Nanoseconds since the recording began.
    pub from: u64,
    /// When it ended, or else when its process or the recording did.
    pub to: u64,
    /// False when it was never ended: its length is unknown.
    pub has_ended: bool,
    /// The process.
    pub process: ProcessId,
    /// The thread that began it.
    pub thread: ThreadId,
}

/// How long regions took, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// The shortest.
    pub min: u64,
    /// The average.
    pub mean: u64,
    /// The longest.
    pub max: u64,
}

impl MarkName {
    /// The lengths of its ended regions; none when there are none.
    pub fn lengths(&self) -> Option<Lengths> {
        let lengths = || self.regions.iter().filter(|region| region.has_ended).map(Region::length);
        let (min, max) = (lengths().min()?, lengths().max()?);
        let sum: u128 = lengths().map(u128::from).sum();
        let mean = sum / lengths().count().max(1) as u128;
        Some(Lengths { min, mean: u64::try_from(mean).unwrap_or(u64::MAX), max })
    }

    /// Number of regions that were never ended.
    pub fn unfinished(&self) -> u64 {
        self.regions.iter().filter(|region| !region.has_ended).count() as u64
    }
}

impl Region {
    fn length(&self) -> u64 {
        self.to.saturating_sub(self.from)
    }
}

/// The marks of a recording of this length, by name, in the order in which names first occur.
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
    // Marks without a known thread belong together, as those of a nonexistent process.
    tables.threads.get(mark.thread.index()).map_or(ProcessId(u32::MAX), |thread| thread.process)
}

fn end_of(tables: &Tables, process: ProcessId) -> Option<u64> {
    tables.processes.get(process.index())?.end.as_ref().map(|end| end.time)
}

#[cfg(test)]
mod tests;
