//! The conversation with a collector: one socket, closed before anything is recorded, and a bounded time.

use crate::process::{self, Session};
use crate::{reservation, sys};
use core::mem::MaybeUninit;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::SealFlags;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType,
};
use shared_ring::geometry::Geometry;
use shared_ring::handshake::{Hello, MESSAGE, Purpose, Reply, Verdict};
use shared_ring::{Control, PROTOCOL_VERSION, Segment};

/// Longest wait for the collector's answer when the process begins. It answers within a millisecond unless the machine
/// is starved.
const ANSWER: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };
/// The same when the process was called in the middle of its work: it is called again when that was too short.
const ANSWER_TO_CALLED: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
/// Descriptors are moved above this, out of the way of programs that expect the next small number.
const HIGH: i32 = 500;

/// Asks the collector for a session and maps it; `None` leaves the process unrecorded.
#[cold]
pub(crate) fn connect(name: &[u8], purpose: Purpose) -> Option<Session> {
    let socket = open(name)?;
    say(&socket, purpose)?;
    let patience = if purpose == Purpose::Start { ANSWER } else { ANSWER_TO_CALLED };
    let mut ready = [PollFd::new(&socket, PollFlags::IN)];
    if poll(&mut ready, Some(&patience)).ok()? == 0 {
        return None;
    }
    let (reply, descriptors) = receive(socket.as_fd())?;
    if reply.verdict == Verdict::NotChosen && purpose == Purpose::Start {
        process::stay_aside();
    }
    if reply.verdict != Verdict::Accepted || reply.version != PROTOCOL_VERSION {
        return None;
    }
    let (segment, control) = descriptors?;
    let layout = reply.geometry.layout();
    check(segment.as_fd(), layout.length)?;
    check(control.as_fd(), layout.control_length)?;
    let session = map(&reply.geometry, segment.as_fd(), control.as_fd())?;
    let is_agreed =
        session.segment.is_ours() && (purpose == Purpose::Start || say(&socket, Purpose::Mapped).is_some());
    if !is_agreed {
        reservation::void(&reply.geometry);
    }
    is_agreed.then_some(session)
}

/// Tells whoever has called that it is too early.
#[cold]
pub(crate) fn tell_busy(name: &[u8]) {
    // Who is not told sees that we have gone.
    let _ = open(name).and_then(|socket| say(&socket, Purpose::Busy));
}

fn say(socket: &OwnedFd, purpose: Purpose) -> Option<()> {
    let hello = Hello {
        version: PROTOCOL_VERSION,
        pid: sys::process_id(),
        address_space: sys::address_space_limit(),
        purpose,
    };
    rustix::net::send(socket, &hello.to_bytes(), SendFlags::NOSIGNAL).ok()?;
    Some(())
}

fn open(name: &[u8]) -> Option<OwnedFd> {
    let address = match name.strip_prefix(b"@") {
        Some(name) => SocketAddrUnix::new_abstract_name(name),
        None => path_address(name),
    }
    .ok()?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).ok()?;
    let socket = raise(socket);
    rustix::net::connect(&socket, &address).ok()?;
    // Whoever answers is to be root or ourselves: anybody could listen on an abstract name.
    let peer = rustix::net::sockopt::socket_peercred(&socket).ok()?;
    let uid = peer.uid.as_raw();
    (uid == 0 || uid == rustix::process::geteuid().as_raw()).then_some(socket)
}

fn path_address(name: &[u8]) -> rustix::io::Result<SocketAddrUnix> {
    let mut path = [0; 108];
    if name.len() >= path.len() {
        return Err(rustix::io::Errno::NAMETOOLONG);
    }
    for (to, from) in path.iter_mut().zip(name) {
        *to = *from;
    }
    let path = core::ffi::CStr::from_bytes_until_nul(&path).map_err(|_| rustix::io::Errno::INVAL)?;
    SocketAddrUnix::new(path)
}

/// Moves a descriptor to a high number, or leaves it where it is when that is not allowed.
fn raise(descriptor: OwnedFd) -> OwnedFd {
    rustix::io::fcntl_dupfd_cloexec(&descriptor, HIGH).unwrap_or(descriptor)
}

/// The answer, and the descriptors of the memory when they come with it.
fn receive(socket: BorrowedFd<'_>) -> Option<(Reply, Option<(OwnedFd, OwnedFd)>)> {
    let mut message = [0u8; MESSAGE];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = rustix::net::recvmsg(
        socket,
        &mut [rustix::io::IoSliceMut::new(&mut message)],
        &mut ancillary,
        RecvFlags::CMSG_CLOEXEC,
    )
    .ok()?;
    let mut descriptors = ancillary.drain().filter_map(|part| match part {
        RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
        _ => None,
    });
    let both = descriptors.next().and_then(|mut both| Some((raise(both.next()?), raise(both.next()?))));
    if received.bytes != MESSAGE {
        return None;
    }
    Some((Reply::from_bytes(&message)?, both))
}

/// Memory that could shrink under us would kill the host.
fn check(descriptor: BorrowedFd<'_>, length: usize) -> Option<()> {
    let seals = rustix::fs::fcntl_get_seals(descriptor).ok()?;
    let size = rustix::fs::fstat(descriptor).ok()?.st_size;
    (seals.contains(SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL) && size == length as i64)
        .then_some(())
}

fn map(geometry: &Geometry, segment: BorrowedFd<'_>, control: BorrowedFd<'_>) -> Option<Session> {
    let (base, words) = reservation::map(geometry, segment, control)?;
    // SAFETY: mapped just above with the geometry's length; what is used outside of hooks that are counted stays
    // mapped for the life of the process, see `reservation`.
    let segment = unsafe { Segment::new(base.cast(), *geometry) };
    // SAFETY: as above.
    let control = unsafe { Control::new(words.cast(), *geometry) };
    Some(Session { segment, control })
}
