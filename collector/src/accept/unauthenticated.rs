//! Clients that have connected but not said anything yet. Nobody waits for them, and those of other users are limited
//! in number.
//!
//! Anybody who can connect can do so any number of times. So users other than root and ours share a limited number of
//! places. When all are taken, the user with the most loses the client that has waited longest, without a reply:
//! agents speak at once, and retry when they are dropped.

use super::admission::Admission;
use super::listening_socket::ListeningSocket;
use crate::base::alarm::Alarm;
use crate::base::peer::Peer;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use shared_ring::handshake::Verdict;
use std::time::{Duration, Instant};

/// A client silent for this long is given up.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(1);
/// Most silent clients of root and our own user; more wait to be accepted.
const SILENT: usize = 256;
/// Most silent clients of all other users together.
const FOREIGN: usize = 64;

/// A client that has not said anything yet.
#[derive(Debug)]
pub(crate) struct Unauthenticated {
    pub(crate) socket: OwnedFd,
    pub(crate) peer: Peer,
    /// Belongs neither to root nor to our own user.
    is_foreign: bool,
    since: Instant,
}

impl Unauthenticated {
    pub(crate) fn new(socket: OwnedFd, peer: Peer) -> Unauthenticated {
        Unauthenticated { socket, peer, is_foreign: !peer.is_trusted(), since: Instant::now() }
    }
}

/// All of them, in order of arrival.
#[derive(Debug, Default)]
pub(crate) struct Waiting(Vec<Unauthenticated>);

impl Waiting {
    /// Accepts a client. False, after refusing it, if it belongs to another user and `admission` is closed to those.
    pub(crate) fn admit(&mut self, socket: OwnedFd, peer: Peer, admission: &Admission) -> bool {
        let may_join = admission.may_admit(&peer);
        if may_join {
            let new = Unauthenticated::new(socket, peer);
            if new.is_foreign && self.foreign().count() >= FOREIGN {
                self.let_go();
            }
            self.0.push(new);
        } else {
            // A client that has gone need not be told.
            let _ = super::refuse::refuse(&socket, Verdict::NotAdmitted);
        }
        may_join
    }

    /// Drops the longest waiting client of the other user with the most.
    fn let_go(&mut self) {
        let of = |uid: u32| self.foreign().filter(move |other| other.peer.uid == uid);
        let Some(uid) = self.foreign().map(|one| one.peer.uid).max_by_key(|uid| of(*uid).count()) else {
            return;
        };
        let longest = self.0.iter().position(|one| one.peer.uid == uid);
        longest.map(|at| self.0.remove(at));
    }

    fn foreign(&self) -> impl Iterator<Item = &Unauthenticated> {
        self.0.iter().filter(|one| one.is_foreign)
    }

    /// True while more may be accepted.
    pub(crate) fn has_room(&self) -> bool {
        self.0.len() - self.foreign().count() < SILENT
    }

    /// Gives up clients that were silent for too long.
    pub(crate) fn give_up(&mut self) {
        self.0.retain(|one| one.since.elapsed() < TIMEOUT);
    }

    /// Takes out the clients that have spoken.
    pub(crate) fn take(&mut self, ready: &Ready) -> Vec<Unauthenticated> {
        let mut speaking = ready.spoken.iter();
        self.0.extract_if(.., |_| speaking.next().copied().unwrap_or(false)).collect()
    }

    /// Waits until there is something to do, the oldest client has been silent for too long, or connections may be
    /// accepted again.
    pub(crate) fn ready(&self, listening: &ListeningSocket, over: &Alarm) -> Ready {
        // They became silent in this order.
        let timeout = self.0.first().map(|one| TIMEOUT.saturating_sub(one.since.elapsed()));
        let wait = timeout.into_iter().chain(listening.rest()).min();
        let wait = wait.map(|rest| Timespec {
            tv_sec: rest.as_secs().cast_signed(),
            tv_nsec: rest.subsec_nanos().into(),
        });
        let new = if self.has_room() { listening.wanted() } else { PollFlags::empty() };
        let those = self.0.iter().map(|one| PollFd::new(&one.socket, PollFlags::IN));
        let mut all: Vec<PollFd<'_>> = [PollFd::new(over, PollFlags::IN), PollFd::new(listening, new)].into();
        all.extend(those);
        // On an interrupted wait nobody has spoken.
        let _ = poll(&mut all, wait.as_ref());
        let mut spoken = all.iter().map(|descriptor| !descriptor.revents().is_empty());
        Ready {
            is_over: spoken.next().unwrap_or(false),
            has_new: spoken.next().unwrap_or(false),
            spoken: spoken.collect(),
        }
    }

    /// All of them, at the end.
    pub(crate) fn into_sockets(self) -> impl Iterator<Item = OwnedFd> {
        self.0.into_iter().map(|one| one.socket)
    }
}

/// What there is to do.
pub(crate) struct Ready {
    pub(crate) is_over: bool,
    /// A connection is waiting, and may be accepted.
    pub(crate) has_new: bool,
    /// For each silent client, whether it has spoken.
    spoken: Vec<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    fn one(uid: u32) -> Unauthenticated {
        let (socket, _) = UnixStream::pair().unwrap();
        Unauthenticated::new(socket.into(), Peer::with_uid(uid))
    }

    /// Check that silent clients of other users take no places from root or from each other's users, only from their
    /// own.
    #[test]
    fn foreign_take_places_of_their_own_alone() {
        let mut waiting = Waiting::default();
        let (many, few) = (70_001, 70_002);
        waiting.0.push(one(few));
        waiting.0.extend((0..SILENT - 1).map(|_| one(0)));
        for _ in 0..1000 {
            let Unauthenticated { socket, peer, .. } = one(many);
            assert!(waiting.admit(socket, peer, &Admission::Open) && waiting.has_room());
        }
        let Unauthenticated { socket, peer, .. } = one(few);
        assert!(!waiting.admit(socket, peer, &Admission::Closed));
        let count = |uid| waiting.0.iter().filter(|one| one.peer.uid == uid).count();
        assert_eq!((count(0), count(few), count(many)), (SILENT - 1, 1, FOREIGN - 1));
        waiting.0.push(one(0));
        assert!(!waiting.has_room());
    }
}
