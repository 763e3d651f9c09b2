//! What clients may take.

use std::time::Duration;

/// Bounds on what clients may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at once.
    pub connections: usize,
    /// Answers that clients are taking: each is in memory until it is taken.
    pub answers: usize,
    /// Threads that work answers out.
    pub threads: usize,
    /// Time for a client to send a request, the first one or the next.
    pub asking: Duration,
    /// Time for it to take the answer.
    pub taking: Duration,
    /// A connection may have several requests, one after the other.
    pub keep_alive: bool,
}

impl Limits {
    /// Most bytes of a request without its body, which nobody reads.
    pub const REQUEST: usize = 16 << 10;
    /// Most headers of a request.
    pub const HEADERS: usize = 64;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 256,
            answers: 32,
            threads: 16,
            asking: Duration::from_secs(10),
            taking: Duration::from_secs(120),
            keep_alive: true,
        }
    }
}
