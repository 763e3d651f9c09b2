//! The process at the other end of a socket.

use rustix::fd::AsFd;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;

/// A process as it was when it connected, or began to listen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    /// 0 if it has no pid in our namespace, so types for nonzero pids cannot hold it.
    pid: u32,
    pub(crate) uid: u32,
}

impl Peer {
    pub(crate) fn of(socket: impl AsFd) -> io::Result<Peer> {
        let mut peer = MaybeUninit::<libc::ucred>::zeroed();
        let mut length = size_of::<libc::ucred>() as libc::socklen_t;
        let (socket, level, name) = (socket.as_fd().as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED);
        // SAFETY: the kernel writes no more bytes than the struct has.
        let failed =
            unsafe { libc::getsockopt(socket, level, name, peer.as_mut_ptr().cast(), &raw mut length) } != 0;
        if failed {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: three numbers, for which all bits may be zero, and the kernel has written them.
        let peer = unsafe { peer.assume_init() };
        Ok(Peer { pid: peer.pid.cast_unsigned(), uid: peer.uid })
    }

    /// Its pid in our namespace.
    ///
    /// # Errors
    /// If it has none, with a sentence for the user.
    pub(crate) fn pid(&self) -> io::Result<u32> {
        match self.pid {
            0 => Err(io::Error::other(
                "it is in a pid namespace that is not visible from here: record it from the host, or inside \
                 its container",
            )),
            pid => Ok(pid),
        }
    }

    /// A peer of this user.
    #[cfg(test)]
    pub(crate) fn with_uid(uid: u32) -> Peer {
        Peer { pid: std::process::id(), uid }
    }

    /// True for our own user and for root.
    pub(crate) fn is_trusted(&self) -> bool {
        self.uid == 0 || self.uid == rustix::process::geteuid().as_raw()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    /// Check that a peer is identified, and that one without a pid here gets advice.
    #[test]
    fn peers_without_a_number_are_refused() {
        let (one, _other) = UnixStream::pair().unwrap();
        let peer = Peer::of(&one).unwrap();
        assert!(peer.is_trusted() && peer.pid().unwrap() == std::process::id());
        let error = Peer { pid: 0, ..peer }.pid().unwrap_err();
        assert!(error.to_string().contains("pid namespace"), "{error}");
        assert!(Peer::of(std::fs::File::open("/dev/null").unwrap()).is_err());
    }
}
