//! Opens kernel events, falling back from everything we want to the least that is useful.
//!
//! | asked for | given up when |
//! |---|---|
//! | the kernel's part of stacks | the user may not see it |
//! | `cycles`, more and less precisely, then `cpu-clock` | there is no such counter, as in most virtual machines |
//! | build ids of mapped files, names of code that the kernel makes | the kernel is older than 5.12 |
//! | all threads of a target whose children are not wanted, not the first one alone | the kernel is older than 5.13 |
//!
//! Process records and page faults each have events of their own (`event/tasks`, `event/faults`). There is one event
//! per processor, because an inherited event has a ring only if it is bound to a processor.

mod channel;
mod faults;
mod followed;
mod tasks;

pub(super) use channel::Channel;
pub(super) use followed::Followed;

use super::record::Layout;
use super::refusal::{FAULTS, PROCESSORS, Refusal, locked_memory, without_kernel};
use super::registers;
use super::ring::{READS, Ring, page_size};
use super::room::{self, Demand, Room};
use crate::base::clock::HAS_TSC;
use crate::base::cpu_options::{CpuOptions, Scope};
use crate::base::log::debug;
use crate::base::perf_event::open;
use followed::OURSELVES;
use perf_event_open_sys::bindings as sys;
use std::fmt::Debug;
use std::fs::File;
use std::io;

/// What one attempt asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Attempt {
    kernel: bool,
    counter: Counter,
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
    /// The kernel's own clock; the ring's first page relates it to the time stamp counter.
    Native,
    /// `CLOCK_MONOTONIC_RAW`.
    Raw,
}

/// The best request that the kernel permits.
struct Permitted<A> {
    /// What was asked for.
    asked: A,
    attributes: sys::perf_event_attr,
    /// The event, open on the first of the processors.
    event: File,
    processors: Vec<u32>,
}

/// What is counted between samples of the processors.
pub(super) struct Counted {
    pub(super) name: &'static str,
    pub(super) has_kernel: bool,
}

/// Open events, and their rings.
pub(super) struct Events {
    pub(super) channels: Vec<Channel>,
    pub(super) clock: RecordClock,
    /// Events of processes that join the recording one by one.
    pub(super) followed: Option<Followed>,
    /// None if CPU samples were not asked for.
    pub(super) work: Option<io::Result<Counted>>,
    /// None if page faults were not asked for; otherwise whether faults in the kernel are included.
    pub(super) faults: Option<io::Result<bool>>,
    room: Room,
    /// There was no room for some ring.
    is_short: bool,
}

impl Events {
    /// Opens the wanted events on each processor that is online. `tsc` says that the agents' clock is the time stamp
    /// counter.
    pub(super) fn open(options: CpuOptions, tsc: bool) -> Events {
        let processors = online().map_or(1, |all| all.len());
        let allowed = room::allowed(processors, page_size());
        let mut room = Room::new(demand(options), processors, allowed, page_size());
        loop {
            let events = Events::open_with(options, tsc, room);
            let smaller = room.smaller().filter(|_| events.is_short);
            let Some(smaller) = smaller else { return events };
            debug!("no room for rings: {room:?}");
            room = smaller;
        }
    }

    /// No events yet; their rings will have this size.
    pub(super) fn none(room: Room) -> Events {
        let clock = RecordClock::Raw;
        Events {
            channels: Vec::new(),
            clock,
            followed: None,
            work: None,
            faults: None,
            room,
            is_short: false,
        }
    }

    fn open_with(options: CpuOptions, tsc: bool, room: Room) -> Events {
        let mut events = Events::none(room);
        if !options.processors && !options.faults {
            return events;
        }
        // Nothing makes sense without process records: if they are refused, all others are refused for the same
        // reason.
        let is_of_the_followed = options.follows() && !options.faults;
        let told = events.add_tasks(options, is_of_the_followed, tsc);
        let told = || told.as_ref().copied().map_err(copy_of);
        let tellers = events.channels.len();
        events.work = options.processors.then(|| told().and_then(|()| events.add_work(options)));
        events.faults = options.faults.then(|| told().and_then(|()| events.add_faults(options)));
        if events.channels.len() == tellers {
            events.channels.clear();
            events.followed = None;
        }
        events
    }

    fn add_work(&mut self, options: CpuOptions) -> io::Result<Counted> {
        let ring = self.room.pages * page_size();
        let scope = if options.follows() { OURSELVES } else { options.scope };
        let wanted = CpuOptions { scope, ..options };
        let Permitted { asked, attributes, processors, .. } =
            self.most_permitted(scope, attempts(), |attempt| attributes(wanted, attempt, ring))?;
        let room = (Layout::CpuSamples, self.room.pages);
        match options.follows() {
            true => self.follow(attributes, &processors, room)?,
            false => self.open_all(scope, attributes, &processors, room)?,
        }
        Ok(Counted { name: asked.counter.name(), has_kernel: asked.kernel })
    }

    /// Opens the first of `asked` that the kernel permits. If it permits none, returns the error of the last and
    /// least: that the best is not available is nothing new.
    fn most_permitted<A: Copy + Debug>(
        &self,
        scope: Scope,
        asked: impl IntoIterator<Item = A>,
        attributes: impl Fn(A) -> sys::perf_event_attr,
    ) -> io::Result<Permitted<A>> {
        let processors = online()?;
        let first = *processors.first().ok_or(io::ErrorKind::NotFound)?;
        let mut refused = io::Error::from_raw_os_error(libc::ENOENT);
        for asked in asked {
            let attributes = attributes(asked);
            match open_one(scope, attributes, self.clock, first) {
                Ok(event) => return Ok(Permitted { asked, attributes, event, processors }),
                Err(error) => {
                    debug!("event {}:{}, {asked:?}: {error}", attributes.type_, attributes.config);
                    refused = error;
                }
            }
        }
        Err(refused)
    }

    /// Uses the kernel's own clock if this event relates it to the time stamp counter.
    fn choose_clock(&mut self, event: File, tsc: bool) -> io::Result<()> {
        if tsc && Ring::map(event, 1)?.conversion().is_some() {
            self.clock = RecordClock::Native;
        }
        Ok(())
    }

    /// Opens an event on each of these processors, with a ring of so many pages; that of samples begins smaller.
    fn open_all(
        &mut self,
        scope: Scope,
        mut attributes: sys::perf_event_attr,
        processors: &[u32],
        (layout, pages): (Layout, usize),
    ) -> io::Result<()> {
        attributes.__bindgen_anon_2.wakeup_watermark = room::watermark(pages * page_size());
        let mut channels = Vec::with_capacity(processors.len());
        for &processor in processors {
            match open_one(scope, attributes, self.clock, processor) {
                Ok(event) => {
                    let attributes = with_clock(attributes, self.clock);
                    let channel = match layout {
                        Layout::CpuSamples => Channel::growing(event, attributes, processor, pages),
                        _ => Ring::map(event, pages).map(|ring| Channel::new(ring, layout)),
                    };
                    channels.push(channel.inspect_err(|_| self.is_short = true)?);
                }
                // Unplugged since we looked.
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {}
                Err(error) => return Err(error),
            }
        }
        self.channels.append(&mut channels);
        Ok(())
    }
}

/// A copy of an error, which is not `Clone`.
fn copy_of(error: &io::Error) -> io::Error {
    match (error.raw_os_error(), error.kind()) {
        (Some(code), _) => io::Error::from_raw_os_error(code),
        (None, io::ErrorKind::OutOfMemory) => locked_memory(),
        (None, kind) => kind.into(),
    }
}

/// The rings that everything wanted takes on each processor.
fn demand(options: CpuOptions) -> Demand {
    let mut demand = Demand::default();
    if options.processors {
        demand.add(1);
    }
    if options.faults {
        faults::demand(&mut demand);
    }
    demand
}

/// All attempts, best first.
fn attempts() -> impl Iterator<Item = Attempt> {
    [true, false]
        .into_iter()
        .flat_map(|kernel| Counter::ALL.into_iter().map(move |counter| Attempt { kernel, counter }))
}

fn open_one(
    scope: Scope,
    mut attributes: sys::perf_event_attr,
    clock: RecordClock,
    cpu: u32,
) -> io::Result<File> {
    attributes = with_clock(attributes, clock);
    let pid = match scope {
        Scope::Tree { pid, .. } => pid.cast_signed(),
        Scope::Recorded | Scope::System => -1,
    };
    let opened = match open(attributes, pid, cpu.cast_signed()) {
        // Before 5.13 the kernel can inherit to everything that is started, or to nothing beyond the first thread.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) && attributes.inherit_thread() != 0 => {
            attributes.set_inherit_thread(0);
            attributes.set_inherit(0);
            open(attributes, pid, cpu.cast_signed())
        }
        opened => opened,
    };
    opened.map(File::from)
}

/// The same attributes, for records timed by this clock.
fn with_clock(mut attributes: sys::perf_event_attr, clock: RecordClock) -> sys::perf_event_attr {
    if clock == RecordClock::Raw {
        attributes.set_use_clockid(1);
        attributes.clockid = libc::CLOCK_MONOTONIC_RAW;
    }
    attributes
}

/// What every sample has: process and thread, time, and processor.
const COMMON: u32 = sys::PERF_SAMPLE_TID | sys::PERF_SAMPLE_TIME | sys::PERF_SAMPLE_CPU;

/// Attributes of a sampling event whose rings have so many bytes.
fn attributes(options: CpuOptions, attempt: Attempt, ring: usize) -> sys::perf_event_attr {
    let mut all = common(options.scope, attempt.kernel);
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
    all.read_format = READS;
    all.set_freq(1);
    all.__bindgen_anon_1.sample_freq = options.frequency.into();
    all.sample_type = u64::from(COMMON | sys::PERF_SAMPLE_IP | sys::PERF_SAMPLE_PERIOD);
    with_stack(&mut all, options.stack_in(ring));
    // Counters of 64-bit ARM are refused with `exclude_idle`, and count nothing while a processor idles anyway.
    let counts_idle = attempt.counter == Counter::CpuClock;
    all.set_exclude_idle(u64::from(counts_idle || !cfg!(target_arch = "aarch64")));
    all
}

/// Attributes that all events share.
fn common(scope: Scope, kernel: bool) -> sys::perf_event_attr {
    let mut all = sys::perf_event_attr::default();
    // The kernel's own user-space call chains are right only with frame pointers, so we unwind ourselves.
    all.set_exclude_callchain_user(1);
    all.set_exclude_hv(1);
    if !kernel {
        all.set_exclude_kernel(1);
        all.set_exclude_callchain_kernel(1);
    }
    all.set_sample_id_all(1);
    if let Scope::Tree { follow, .. } = scope {
        all.set_inherit(1);
        // With `inherit_thread`, only threads of the target inherit the event, not its children.
        all.set_inherit_thread(u64::from(!follow));
        all.set_disabled(1);
        all.set_enable_on_exec(1);
    }
    // Wakes us when so many bytes are unread; the number is set along with the ring's size.
    all.set_watermark(1);
    all
}

/// Adds stacks to the samples: the kernel's frames, user registers, and a piece of the user stack.
fn with_stack(all: &mut sys::perf_event_attr, bytes: u32) {
    all.sample_type |=
        u64::from(sys::PERF_SAMPLE_CALLCHAIN | sys::PERF_SAMPLE_REGS_USER | sys::PERF_SAMPLE_STACK_USER);
    all.sample_regs_user = registers::MASK;
    all.sample_stack_user = bytes;
}

/// The processors that are online, listed as in `0-3,8`.
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

/// What sampling could do on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// What would be counted; `None` if nothing can be sampled.
    pub event: Option<&'static str>,
    /// Stacks would include kernel frames.
    pub has_kernel: bool,
    /// Times come from the time stamp counter itself, not by way of the system's clock.
    pub is_native_clock: bool,
    /// The whole system can be sampled.
    pub system_wide: bool,
    /// What prevents sampling, and what to do about it. Empty if nothing does.
    pub refused: String,
    /// Whether page faults can be recorded: of a process that is started, and of processes that run already.
    pub faults: (bool, bool),
    /// What prevents recording page faults, and what to do about it. Empty if nothing does.
    pub faults_refused: String,
}

/// Tries to open events for this process and for the system, without taking a sample.
pub fn probe() -> Probe {
    let frequency = 1;
    let options = |scope| CpuOptions {
        processors: true,
        frequency,
        stack_bytes: None,
        keep_stacks: false,
        faults: true,
        scope,
    };
    let own = Scope::Tree { pid: std::process::id(), follow: true };
    let system = Events::open(options(Scope::System), HAS_TSC);
    let system_wide = matches!(system.work, Some(Ok(Counted { has_kernel: true, .. })));
    let everywhere = matches!(system.faults, Some(Ok(true)));
    // Its rings use up memory that the next ones need.
    drop(system);
    let events = Events::open(options(own), HAS_TSC);
    let is_native_clock = events.clock == RecordClock::Native;
    let (faults, faults_refused) = match events.faults {
        Some(Err(error)) => ((false, everywhere), Refusal::new(error, own, FAULTS).text()),
        Some(Ok(false)) => ((true, everywhere), without_kernel(FAULTS)),
        _ => ((true, everywhere), String::new()),
    };
    let probe = Probe {
        event: None,
        has_kernel: false,
        is_native_clock,
        system_wide,
        refused: String::new(),
        faults,
        faults_refused,
    };
    match events.work {
        Some(Err(error)) => Probe { refused: Refusal::new(error, own, PROCESSORS).text(), ..probe },
        Some(Ok(Counted { name, has_kernel })) => {
            let refused = if has_kernel { String::new() } else { without_kernel(PROCESSORS) };
            Probe { event: Some(name), has_kernel, refused, ..probe }
        }
        None => probe,
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

    /// Check that the best attempt comes first, and that each further one gives up one more thing.
    #[test]
    fn attempts_go_from_most_to_least() {
        let all: Vec<Attempt> = attempts().collect();
        let first = Attempt { kernel: true, counter: Counter::Cycles(2) };
        let last = Attempt { kernel: false, counter: Counter::CpuClock };
        assert_eq!((all.len(), all[0], all[7]), (8, first, last));
    }
}
