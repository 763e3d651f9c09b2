//! Refuses agents.

use rustix::fd::OwnedFd;
use rustix::net::SendFlags;
use shared_ring::Geometry;
use shared_ring::PROTOCOL_VERSION;
use shared_ring::handshake::{Reply, Verdict};

/// Tells an agent that it is not recorded.
pub(crate) fn refuse(agent: &OwnedFd, verdict: Verdict) -> std::io::Result<()> {
    let reply = Reply { version: PROTOCOL_VERSION, verdict, geometry: Geometry::default(), slot: 0 };
    rustix::net::send(agent, &reply.to_bytes(), SendFlags::NOSIGNAL)?;
    Ok(())
}
