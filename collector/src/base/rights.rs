//! Access rights of a socket's file.

use rustix::fd::OwnedFd;
use rustix::fs::Mode;
use rustix::net::SocketAddrUnix;
use rustix::process::Gid;
use rustix::thread::UnshareFlags;

/// Who besides owner and root may connect to a socket through its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    /// As for `chmod`; only read and write permissions count.
    pub mode: u32,
    /// Its group; `None` leaves that of the creator.
    pub group: Option<u32>,
}

impl Default for Rights {
    /// Nobody else.
    fn default() -> Rights {
        Rights { mode: 0o600, group: None }
    }
}

impl Rights {
    /// Binds a socket to a name; the file has these rights from its first moment on. The name is not used afterwards:
    /// if the folder is another user's, it may lead anywhere.
    pub(crate) fn bind(self, socket: &OwnedFd, address: &SocketAddrUnix) -> rustix::io::Result<()> {
        rustix::fs::fchmod(socket, Mode::from_raw_mode(self.mode & 0o666))?;
        if self == Rights::default() {
            return rustix::net::bind(socket, address);
        }
        // The file gets the socket's mode without the umask, and the group of the thread: so use a thread with its
        // own of both.
        let bind = || {
            // SAFETY: this short-lived thread has nothing that depends on sharing umask and working directory.
            unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FS)? };
            rustix::process::umask(Mode::empty());
            if let Some(group) = self.group.map(Gid::from_raw) {
                rustix::thread::set_thread_res_gid(group, group, group)?;
            }
            rustix::net::bind(socket, address)
        };
        std::thread::scope(|scope| scope.spawn(bind).join().unwrap_or(Err(rustix::io::Errno::IO)))
    }
}
