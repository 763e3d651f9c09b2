//! Whether a file can be mapped as code, asked of the kernel itself.

use super::Reason;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::fs::File;
use std::io;

/// Bytes that are mapped for the trial.
const LENGTH: usize = 1;

/// Maps the file's first page as code and unmaps it. This sees what mount flags do not show: policies of `SELinux` and
/// the like, and file systems that do not map at all.
pub(super) fn check(file: &File) -> Result<(), Reason> {
    // SAFETY: a new mapping at an address of the kernel's choice, which nothing reads and which is gone below.
    let mapping = unsafe {
        mmap(std::ptr::null_mut(), LENGTH, ProtFlags::READ | ProtFlags::EXEC, MapFlags::PRIVATE, file, 0)
    };
    let address = mapping.map_err(|error| match error {
        rustix::io::Errno::PERM | rustix::io::Errno::ACCESS => Reason::Noexec,
        other => Reason::from(io::Error::from(other)),
    })?;
    // SAFETY: exactly the mapping made above, to which no reference exists.
    unsafe { munmap(address, LENGTH) }.map_err(|error| Reason::from(io::Error::from(error)))
}
