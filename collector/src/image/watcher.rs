//! The thread that learns when recorded processes are gone.
//!
//! It waits on a pidfd for each of them, in an epoll instance: what the end of one costs does not depend on how many
//! others live. It also looks at processes that announced an exec: once our memory is no longer mapped, the exec has
//! happened.

use super::slot_process::SlotProcess;
use super::{End, Image, ImageId};
use crate::base::alarm::Alarm;
use crate::base::clock::Clock;
use crate::proc::pid_map::ProcScan;
use crate::proc::wait_status::wait_status;
use rustc_hash::{FxHashMap, FxHashSet};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{CreateFlags, Event, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open, test_kill_process};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

/// How often processes that announced an exec are looked at; without one the thread sleeps until something happens.
const ROUND: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
/// How often processes without a pidfd are looked at: we may be out of descriptors, or the system out of memory.
const UNHEARD: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// A request to the watcher.
pub(crate) enum Request {
    /// Report when the process in this slot is gone; here is the pidfd of the process that has its number in our
    /// namespace, if it has been opened.
    Watch { image: Arc<Image>, slot: u32, slot_process: Arc<SlotProcess>, pidfd: Option<OwnedFd> },
    /// The process that connected is watched already.
    Watched { image: Arc<Image>, pidfd: Arc<OwnedFd> },
    /// The process in this slot is about to exec, …
    Exec { image: ImageId, slot: u32 },
    /// … and failed to.
    ExecFailed { image: ImageId, slot: u32 },
}

/// Where a process is recorded: image and slot.
type Place = (ImageId, u32);

/// Most news taken at once.
const AT_ONCE: usize = 64;
/// Stands for the alarm among the numbers of places.
const ALARM: u64 = u64::MAX;

struct Watched {
    image: Arc<Image>,
    ns_pid: u32,
    pid: u32,
    /// Reports the end of the process as long as it is open, and how it ended; None while none can be opened: the
    /// process then counts as running, since it may still write.
    pidfd: Option<Arc<OwnedFd>>,
}

/// What the thread knows.
struct Watch {
    epoll: Arc<OwnedFd>,
    all: FxHashMap<Place, Watched>,
    /// Those that announced an exec.
    execing: FxHashSet<Place>,
    /// Those without a pidfd.
    unwatched: FxHashSet<Place>,
    scan: ProcScan,
}

/// Handle for sending requests.
#[derive(Clone, Debug)]
pub(crate) struct Watcher {
    requests: mpsc::Sender<Request>,
    /// What the thread waits on.
    epoll: Arc<OwnedFd>,
    /// Wakes the thread: a request was sent, or this was the last sender.
    alarm: Arc<Alarm>,
}

impl Watcher {
    /// Starts the thread, which ends when all senders are gone.
    pub(crate) fn start(clock: Clock) -> std::io::Result<(Watcher, JoinHandle<()>)> {
        let (requests, inbox) = mpsc::channel();
        let alarm = Arc::new(Alarm::new()?);
        let heard = alarm.clone();
        let watch = Watch::new(&alarm, ProcScan::new(clock))?;
        let epoll = watch.epoll.clone();
        let thread =
            std::thread::Builder::new().name("watcher".into()).spawn(move || watch.run(&inbox, &heard))?;
        Ok((Watcher { requests, epoll, alarm }, thread))
    }

    /// A handle without a thread, and the receiver of its requests.
    #[cfg(test)]
    pub(crate) fn idle() -> (Watcher, mpsc::Receiver<Request>) {
        let (requests, inbox) = mpsc::channel();
        let epoll = Arc::new(epoll::create(CreateFlags::CLOEXEC).unwrap());
        (Watcher { requests, epoll, alarm: Arc::new(Alarm::new().unwrap()) }, inbox)
    }

    /// Watches the process that connected, which needs no look-up: so the thread need not wake up for it.
    pub(crate) fn watch(&self, image: &Arc<Image>) {
        if let Found::Pidfd(pidfd) = open(image, image.info.pid) {
            let pidfd = Arc::new(pidfd);
            let watched = Request::Watched { image: image.clone(), pidfd: pidfd.clone() };
            // The thread gets this before it can learn of the end. If it must wait without, it does so as for others.
            if self.requests.send(watched).is_ok() && add(&self.epoll, &pidfd, (image.id, 0)) {
                return;
            }
        }
        let slot_process = Arc::new(SlotProcess::found(image.info.ns_pid, image.info.pid));
        self.ask(Request::Watch { image: image.clone(), slot: 0, slot_process, pidfd: None });
    }

    /// Watches a process that has just begun. It may be gone before the thread wakes up, and how it ended is known of
    /// what was opened before. Waits for nothing.
    pub(crate) fn watch_fork(&self, image: &Arc<Image>, slot: u32, slot_process: Arc<SlotProcess>) {
        let is_number_ours = image.info.pid == image.info.ns_pid;
        let number = Pid::from_raw(slot_process.ns_pid().cast_signed()).filter(|_| is_number_ours);
        let pidfd = number.and_then(|number| pidfd_open(number, PidfdFlags::empty()).ok());
        self.ask(Request::Watch { image: image.clone(), slot, slot_process, pidfd });
    }

    /// Sends a request.
    pub(crate) fn ask(&self, request: Request) {
        // The thread outlives all senders.
        let _ = self.requests.send(request);
        self.alarm.call();
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        // Drop our sender first: the thread then checks whether it was the last.
        let (nobody, _) = mpsc::channel();
        drop(std::mem::replace(&mut self.requests, nobody));
        self.alarm.call();
    }
}

impl Watch {
    fn new(alarm: &Alarm, scan: ProcScan) -> std::io::Result<Watch> {
        let epoll = Arc::new(epoll::create(CreateFlags::CLOEXEC)?);
        epoll::add(&epoll, alarm, EventData::new_u64(ALARM), EventFlags::IN)?;
        let (all, execing, unwatched) = Default::default();
        Ok(Watch { epoll, all, execing, unwatched, scan })
    }

    fn run(mut self, inbox: &mpsc::Receiver<Request>, alarm: &Alarm) {
        let mut news = Vec::with_capacity(AT_ONCE);
        loop {
            loop {
                match inbox.try_recv() {
                    Ok(request) => self.take(request),
                    Err(mpsc::TryRecvError::Empty) => break,
                    Err(mpsc::TryRecvError::Disconnected) => return,
                }
            }
            self.look_at_execing();
            for place in self.unwatched.drain().collect::<Vec<_>>() {
                if let Some(Watched { image, ns_pid, pid, .. }) = self.all.remove(&place) {
                    self.watch(place, image, ns_pid, pid, None);
                }
            }
            self.wait(alarm, &mut news);
        }
    }

    fn take(&mut self, request: Request) {
        match request {
            Request::Watch { image, slot, slot_process, pidfd } => {
                self.execing.remove(&(image.id, slot));
                let ns_pid = slot_process.ns_pid();
                match image.find(&slot_process, &mut self.scan) {
                    Some(pid) => {
                        self.watch((image.id, slot), image, ns_pid, pid, pidfd.filter(|_| pid == ns_pid));
                    }
                    // Gone before we could look.
                    None => image.gone(slot, ns_pid, None),
                }
            }
            Request::Watched { image, pidfd } => {
                let (ns_pid, pid) = (image.info.ns_pid, image.info.pid);
                self.all.insert((image.id, 0), Watched { image, ns_pid, pid, pidfd: Some(pidfd) });
            }
            Request::Exec { image, slot } => {
                if self.all.contains_key(&(image, slot)) {
                    self.execing.insert((image, slot));
                }
            }
            Request::ExecFailed { image, slot } => {
                self.execing.remove(&(image, slot));
            }
        }
    }

    /// Watches a process from now on, in place of an earlier one: that has ended, or its slot would not be free.
    fn watch(&mut self, place: Place, image: Arc<Image>, ns_pid: u32, pid: u32, opened: Option<OwnedFd>) {
        let found = match opened.filter(|_| is_the_one(&image, pid)) {
            Some(pidfd) => Found::Pidfd(pidfd),
            None => open(&image, pid),
        };
        let pidfd = match found {
            Found::Pidfd(pidfd) => add(&self.epoll, &pidfd, place).then(|| Arc::new(pidfd)),
            Found::Unwatchable => None,
            Found::Gone => {
                self.all.remove(&place);
                return image.gone(place.1, ns_pid, None);
            }
        };
        if pidfd.is_none() {
            self.unwatched.insert(place);
        }
        self.all.insert(place, Watched { image, ns_pid, pid, pidfd });
    }

    /// Ends those that have executed another program; who that is, another image tells.
    fn look_at_execing(&mut self) {
        let all = &mut self.all;
        self.execing.retain(|place| {
            let Some(Watched { image, pid, .. }) = all.get(place) else { return false };
            if image.is_mapped_by(*pid) {
                return true;
            }
            image.execed(*pid);
            all.remove(place);
            false
        });
    }

    /// Waits until processes end, a request arrives, or the next look at an announced exec is due.
    fn wait(&mut self, alarm: &Alarm, news: &mut Vec<Event>) {
        let timeout = match (self.execing.is_empty(), self.unwatched.is_empty()) {
            (false, _) => Some(&ROUND),
            (true, false) => Some(&UNHEARD),
            (true, true) => None,
        };
        if epoll::wait(&self.epoll, spare_capacity(news), timeout).is_err() {
            return;
        }
        for event in news.drain(..) {
            let number = event.data.u64();
            if number == ALARM {
                alarm.clear();
                continue;
            }
            let place = (ImageId((number >> 32) as u32), number as u32);
            // One that is not known yet is reported again.
            if let Some(Watched { image, ns_pid, pid, pidfd }) = self.all.remove(&place) {
                self.execing.remove(&place);
                image.gone(place.1, ns_pid, wait_status(pidfd.as_deref(), pid));
            }
        }
    }
}

/// Has the thread learn of an end; false when the limit of what may be waited for is reached.
fn add(epoll: &OwnedFd, pidfd: &OwnedFd, (image, slot): Place) -> bool {
    let number = EventData::new_u64(u64::from(image.0) << 32 | u64::from(slot));
    epoll::add(epoll, pidfd, number, EventFlags::IN).is_ok()
}

/// What the system says of a recorded process.
enum Found {
    Pidfd(OwnedFd),
    /// It is there, but cannot be watched now.
    Unwatchable,
    Gone,
}

fn open(image: &Image, pid: u32) -> Found {
    let Some(number) = Pid::from_raw(pid.cast_signed()) else { return Found::Gone };
    let opened = pidfd_open(number, PidfdFlags::empty());
    if matches!(opened, Err(Errno::SRCH)) || !is_the_one(image, pid) {
        return Found::Gone;
    }
    match opened {
        Ok(pidfd) => Found::Pidfd(pidfd),
        // Other errors are shortages here or in the system, or reasons of other kernels that we do not know: ask
        // whether it exists.
        Err(_) if test_kill_process(number) == Err(Errno::SRCH) => Found::Gone,
        Err(_) => Found::Unwatchable,
    }
}

/// How a recorded process stands right now. May wait for `/proc`.
pub(crate) fn end_by_now(image: &Image, pid: u32) -> End {
    let pidfd = match open(image, pid) {
        Found::Pidfd(pidfd) => pidfd,
        Found::Unwatchable => return End::Running,
        Found::Gone => return End::Gone(None),
    };
    let mut descriptors = [PollFd::new(&pidfd, PollFlags::IN)];
    match poll(&mut descriptors, Some(&Timespec::default())) {
        Ok(0) | Err(_) => End::Running,
        Ok(_) => End::Gone(wait_status(Some(&pidfd), pid)),
    }
}

/// False when the pid was reused by a process that cannot be the recorded one: it does not map our memory.
fn is_the_one(image: &Image, pid: u32) -> bool {
    pid == image.info.pid || image.is_mapped_by(pid)
}
