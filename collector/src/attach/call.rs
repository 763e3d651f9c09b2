//! Calls a dormant process, and gives it the memory of its recording.

use super::Refusal;
use super::confinement::Confinement;
use super::doorbell::{DoorbellFile, as_owner, lock, open_folder};
use super::no_answer::{NoAnswerReason, room};
use super::preloaded::{Mapped, Preloaded, State, preloaded_one};
use crate::accept::listener::{Host, accept};
use crate::accept::refuse::refuse;
use crate::base::log::debug;
use crate::base::peer::Peer;
use crate::image::Image;
use crate::inject::{self, Waker};
use crate::proc::namespace;
use crate::proc::process::Info;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, chownat, fchmod, fstat, openat, unlinkat};
use rustix::net::{AddressFamily, RecvFlags, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::Uid;
use shared_ring::PROTOCOL_VERSION;
use shared_ring::doorbell::SOCKET;
use shared_ring::handshake::{Hello, MESSAGE, Purpose, Verdict};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How soon an unanswered call is repeated: by then the process may call the allocator again, or have noticed that
/// its last collector is gone.
const AGAIN: Duration = Duration::from_millis(20);
/// How long one collector calls before it lets others call.
const AT_ONCE: Duration = Duration::from_millis(200);
/// An agent that has connected says hello and takes its memory within milliseconds, unless it was stopped.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Time after its start by which a program has loaded its preloaded libraries.
const BEGINNING: Duration = Duration::from_millis(500);
/// A recording takes at most this fraction, one sixteenth, of the address space it is made for.
const SHARE: u64 = 16;

/// How a process is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallMode {
    /// It answers at its next allocation or free, whenever that is.
    Passive,
    /// A thread of it is made to answer, if the system lets us trace it: it might not allocate for hours.
    Wake,
}

/// Has `host` record a process, calling it until it answers or `timeout` runs out.
pub(crate) fn call(host: &Host, pid: u32, timeout: Duration, mode: CallMode) -> Result<Arc<Image>, Refusal> {
    let deadline = Instant::now() + timeout;
    let process = find_once_begun(pid, deadline)?;
    if let Some(Confinement { calls, is_deadly }) = Confinement::of(pid) {
        return Err(Refusal::Confined { pid, calls, is_deadly });
    }
    let doorbell = process.doorbell.as_ref().ok_or(Refusal::NoDoorbell { pid })?;
    let system = |source: io::Error| Refusal::System { pid, source };
    let (folder, page) = open(&process, doorbell)?;
    let ns_pid = namespace::own(pid).unwrap_or(pid);
    let (mut has_called, mut is_taken, mut is_busy) = (false, false, false);
    let (waker, mut unwoken) = match mode {
        CallMode::Passive => (None, None),
        CallMode::Wake => match Waker::new(pid, &process.agent, timeout) {
            Ok(waker) => (Some(waker), None),
            Err(refusal) => (None, Some(refusal)),
        },
    };
    // On a busy machine the preparation may have taken all the time.
    let deadline = if waker.is_some() { deadline.max(Instant::now() + AT_ONCE) } else { deadline };
    while Instant::now() < deadline && is_there(pid) {
        let Some(lock) = lock(&folder).map_err(system)? else {
            is_taken = true;
            std::thread::sleep(AGAIN);
            continue;
        };
        has_called = true;
        let socket = CallbackSocket::listen(&folder, process.uid).map_err(system)?;
        let until = deadline.min(Instant::now() + AT_ONCE);
        let (answered, refusal) = waking(waker.as_ref(), until, || {
            while Instant::now() < until && is_there(pid) {
                page.ring(ns_pid).map_err(system)?;
                if !is_readable(&socket.socket, AGAIN) {
                    continue;
                }
                match answer(host, &socket.socket, pid) {
                    Ok(Some(image)) => return Ok(Some(image)),
                    Ok(None) => {}
                    Err(Refusal::Busy { .. }) => {
                        is_busy = true;
                        std::thread::sleep(AGAIN);
                    }
                    Err(refusal) => return Err(refusal),
                }
            }
            Ok(None)
        });
        if let Some(image) = answered? {
            return Ok(image);
        }
        unwoken = refusal.or(unwoken);
        drop(socket);
        drop(lock);
        // Longer than the interval at which others look.
        std::thread::sleep(AGAIN * 2);
    }
    let folder = doorbell.path.parent().unwrap_or(Path::new("/"));
    Err(match is_there(pid) {
        true if is_taken && !has_called => Refusal::Taken { pid },
        true if is_busy => Refusal::Busy { pid },
        true => Refusal::Silent { pid, why: NoAnswerReason::of(pid, folder), unwoken },
        false => Refusal::NoProcess { pid },
    })
}

/// Runs `listen`, while a thread of the process is made to answer if there is somebody for that. Also returns why it
/// could not be.
fn waking<T>(
    waker: Option<&Waker>,
    until: Instant,
    listen: impl FnOnce() -> T,
) -> (T, Option<inject::Refusal>) {
    let Some(waker) = waker else { return (listen(), None) };
    let has_answered = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Relaxed: only tells whether it is worth going on.
        let is_over = || has_answered.load(Ordering::Relaxed);
        let waker = scope.spawn(move || waker.wake(is_over, until));
        let heard = listen();
        has_answered.store(true, Ordering::Relaxed);
        (heard, waker.join().ok().and_then(Result::err))
    })
}

/// Checks that a process can be called: it has the agent, and no other collector records it.
///
/// # Errors
/// Why not.
pub fn is_callable(pid: u32) -> Result<(), Refusal> {
    find_once_begun(pid, Instant::now() + BEGINNING).map(|_| ())
}

/// The process, if it can be called. One that has just executed a program with the agent in its environment gets time
/// to load it.
fn find_once_begun(pid: u32, deadline: Instant) -> Result<Preloaded, Refusal> {
    let deadline = deadline.min(Instant::now() + BEGINNING);
    loop {
        match find(pid) {
            Err(Refusal::NotPreloaded { .. } | Refusal::NoDoorbell { .. })
                if Instant::now() < deadline && is_to_have_the_agent(pid) =>
            {
                std::thread::sleep(AGAIN);
            }
            found => return found,
        }
    }
}

/// True when the environment names the agent, or is not set up yet.
fn is_to_have_the_agent(pid: u32) -> bool {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let name = b"libsysprof_memprof_preload";
    environment.is_empty() || environment.windows(name.len()).any(|part| part == name)
}

/// The process, if it can be called.
fn find(pid: u32) -> Result<Preloaded, Refusal> {
    let found = preloaded_one(pid).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => denied(pid),
        _ => Refusal::NoProcess { pid },
    });
    let process = found?.ok_or(Refusal::NotPreloaded { pid })?;
    match process.state {
        State::Recorded(by) if by != std::process::id() => Err(Refusal::Recorded { pid, by }),
        State::WithoutDoorbell | State::Bypassed => Err(Refusal::NoDoorbell { pid }),
        // Recorded by us: a recording that has just ended, which the process has yet to notice.
        State::Recorded(_) | State::Dormant => Ok(process),
    }
}

/// Why we may not look at a process.
fn denied(pid: u32) -> Refusal {
    let own = rustix::process::geteuid().as_raw();
    let status = procfs::process::Process::new(pid.cast_signed()).and_then(|process| process.status());
    let is_ours = status.is_ok_and(|status| [status.ruid, status.euid, status.suid] == [own; 3]);
    let why = match own {
        _ if is_ours => {
            "is yours, but does not let its user look at it, as programs with privileges or secrets do (PR_SET_DUMPABLE), \
             or a security module forbids that: only root can attach to it"
        }
        0 => {
            "belongs to another user, and this root has no CAP_SYS_PTRACE, as in most containers: give it that, or \
             attach as the process' user"
        }
        _ => "belongs to another user: only that user and root can attach to it",
    };
    Refusal::Denied { pid, why }
}

fn is_there(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

/// The doorbell's folder as the process sees it, and the doorbell, which must be the file that the process maps.
fn open(process: &Preloaded, doorbell: &Mapped) -> Result<(OwnedFd, DoorbellFile), Refusal> {
    let pid = process.pid;
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::PermissionDenied => denied(pid),
        _ => Refusal::Doorbell { pid, path: doorbell.path.clone(), why: error.to_string() },
    };
    let folder = doorbell.path.parent().unwrap_or(Path::new("/"));
    let inside = Path::new("/proc").join(pid.to_string()).join("root");
    let inside = inside.join(folder.strip_prefix("/").unwrap_or(folder));
    // The maps of a process with another root may name our paths.
    let mut result = Err(io::Error::from(io::ErrorKind::NotFound));
    for place in [inside.as_path(), folder] {
        result = open_folder(place)
            .map_err(io::Error::from)
            .and_then(|folder| Ok((DoorbellFile::open(&folder)?, folder)));
        if let Ok((page, folder)) = result {
            return match page.identity() {
                Ok((_, inode)) if inode == doorbell.inode => Ok((folder, page)),
                _ => Err(failed(io::Error::other(
                    "it is not the one that the process hears: restart the process",
                ))),
            };
        }
    }
    Err(result.map_or_else(failed, |_| Refusal::NoDoorbell { pid }))
}

/// The socket beside the doorbell, removed when this is dropped. It belongs to whoever holds the lock on the
/// doorbell.
struct CallbackSocket<'f> {
    folder: &'f OwnedFd,
    socket: OwnedFd,
}

impl<'f> CallbackSocket<'f> {
    fn listen(folder: &'f OwnedFd, uid: u32) -> io::Result<CallbackSocket<'f>> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        // The file gets the mode of the socket. Once it exists, its name may lead anywhere: the folder is not ours.
        fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
        // Left by a collector that was killed.
        let _ = unlinkat(folder, SOCKET, AtFlags::empty());
        let name = format!("/proc/self/fd/{}/{SOCKET}", folder.as_raw_fd());
        let name = SocketAddrUnix::new(name)?;
        let is_root = rustix::process::geteuid().is_root();
        let owner = fstat(folder)?;
        as_owner(folder, || rustix::net::bind(&socket, &name))?;
        let beside = CallbackSocket { folder, socket };
        if is_root && owner.st_uid != uid {
            give(folder, &owner, uid)?;
        }
        rustix::net::listen(&beside.socket, 64)?;
        Ok(beside)
    }
}

/// Gives the socket's file to the user of the called process when the folder is another user's, as root's is for all
/// users.
fn give(folder: &OwnedFd, owner: &Stat, uid: u32) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(folder, SOCKET, flags, Mode::empty())?;
    let stat = fstat(&file)?;
    // If the folder's owner has replaced it, we may give away only a socket of that owner.
    let is_socket = FileType::from_raw_mode(stat.st_mode) == FileType::Socket;
    if !is_socket || stat.st_uid != owner.st_uid || stat.st_nlink != 1 {
        return Err(io::Error::other("somebody has taken the socket away"));
    }
    Ok(chownat(&file, "", Some(Uid::from_raw(uid)), None, AtFlags::EMPTY_PATH)?)
}

impl Drop for CallbackSocket<'_> {
    fn drop(&mut self) {
        let _ = unlinkat(self.folder, SOCKET, AtFlags::empty());
    }
}

fn is_readable(socket: &OwnedFd, timeout: Duration) -> bool {
    let timeout =
        Timespec { tv_sec: timeout.as_secs().cast_signed(), tv_nsec: timeout.subsec_nanos().into() };
    matches!(poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&timeout)), Ok(1..))
}

/// Answers the client that connected; returns the image once the called process has it.
fn answer(host: &Host, socket: &OwnedFd, pid: u32) -> Result<Option<Arc<Image>>, Refusal> {
    let Ok(agent) = rustix::net::accept_with(socket, SocketFlags::CLOEXEC) else { return Ok(None) };
    let peer = Peer::of(&agent).and_then(|peer| peer.pid());
    // Checked before hearing it: another process of that user may stay silent for as long as it likes.
    if !peer.as_ref().is_ok_and(|peer| *peer == pid) {
        debug!("{peer:?} has answered a call for {pid}");
        let _ = refuse(&agent, Verdict::NotChosen);
        return Ok(None);
    }
    let Some(hello) = next_hello(&agent) else { return Ok(None) };
    if hello.version != PROTOCOL_VERSION {
        let _ = refuse(&agent, Verdict::Version);
        return Err(Refusal::Version { pid, theirs: hello.version, ours: PROTOCOL_VERSION });
    }
    if hello.purpose == Purpose::Busy {
        return Err(Refusal::Busy { pid });
    }
    // Half of the address space left to it stays free for its own use.
    let room = room(pid).map_or(u64::MAX, |room| room.saturating_mul(SHARE / 2));
    let hello = Hello { address_space: hello.address_space.min(room), ..hello };
    let info = Info { attached: true, ..Info::read(pid) };
    let (image, descriptors) = host.image(&hello, info).map_err(|source| Refusal::System { pid, source })?;
    // An agent does not wait for long, nor say that it has given up.
    let is_taken = accept(&agent, image.memory.geometry(), descriptors).is_ok()
        && next_hello(&agent).is_some_and(|hello| hello.purpose == Purpose::Mapped);
    Ok(is_taken.then_some(image))
}

/// The agent's next message, unless it goes.
fn next_hello(agent: &OwnedFd) -> Option<Hello> {
    let mut message = [0; MESSAGE];
    let has_spoken = is_readable(agent, TIMEOUT);
    let (length, _) =
        rustix::net::recv(agent, &mut message, RecvFlags::DONTWAIT).ok().filter(|_| has_spoken)?;
    Hello::from_bytes(&message).filter(|_| length == MESSAGE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

    const USER: u32 = 12345;

    /// Owner and mode of the socket's file.
    fn file(folder: &Path) -> (u32, u32) {
        let file = std::fs::symlink_metadata(folder.join(SOCKET)).unwrap();
        (file.uid(), file.mode() & 0o7777)
    }

    /// Check that only the user of the called process can connect, whoever owns the folder.
    #[test]
    fn socket_belongs_to_the_called() {
        let own = rustix::process::geteuid().as_raw();
        let others: &[(u32, u32)] = &[(USER, USER), (0, USER), (USER, 0), (USER, USER + 1)];
        for (owner, uid) in [(own, own)].iter().chain(others.iter().filter(|_| own == 0)) {
            let folder = tempfile::tempdir().unwrap();
            chown(folder.path(), Some(*owner), Some(*owner)).unwrap();
            let opened = open_folder(folder.path()).unwrap();
            let beside = CallbackSocket::listen(&opened, *uid).unwrap();
            assert_eq!(file(folder.path()), (*uid, 0o600), "a folder of {owner}");
            drop(beside);
            assert!(!folder.path().join(SOCKET).exists());
        }
    }

    /// Check that a user who puts a link in the socket's place does not get at the file behind it.
    #[test]
    fn links_in_its_place_lead_nowhere() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let (folder, ours) = (tempfile::tempdir().unwrap(), tempfile::NamedTempFile::new().unwrap());
        std::fs::set_permissions(ours.path(), PermissionsExt::from_mode(0o644)).unwrap();
        chown(folder.path(), Some(USER), Some(USER)).unwrap();
        let opened = open_folder(folder.path()).unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (link, place) = (folder.path().join("link"), folder.path().join(SOCKET));
                while !is_over.load(Ordering::Relaxed) {
                    if place.exists() && symlink(ours.path(), &link).is_ok() {
                        let _ = std::fs::rename(&link, &place);
                    }
                }
            });
            for uid in [USER, USER + 1].into_iter().cycle().take(4000) {
                let _ = CallbackSocket::listen(&opened, uid);
            }
            is_over.store(true, Ordering::Relaxed);
        });
        let metadata = ours.path().metadata().unwrap();
        assert_eq!((metadata.uid(), metadata.mode() & 0o7777), (0, 0o644));
    }
}
