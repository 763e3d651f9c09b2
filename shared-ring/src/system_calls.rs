//! System calls that an agent makes from the moment it is asked to record, and how filters (seccomp) answer them.
//!
//! A filter that was installed before the program began, such as a service's or container's, allows what the program
//! needs. A call that it forbids may kill the process. So before an agent is asked to record, these calls are put to
//! the filters: by the agent to those that its program installs for the next one, by the collector to those of a
//! process that it is about to call.

use crate::bpf::{self, Call, Instruction};

/// A call that the agent makes.
#[derive(Clone, Copy, Debug)]
pub struct AgentCall {
    /// Its name.
    pub name: &'static str,
    /// The call, with arguments typical of the agent's; no filter can see what they point to.
    pub call: Call,
    /// Nothing is recorded if it fails, even harmlessly.
    pub is_essential: bool,
}

/// How a filter answers a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The call is made.
    Allowed,
    /// The call fails.
    Refused,
    /// The call kills the process, or somebody else decides.
    Deadly,
}

impl Answer {
    /// How the filter answers a call. A filter that the kernel would not accept gives the worst answer.
    pub fn of(program: &[Instruction], call: &Call) -> Answer {
        match bpf::run(program, call).map(|answer| answer & libc::SECCOMP_RET_ACTION_FULL) {
            Some(libc::SECCOMP_RET_ALLOW | libc::SECCOMP_RET_LOG) => Answer::Allowed,
            Some(libc::SECCOMP_RET_ERRNO) => Answer::Refused,
            _ => Answer::Deadly,
        }
    }
}

/// All calls: to connect to a collector, to record, and to leave.
pub const CALLS: &[AgentCall] = &[
    needed("socket", libc::SYS_socket, [libc::AF_UNIX as u64, SOCKET, 0, 0, 0, 0]),
    needed("connect", libc::SYS_connect, [FILE, PLACE, 30, 0, 0, 0]),
    needed(
        "getsockopt",
        libc::SYS_getsockopt,
        [FILE, libc::SOL_SOCKET as u64, libc::SO_PEERCRED as u64, PLACE, PLACE, 0],
    ),
    needed("sendto", libc::SYS_sendto, [FILE, PLACE, 64, libc::MSG_NOSIGNAL as u64, 0, 0]),
    needed("ppoll", libc::SYS_ppoll, [PLACE, 1, PLACE, 0, 8, 0]),
    needed("recvmsg", libc::SYS_recvmsg, [FILE, PLACE, libc::MSG_CMSG_CLOEXEC as u64, 0, 0, 0]),
    needed("fcntl", libc::SYS_fcntl, [FILE, libc::F_DUPFD_CLOEXEC as u64, FILE, 0, 0, 0]),
    needed("fcntl", libc::SYS_fcntl, [FILE, libc::F_GET_SEALS as u64, 0, 0, 0, 0]),
    needed("fstat", libc::SYS_fstat, [FILE, PLACE, 0, 0, 0, 0]),
    needed("mmap", libc::SYS_mmap, [0, SIZE, 0, PRIVATE, u64::MAX, 0]),
    needed("mmap", libc::SYS_mmap, [0, SIZE, READ_WRITE, PRIVATE, u64::MAX, 0]),
    needed("mmap", libc::SYS_mmap, [PLACE, SIZE, 0, SHARED, FILE, 0]),
    needed("mprotect", libc::SYS_mprotect, [PLACE, SIZE, READ_WRITE, 0, 0, 0]),
    needed("madvise", libc::SYS_madvise, [PLACE, SIZE, libc::MADV_WIPEONFORK as u64, 0, 0, 0]),
    wanted("madvise", libc::SYS_madvise, [PLACE, SIZE, libc::MADV_DONTDUMP as u64, 0, 0, 0]),
    wanted("madvise", libc::SYS_madvise, [PLACE, SIZE, libc::MADV_RANDOM as u64, 0, 0, 0]),
    wanted("munmap", libc::SYS_munmap, [PLACE, SIZE, 0, 0, 0, 0]),
    wanted("close", libc::SYS_close, [FILE, 0, 0, 0, 0, 0]),
    wanted("prctl", libc::SYS_prctl, [libc::PR_GET_TSC as u64, PLACE, 0, 0, 0, 0]),
    wanted("prctl", libc::SYS_prctl, [libc::PR_GET_SECCOMP as u64, 0, 0, 0, 0, 0]),
    wanted("prlimit64", libc::SYS_prlimit64, [0, libc::RLIMIT_AS as u64, 0, PLACE, 0, 0]),
    wanted("getpid", libc::SYS_getpid, [0; 6]),
    wanted("gettid", libc::SYS_gettid, [0; 6]),
    wanted("geteuid", libc::SYS_geteuid, [0; 6]),
    wanted("rt_sigprocmask", libc::SYS_rt_sigprocmask, [u64::MAX, PLACE, 0, 8, 0, 0]),
    wanted("rt_sigprocmask", libc::SYS_rt_sigprocmask, [libc::SIG_SETMASK as u64, PLACE, PLACE, 8, 0, 0]),
    wanted("futex", libc::SYS_futex, [PLACE, libc::FUTEX_WAIT as u64, 0, PLACE, 0, 0]),
    wanted("futex", libc::SYS_futex, [PLACE, libc::FUTEX_WAKE as u64, 1, 0, 0, 0]),
    wanted("sigaltstack", libc::SYS_sigaltstack, [0, PLACE, 0, 0, 0, 0]),
    wanted("process_vm_readv", libc::SYS_process_vm_readv, [1, PLACE, 1, PLACE, 1, 0]),
    wanted(
        "membarrier",
        libc::SYS_membarrier,
        [libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED as u64, 0, 0, 0, 0, 0],
    ),
    wanted("tgkill", libc::SYS_tgkill, [1, 1, 0, 0, 0, 0]),
    wanted("tkill", libc::SYS_tkill, [1, 0, 0, 0, 0, 0]),
];

/// An address, a size and a descriptor, typical of the agent's.
const PLACE: u64 = 1 << 46;
const SIZE: u64 = 1 << 20;
const FILE: u64 = 3;
const SOCKET: u64 = (libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK) as u64;
const READ_WRITE: u64 = (libc::PROT_READ | libc::PROT_WRITE) as u64;
const PRIVATE: u64 = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE) as u64;
const SHARED: u64 = (libc::MAP_SHARED | libc::MAP_FIXED | libc::MAP_NORESERVE) as u64;

const fn needed(name: &'static str, number: i64, arguments: [u64; 6]) -> AgentCall {
    AgentCall { name, call: Call { number, arguments }, is_essential: true }
}

const fn wanted(name: &'static str, number: i64, arguments: [u64; 6]) -> AgentCall {
    AgentCall { name, call: Call { number, arguments }, is_essential: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(call: i64, answer: u32) -> [Instruction; 4] {
        let instruction = |code: u16, if_true: u8, if_false: u8, k: u32| {
            let mut bytes = [0; 8];
            bytes[..2].copy_from_slice(&code.to_ne_bytes());
            (bytes[2], bytes[3]) = (if_true, if_false);
            bytes[4..].copy_from_slice(&k.to_ne_bytes());
            Instruction::from_bytes(bytes)
        };
        [
            instruction(0x20, 0, 0, 0),
            instruction(0x15, 0, 1, call as u32),
            instruction(0x06, 0, 0, answer),
            instruction(0x06, 0, 0, libc::SECCOMP_RET_ALLOW),
        ]
    }

    /// Check which answers of a filter let the agent make its call.
    #[test]
    fn answers_say_what_becomes_of_the_call() {
        let socket = CALLS.iter().find(|call| call.name == "socket").unwrap();
        let cases = [
            (libc::SECCOMP_RET_ALLOW, Answer::Allowed),
            (libc::SECCOMP_RET_LOG, Answer::Allowed),
            (libc::SECCOMP_RET_ERRNO | 1, Answer::Refused),
            (libc::SECCOMP_RET_KILL_PROCESS, Answer::Deadly),
            (libc::SECCOMP_RET_KILL_THREAD, Answer::Deadly),
            (libc::SECCOMP_RET_TRAP, Answer::Deadly),
            (libc::SECCOMP_RET_TRACE, Answer::Deadly),
            (libc::SECCOMP_RET_USER_NOTIF, Answer::Deadly),
        ];
        for (answer, expected) in cases {
            assert_eq!(Answer::of(&filter(libc::SYS_socket, answer), &socket.call), expected, "{answer:#x}");
            assert_eq!(
                Answer::of(&filter(libc::SYS_bind, answer), &socket.call),
                Answer::Allowed,
                "{answer:#x}"
            );
        }
        assert_eq!(Answer::of(&[], &socket.call), Answer::Deadly);
    }
}
