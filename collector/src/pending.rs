//! Agents that have connected and not said anything yet: nobody waits for them.

use crate::alarm::Alarm;
use crate::listening_socket::ListeningSocket;
use crate::peer::Peer;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use shared_ring::handshake::Verdict;
use std::time::{Duration, Instant};

/// An agent that says nothing for so long is given up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);
/// Agents that may be silent at a time; more wait to be let in.
const SILENT: usize = 256;

/// An agent that has not said anything yet.
pub(crate) struct Pending {
    pub(crate) socket: OwnedFd,
    since: Instant,
}

impl Pending {
    /// Lets an agent in, unless it is somebody else's.
    pub(crate) fn new(socket: OwnedFd) -> std::io::Result<Option<Pending>> {
        if !rustix::process::geteuid().is_root() && !Peer::of(&socket)?.is_trusted() {
            return crate::listener::refuse(&socket, Verdict::NotChosen).map(|()| None);
        }
        Ok(Some(Pending { socket, since: Instant::now() }))
    }

    /// True while there is hope that it speaks.
    pub(crate) fn is_hopeful(&self) -> bool {
        self.since.elapsed() < PATIENCE
    }
}

/// What there is to do.
pub(crate) struct Ready {
    pub(crate) is_over: bool,
    /// An agent wants to be let in, and may.
    pub(crate) has_new: bool,
    /// For each silent agent, whether it has spoken.
    pub(crate) agents: Vec<bool>,
}

/// Waits until there is something to do, the patience with somebody is at its end, or new agents may be let in again.
pub(crate) fn ready(listening: &ListeningSocket, over: &Alarm, pending: &[Pending]) -> Ready {
    // Agents became silent one after the other.
    let patience = pending.first().map(|agent| PATIENCE.saturating_sub(agent.since.elapsed()));
    let wait = patience.into_iter().chain(listening.rest()).min();
    let wait = wait
        .map(|rest| Timespec { tv_sec: rest.as_secs().cast_signed(), tv_nsec: rest.subsec_nanos().into() });
    let new = if pending.len() < SILENT { listening.wanted() } else { PollFlags::empty() };
    let agents = pending.iter().map(|agent| PollFd::new(&agent.socket, PollFlags::IN));
    let mut all: Vec<PollFd<'_>> = [PollFd::new(over, PollFlags::IN), PollFd::new(listening, new)].into();
    all.extend(agents);
    // An interrupted wait is one after which nobody has spoken.
    let _ = poll(&mut all, wait.as_ref());
    let mut spoken = all.iter().map(|descriptor| !descriptor.revents().is_empty());
    Ready {
        is_over: spoken.next().unwrap_or(false),
        has_new: spoken.next().unwrap_or(false),
        agents: spoken.collect(),
    }
}
