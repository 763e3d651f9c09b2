//! A socket that accepts connections.
//!
//! A connection that cannot be accepted for want of descriptors stays in the queue and keeps the socket readable, so
//! a poll loop would spin. The socket is therefore left alone for a moment.

use rustix::event::PollFlags;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::SocketFlags;
use std::io;
use std::time::{Duration, Instant};

/// How long the socket is left alone.
const REST: Duration = Duration::from_millis(100);

/// A listening socket.
#[derive(Debug)]
pub(crate) struct ListeningSocket {
    socket: OwnedFd,
    /// Since when the socket has been left alone.
    rests: Option<Instant>,
    /// The last connection could not be accepted for want of resources.
    is_short: bool,
}

impl ListeningSocket {
    pub(crate) fn new(socket: OwnedFd) -> ListeningSocket {
        ListeningSocket { socket, rests: None, is_short: false }
    }

    /// Events to poll for: none while the socket is left alone.
    pub(crate) fn wanted(&self) -> PollFlags {
        if self.rest().is_some() { PollFlags::empty() } else { PollFlags::IN }
    }

    /// How much longer the socket is left alone.
    pub(crate) fn rest(&self) -> Option<Duration> {
        let rest = REST.saturating_sub(self.rests?.elapsed());
        (!rest.is_zero()).then_some(rest)
    }

    /// Accepts a waiting connection.
    ///
    /// # Errors
    /// The system's error. A shortage of resources is reported once until it is over.
    pub(crate) fn accept(&mut self) -> io::Result<Option<OwnedFd>> {
        let opened = rustix::net::accept_with(&self.socket, SocketFlags::CLOEXEC);
        let was_short = self.is_short;
        let is_short = matches!(opened, Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS));
        self.rests = is_short.then(Instant::now);
        self.is_short = is_short || was_short && opened.is_err();
        match opened {
            Err(_) if is_short && was_short => Ok(None),
            opened => Ok(Some(opened?)),
        }
    }
}

impl AsFd for ListeningSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::is_alone;
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, connect, listen, socket_with};
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    /// Check that a shortage of descriptors is reported once and the socket then left alone, and that it accepts
    /// again afterwards.
    #[test]
    fn socket_is_left_alone_without_descriptors() {
        // Other threads of this process need descriptors, too.
        if !is_alone("accept::listening_socket::tests::socket_is_left_alone_without_descriptors") {
            return;
        }
        let open = || {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap()
        };
        let (socket, client) = (open(), open());
        let name = format!("sysprof-memprof-test-{}", std::process::id());
        let address = SocketAddrUnix::new_abstract_name(name.as_bytes()).unwrap();
        bind(&socket, &address).and_then(|()| listen(&socket, 4)).unwrap();
        connect(&client, &address).unwrap();
        let mut listening = ListeningSocket::new(socket);
        let before = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: Some(3), maximum: before.maximum }).unwrap();
        assert_eq!(listening.wanted(), PollFlags::IN);
        assert!(listening.accept().is_err() && listening.rest().is_some_and(|rest| rest <= REST));
        assert_eq!(listening.wanted(), PollFlags::empty());
        assert!(listening.accept().unwrap().is_none());
        std::thread::sleep(REST);
        assert_eq!((listening.wanted(), listening.rest()), (PollFlags::IN, None));
        setrlimit(Resource::Nofile, before).unwrap();
        assert!(listening.accept().unwrap().is_some() && listening.rest().is_none());
        // The next shortage is reported again.
        assert!(!listening.is_short);
    }
}
