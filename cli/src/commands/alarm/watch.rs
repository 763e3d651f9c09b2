//! The thread that watches recordings.

use super::action::{Action, Alarm};
use super::condition::{Condition, Measured, Monitor, PERIOD};
use super::grown::grown;
use crate::commands::live::{Group, Heaps, Recordings, difference};
use crate::commands::snapshot::by_time;
use crate::{message, output};
use analysis::{Profile, process_name};
use collector::{Requests, Taken};
use engine::Naming;
use jiff::Timestamp;
use rustix::fs::{Mode, OFlags, open};
use std::collections::HashMap;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Time between two looks at which control groups there are: a process may enter another one after it was started.
const GROUPS: Duration = Duration::from_millis(500);

/// Most alarms that commands and servers are told of at once.
const MOST_ACTING: usize = 16;

/// Watches until it is dropped.
#[derive(Debug)]
pub(crate) struct Watch {
    shared: Arc<Flags>,
    thread: Option<JoinHandle<()>>,
    /// An alarm makes the command fail.
    fails: bool,
}

#[derive(Debug, Default)]
struct Flags {
    /// The recording is over.
    stop: AtomicBool,
    /// There was an alarm.
    raised: AtomicBool,
}

impl Watch {
    pub(super) fn start(
        conditions: Vec<Condition>,
        actions: Vec<Action>,
        recordings: Recordings,
        naming: Naming,
        labels: Vec<(String, String)>,
    ) -> std::io::Result<Watch> {
        let shared = Arc::new(Flags::default());
        let fails = actions.contains(&Action::Fail);
        let recordings: Arc<dyn Fn() -> Vec<Requests> + Send + Sync> = Arc::from(recordings);
        let of_heaps = recordings.clone();
        let mut watcher = Watcher {
            conditions,
            actions,
            heaps: Arc::new(Heaps::new(Box::new(move || of_heaps()), naming.clone())),
            naming,
            labels,
            pause: PERIOD,
            watched: HashMap::new(),
            acting: Vec::new(),
        };
        let flags = shared.clone();
        let thread = thread::Builder::new().name("alarms".into()).spawn(move || {
            // Relaxed: a hint; no other data depends on it.
            while !flags.stop.load(Ordering::Relaxed) {
                if watcher.look(&recordings()) {
                    // Relaxed: it is read after the thread was joined.
                    flags.raised.store(true, Ordering::Relaxed);
                }
                thread::sleep(watcher.pause);
            }
            watcher.acting.into_iter().for_each(|acting| drop(acting.join()));
        })?;
        Ok(Watch { shared, thread: Some(thread), fails })
    }

    /// Ends the watch. Returns whether an alarm was raised that makes the command fail.
    pub(crate) fn end(mut self) -> bool {
        self.join();
        self.fails && self.shared.raised.load(Ordering::Relaxed)
    }

    fn join(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.join();
    }
}

struct Watcher {
    conditions: Vec<Condition>,
    actions: Vec<Action>,
    heaps: Arc<Heaps>,
    naming: Naming,
    labels: Vec<(String, String)>,
    /// Until the next look.
    pause: Duration,
    /// By capture.
    watched: HashMap<PathBuf, Watched>,
    /// Commands and servers that are being told.
    acting: Vec<JoinHandle<()>>,
}

/// What is known of a recording.
struct Watched {
    monitors: Vec<Monitor>,
    began: Instant,
    /// The control groups of its processes, and when they were looked for.
    groups: Vec<Group>,
    found: Option<Instant>,
    /// What it held at the last alarm.
    before: Profile,
}

impl Watcher {
    /// Looks at all recordings once; returns whether there was an alarm.
    fn look(&mut self, recordings: &[Requests]) -> bool {
        self.watched.retain(|path, _| recordings.iter().any(|one| one.output() == path));
        let mut is_raised = false;
        self.pause = PERIOD;
        for recording in recordings {
            let watched = self.watched.entry(recording.output().to_owned()).or_insert_with(|| Watched {
                monitors: self.conditions.iter().copied().map(Monitor::new).collect(),
                began: Instant::now(),
                groups: Vec::new(),
                found: None,
                before: Profile::default(),
            });
            let measured = watched.measure(recording);
            let now = watched.began.elapsed();
            let raised: Vec<String> = (watched.monitors.iter_mut())
                .filter_map(|monitor| {
                    monitor.is_raised(now, &measured).then(|| monitor.condition.to_string())
                })
                .collect();
            let pauses = watched.monitors.iter().map(|monitor| monitor.pause(&measured));
            self.pause = pauses.fold(self.pause, Duration::min);
            if !raised.is_empty() {
                is_raised = true;
                self.alarm(recording, raised.join(" "), measured);
            }
        }
        is_raised
    }

    /// Raises an alarm. What may be lost soon comes first: a process that is ended holds nothing.
    fn alarm(&mut self, recording: &Requests, condition: String, measured: Measured) {
        let capture = recording.output().to_owned();
        // Without stacks, as in aggregated recordings, the numbers are told all the same.
        let heap = recording.live_heap(false).ok();
        let naming = inside(self.naming.clone(), recording.pids().first().copied());
        let snapshot = self.actions.contains(&Action::Snapshot).then(|| {
            let file = output::unused(by_time(&capture, Timestamp::now()));
            let taken = recording.snapshot(None, &file);
            taken.map_err(|error| message::warning(&error.to_string())).ok().map(|taken| (file, taken))
        });
        let snapshot = snapshot.flatten();
        let mut alarm = Alarm {
            condition,
            capture: capture.clone(),
            processes: Vec::new(),
            live: measured.live,
            group: measured.group,
            grown: Vec::new(),
            snapshot: snapshot.as_ref().map(|(file, _)| file.clone()),
            labels: self.labels.clone(),
        };
        let change = heap.map(|mut heap| {
            let profile = std::mem::take(&mut heap.profile);
            alarm.processes =
                heap.processes.iter().map(|(_, process)| (process.pid, process_name(process))).collect();
            let watched = self.watched.get_mut(&capture);
            let before = watched.map(|watched| std::mem::replace(&mut watched.before, profile.clone()));
            (difference(&before.unwrap_or_default(), profile), heap)
        });
        let (heaps, actions) = (self.heaps.clone(), self.actions.clone());
        self.tell(move || {
            if let Some((change, mut heap)) = change
                && let Ok(change) = heaps.named(&capture, &mut heap, change, true)
            {
                alarm.grown = grown(&change);
            }
            if let Some((file, Taken::Capture)) = snapshot {
                let (naming, _root) = naming;
                let added = export::add_names(&file, naming);
                added.unwrap_or_else(|error| message::warning(&error.to_string()));
            }
            alarm.act(&actions);
        });
    }

    /// Does what an alarm does, in a thread of its own: neither names nor a slow server must keep us from the next alarm.
    fn tell(&mut self, tells: impl FnOnce() + Send + 'static) {
        self.acting.retain(|acting| !acting.is_finished());
        if self.acting.len() >= MOST_ACTING {
            return tells();
        }
        match thread::Builder::new().name("alarm".into()).spawn(tells) {
            Ok(acting) => self.acting.push(acting),
            Err(error) => message::warning(&format!("cannot tell of an alarm: {error}")),
        }
    }
}

/// Names from the files of a process, which may be in a container and be gone before they are looked up: as long as the
/// result is kept, its root is there.
fn inside(naming: Naming, pid: Option<u32>) -> (Naming, Option<OwnedFd>) {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = pid.and_then(|pid| open(format!("/proc/{pid}/root"), flags, Mode::empty()).ok());
    match (naming, root) {
        (Naming::FromFiles(mut options), Some(root)) if options.sysroot.is_none() => {
            options.sysroot = Some(format!("/proc/self/fd/{}", root.as_raw_fd()).into());
            (Naming::FromFiles(options), Some(root))
        }
        (naming, _) => (naming, None),
    }
}

impl Watched {
    fn measure(&mut self, recording: &Requests) -> Measured {
        let live = recording.live_bytes();
        let wants_groups =
            self.monitors.iter().any(|monitor| matches!(monitor.condition, Condition::Limit(_)));
        if !wants_groups {
            return Measured { live, group: None };
        }
        if self.found.is_none_or(|found| found.elapsed() > GROUPS) {
            let pids = recording.pids();
            // Until there is a process, it is looked for each time.
            self.found = (!pids.is_empty()).then(Instant::now);
            self.groups = pids.into_iter().filter_map(Group::of).flat_map(Group::with_outer).collect();
            self.groups.retain(|group| group.memory().used().is_some());
            self.groups.sort_unstable();
            self.groups.dedup();
        }
        let used = self.groups.iter().filter_map(|group| group.memory().used());
        let share = |(used, limit): &(u64, u64)| u128::from(*used) * (1 << 32) / u128::from((*limit).max(1));
        Measured { live, group: used.max_by_key(share) }
    }
}
