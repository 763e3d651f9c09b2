//! The socket where agents connect: its name, in the abstract namespace or in a folder, and how it is opened.

use crate::error::Error;
use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// With what names of our own begin.
const OWN_NAME: &str = "sysprof-memprof-";

/// Opens the socket: sequenced packets, so that each message comes whole.
pub(crate) fn open(path: Option<&Path>) -> Result<(OwnedFd, PathBuf), Error> {
    let name = match path {
        Some(path) => path.to_owned(),
        None => PathBuf::from(format!("@{OWN_NAME}{}-{:016x}", std::process::id(), random())),
    };
    let failed = |source: rustix::io::Errno| Error::Listen { path: name.clone(), source: source.into() };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket =
        rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).map_err(failed)?;
    let address = match name.as_os_str().as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddrUnix::new_abstract_name(name).map_err(failed)?,
        None => {
            remove_stale(&name);
            SocketAddrUnix::new(&name).map_err(failed)?
        }
    };
    rustix::net::bind(&socket, &address).map_err(failed)?;
    if address.path().is_some() {
        // Only the same user, and root, may connect.
        rustix::fs::chmod(&name, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).map_err(failed)?;
    }
    rustix::net::listen(&socket, 1024).map_err(failed)?;
    Ok((socket, name))
}

/// The path beside an abstract name, which agents find by that of their own file. What collectors have left there that were killed is
/// removed.
pub(crate) fn beside(folder: &Path, name: &Path) -> Option<PathBuf> {
    let name = name.to_str()?.strip_prefix('@')?;
    let names =
        std::fs::read_dir(folder).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    for other in names.filter(|other| other.starts_with(OWN_NAME)) {
        remove_stale(&folder.join(other));
    }
    Some(folder.join(name))
}

/// Removes a socket that nobody listens on any more.
fn remove_stale(path: &Path) {
    use std::os::unix::fs::FileTypeExt;
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket());
    if !is_socket {
        return;
    }
    let probe = rustix::net::socket(AddressFamily::UNIX, SocketType::SEQPACKET, None)
        .and_then(|socket| rustix::net::connect(&socket, &SocketAddrUnix::new(path)?));
    if probe == Err(rustix::io::Errno::CONNREFUSED) {
        let _ = std::fs::remove_file(path);
    }
}

/// Something that no other process guesses: the address space's own randomness and the time.
fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}
