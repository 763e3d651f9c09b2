//! A socket that clients connect to.

use crate::address::Address;
use rustix::fs::{Mode, fchmod};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

/// Connections that wait to be accepted, as the standard library has it for TCP.
const BACKLOG: i32 = 128;

/// A listening socket. One in the file system goes when this is dropped.
#[derive(Debug)]
pub struct Listener {
    pub(crate) socket: Socket,
    address: Address,
}

#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpListener),
    Unix(UnixListener, Path),
}

/// The name of a socket, which goes with it.
#[derive(Debug)]
pub(crate) struct Path(PathBuf);

impl Drop for Path {
    fn drop(&mut self) {
        // If somebody else has removed it, that is as well.
        let _ = fs::remove_file(&self.0);
    }
}

impl Listener {
    /// Listens at an address. Only this user and root can connect to a socket in the file system; one that nobody
    /// listens at any more is replaced.
    ///
    /// # Errors
    /// What the system reports, as when somebody listens there already.
    pub fn bind(address: &Address) -> io::Result<Listener> {
        match address {
            Address::Tcp(address) => Listener::of(TcpListener::bind(address)?),
            Address::Unix(path) => {
                let is_socket = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
                if is_socket && UnixStream::connect(path).is_err() {
                    fs::remove_file(path)?;
                }
                let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
                let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
                // The file gets the mode of the socket, so nobody else can connect before it is set.
                fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
                rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
                let named = Path(path.clone());
                rustix::net::listen(&socket, BACKLOG)?;
                Ok(Listener { socket: Socket::Unix(socket.into(), named), address: address.clone() })
            }
        }
    }

    /// The same at a socket that listens already.
    ///
    /// # Errors
    /// What the system reports.
    pub fn of(listener: TcpListener) -> io::Result<Listener> {
        listener.set_nonblocking(true)?;
        let address = Address::Tcp(listener.local_addr()?);
        Ok(Listener { socket: Socket::Tcp(listener), address })
    }

    /// Where it listens, with the port if a free one was wanted.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The port, if it has one.
    pub fn port(&self) -> Option<u16> {
        match self.address {
            Address::Tcp(address) => Some(SocketAddr::port(&address)),
            Address::Unix(_) => None,
        }
    }
}
