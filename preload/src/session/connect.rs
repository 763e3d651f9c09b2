//! The exchange with a collector: one socket, closed before anything is recorded, within a bounded time.

use crate::platform::{address_space, arch, config, sys};
use crate::process::{self, Session};
use crate::redirect::linked;
use crate::session::reservation;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicI32, Ordering};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, SealFlags};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType,
};
use shared_ring::geometry::Geometry;
use shared_ring::handshake::{Hello, MESSAGE, Purpose, Reply, Verdict};
use shared_ring::{Control, PROTOCOL_VERSION, Segment};

/// Longest wait for the collector's answer when the process begins. The answer takes less than a millisecond unless
/// the machine is starved.
const ANSWER: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };
/// The same when the process was called by the doorbell in the middle of its work, where other threads wait for it;
/// if this was too short, it will be called again. Together with the mapping of the memory that follows, it is less
/// than what a busy machine takes from a thread anyway.
const ANSWER_TO_CALLED: Timespec = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
/// The uid that the kernel shows for users that a user namespace does not map.
const NOBODY: u32 = 65534;
/// Descriptor tables grow by multiples of this.
const BLOCK: i32 = 64;
/// Descriptors that we hold at once, plus a few for other threads.
const ROOM: i32 = 8;

/// When the collector has no room for another connection, or a later process took our place, we try again after this
/// time, then after twice as long, and so on: thousands of processes that keep trying would take the processors from
/// the collector.
const AGAIN_NS: i64 = 2_000_000;
const SELDOM_NS: i64 = 128_000_000;

/// Why an attempt failed.
enum Missed {
    /// There was no room for us, but there may be soon.
    NoRoom,
    /// Nobody is there, nobody answers, or the answer is no.
    No,
}

/// Asks the collector for a session and maps it; `None` leaves the process unrecorded.
#[cold]
pub(crate) fn connect(name: &[u8], purpose: Purpose) -> Option<Session> {
    let patience = if purpose == Purpose::Start { ANSWER } else { ANSWER_TO_CALLED };
    let patience_ns = patience.tv_sec * 1_000_000_000 + patience.tv_nsec;
    let started = sys::monotonic_raw_ns();
    let mut rest_ns = AGAIN_NS;
    loop {
        match try_to_connect(name, purpose, &patience) {
            Ok(session) => return Some(session),
            Err(Missed::No) => return None,
            Err(Missed::NoRoom) => {}
        }
        if sys::monotonic_raw_ns().saturating_sub(started) > patience_ns.cast_unsigned() {
            return None;
        }
        let _ = poll(&mut [], Some(&Timespec { tv_sec: 0, tv_nsec: rest_ns }));
        rest_ns = (rest_ns * 2).min(SELDOM_NS);
    }
}

fn try_to_connect(name: &[u8], purpose: Purpose, patience: &Timespec) -> Result<Session, Missed> {
    let socket = open(name)?;
    // A connection that was dropped before it was heard came too soon.
    say(socket.as_fd(), purpose).ok_or(Missed::NoRoom)?;
    let mut ready = [PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN)];
    // Signals are blocked, but stopping and continuing the process may still interrupt the call.
    match rustix::io::retry_on_intr(|| poll(&mut ready, Some(patience))) {
        Ok(0) | Err(_) => return Err(Missed::No),
        Ok(_) => {}
    }
    let (reply, descriptors) = receive(socket.as_fd())?;
    if reply.verdict == Verdict::NotChosen && purpose == Purpose::Start {
        process::note_not_chosen();
    }
    if reply.verdict != Verdict::Accepted || reply.version != PROTOCOL_VERSION {
        return Err(Missed::No);
    }
    let agreed = descriptors.and_then(|(segment, control)| {
        let layout = reply.geometry.layout();
        check(segment.as_fd(), layout.length)?;
        check(control.as_fd(), layout.control_length)?;
        let session = map(&reply.geometry, segment.as_fd(), control.as_fd())?;
        let is_agreed = session.segment.is_ours()
            && (purpose == Purpose::Start || say(socket.as_fd(), Purpose::Mapped).is_some());
        if !is_agreed {
            reservation::void(&reply.geometry);
        }
        is_agreed.then_some(session)
    });
    agreed.ok_or(Missed::No)
}

/// Tells the collector that has called that this process has not left its last recording yet.
#[cold]
pub(crate) fn tell_busy(name: &[u8]) {
    // A collector that is not told notices that we have hung up.
    let _ = open(name).map(|socket| say(socket.as_fd(), Purpose::Busy));
}

/// A descriptor of the exchange, whose number is also kept in a static place.
struct Held {
    descriptor: OwnedFd,
    place: &'static AtomicI32,
}

/// The socket and the two memory descriptors; 0 for none. A fork copies them, as it copies the descriptors.
static HELD: [AtomicI32; 3] = [const { AtomicI32::new(0) }; 3];

impl Held {
    fn new(descriptor: OwnedFd, place: &'static AtomicI32) -> Held {
        place.store(descriptor.as_raw_fd(), Ordering::Relaxed);
        Held { descriptor, place }
    }

    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Before the descriptor is closed: afterwards the number may be another file's.
        self.place.store(0, Ordering::Relaxed);
    }
}

/// In a forked child, forgets the descriptors that a thread of its parent held. The child may have closed them and
/// opened others.
#[cold]
pub(crate) fn forget_held() {
    HELD.iter().for_each(|place| place.store(0, Ordering::Relaxed));
}

/// In a child that was forked just now and has opened nothing yet, closes the descriptors that a thread of its parent
/// held.
#[cold]
pub(crate) fn close_held() {
    for place in &HELD {
        let number = place.swap(0, Ordering::Relaxed);
        if number != 0 {
            // Fork copies descriptors before memory: one that the parent opened in between is not open here.
            // SAFETY: only asked about, and nothing else here closes descriptors yet.
            if rustix::io::fcntl_getfd(unsafe { BorrowedFd::borrow_raw(number) }).is_ok() {
                // SAFETY: a copy of the parent's descriptor, which nobody else here knows.
                drop(unsafe { OwnedFd::from_raw_fd(number) });
            }
        }
    }
}

fn say(socket: BorrowedFd<'_>, purpose: Purpose) -> Option<()> {
    let hello = Hello {
        version: PROTOCOL_VERSION,
        pid: sys::process_id(),
        address_space: address_space::current_limit(),
        purpose,
        inside: linked::inside(),
        key: config::key(),
    };
    rustix::net::send(socket, &hello.to_bytes(), SendFlags::NOSIGNAL).ok()?;
    Some(())
}

/// Bytes of a socket's path, including its terminator.
const PATH: usize = 108;

fn open(name: &[u8]) -> Result<Held, Missed> {
    let Some(own) = name.strip_prefix(b"@") else {
        return open_at(&path_address(name).map_err(|_| Missed::No)?, name);
    };
    let opened = SocketAddrUnix::new_abstract_name(own).map_err(|_| Missed::No);
    match opened.and_then(|address| open_at(&address, name)) {
        Err(missed) => open_beside(own).ok_or(missed),
        opened => opened,
    }
}

/// Tries the socket file of the same name beside the agent's library. An abstract name that nobody has here may
/// belong to another network namespace, and where one socket has no room the other may have some.
#[cold]
fn open_beside(own: &[u8]) -> Option<Held> {
    let agent = crate::platform::own_image::path()?;
    let folder = agent.get(..=agent.iter().rposition(|byte| *byte == b'/')?)?;
    let mut path = [0; PATH];
    let mut count = 0;
    for (to, from) in path.iter_mut().zip(folder.iter().chain(own)) {
        *to = *from;
        count += 1;
    }
    let path = path.get(..count).filter(|path| path.len() == folder.len() + own.len())?;
    open_at(&path_address(path).ok()?, path).ok()
}

fn open_at(address: &SocketAddrUnix, name: &[u8]) -> Result<Held, Missed> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
    let [place, ..] = &HELD;
    let socket = Held::new(raise(socket.map_err(|_| Missed::No)?), place);
    rustix::net::connect(socket.as_fd(), address).map_err(|error| match error {
        rustix::io::Errno::AGAIN => Missed::NoRoom,
        _ => Missed::No,
    })?;
    // The peer must be root or our own user: anybody could listen on an abstract name.
    let uid = arch::peer_of(socket.descriptor.as_raw_fd()).ok_or(Missed::No)?.uid;
    let is_known = uid == 0 || uid == rustix::process::geteuid().as_raw();
    (is_known || uid == NOBODY && lies_in_our_folder(name)).then_some(socket).ok_or(Missed::No)
}

/// True for a socket that only root and this user can have created. In a user namespace of our own, root outside
/// appears as nobody.
#[cold]
fn lies_in_our_folder(name: &[u8]) -> bool {
    let Some(slash) = name.iter().rposition(|byte| *byte == b'/') else { return false };
    let mut folder = [0; PATH];
    for (to, from) in folder.iter_mut().zip(name.iter().take(slash)) {
        *to = *from;
    }
    let Ok(folder) = core::ffi::CStr::from_bytes_until_nul(&folder) else { return false };
    let Ok(stat) = rustix::fs::statat(rustix::fs::CWD, folder, AtFlags::SYMLINK_NOFOLLOW) else {
        return false;
    };
    let is_ours = stat.st_uid == 0 || stat.st_uid == rustix::process::geteuid().as_raw();
    is_ours
        && FileType::from_raw_mode(stat.st_mode) == FileType::Directory
        && !Mode::from_raw_mode(stat.st_mode).intersects(Mode::WGRP | Mode::WOTH)
}

fn path_address(name: &[u8]) -> rustix::io::Result<SocketAddrUnix> {
    let mut path = [0; PATH];
    if name.len() >= path.len() {
        return Err(rustix::io::Errno::NAMETOOLONG);
    }
    for (to, from) in path.iter_mut().zip(name) {
        *to = *from;
    }
    let path = core::ffi::CStr::from_bytes_until_nul(&path).map_err(|_| rustix::io::Errno::INVAL)?;
    SocketAddrUnix::new(path)
}

/// Moves a descriptor out of the way of programs that expect the next small number, or leaves it where it is when
/// that is not allowed.
fn raise(descriptor: OwnedFd) -> OwnedFd {
    rustix::io::fcntl_dupfd_cloexec(&descriptor, high_number(descriptor.as_raw_fd())).unwrap_or(descriptor)
}

/// The last numbers for which the descriptor table need not grow: in a process with several threads the kernel makes
/// growing wait for an RCU grace period, 10 to 20 ms.
fn high_number(number: i32) -> i32 {
    (number | (BLOCK - 1)).wrapping_sub(ROOM - 1)
}

/// The answer, and the memory's descriptors when they come with it.
fn receive(socket: BorrowedFd<'_>) -> Result<(Reply, Option<(Held, Held)>), Missed> {
    let mut message = [0u8; MESSAGE];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = rustix::net::recvmsg(
        socket,
        &mut [rustix::io::IoSliceMut::new(&mut message)],
        &mut ancillary,
        RecvFlags::CMSG_CLOEXEC,
    )
    .map_err(|error| if error == rustix::io::Errno::CONNRESET { Missed::NoRoom } else { Missed::No })?;
    let mut descriptors = ancillary.drain().filter_map(|part| match part {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    let [_, first, second] = &HELD;
    let both = descriptors.next().and_then(|mut both| {
        let mut hold = |place| Some(Held::new(raise(both.next()?), place));
        Some((hold(first)?, hold(second)?))
    });
    match received.bytes {
        MESSAGE => Ok((Reply::from_bytes(&message).ok_or(Missed::No)?, both)),
        // Dropped without an answer. If the collector is gone, the next attempt will find nobody.
        0 => Err(Missed::NoRoom),
        _ => Err(Missed::No),
    }
}

/// Checks the seals and the size: memory that could shrink under us would kill the host.
fn check(descriptor: BorrowedFd<'_>, length: usize) -> Option<()> {
    let seals = rustix::fs::fcntl_get_seals(descriptor).ok()?;
    let size = rustix::fs::fstat(descriptor).ok()?.st_size;
    (seals.contains(SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL) && size == length as i64)
        .then_some(())
}

fn map(geometry: &Geometry, segment: BorrowedFd<'_>, control: BorrowedFd<'_>) -> Option<Session> {
    let (base, words) = reservation::map(geometry, segment, control)?;
    // SAFETY: mapped just above with the geometry's length; what is used outside of counted hooks stays mapped
    // for the life of the process, see `reservation`.
    let segment = unsafe { Segment::new(base.cast(), *geometry) };
    // SAFETY: as above.
    let control = unsafe { Control::new(words.cast(), *geometry) };
    Some(Session { segment, control })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that descriptors are moved up, but never so far that the table has to grow.
    #[test]
    fn descriptors_stay_in_their_block() {
        for number in 0..2000 {
            let (first, last) = (high_number(number), high_number(number) + ROOM - 1);
            assert!(first / BLOCK == number / BLOCK && last / BLOCK == number / BLOCK, "{number}: {first}");
            assert_eq!(last % BLOCK, BLOCK - 1);
        }
    }
}
