//! Whom a socket's file lets connect.

use rustix::fd::OwnedFd;
use rustix::fs::Mode;
use rustix::net::SocketAddrUnix;
use rustix::process::Gid;
use rustix::thread::UnshareFlags;

/// Whom the file of a socket lets connect beside its owner and root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    /// As `chmod` takes it; only the rights to read and write count.
    pub mode: u32,
    /// Its group, unless it is that of whoever makes it.
    pub group: Option<u32>,
}

impl Default for Rights {
    /// Nobody else.
    fn default() -> Rights {
        Rights { mode: 0o600, group: None }
    }
}

impl Rights {
    /// Binds a socket to a name, whose file has these rights from its first moment on. Nothing is done by that name later: it may lead to
    /// anything, where the folder is somebody else's.
    pub(crate) fn bind(self, socket: &OwnedFd, address: &SocketAddrUnix) -> rustix::io::Result<()> {
        rustix::fs::fchmod(socket, Mode::from_raw_mode(self.mode & 0o666))?;
        if self == Rights::default() {
            return rustix::net::bind(socket, address);
        }
        // The file gets the mode of the socket without the umask, and the group of the thread: in one that has both for itself.
        let bind = || {
            // SAFETY: this thread has nothing that depends on whose umask and folder it has, and ends.
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
