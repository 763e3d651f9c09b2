//! Page fault events: two for each fault, because stacks take much room.
//!
//! ```text
//!  page-faults     ──► with the stack                                     a ring has room for hundreds
//!  minor-faults, ──┬─► 72 bytes: who, when, what address, stack pointer   a ring has room for ten thousands
//!  major-faults  ──┘   when there is a page
//! ```
//!
//! A program that fills memory faults faster than stacks can be read. Only stacks are lost then; which pages it
//! touched stays known. The small records come from `minor-faults` and `major-faults` although `page-faults` counts
//! both: if one event is opened in two forms, the kernel makes its small records as large as the large ones.

use super::{COMMON, Events, Permitted, common, with_stack};
use crate::base::cpu_options::CpuOptions;
use crate::base::log::debug;
use crate::cpu::record::Layout;
use crate::cpu::registers;
use crate::cpu::room::Demand;
use perf_event_open_sys::bindings as sys;
use std::io;

/// Rings of faults with stacks are so many times as large as others.
const ROOM_FOR_STACKS: usize = 4;
/// Divisor of the stack bytes copied per fault, compared with CPU samples: faults come so fast that less is copied.
const PART_OF_STACK: u32 = 4;
/// Pages in the ring of major faults, which wait for a disk.
const PAGES_FOR_MAJOR: usize = 16;

/// Adds the rings of these events to what each processor needs.
pub(super) fn demand(demand: &mut Demand) {
    demand.add(1);
    demand.add_pages(PAGES_FOR_MAJOR);
    demand.add(ROOM_FOR_STACKS);
}

impl Events {
    /// Opens the events; returns whether pages that the kernel touches on a program's behalf are included.
    pub(super) fn add_faults(&mut self, options: CpuOptions) -> io::Result<bool> {
        let small = |kernel| touched(options, kernel, sys::PERF_COUNT_SW_PAGE_FAULTS_MIN);
        let Permitted { asked: kernel, attributes: all, processors, .. } =
            self.most_permitted(options.scope, [true, false], small)?;
        self.open_all(options.scope, all, &processors, (Layout::Faults, self.room.pages))?;
        let major = touched(options, kernel, sys::PERF_COUNT_SW_PAGE_FAULTS_MAJ);
        self.open_all(options.scope, major, &processors, (Layout::Faults, PAGES_FOR_MAJOR))?;
        let stacks = with_stacks(options, kernel);
        let room = (Layout::FaultsWithStacks, self.room.pages * ROOM_FOR_STACKS);
        if let Err(error) = self.open_all(options.scope, stacks, &processors, room) {
            debug!("page faults have no stacks: {error}");
        }
        Ok(kernel)
    }
}

/// A small record for each fault of one kind.
fn touched(options: CpuOptions, kernel: bool, kind: u32) -> sys::perf_event_attr {
    let mut all = faults(options, kernel, kind);
    all.sample_type |= u64::from(sys::PERF_SAMPLE_REGS_USER);
    all.sample_regs_user = registers::MASK;
    all
}

/// A record with a stack for each fault.
fn with_stacks(options: CpuOptions, kernel: bool) -> sys::perf_event_attr {
    let mut all = faults(options, kernel, sys::PERF_COUNT_SW_PAGE_FAULTS);
    with_stack(&mut all, (options.stack_of_many() / PART_OF_STACK).next_multiple_of(8));
    all
}

fn faults(options: CpuOptions, kernel: bool, kind: u32) -> sys::perf_event_attr {
    let mut all = common(options.scope, kernel);
    all.type_ = sys::PERF_TYPE_SOFTWARE;
    all.config = kind.into();
    all.__bindgen_anon_1.sample_period = 1;
    all.sample_type = u64::from(COMMON | sys::PERF_SAMPLE_ADDR);
    all
}
