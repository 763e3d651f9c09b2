//! Room for the rings: one size, by which those of all events and processors can be mapped together.
//!
//! ```text
//!  kernel.perf_event_mlock_kb × processors + ulimit -l       what a user may lock
//!  ├── of what tells of processes ──┬── a ring of each processor ──┬── of the next event ──┬── … ──┤
//!      page 0 and 2ⁿ ÷ 4 pages          page 0 and 2ⁿ pages            page 0 and 4 × 2ⁿ
//! ```
//!
//! Whoever takes the largest ring that is allowed leaves nothing for the next processor, and an event without a ring on each
//! processor is none. What others have locked for the same user is not known: where the kernel allows less than was computed, all
//! rings are made smaller.

use super::refusal::paranoid;
use procfs::process::Process;
use rustix::process::{Resource, getrlimit};

/// Memory of the rings of one event together that is asked for; the least and the most of one ring.
const ALL_RINGS: usize = 64 << 20;
const SMALLEST: usize = 512 << 10;
const LARGEST: usize = 4 << 20;
/// The most where there is no other event: then its records have more of their stacks, and a busy machine keeps us from them for as long.
const LARGEST_ALONE: usize = 8 << 20;
/// Pages of a ring below which nothing is tried any more.
pub(super) const LEAST_PAGES: usize = 16;
/// The ring of records that tell of processes is so much smaller than others: a program may map thousands of files at once. …
const TASKS_PART: usize = 4;
/// … Where little may be locked, so many pages are enough, which some hundred records fill.
const LEAST_FOR_TASKS: usize = 64;
/// The capability to lock any amount of memory.
const CAP_IPC_LOCK: u64 = 1 << 14;

/// What rings take on each processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Demand {
    /// In rings of the one size.
    pub(super) rings: usize,
    /// Pages beside, whatever that size is.
    pub(super) pages: usize,
}

impl Demand {
    /// Adds the ring of an event that is so many times as large as others.
    pub(super) fn add(&mut self, times: usize) {
        self.rings += times;
        self.pages += 1;
    }

    /// Adds a ring of so many pages.
    pub(super) fn add_pages(&mut self, pages: usize) {
        self.pages += pages + 1;
    }

    /// Pages that it takes on each processor in this room.
    fn all(self, room: Room) -> usize {
        self.rings * room.pages + self.pages + room.tasks + 1
    }
}

/// Pages of rings, powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    /// Of a ring, of which others are multiples.
    pub(super) pages: usize,
    /// Of that of records which tell of processes.
    pub(super) tasks: usize,
}

impl Room {
    /// Rings that are as large as they should be on so many processors, or as may be: all pages that may be locked are `allowed`, `None`
    /// where that is any number.
    pub(super) fn new(demand: Demand, processors: usize, allowed: Option<usize>, page_size: usize) -> Room {
        let processors = processors.max(1);
        let largest = if demand.rings > 1 { LARGEST } else { LARGEST_ALONE };
        let wanted = (ALL_RINGS / processors).clamp(SMALLEST, largest) / page_size;
        let each = allowed.map_or(usize::MAX, |allowed| allowed / processors);
        let mut room = Room::of(1 << wanted.max(LEAST_PAGES).ilog2());
        while demand.all(room) > each {
            let Some(smaller) = room.smaller() else { break };
            room = smaller;
        }
        room
    }

    fn of(pages: usize) -> Room {
        Room { pages, tasks: (pages / TASKS_PART).max(LEAST_FOR_TASKS).min(pages) }
    }

    /// The next smaller one; `None` when that is too small to be of use.
    pub(super) fn smaller(self) -> Option<Room> {
        match self {
            Room { pages, tasks } if tasks > LEAST_FOR_TASKS => Some(Room { pages, tasks: LEAST_FOR_TASKS }),
            Room { pages, .. } if pages > LEAST_PAGES => Some(Room::of(pages / 2)),
            _ => None,
        }
    }
}

/// Pages that this user may lock for rings on so many processors; `None` for any number.
pub(super) fn allowed(processors: usize, page_size: usize) -> Option<usize> {
    let capabilities = Process::myself().and_then(|own| own.status()).map_or(0, |status| status.capeff);
    if capabilities & CAP_IPC_LOCK != 0 || paranoid().is_some_and(|level| level < 0) {
        return None;
    }
    let bytes = usize::try_from(getrlimit(Resource::Memlock).current?).ok()?;
    // What the kernel begins with, where it does not say.
    let each = std::fs::read_to_string("/proc/sys/kernel/perf_event_mlock_kb").ok();
    let each = each.and_then(|text| text.trim().parse::<usize>().ok()).unwrap_or(516) << 10;
    Some((each / page_size).saturating_mul(processors).saturating_add(bytes / page_size))
}

/// Unread bytes at which the kernel wakes us: a quarter of the ring, or of the smallest that we ask for.
pub(super) fn watermark(bytes: usize) -> u32 {
    (bytes.min(SMALLEST) / 4) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = 4096;

    fn demand(times: &[usize]) -> Demand {
        let mut demand = Demand::default();
        times.iter().for_each(|times| demand.add(*times));
        demand
    }

    /// Check that many processors have smaller rings, and none less than the smallest, where any memory may be locked.
    #[test]
    fn rings_share_the_memory() {
        let bytes = |processors| Room::new(demand(&[1]), processors, None, PAGE).pages * PAGE;
        assert_eq!([bytes(0), bytes(1), bytes(8)], [LARGEST_ALONE; 3]);
        assert_eq!([bytes(16), bytes(64), bytes(4096)], [4 << 20, 1 << 20, SMALLEST]);
        assert_eq!(Room::new(demand(&[1, 1, 4]), 1, None, PAGE).pages * PAGE, LARGEST);
    }

    /// Check that under the kernel's usual limits the rings of all events fit on all processors.
    #[test]
    fn rings_fit_on_all_processors() {
        let work = demand(&[1]);
        let mut faults = demand(&[1, 1, 4]);
        faults.add_pages(16);
        for (demand, processors, locked, expected) in [
            (work, 2, 2048, (1024, 64)),
            (work, 2, 3072, (1024, 256)),
            (work, 4, 2048, (512, 64)),
            (work, 16, 2048, (128, 64)),
            (work, 64, 2048, (64, 64)),
            (work, 4, 0, (32, 32)),
            (faults, 4, 2048, (64, 64)),
            (faults, 64, 2048, (16, 16)),
        ] {
            let allowed = 129 * processors + locked;
            let room = Room::new(demand, processors, Some(allowed), PAGE);
            assert_eq!(
                (room.pages, room.tasks),
                expected,
                "{demand:?}, {processors} processors, {locked} pages"
            );
            assert!(processors * demand.all(room) <= allowed);
        }
    }

    /// Check that there is a size, however little may be locked: only the kernel knows that it does not fit.
    #[test]
    fn least_is_tried() {
        for allowed in [0, 1, 16, usize::MAX] {
            let Room { pages, tasks } = Room::new(demand(&[1; 16]), 8192, Some(allowed), PAGE);
            assert!((LEAST_PAGES..=SMALLEST / PAGE).contains(&pages) && pages.is_power_of_two(), "{allowed}");
            assert!((LEAST_PAGES..=pages).contains(&tasks) && tasks.is_power_of_two(), "{allowed}");
        }
    }

    /// Check that the kernel wakes us before a ring is full, however small it is.
    #[test]
    fn watermark_fits_the_ring() {
        assert_eq!(watermark(LARGEST), watermark(SMALLEST));
        assert_eq!(watermark(LEAST_PAGES * PAGE) as usize, LEAST_PAGES * PAGE / 4);
    }
}
