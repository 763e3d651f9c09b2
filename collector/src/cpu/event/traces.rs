//! Tracepoint events; each hit has its stack.

use super::{COMMON, Events, Permitted, common, with_stack};
use crate::base::cpu_options::CpuOptions;
use crate::cpu::record::Layout;
use crate::cpu::trace::Traces;
use perf_event_open_sys::bindings as sys;
use std::io;

/// Rings of tracepoints are so many times as large as others, because hits come in bursts.
pub(super) const ROOM: usize = 4;

impl Events {
    /// Opens the events; what the kernel refuses is noted in `traces`.
    pub(super) fn add_traces(&mut self, options: CpuOptions, traces: &mut Traces) {
        for place in 0..traces.located.len() {
            if let Err(error) = self.add_trace(options, (place, traces.located[place].id)) {
                traces.refuse(error, options.scope);
            }
        }
    }

    fn add_trace(&mut self, options: CpuOptions, (place, id): (usize, u64)) -> io::Result<()> {
        let Permitted { attributes: all, processors, .. } =
            self.most_permitted(options.scope, [true, false], |kernel| hits(options, id, kernel))?;
        let layout = Layout::Trace(u8::try_from(place).unwrap_or(u8::MAX));
        self.open_all(options.scope, all, &processors, (layout, self.room.pages * ROOM))
    }
}

/// A record for each hit, with its stack and the tracepoint's data.
fn hits(options: CpuOptions, id: u64, kernel: bool) -> sys::perf_event_attr {
    let mut all = common(options.scope, kernel);
    // Tracepoints lie in the kernel, so an event that excludes the kernel has no hits. Only the kernel's part of
    // stacks is left out.
    all.set_exclude_kernel(0);
    all.type_ = sys::PERF_TYPE_TRACEPOINT;
    all.config = id;
    all.__bindgen_anon_1.sample_period = 1;
    all.sample_type = u64::from(COMMON | sys::PERF_SAMPLE_RAW);
    with_stack(&mut all, options.stack_of_many());
    all
}
