//! Sets the listener up for a recording.

use crate::accept::listener::{Listener, Outlet, Place, Rules};
use crate::base::clock::Clock;
use crate::base::error::Error;
use crate::base::options::{OnFull, Options};
use crate::image::memory::Policy;
use shared_ring::Geometry;
use shared_ring::control::MAX_SAMPLE_INTERVAL;

/// Starts answering agents.
pub(super) fn start(
    options: &Options,
    clock: Clock,
    scan_at_exit: bool,
    outlet: Outlet,
) -> Result<Listener, Error> {
    let place = Place {
        path: options.socket.as_deref(),
        rights: options.rights,
        folder: options.agent_folder.as_deref(),
    };
    Listener::start(place, rules(options, clock, scan_at_exit), outlet)
}

/// The rules by which connecting agents are answered.
fn rules(options: &Options, clock: Clock, scan_at_exit: bool) -> Rules {
    Rules {
        geometry: Geometry::default().with_ring_bytes(options.ring_size),
        policy: Policy {
            block: options.on_full == OnFull::Block,
            max_wait_ms: u32::try_from(options.max_wait.as_millis()).unwrap_or(u32::MAX),
            max_depth: options.max_depth.max(1),
            sample_interval: options.sample_interval.min(MAX_SAMPLE_INTERVAL),
            follow: options.follow,
            tsc: clock.is_tsc(),
            paused: options.paused,
            scan_at_exit,
            free_stacks: options.free_stacks,
            interpreters: options.interpreters,
        },
        only: options.only.clone(),
        skip: options.skip.clone(),
    }
}
