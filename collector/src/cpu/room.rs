//! Sizes the rings: one base size with which the rings of all events and processors can be mapped together.
//!
//! ```text
//!  kernel.perf_event_mlock_kb × processors + ulimit -l       what a user may lock
//!  ├── of what tells of processes ──┬── a ring of each processor ──┬── of the next event ──┬── … ──┤
//!      page 0 and 2ⁿ ÷ 4 pages          page 0 and 2ⁿ pages            page 0 and 4 × 2ⁿ
//! ```
//!
//! Taking the largest ring allowed would leave nothing for the next processor, and an event is of no use unless it
//! has a ring on every processor. How much other programs have locked for the same user is unknown: if the kernel
//! allows less than was computed, all rings are made smaller.

use super::refusal::paranoid;
use procfs::process::Process;
use rustix::process::{Resource, getrlimit};

/// Memory wanted for all rings of one event together; then the least and the most for one ring.
const ALL_RINGS: usize = 64 << 20;
const SMALLEST: usize = 512 << 10;
const LARGEST: usize = 4 << 20;
/// The most if there is only one event: its records then carry more of their stacks, and a busy machine may keep us
/// from them just as long.
const LARGEST_ALONE: usize = 8 << 20;
/// The first ring of samples, in which there is room for a twentieth of a second.
pub(super) const FIRST: usize = 2 << 20;
/// Pages of the smallest ring that is tried.
pub(super) const LEAST_PAGES: usize = 16;
/// Rings of process records are smaller than others by this factor; still, a program may map thousands of files at
/// once. …
const TASKS_PART: usize = 4;
/// … If little may be locked, this many pages are enough; some hundred records fill them.
const LEAST_FOR_TASKS: usize = 64;
/// The capability to lock any amount of memory.
const CAP_IPC_LOCK: u64 = 1 << 14;

/// What the rings need on each processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Demand {
    /// Rings of the base size.
    pub(super) rings: usize,
    /// Further pages, independent of the base size.
    pub(super) pages: usize,
}

impl Demand {
    /// Adds an event's ring, so many times the base size.
    pub(super) fn add(&mut self, times: usize) {
        self.rings += times;
        self.pages += 1;
    }

    /// Adds a ring of so many pages.
    pub(super) fn add_pages(&mut self, pages: usize) {
        self.pages += pages + 1;
    }

    /// Pages needed on each processor with rings of this size.
    fn all(self, room: Room) -> usize {
        self.rings * room.pages + self.pages + room.tasks + 1
    }
}

/// Sizes of rings in pages, powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    /// The base size, of which other rings are multiples.
    pub(super) pages: usize,
    /// The size of the rings of process records.
    pub(super) tasks: usize,
}

impl Room {
    /// Chooses rings as large as they should be on so many processors, or as large as the limit permits. `allowed` is
    /// the number of pages that may be locked in all; `None` for no limit.
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

    /// The next smaller size; `None` if that is too small to be of use.
    pub(super) fn smaller(self) -> Option<Room> {
        match self {
            Room { pages, tasks } if tasks > LEAST_FOR_TASKS => Some(Room { pages, tasks: LEAST_FOR_TASKS }),
            Room { pages, .. } if pages > LEAST_PAGES => Some(Room::of(pages / 2)),
            _ => None,
        }
    }
}

/// Pages that this user may lock for rings on so many processors; `None` for no limit.
pub(super) fn allowed(processors: usize, page_size: usize) -> Option<usize> {
    let capabilities = Process::myself().and_then(|own| own.status()).map_or(0, |status| status.capeff);
    if capabilities & CAP_IPC_LOCK != 0 || paranoid().is_some_and(|level| level < 0) {
        return None;
    }
    let bytes = usize::try_from(getrlimit(Resource::Memlock).current?).ok()?;
    // The kernel's default, if the setting cannot be read.
    let each = std::fs::read_to_string("/proc/sys/kernel/perf_event_mlock_kb").ok();
    let each = each.and_then(|text| text.trim().parse::<usize>().ok()).unwrap_or(516) << 10;
    Some((each / page_size).saturating_mul(processors).saturating_add(bytes / page_size))
}

/// Unread bytes at which the kernel wakes us: a quarter of the ring, or of the smallest ring that we ask for.
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

    /// Check that with unlimited locked memory, many processors get smaller rings, but none below the smallest.
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

    /// Check that there is always a size, however little may be locked: only the kernel knows that it does not fit.
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
