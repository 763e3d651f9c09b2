//! A process that traces others on our behalf, and outlives us.
//!
//! When a tracer dies, the kernel lets its tracees go on as they are: one that is in a call of ours would return to
//! nowhere, and one that was stopped in a system call that the kernel does not restart would see `EINTR`. So a
//! process that may be killed at any moment must not be a tracer. This one does nothing else, has a process group of its
//! own, and puts everything back if its parent is gone.
//!
//! ```text
//!   the command                                        tracer: forked at the beginning
//!   ask ───── job, and one end of a conversation ────► a thread for the job
//!       ◄──── what has come of its beginning ────────  traces
//!       ───── End; or the conversation breaks off ───► puts everything back
//!       ◄──── what has come of it ───────────────────
//! ```
//!
//! It is forked before there are other threads, whose locks would never be released in it. Where only a parent may
//! trace its children (Yama), and where nobody has started it, as in tests, a thread of this process does its jobs.

use super::refusal::Refusal;
use crate::base::log::debug;
use crate::base::signals::block_signals;
use crate::proc::family;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recv, recvmsg, send, sendmsg, socketpair,
};
use rustix::process::{Pid, WaitOptions, setpgid, waitpid};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Most bytes of a job: a path is the longest part.
const JOB: usize = 8 << 10;
/// Most bytes of a message: a thread that is held has some 3 KiB of registers, 12 with AMX.
const MESSAGE: u32 = 1 << 30;
const FORMAT: bincode::config::Configuration = bincode::config::standard();

/// Where its jobs are sent.
static TRACER: OnceLock<OwnedFd> = OnceLock::new();
/// Set in the tracer once its parent is gone.
static IS_ABANDONED: AtomicBool = AtomicBool::new(false);

/// What can be asked for: it traces a process, in a thread of its own.
pub(crate) trait Job: Serialize + DeserializeOwned + Send + 'static {
    /// Tells it from other kinds of jobs.
    const NAME: &'static str;
    /// The name of its thread.
    const THREAD: &'static str;

    /// Does it, with one end of the conversation about it.
    fn serve(self, link: &Link);
}

/// A kind of jobs, as the tracer knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    name: &'static str,
    begin: fn(&[u8], Link) -> io::Result<JoinHandle<()>>,
}

impl Kind {
    pub(crate) const fn of<J: Job>() -> Kind {
        Kind { name: J::NAME, begin: |bytes, link| serve_apart(decode::<J>(bytes)?, link) }
    }
}

/// Ends a job.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct End;

/// Starts the tracer, for jobs of these kinds. A command that traces calls this before it has other threads, children
/// or descriptors that somebody waits for. One that waits for all its children says so: the tracer is none of them then.
///
/// # Errors
/// When the system refuses a process. Everything works without it, too, but a killed command may then disturb those
/// that it traces.
pub(crate) fn start(waits_for_children: bool, kinds: &[Kind]) -> io::Result<()> {
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    // SAFETY: the caller has no other thread that could hold a lock.
    let child = unsafe { libc::fork() };
    if child == 0 {
        drop(ours);
        // SAFETY: as above.
        let grandchild = if waits_for_children { unsafe { libc::fork() } } else { 0 };
        if grandchild == 0 {
            settle(&theirs);
            serve_all(&theirs, kinds);
        } else {
            let _ = send(&theirs, &grandchild.to_ne_bytes(), SendFlags::NOSIGNAL);
        }
        // SAFETY: ends this process without running any code of the copied one.
        unsafe { libc::_exit(0) };
    }
    let child = Pid::from_raw(child).filter(|_| child > 0).ok_or_else(io::Error::last_os_error)?;
    while waits_for_children
        && matches!(waitpid(Some(child), WaitOptions::empty()), Err(rustix::io::Errno::INTR))
    {}
    let mut pid = [0; 4];
    if waits_for_children {
        let _ = recv(&ours, &mut pid, RecvFlags::DONTWAIT);
    } else {
        pid = child.as_raw_nonzero().get().to_ne_bytes();
    }
    // There is none if it could not be forked.
    family::exclude(u32::try_from(i32::from_ne_bytes(pid)).unwrap_or(0));
    // The first one stays.
    let _ = TRACER.set(ours);
    Ok(())
}

/// Gives up what a copy of the command should not keep: its process group, its signals, its name, and all descriptors but
/// one, and standard error for the debug log.
fn settle(control: &OwnedFd) {
    // Not a session: the scheduler would give it less of a busy machine.
    let _ = setpgid(None, None);
    let _ = block_signals();
    let _ = rustix::thread::set_name(c"memprof-tracer");
    let _ = std::env::set_current_dir("/");
    let open: Vec<i32> = std::fs::read_dir("/proc/self/fd")
        .map(|entries| {
            entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
        })
        .unwrap_or_default();
    for descriptor in open.into_iter().filter(|open| !matches!(*open, 0..=2) && *open != control.as_raw_fd())
    {
        // SAFETY: whatever owns it belongs to the copied process, and is never used or dropped here.
        unsafe { libc::close(descriptor) };
    }
    if let Ok(nothing) = std::fs::File::options().read(true).write(true).open("/dev/null") {
        for standard in [0, 1] {
            // SAFETY: replaces a standard stream, which nothing here uses.
            unsafe { libc::dup2(nothing.as_raw_fd(), standard) };
        }
    }
}

/// Does jobs until nobody can ask for one, and those that were begun.
fn serve_all(control: &OwnedFd, kinds: &[Kind]) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    loop {
        match begin_next_job(control, kinds) {
            // If there is no thread for it, the other side sees the conversation end.
            Ok(Some(begun)) => threads.push(begun),
            Ok(None) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => debug!("a job cannot be begun: {error}"),
        }
        threads.retain(|thread| !thread.is_finished());
    }
    // Relaxed: only shortens waits.
    IS_ABANDONED.store(true, Ordering::Relaxed);
    for thread in threads {
        let _ = thread.join();
    }
}

/// True if this is a tracer whose parent is gone: what it has begun is to end soon.
pub(crate) fn is_abandoned() -> bool {
    IS_ABANDONED.load(Ordering::Relaxed)
}

/// Begins the next job; `None` when nobody can send one any more.
fn begin_next_job(control: &OwnedFd, kinds: &[Kind]) -> io::Result<Option<JoinHandle<()>>> {
    let mut bytes = [0; JOB];
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received =
        recvmsg(control, &mut [IoSliceMut::new(&mut bytes)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    if received.bytes == 0 {
        return Ok(None);
    }
    let link = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    let link = link.ok_or_else(|| io::Error::other("it has no conversation"))?;
    let (name, job): (String, Vec<u8>) = decode(&bytes[..received.bytes])?;
    let kind = kinds.iter().find(|kind| kind.name == name);
    let kind = kind.ok_or_else(|| io::Error::other(format!("nobody knows {name}")))?;
    (kind.begin)(&job, Link(link.into())).map(Some)
}

/// Does a job in a thread of its own: tracees belong to the thread that traces them, and are freed when it ends.
fn serve_apart<J: Job>(job: J, link: Link) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(J::THREAD.into()).spawn(move || job.serve(&link))
}

/// Has a job begun; returns what has come of that, with the conversation about the rest.
///
/// # Errors
/// Why it could not be begun.
pub(crate) fn ask<J: Job, T: DeserializeOwned>(job: J) -> Result<(T, Link), Refusal> {
    if let Some(tracer) = TRACER.get() {
        match ask_process(tracer, &job) {
            // It is no ancestor of the process, which may be required.
            Ok(Err(Refusal::Forbidden)) => {}
            Ok(result) => return result,
            Err(error) => debug!("the tracer is gone: {error}"),
        }
    }
    let (ours, theirs) = Link::pair().map_err(Refusal::System)?;
    serve_apart(job, theirs).map_err(Refusal::System)?;
    ours.begun().map_err(Refusal::System)?
}

fn ask_process<J: Job, T: DeserializeOwned>(
    tracer: &OwnedFd,
    job: &J,
) -> io::Result<Result<(T, Link), Refusal>> {
    let (ours, theirs) = Link::pair()?;
    let descriptors = [theirs.0.as_fd()];
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(
        tracer,
        &[IoSlice::new(&encode(&(J::NAME, encode(job)?))?)],
        &mut ancillary,
        SendFlags::NOSIGNAL,
    )?;
    drop(theirs);
    ours.begun()
}

/// One end of a conversation about a job.
#[derive(Debug)]
pub(crate) struct Link(UnixStream);

impl Link {
    pub(crate) fn pair() -> io::Result<(Link, Link)> {
        let (one, other) = UnixStream::pair()?;
        Ok((Link(one), Link(other)))
    }

    fn begun<T: DeserializeOwned>(self) -> io::Result<Result<(T, Link), Refusal>> {
        let begun: Result<T, Refusal> = self.receive()?;
        Ok(begun.map(|told| (told, self)))
    }

    pub(crate) fn send<T: Serialize>(&self, message: &T) -> io::Result<()> {
        let bytes = encode(message)?;
        let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        (&self.0).write_all(&[&length.to_ne_bytes()[..], &bytes].concat())
    }

    /// The other side's next message.
    ///
    /// # Errors
    /// When the other side is gone.
    pub(crate) fn receive<T: DeserializeOwned>(&self) -> io::Result<T> {
        let mut length = [0; 4];
        (&self.0).read_exact(&mut length)?;
        let length = u32::from_ne_bytes(length);
        if length > MESSAGE {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut bytes = vec![0; length as usize];
        (&self.0).read_exact(&mut bytes)?;
        decode(&bytes)
    }

    /// True if there is a message, or the other side is gone; waits for that this long, or without end.
    pub(crate) fn has_news(&self, wait: Option<Duration>) -> bool {
        let wait = wait.and_then(|wait| Timespec::try_from(wait).ok());
        matches!(poll(&mut [PollFd::new(&self.0, PollFlags::IN)], wait.as_ref()), Ok(1..))
    }

    /// Ends the job; returns what has come of it.
    pub(crate) fn end<T: DeserializeOwned>(&self) -> io::Result<T> {
        // It may have ended by itself.
        let _ = self.send(&End);
        self.receive()
    }
}

fn encode<T: Serialize>(message: &T) -> io::Result<Vec<u8>> {
    bincode::serde::encode_to_vec(message, FORMAT).map_err(io::Error::other)
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> io::Result<T> {
    bincode::serde::decode_from_slice(bytes, FORMAT).map(|(message, _)| message).map_err(io::Error::other)
}
