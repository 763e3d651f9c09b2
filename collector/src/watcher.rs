//! The thread that learns when recorded processes are gone.
//!
//! It holds a pidfd for each and waits for all of them. It also looks at processes that said they would exec: when
//! our memory is no longer mapped, they did.

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

/// How often announced execs are looked at; without one the thread sleeps until something happens.
const ROUND: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
/// How often processes are looked at for which the system has no pidfd: we may have no descriptor left, or it no memory.
const UNHEARD: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// What the watcher is asked.
pub(crate) enum Request {
    /// Tell when the process in this slot is gone.
    Watch { image: Arc<Image>, slot: u32, occupant: Arc<Occupant> },
    /// The process in this slot is about to exec, …
    Exec { image: ImageId, slot: u32 },
    /// … and could not.
    ExecFailed { image: ImageId, slot: u32 },
}

struct Watched {
    image: Arc<Image>,
    slot: u32,
    told: u32,
    pid: u32,
    /// None while there cannot be one: a process that is not heard of is not gone, and still writes.
    pidfd: Option<OwnedFd>,
    execing: bool,
}

/// Where requests go.
#[derive(Clone, Debug)]
pub(crate) struct Watcher {
    requests: mpsc::Sender<Request>,
    /// Wakes the thread: a request was sent, or this was the last sender.
    alarm: Arc<Alarm>,
}

impl Watcher {
    /// Starts the thread. It ends when all senders are gone.
    pub(crate) fn start(clock: Clock) -> std::io::Result<(Watcher, JoinHandle<()>)> {
        let (requests, inbox) = mpsc::channel();
        let alarm = Arc::new(Alarm::new()?);
        let heard = alarm.clone();
        let thread = std::thread::Builder::new()
            .name("watcher".into())
            .spawn(move || watch(&inbox, &heard, Roll::new(clock)))?;
        Ok((Watcher { requests, alarm }, thread))
    }

    /// One without a thread, and what it is asked for.
    #[cfg(test)]
    pub(crate) fn idle() -> (Watcher, mpsc::Receiver<Request>) {
        let (requests, inbox) = mpsc::channel();
        (Watcher { requests, alarm: Arc::new(Alarm::new().unwrap()) }, inbox)
    }

    /// Asks for something.
    pub(crate) fn ask(&self, request: Request) {
        // The thread outlives all who ask.
        let _ = self.requests.send(request);
        self.alarm.call();
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        // The thread must look whether this was the last; our sender goes first.
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
    /// Tries again to watch a process that could not be watched; false when it is gone.
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
    /// It is there, and cannot be watched now.
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
        // Other failures are ours or the system's, but kernels may have reasons that we do not know.
        Err(_) if test_kill_process(number) == Err(Errno::SRCH) => Found::Gone,
        Err(_) => Found::Unheard,
    }
}

/// How a recorded process stands at this moment. May wait for `/proc`.
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

/// False when the pid has been given to a process that cannot be the recorded one: it has not our memory mapped.
fn is_the_one(image: &Image, pid: u32) -> bool {
    pid == image.info.pid || image.is_mapped_by(pid)
}

/// Waits until a process ends, somebody asks, or an announced exec is due to be looked at.
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
