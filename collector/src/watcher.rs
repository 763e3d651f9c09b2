//! The thread that learns when recorded processes are gone.
//!
//! It waits on a pidfd for each of them. It also looks at processes that announced an exec: once our memory is no
//! longer mapped, the exec has happened.

use crate::alarm::Alarm;
use crate::clock::Clock;
use crate::image::{End, Image, ImageId};
use crate::numbers::Roll;
use crate::occupant::Occupant;
use crate::process;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
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
    /// Report when the process in this slot is gone.
    Watch { image: Arc<Image>, slot: u32, occupant: Arc<Occupant> },
    /// The process in this slot is about to exec, …
    Exec { image: ImageId, slot: u32 },
    /// … and failed to.
    ExecFailed { image: ImageId, slot: u32 },
}

struct Watched {
    image: Arc<Image>,
    slot: u32,
    told: u32,
    pid: u32,
    /// None while none can be opened: the process then counts as running, since it may still write.
    pidfd: Option<OwnedFd>,
    execing: bool,
}

/// Handle for sending requests.
#[derive(Clone, Debug)]
pub(crate) struct Watcher {
    requests: mpsc::Sender<Request>,
    /// Wakes the thread: a request was sent, or this was the last sender.
    alarm: Arc<Alarm>,
}

impl Watcher {
    /// Starts the thread, which ends when all senders are gone.
    pub(crate) fn start(clock: Clock) -> std::io::Result<(Watcher, JoinHandle<()>)> {
        let (requests, inbox) = mpsc::channel();
        let alarm = Arc::new(Alarm::new()?);
        let heard = alarm.clone();
        let thread = std::thread::Builder::new()
            .name("watcher".into())
            .spawn(move || watch(&inbox, &heard, Roll::new(clock)))?;
        Ok((Watcher { requests, alarm }, thread))
    }

    /// A handle without a thread, and the receiver of its requests.
    #[cfg(test)]
    pub(crate) fn idle() -> (Watcher, mpsc::Receiver<Request>) {
        let (requests, inbox) = mpsc::channel();
        (Watcher { requests, alarm: Arc::new(Alarm::new().unwrap()) }, inbox)
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

fn watch(inbox: &mpsc::Receiver<Request>, alarm: &Alarm, mut roll: Roll) {
    let mut all: Vec<Watched> = Vec::new();
    loop {
        loop {
            match inbox.try_recv() {
                Ok(request) => take(request, &mut all, &mut roll),
                Err(mpsc::TryRecvError::Empty) => break,
                Err(mpsc::TryRecvError::Disconnected) => return,
            }
        }
        for watched in &mut all {
            if watched.execing && !watched.image.is_mapped_by(watched.pid) {
                watched.image.execed(watched.pid);
                watched.execing = false;
            }
        }
        all.retain_mut(Watched::is_there);
        wait(&mut all, alarm);
    }
}

impl Watched {
    /// Opens the pidfd if that failed before; false when the process is gone.
    fn is_there(&mut self) -> bool {
        if self.pidfd.is_some() {
            return true;
        }
        match open(&self.image, self.pid) {
            Found::Pidfd(pidfd) => self.pidfd = Some(pidfd),
            Found::Unheard => {}
            Found::Gone => {
                self.image.gone(self.slot, self.told, None);
                return false;
            }
        }
        true
    }
}

fn take(request: Request, all: &mut Vec<Watched>, roll: &mut Roll) {
    match request {
        Request::Watch { image, slot, occupant } => {
            let told = occupant.told();
            let Some(pid) = image.find(&occupant, roll) else {
                // Gone before we could look.
                return image.gone(slot, told, None);
            };
            let mut watched = Watched { image, slot, told, pid, pidfd: None, execing: false };
            if watched.is_there() {
                all.push(watched);
            }
        }
        Request::Exec { image, slot } => set_execing(all, image, slot, true),
        Request::ExecFailed { image, slot } => set_execing(all, image, slot, false),
    }
}

fn set_execing(all: &mut [Watched], image: ImageId, slot: u32, execing: bool) {
    if let Some(watched) = all.iter_mut().find(|watched| watched.image.id == image && watched.slot == slot) {
        watched.execing = execing;
    }
}

/// What the system says of a recorded process.
enum Found {
    Pidfd(OwnedFd),
    /// It is there, but cannot be watched now.
    Unheard,
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
        Err(_) => Found::Unheard,
    }
}

/// How a recorded process stands right now. May wait for `/proc`.
pub(crate) fn end_by_now(image: &Image, pid: u32) -> End {
    let pidfd = match open(image, pid) {
        Found::Pidfd(pidfd) => pidfd,
        Found::Unheard => return End::Running,
        Found::Gone => return End::Gone(None),
    };
    let mut descriptors = [PollFd::new(&pidfd, PollFlags::IN)];
    match poll(&mut descriptors, Some(&Timespec::default())) {
        Ok(0) | Err(_) => End::Running,
        Ok(_) => End::Gone(process::zombie_status(pid)),
    }
}

/// False when the pid was reused by a process that cannot be the recorded one: it does not map our memory.
fn is_the_one(image: &Image, pid: u32) -> bool {
    pid == image.info.pid || image.is_mapped_by(pid)
}

/// Waits until a process ends, a request arrives, or the next look at an announced exec is due.
fn wait(all: &mut Vec<Watched>, alarm: &Alarm) {
    let timeout = if all.iter().any(|watched| watched.execing) {
        Some(&ROUND)
    } else {
        all.iter().any(|watched| watched.pidfd.is_none()).then_some(&UNHEARD)
    };
    let mut descriptors: Vec<PollFd<'_>> = all
        .iter()
        .filter_map(|watched| Some(watched.pidfd.as_ref()?.as_fd()))
        .chain([alarm.as_fd()])
        .map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN))
        .collect();
    if poll(&mut descriptors, timeout).is_err() {
        return;
    }
    let ended: Vec<bool> = descriptors.iter().map(|descriptor| !descriptor.revents().is_empty()).collect();
    drop(descriptors);
    if ended.last() == Some(&true) {
        alarm.hear();
    }
    let mut ended = ended.into_iter();
    all.retain(|watched| {
        let is_gone = watched.pidfd.is_some() && ended.next().unwrap_or(false);
        if is_gone {
            watched.image.gone(watched.slot, watched.told, process::zombie_status(watched.pid));
        }
        !is_gone
    });
}
