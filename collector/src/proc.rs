//! What `/proc` says about processes, and which process a pid means.

pub(crate) mod family;
pub(crate) mod handles;
#[expect(unsafe_code, reason = "maps a file to see how the kernel lists it")]
pub(crate) mod mapped_file;
#[expect(unsafe_code, reason = "asks the kernel for the number of a process")]
pub(crate) mod namespace;
pub(crate) mod out_of_memory;
pub(crate) mod pace;
pub(crate) mod pid_map;
pub(crate) mod preloaded;
pub(crate) mod process;
pub(crate) mod subjects;
pub(crate) mod vdso;
#[expect(unsafe_code, reason = "ioctl")]
pub(crate) mod wait_status;
