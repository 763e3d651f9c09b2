//! The socket where agents connect: its name, abstract or in a folder, and how it is opened.

use crate::base::error::Error;
use crate::base::rights::Rights;
use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Prefix of names of our own.
const OWN_NAME: &str = "sysprof-memprof-";

/// Most connections waiting to be accepted, or as many as the system allows: builds start thousands of programs at
/// once.
const BACKLOG: i32 = 4096;

/// Opens the socket. Sequenced packets keep messages whole.
pub(crate) fn open(path: Option<&Path>, rights: Rights) -> Result<(OwnedFd, PathBuf), Error> {
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
    rights.bind(&socket, &address).map_err(failed)?;
    rustix::net::listen(&socket, BACKLOG).map_err(failed)?;
    Ok((socket, name))
}

/// The path that goes with an abstract name; agents find it next to their own file. Removes what killed collectors
/// have left there.
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

/// A number that other processes cannot guess: `RandomState` takes its keys from the system's source of randomness.
fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Check that the file has the requested rights, whatever the umask is, and the requested group, where the user
    /// may set it.
    #[test]
    fn rights_are_as_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let is_root = rustix::process::geteuid().is_root();
        let own = rustix::process::getegid().as_raw();
        for (number, mode) in [0o600, 0o660, 0o666, 0o777].into_iter().enumerate() {
            let group = is_root.then_some(54321);
            let place = folder.path().join(number.to_string());
            let opened = open(Some(&place), Rights { mode, group });
            assert!(opened.is_ok(), "{opened:?}");
            let file = std::fs::metadata(&place).unwrap();
            assert_eq!((file.mode() & 0o7777, file.gid()), (mode & 0o666, group.unwrap_or(own)));
        }
        // The group changed for the binding thread only, not for us.
        assert_eq!(rustix::process::getegid().as_raw(), own);
    }

    /// Check that nobody else may connect from the socket's first moment on, and that the owner of the folder cannot
    /// get another file's mode changed by putting a link in the socket's place.
    #[test]
    fn links_in_its_place_lead_nowhere() {
        let (folder, ours) = (tempfile::tempdir().unwrap(), tempfile::NamedTempFile::new().unwrap());
        std::fs::set_permissions(ours.path(), PermissionsExt::from_mode(0o644)).unwrap();
        let place = folder.path().join("socket");
        let opened = open(Some(&place), Rights::default()).unwrap();
        assert_eq!(std::fs::metadata(&place).unwrap().mode() & 0o7777, 0o600);
        drop(opened);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let link = folder.path().join("link");
                while !is_over.load(Ordering::Relaxed) {
                    if place.exists() && symlink(ours.path(), &link).is_ok() {
                        let _ = std::fs::rename(&link, &place);
                    }
                }
            });
            for _ in 0..4000 {
                let _ = open(Some(&place), Rights::default());
                let _ = std::fs::remove_file(&place);
            }
            is_over.store(true, Ordering::Relaxed);
        });
        assert_eq!(ours.path().metadata().unwrap().mode() & 0o7777, 0o644);
    }
}
