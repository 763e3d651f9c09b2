//! The thread that learns when recorded processes are gone.
//!
//! It holds a pidfd for each and waits for all of them. It also looks at processes that said they would exec: when
//! our memory is no longer mapped, they did.

use crate::alarm::Alarm;
use crate::image::{End, Image, ImageId};
use crate::process;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

/// How often announced execs are looked at; without one the thread sleeps until something happens.
const ROUND: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };

/// What the watcher is asked.
pub(crate) enum Request {
    /// Tell when the process in this slot is gone.
    Watch {
        image: Arc<Image>,
        slot: u32,
        /// By the number that it tells, …
        told: u32,
        /// … and the one that it has here; `None` when it is gone.
        pid: Option<u32>,
    },
    /// The process in this slot is about to exec.
    Exec { image: ImageId, slot: u32 },
}

struct Watched {
    image: Arc<Image>,
    slot: u32,
    told: u32,
    pid: u32,
    pidfd: OwnedFd,
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
    pub(crate) fn start() -> std::io::Result<(Watcher, JoinHandle<()>)> {
        let (requests, inbox) = mpsc::channel();
        let alarm = Arc::new(Alarm::new()?);
        let heard = alarm.clone();
        let thread =
            std::thread::Builder::new().name("watcher".into()).spawn(move || watch(&inbox, &heard))?;
        Ok((Watcher { requests, alarm }, thread))
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

fn watch(inbox: &mpsc::Receiver<Request>, alarm: &Alarm) {
    let mut all: Vec<Watched> = Vec::new();
    loop {
        loop {
            match inbox.try_recv() {
                Ok(request) => take(request, &mut all),
                Err(mpsc::TryRecvError::Empty) => break,
                Err(mpsc::TryRecvError::Disconnected) => return,
            }
        }
        for watched in &mut all {
            if watched.execing && !process::maps_segment(watched.pid) {
                watched.image.execed(watched.pid);
                watched.execing = false;
            }
        }
        wait(&mut all, alarm);
    }
}

fn take(request: Request, all: &mut Vec<Watched>) {
    match request {
        Request::Watch { image, slot, told, pid } => {
            match pid.and_then(|pid| Some((pid, open(&image, pid)?))) {
                Some((pid, pidfd)) => all.push(Watched { image, slot, told, pid, pidfd, execing: false }),
                // Gone before we could look.
                None => image.gone(slot, told, None),
            }
        }
        Request::Exec { image, slot } => {
            if let Some(watched) =
                all.iter_mut().find(|watched| watched.image.id == image && watched.slot == slot)
            {
                watched.execing = true;
            }
        }
    }
}

/// A descriptor of a recorded process, unless it is gone.
fn open(image: &Image, pid: u32) -> Option<OwnedFd> {
    let pidfd = pidfd_open(Pid::from_raw(pid.cast_signed())?, PidfdFlags::empty()).ok()?;
    is_the_one(image, pid).then_some(pidfd)
}

/// How a recorded process stands at this moment.
pub(crate) fn end_by_now(image: &Image, pid: u32) -> End {
    let Some(pidfd) = open(image, pid) else { return End::Gone(None) };
    let mut descriptors = [PollFd::new(&pidfd, PollFlags::IN)];
    match poll(&mut descriptors, Some(&Timespec::default())) {
        Ok(0) | Err(_) => End::Running,
        Ok(_) => End::Gone(process::zombie_status(pid)),
    }
}

/// False when the pid has been given to a process that cannot be the recorded one: it has not our memory mapped.
fn is_the_one(image: &Image, pid: u32) -> bool {
    pid == image.info.pid || process::maps_segment(pid)
}

/// Waits until a process ends, somebody asks, or an announced exec is due to be looked at.
fn wait(all: &mut Vec<Watched>, alarm: &Alarm) {
    let timeout = all.iter().any(|watched| watched.execing).then_some(&ROUND);
    let mut descriptors: Vec<PollFd<'_>> = all
        .iter()
        .map(|watched| watched.pidfd.as_fd())
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
        let is_gone = ended.next().unwrap_or(false);
        if is_gone {
            watched.image.gone(watched.slot, watched.told, process::zombie_status(watched.pid));
        }
        !is_gone
    });
}
