//! The thread that learns when recorded processes are gone.
//!
//! It holds a pidfd for each and waits for all of them. It also looks at processes that said they would exec: when
//! our memory is no longer mapped, they did.

use crate::image::{Image, ImageId};
use crate::process;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

/// How often new requests and announced execs are looked at while no process ends.
const ROUND: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// What the watcher is asked.
pub(crate) enum Request {
    /// Tell when the process in this slot is gone.
    Watch { image: Arc<Image>, slot: u32, pid: u32 },
    /// The process in this slot is about to exec.
    Exec { image: ImageId, slot: u32 },
}

struct Watched {
    image: Arc<Image>,
    slot: u32,
    pid: u32,
    pidfd: OwnedFd,
    execing: bool,
}

/// The thread; it ends when all senders are dropped.
pub(crate) fn start() -> std::io::Result<(mpsc::Sender<Request>, JoinHandle<()>)> {
    let (sender, inbox) = mpsc::channel();
    let thread = std::thread::Builder::new().name("watcher".into()).spawn(move || watch(&inbox))?;
    Ok((sender, thread))
}

fn watch(inbox: &mpsc::Receiver<Request>) {
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
        wait(&mut all);
    }
}

fn take(request: Request, all: &mut Vec<Watched>) {
    match request {
        Request::Watch { image, slot, pid } => {
            let opened = Pid::from_raw(pid.cast_signed())
                .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok())
                .filter(|_| is_the_one(&image, pid));
            match opened {
                Some(pidfd) => all.push(Watched { image, slot, pid, pidfd, execing: false }),
                // Gone before we could look.
                None => image.gone(slot, pid, None),
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

/// False when the pid has been given to a process that cannot be the recorded one: it has not our memory mapped.
fn is_the_one(image: &Image, pid: u32) -> bool {
    pid == image.info.pid || process::maps_segment(pid)
}

fn wait(all: &mut Vec<Watched>) {
    let mut descriptors: Vec<PollFd<'_>> =
        all.iter().map(|watched| PollFd::new(&watched.pidfd, PollFlags::IN)).collect();
    if descriptors.is_empty() || poll(&mut descriptors, Some(&ROUND)).is_err() {
        std::thread::sleep(std::time::Duration::from_millis(2));
        return;
    }
    let ended: Vec<bool> = descriptors.iter().map(|descriptor| !descriptor.revents().is_empty()).collect();
    drop(descriptors);
    let mut ended = ended.into_iter();
    all.retain(|watched| {
        let is_gone = ended.next().unwrap_or(false);
        if is_gone {
            watched.image.gone(watched.slot, watched.pid, process::zombie_status(watched.pid));
        }
        !is_gone
    });
}
