//! Whether a file can be mapped as code: the kernel itself is asked.

use super::Reason;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_void;
use std::fs::File;
use std::io;

/// Bytes mapped for the trial.
const LENGTH: usize = 1;

/// Maps the file's first page as code and unmaps it. This catches what mount flags do not show: policies of `SELinux`
/// and the like, and file systems that cannot map files at all.
pub(super) fn check(file: &File) -> Result<(), Reason> {
    Mapped::new(file).map(drop)
}

/// The first page of a file, mapped as code until it is dropped.
#[derive(Debug)]
pub(super) struct Mapped(*mut c_void);

impl Mapped {
    pub(super) fn new(file: &File) -> Result<Mapped, Reason> {
        // SAFETY: a new mapping at an address the kernel chooses; nothing reads it, and it goes with `Mapped`.
        let mapping = unsafe {
            mmap(std::ptr::null_mut(), LENGTH, ProtFlags::READ | ProtFlags::EXEC, MapFlags::PRIVATE, file, 0)
        };
        mapping.map(Mapped).map_err(|error| match error {
            rustix::io::Errno::PERM | rustix::io::Errno::ACCESS => Reason::Noexec,
            other => Reason::from(io::Error::from(other)),
        })
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made above, with no references into it.
        let unmapped = unsafe { munmap(self.0, LENGTH) };
        debug_assert!(unmapped.is_ok());
    }
}
