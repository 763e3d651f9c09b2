//! What depends on the processor when a thread is stopped and made to call a function: its registers, how the call
//! returns to us, how an interrupted system call goes on afterwards, and how modules are relocated.
//!
//! Each processor has a file with the same items.

#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::*;

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "aarch64")]
pub(crate) use aarch64::*;

/// `EINTR`, as a system call returns it.
const CUT: u64 = (-(libc::EINTR as i64)).cast_unsigned();
/// Calls that end with `EINTR` even if no handler ran, and can be repeated as they are: sends and receives end so on
/// a socket with a timeout, before the first byte; an interrupted connect can be waited for again.
const REPEATED: [i64; 24] = [
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_io_getevents,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_recvmmsg,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_preadv2,
    libc::SYS_io_uring_enter,
    libc::SYS_connect,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_sendfile,
    libc::SYS_splice,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_pwritev2,
];

/// Offset in code of the instructions that signal handlers return to.
pub(crate) fn restorer(code: &[u8]) -> Option<usize> {
    code.windows(way_back::RESTORER.len()).position(|bytes| bytes == way_back::RESTORER)
}
