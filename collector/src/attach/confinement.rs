//! What a process's system call filters (seccomp) say about the calls its agent would make.
//!
//! Services have filters that were written without the agent in mind (`SystemCallFilter=` of systemd) and allow only
//! what the service needs. Calling such a process might kill it, and a profiler must kill nothing. So its filters are
//! checked first where the kernel shows them: to root, through `ptrace`, which stops the process's first thread for a
//! moment. Filters that cannot be read are assumed harmless, as those of containers are.

use crate::base::log::debug;
use crate::ptrace::filters::filters;
use shared_ring::bpf::Instruction;
use shared_ring::system_calls::{Answer, CALLS};

/// Calls that a process may not make but would have to when recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Confinement {
    pub(super) calls: Vec<&'static str>,
    /// True if the process would be killed; otherwise it would not be recorded.
    pub(super) is_deadly: bool,
}

impl Confinement {
    /// The confinement of a process; `None` if nothing is known to be in the way.
    pub(super) fn of(pid: u32) -> Option<Confinement> {
        if !has_filters(pid) {
            return None;
        }
        match filters(pid) {
            Ok(filters) => {
                let program = |filter: Vec<_>| filter.into_iter().map(Instruction::from_bytes).collect();
                Confinement::by(&filters.into_iter().map(program).collect::<Vec<_>>())
            }
            Err(error) => {
                debug!("filters of process {pid} cannot be seen: {error}");
                None
            }
        }
    }

    /// The confinement by these filters, the most severe of which decides on each call.
    fn by(filters: &[Vec<Instruction>]) -> Option<Confinement> {
        let with = |answer: Answer, only_essential: bool| {
            let calls = CALLS.iter().filter(|call| call.is_essential || !only_essential);
            let says = |filter: &Vec<Instruction>, call| Answer::of(filter, call) == answer;
            let calls = calls.filter(|call| filters.iter().any(|filter| says(filter, &call.call)));
            let mut names: Vec<_> = calls.map(|call| call.name).collect();
            names.dedup();
            names
        };
        let deadly = with(Answer::Deadly, false);
        let is_deadly = !deadly.is_empty();
        let calls = if is_deadly { deadly } else { with(Answer::Refused, true) };
        (!calls.is_empty()).then_some(Confinement { calls, is_deadly })
    }
}

fn has_filters(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().any(|line| line.strip_prefix("Seccomp:").is_some_and(|mode| mode.trim() == "2"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A filter that gives `answer` for one call and allows all others.
    fn filter(call: i64, answer: u32) -> Vec<Instruction> {
        let words = [(0x20, 0, 0), (0x15, 1, call as u32), (0x06, 0, answer), (0x06, 0, 0x7fff_0000)];
        let bytes = words.map(|(code, if_false, k): (u16, u8, u32)| {
            let (code, k) = (code.to_ne_bytes(), k.to_ne_bytes());
            [code[0], code[1], 0, if_false, k[0], k[1], k[2], k[3]]
        });
        bytes.map(Instruction::from_bytes).to_vec()
    }

    /// Check that filters count as obstacles if one of them kills, or if a call that recording cannot do without
    /// fails.
    #[test]
    fn the_most_severe_filter_decides() {
        let (kill, fail) = (libc::SECCOMP_RET_KILL_PROCESS, libc::SECCOMP_RET_ERRNO | 1);
        let in_the_way = |filters: &[Vec<Instruction>]| {
            Confinement::by(filters).map(|confinement| (confinement.calls, confinement.is_deadly))
        };
        assert_eq!(in_the_way(&[]), None);
        assert_eq!(in_the_way(&[filter(libc::SYS_bind, kill)]), None);
        assert_eq!(in_the_way(&[filter(libc::SYS_tkill, fail)]), None);
        assert_eq!(in_the_way(&[filter(libc::SYS_fcntl, fail)]), Some((vec!["fcntl"], false)));
        let both = [filter(libc::SYS_fcntl, fail), filter(libc::SYS_tkill, kill)];
        assert_eq!(in_the_way(&both), Some((vec!["tkill"], true)));
    }
}
