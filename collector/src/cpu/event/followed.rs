//! Events for processes that run already and join the recording one by one.
//!
//! ```text
//!  an event of our own, on each processor, that counts nothing ──► a ring
//!  an event of each of their threads, on each processor ────────────┘
//! ```
//!
//! Threads and children that these processes start inherit their events, so each thread needs opening only once. An
//! inherited event has a ring only if it is bound to a processor, and the rings have to exist before any process
//! joins. So the rings belong to events of our own, and the processes' events write into them. Nobody else's work is
//! sampled meanwhile, and the only right needed is that to trace these processes.

use super::channel::{silent, write_into};
use super::{Channel, Events, with_clock};
use crate::base::cpu_options::Scope;
use crate::base::log::debug;
use crate::base::perf_event::open;
use crate::cpu::record::Layout;
use crate::cpu::ring::{Ring, page_size};
use crate::proc::subjects::Subject;
use perf_event_open_sys::bindings as sys;
use rustc_hash::FxHashMap;
use rustix::fd::OwnedFd;
use std::fs;
use std::io;

/// Ourselves; the attributes are otherwise those of the other processes' events.
pub(super) const OURSELVES: Scope = Scope::Tree { pid: 0, follow: true };
/// Most events: beyond this, the kernel's memory for them is no longer small.
const MOST: usize = 1 << 14;

/// The event to open for each thread, and the rings that it writes into.
struct Wanted {
    attributes: sys::perf_event_attr,
    /// By processor.
    rings: Vec<(u32, OwnedFd)>,
}

/// A process that has events.
struct Process {
    /// When it began and when it got its events, in clock ticks since boot. What it started after that has inherited
    /// them.
    start: u64,
    since: u64,
    events: Vec<OwnedFd>,
}

/// Processes that have events, and what events to open.
#[derive(Default)]
pub(in crate::cpu) struct Followed {
    wanted: Vec<Wanted>,
    processes: FxHashMap<u32, Process>,
}

impl Events {
    /// Makes rings for events with these attributes, for processes that are found later.
    pub(super) fn follow(
        &mut self,
        attributes: sys::perf_event_attr,
        processors: &[u32],
        (layout, pages): (Layout, usize),
    ) -> io::Result<()> {
        let mut attributes = with_clock(attributes, self.clock);
        attributes.set_disabled(0);
        attributes.set_enable_on_exec(0);
        let silent = silent(attributes, pages * page_size());
        let mut wanted = Wanted { attributes, rings: Vec::new() };
        let mut channels = Vec::new();
        for &processor in processors {
            match open(silent, 0, processor.cast_signed()) {
                Ok(event) => {
                    wanted.rings.push((processor, event.try_clone()?));
                    let ring = Ring::map(event.into(), pages).inspect_err(|_| self.is_short = true)?;
                    channels.push(Channel::new(ring, layout));
                }
                // Unplugged since we looked.
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {}
                Err(error) => return Err(error),
            }
        }
        self.channels.append(&mut channels);
        self.followed.get_or_insert_default().wanted.push(wanted);
        Ok(())
    }
}

impl Followed {
    /// Gives events to processes that have joined the recording, and takes them from those that are gone. Returns
    /// which are new, and what the system refused.
    pub(in crate::cpu) fn look(&mut self, alive: &[Subject]) -> (Vec<u32>, io::Result<()>) {
        let is_known = |process: &Process, subject: &Subject| process.start == subject.start_ticks;
        // Children of a process that is gone may still use its events.
        if !alive.iter().any(|subject| subject.is_forked) {
            self.processes.retain(|pid, process| {
                alive.iter().any(|subject| subject.pid == *pid && is_known(process, subject))
            });
        }
        let (mut added, mut result) = (Vec::new(), Ok(()));
        for subject in alive {
            let known = self.processes.get(&subject.pid).is_some_and(|process| is_known(process, subject));
            if known || self.has_inherited(subject) {
                continue;
            }
            added.push(subject.pid);
            let (events, refused) = match self.events(subject.pid) {
                Ok(events) => (events, Ok(())),
                Err(error) => (Vec::new(), Err(error)),
            };
            debug!("process {} has {} events: {refused:?}", subject.pid, events.len());
            let process = Process { start: subject.start_ticks, since: now(), events };
            self.processes.insert(subject.pid, process);
            result = result.and(refused);
        }
        (added, result)
    }

    /// True if a process was forked by one that had events at the time.
    fn has_inherited(&self, subject: &Subject) -> bool {
        let had = |process: &Process| subject.start_ticks == 0 || process.since <= subject.start_ticks;
        subject.is_forked && self.processes.values().any(had)
    }

    /// Opens events for every thread of a process. A thread that begins meanwhile inherits them if the thread that
    /// made it has them.
    fn events(&self, pid: u32) -> io::Result<Vec<OwnedFd>> {
        let mut events = Vec::new();
        let so_far: usize = self.processes.values().map(|process| process.events.len()).sum();
        for entry in fs::read_dir(format!("/proc/{pid}/task"))? {
            let Some(thread) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            if so_far + events.len() > MOST {
                return Err(io::Error::other("there are too many threads"));
            }
            match self.of_thread(thread, &mut events) {
                // The thread has ended.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                opened => opened?,
            }
        }
        Ok(events)
    }

    fn of_thread(&self, thread: i32, events: &mut Vec<OwnedFd>) -> io::Result<()> {
        for Wanted { attributes, rings } in &self.wanted {
            for (processor, ring) in rings {
                let event = open(*attributes, thread, processor.cast_signed())?;
                write_into(&event, ring)?;
                events.push(event);
            }
        }
        Ok(())
    }
}

/// Clock ticks since boot, the unit in which `/proc` gives a process's start.
fn now() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let tick = 1_000_000_000 / procfs::ticks_per_second().max(1);
    now.tv_sec.unsigned_abs() * procfs::ticks_per_second() + now.tv_nsec.unsigned_abs() / tick
}

#[cfg(test)]
mod tests {
    use super::*;
    use capture::ProcessId;

    fn subject(pid: u32, start_ticks: u64, is_forked: bool) -> Subject {
        Subject { process: ProcessId(pid), pid, start_ticks, is_forked }
    }

    /// Check that a process gets events once; that children which inherited them get none and others do; and that
    /// events are released with the process unless it has children that live on.
    #[test]
    fn events_are_given_once() {
        let own = std::process::id();
        let before = now();
        let mut followed = Followed::default();
        let mut look = |alive: &[Subject]| {
            let (added, result) = followed.look(alive);
            assert!(result.is_ok(), "{result:?}");
            let mut known: Vec<u32> = followed.processes.keys().copied().collect();
            known.sort_unstable();
            (added, known)
        };
        let (me, later) = (subject(own, 5, false), before + 1_000_000);
        assert_eq!(look(&[me]), (vec![own], vec![own]));
        assert_eq!(look(&[me]), (vec![], vec![own]));
        let child = subject(own + 1, later, true);
        assert_eq!(look(&[me, child]), (vec![], vec![own]));
        assert_eq!(look(&[child]), (vec![], vec![own]), "its events are the child's");
        assert_eq!(look(&[]), (vec![], vec![]));
        // The same pid, but another process.
        assert_eq!(look(&[me]), (vec![own], vec![own]));
        assert_eq!(look(&[subject(own, 6, false)]), (vec![own], vec![own]));
    }

    /// Check that a child which began before its parent had events gets its own.
    #[test]
    fn early_children_have_inherited_nothing() {
        let mut followed = Followed::default();
        let start = now();
        let process = Process { start: 1, since: start, events: Vec::new() };
        followed.processes.insert(7, process);
        for (ticks, is_forked, expected) in
            [(start - 10, true, false), (start, true, true), (0, true, true), (start + 10, false, false)]
        {
            assert_eq!(
                followed.has_inherited(&subject(8, ticks, is_forked)),
                expected,
                "{ticks} {is_forked}"
            );
        }
    }
}
