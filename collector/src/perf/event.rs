//! Asking the kernel for events, from all that we want down to the least that is useful.
//!
//! | asked for | given up when |
//! |---|---|
//! | the kernel's part of stacks | the user may not see it |
//! | `cycles`, more and less precisely, then `cpu-clock` | there is no such counter, as in most virtual machines |
//! | build ids of mapped files, names of code that the kernel makes | the kernel is older than 5.12 |
//!
//! One event for each processor, because an inherited event has a ring only if it is bound to a processor.

use super::ring::Ring;
use super::{CpuOptions, Scope};
use crate::log::debug;
use perf_event_open_sys::bindings as sys;
use rustix::fd::{FromRawFd, OwnedFd};
use std::fs::File;
use std::io;

/// What one attempt asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Attempt {
    kernel: bool,
    counter: Counter,
    new_features: bool,
}

/// What is counted between samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counter {
    /// Cycles, sampled with this precision (`precise_ip`).
    Cycles(u8),
    CpuClock,
}

impl Counter {
    const ALL: [Counter; 4] = [Counter::Cycles(2), Counter::Cycles(1), Counter::Cycles(0), Counter::CpuClock];

    fn name(self) -> &'static str {
        match self {
            Counter::Cycles(_) => "cycles",
            Counter::CpuClock => "cpu-clock",
        }
    }
}

/// The clock of the records' times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordClock {
    /// The kernel's own, which the mapped page relates to the time stamp counter.
    Native,
    /// `CLOCK_MONOTONIC_RAW`.
    Raw,
}

/// Events that are open, and their rings.
pub(super) struct Events {
    pub(super) rings: Vec<Ring>,
    pub(super) clock: RecordClock,
    pub(super) name: &'static str,
    pub(super) has_kernel: bool,
}

impl Events {
    /// Opens an event for each processor that is online. `tsc` says that the agents' clock is the time stamp counter.
    pub(super) fn open(options: CpuOptions, tsc: bool) -> io::Result<Events> {
        let processors = online()?;
        let first = *processors.first().ok_or(io::ErrorKind::NotFound)?;
        let mut refused = io::Error::from_raw_os_error(libc::ENOENT);
        for attempt in attempts() {
            match open_one(options, attempt, RecordClock::Native, first) {
                Ok(event) => {
                    drop(event);
                    return Events::open_all(options, attempt, &processors, tsc);
                }
                Err(error) => {
                    debug!("{attempt:?}: {error}");
                    // That a counter is missing is no news: why the last resort is refused is.
                    if attempt.counter == Counter::CpuClock {
                        refused = error;
                    }
                }
            }
        }
        Err(refused)
    }

    fn open_all(options: CpuOptions, attempt: Attempt, processors: &[u32], tsc: bool) -> io::Result<Events> {
        let mut clock = RecordClock::Raw;
        if tsc {
            let event = open_one(options, attempt, RecordClock::Native, processors[0])?;
            if Ring::map(event, 1)?.conversion().is_some() {
                clock = RecordClock::Native;
            }
        }
        let pages = Ring::pages(processors.len());
        let mut rings = Vec::with_capacity(processors.len());
        for &processor in processors {
            match open_one(options, attempt, clock, processor) {
                Ok(event) => rings.push(Ring::map(event, pages)?),
                // Unplugged since we looked.
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Events { rings, clock, name: attempt.counter.name(), has_kernel: attempt.kernel })
    }
}

/// All of them, best first.
fn attempts() -> impl Iterator<Item = Attempt> {
    [true, false].into_iter().flat_map(|kernel| {
        Counter::ALL.into_iter().flat_map(move |counter| {
            [true, false].into_iter().map(move |new_features| Attempt { kernel, counter, new_features })
        })
    })
}

fn open_one(options: CpuOptions, attempt: Attempt, clock: RecordClock, cpu: u32) -> io::Result<File> {
    let mut attributes = attributes(options, attempt, clock);
    let pid = match options.scope {
        Scope::Tree { pid, .. } => pid.cast_signed(),
        Scope::System => -1,
    };
    // SAFETY: the attributes are initialised, have their size in them, and ask for samples into a ring only.
    let descriptor = unsafe {
        perf_event_open_sys::perf_event_open(
            &raw mut attributes,
            pid,
            cpu.cast_signed(),
            -1,
            sys::PERF_FLAG_FD_CLOEXEC.into(),
        )
    };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made and belongs to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }.into())
}

/// Registers of a sample: rbp, rsp and rip, all that a walk begins with.
const REGISTERS: u64 = 1 << sys::PERF_REG_X86_BP | 1 << sys::PERF_REG_X86_SP | 1 << sys::PERF_REG_X86_IP;

fn attributes(options: CpuOptions, attempt: Attempt, clock: RecordClock) -> sys::perf_event_attr {
    let mut all = sys::perf_event_attr::default();
    all.size = size_of::<sys::perf_event_attr>() as u32;
    match attempt.counter {
        Counter::Cycles(precise) => {
            all.type_ = sys::PERF_TYPE_HARDWARE;
            all.config = sys::PERF_COUNT_HW_CPU_CYCLES.into();
            all.set_precise_ip(precise.into());
        }
        Counter::CpuClock => {
            all.type_ = sys::PERF_TYPE_SOFTWARE;
            all.config = sys::PERF_COUNT_SW_CPU_CLOCK.into();
        }
    }
    all.set_freq(1);
    all.__bindgen_anon_1.sample_freq = options.frequency.into();
    all.sample_type = u64::from(
        sys::PERF_SAMPLE_IP
            | sys::PERF_SAMPLE_TID
            | sys::PERF_SAMPLE_TIME
            | sys::PERF_SAMPLE_CPU
            | sys::PERF_SAMPLE_PERIOD
            | sys::PERF_SAMPLE_CALLCHAIN
            | sys::PERF_SAMPLE_REGS_USER
            | sys::PERF_SAMPLE_STACK_USER,
    );
    all.sample_regs_user = REGISTERS;
    all.sample_stack_user = options.stack_bytes;
    // What the kernel would find in user space is only right where there are frame pointers: we look ourselves.
    all.set_exclude_callchain_user(1);
    all.set_exclude_idle(1);
    all.set_exclude_hv(1);
    if !attempt.kernel {
        all.set_exclude_kernel(1);
        all.set_exclude_callchain_kernel(1);
    }
    all.set_sample_id_all(1);
    all.set_mmap(1);
    all.set_mmap2(1);
    all.set_comm(1);
    all.set_comm_exec(1);
    all.set_task(1);
    if attempt.new_features {
        all.set_build_id(1);
        all.set_ksymbol(u64::from(attempt.kernel));
    }
    if let Scope::Tree { follow, .. } = options.scope {
        all.set_inherit(u64::from(follow));
        all.set_disabled(1);
        all.set_enable_on_exec(1);
    }
    if clock == RecordClock::Raw {
        all.set_use_clockid(1);
        all.clockid = libc::CLOCK_MONOTONIC_RAW;
    }
    // Wake us when a quarter of a ring is full.
    all.set_watermark(1);
    all.__bindgen_anon_2.wakeup_watermark = Ring::watermark();
    all
}

/// The processors that are online, as in `0-3,8`.
fn online() -> io::Result<Vec<u32>> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online")?;
    Ok(list(text.trim()))
}

fn list(text: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        Some(from.parse().ok()?..=to.parse().ok()?)
    };
    text.split(',').filter_map(range).flatten().take(8192).collect()
}

/// What sampling could do here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// What would be counted; none when nothing can be sampled.
    pub event: Option<&'static str>,
    /// The kernel's part of stacks would be there.
    pub has_kernel: bool,
    /// Times come from the time stamp counter itself, not by way of the system's clock.
    pub is_native_clock: bool,
    /// The whole system may be sampled.
    pub system_wide: bool,
    /// What is in the way, and what to do about it. Empty when nothing is.
    pub refused: String,
}

/// Tries to sample this process, and the system, without taking a sample.
pub fn probe() -> Probe {
    let options = |scope| CpuOptions { frequency: 1, stack_bytes: CpuOptions::STACK_BYTES, scope };
    let own = Scope::Tree { pid: std::process::id(), follow: true };
    let system_wide = Events::open(options(Scope::System), true).is_ok_and(|events| events.has_kernel);
    match Events::open(options(own), true) {
        Ok(events) => Probe {
            event: Some(events.name),
            has_kernel: events.has_kernel,
            is_native_clock: events.clock == RecordClock::Native,
            system_wide,
            refused: if events.has_kernel { String::new() } else { super::refusal::without_kernel() },
        },
        Err(error) => Probe {
            event: None,
            has_kernel: false,
            is_native_clock: false,
            system_wide,
            refused: super::refusal::Refusal::new(error, own).text(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that lists of processors are read as the kernel writes them.
    #[test]
    fn lists_of_processors_are_read() {
        for (text, expected) in [
            ("0", vec![0]),
            ("0-3", vec![0, 1, 2, 3]),
            ("0-1,4,6-7", vec![0, 1, 4, 6, 7]),
            ("", vec![]),
            ("3-1", vec![]),
            ("x,2", vec![2]),
        ] {
            assert_eq!(list(text), expected, "{text}");
        }
        assert_eq!(list("0-4294967295").len(), 8192);
    }

    /// Check that the best is tried first, and that each attempt gives up one thing more.
    #[test]
    fn attempts_go_from_most_to_least() {
        let all: Vec<Attempt> = attempts().collect();
        let first = Attempt { kernel: true, counter: Counter::Cycles(2), new_features: true };
        let last = Attempt { kernel: false, counter: Counter::CpuClock, new_features: false };
        assert_eq!((all.len(), all[0], all[15]), (16, first, last));
    }
}
