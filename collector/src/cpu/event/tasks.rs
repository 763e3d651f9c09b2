//! The event that reports processes, threads and their mappings. It counts nothing (`PERF_COUNT_SW_DUMMY`).
//!
//! ```text
//!  dummy      ──► fork, exec, name, end, mapping     some 150 bytes each, and none may be missing
//!  cpu-clock  ──► samples                            up to 64 KiB each, of which some may be lost
//! ```
//!
//! If these records shared a ring with samples, they would be lost along with them whenever a busy machine keeps us
//! from the ring, and nobody would know what a process has executed. So they have rings of their own, which are read
//! even while others are left alone.

use super::followed::OURSELVES;
use super::{COMMON, Events, Permitted, common};
use crate::base::cpu_options::CpuOptions;
use crate::cpu::record::Layout;
use perf_event_open_sys::bindings as sys;
use std::io;

impl Events {
    /// Opens the event, and chooses the clock for all events. If processes join one by one and nothing else is wanted
    /// of others, it is opened for those processes only.
    pub(super) fn add_tasks(
        &mut self,
        options: CpuOptions,
        is_of_the_followed: bool,
        tsc: bool,
    ) -> io::Result<()> {
        let scope = if is_of_the_followed { OURSELVES } else { options.scope };
        let wanted = CpuOptions { scope, ..options };
        let asked = [(true, true), (true, false), (false, true), (false, false)];
        let Permitted { attributes, event, processors, .. } =
            self.most_permitted(scope, asked, |(kernel, new_features)| {
                telling(wanted, kernel, new_features)
            })?;
        self.choose_clock(event, tsc)?;
        let room = (Layout::ProcessRecords, self.room.tasks);
        match is_of_the_followed {
            true => self.follow(attributes, &processors, room),
            false => self.open_all(scope, attributes, &processors, room),
        }
    }
}

fn telling(options: CpuOptions, kernel: bool, new_features: bool) -> sys::perf_event_attr {
    let mut all = common(options.scope, kernel);
    all.type_ = sys::PERF_TYPE_SOFTWARE;
    all.config = sys::PERF_COUNT_SW_DUMMY.into();
    all.sample_type = COMMON.into();
    all.set_mmap(1);
    all.set_mmap2(1);
    // Needed to tell what kind of memory a fault was in.
    all.set_mmap_data(u64::from(options.faults));
    all.set_comm(1);
    all.set_comm_exec(1);
    all.set_task(1);
    if new_features {
        all.set_build_id(1);
        all.set_ksymbol(u64::from(kernel));
    }
    all
}
