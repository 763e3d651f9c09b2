//! The listener as a recording needs it.

use super::no_thread;
use crate::clock::Clock;
use crate::image::Image;
use crate::listener::{Listener, Rules};
use crate::liveness::Liveness;
use crate::memory::Policy;
use crate::sleeper::Bell;
use crate::watcher::Watcher;
use crate::{Error, OnFull, Options};
use shared_ring::Geometry;
use shared_ring::control::MAX_SAMPLE_INTERVAL;
use std::sync::{Arc, mpsc};

/// Begins to answer agents. Their images go to the drain thread, which the bell wakes.
pub(super) fn start(
    options: &Options,
    clock: Clock,
    scan_at_exit: bool,
    images: mpsc::Sender<Arc<Image>>,
    bell: Arc<Bell>,
    watcher: Watcher,
) -> Result<Listener, Error> {
    let liveness = Arc::new(Liveness::start().map_err(no_thread)?);
    let (socket, folder) = (options.socket.as_deref(), options.agent_folder.as_deref());
    let rules = rules(options, clock, scan_at_exit);
    Listener::start(socket, folder, rules, liveness, images, bell, watcher)
}

/// What agents that connect are answered by.
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
        },
        only: options.only.clone(),
        skip: options.skip.clone(),
    }
}
