//! A lock on a file or folder that keeps other processes away.

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;

/// A lock on an open file, held until dropped. Locks belong to an open file description: each needs one of its own.
#[derive(Debug)]
pub struct FileLock(OwnedFd);

impl FileLock {
    /// Keeps all others from locking `file`. `None` if it is locked now.
    ///
    /// # Errors
    /// Of the system: a file system may have no locks.
    pub fn exclusive(file: impl Into<OwnedFd>) -> io::Result<Option<FileLock>> {
        FileLock::take(file.into(), FlockOperation::NonBlockingLockExclusive)
    }

    /// Keeps others from locking `file` exclusively. `None` if somebody has locked it so.
    ///
    /// # Errors
    /// See [`FileLock::exclusive`].
    pub fn shared(file: impl Into<OwnedFd>) -> io::Result<Option<FileLock>> {
        FileLock::take(file.into(), FlockOperation::NonBlockingLockShared)
    }

    fn take(file: OwnedFd, operation: FlockOperation) -> io::Result<Option<FileLock>> {
        match flock(&file, operation) {
            Ok(()) => Ok(Some(FileLock(file))),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // To close it is not enough: a child that is just being started has the description, too, until its exec.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    /// Check that one lock excludes another, that shared ones bear each other, and that a lock ends with its owner even
    /// while a child has its description.
    #[test]
    fn lock_ends_when_it_is_dropped() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let open = || File::open(file.path()).unwrap();
        let lock = FileLock::exclusive(open()).unwrap().expect("nobody has it");
        let of_child = lock.0.try_clone().unwrap();
        assert!(
            FileLock::exclusive(open()).unwrap().is_none() && FileLock::shared(open()).unwrap().is_none()
        );
        drop(lock);
        let shared = FileLock::shared(open()).unwrap().expect("it has ended");
        assert!(
            FileLock::shared(open()).unwrap().is_some() && FileLock::exclusive(open()).unwrap().is_none()
        );
        drop(shared);
        assert!(FileLock::exclusive(open()).unwrap().is_some());
        drop(of_child);
    }
}
