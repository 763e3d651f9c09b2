//! The process' part in a recording: how it connects, joins, and leaves.
//!
//! | file | what it does |
//! |---|---|
//! | `readiness` | whether the agent can work in this process |
//! | `doorbell` | the page through which a dormant process is called |
//! | `answer` | what a resting process does when it is called, and a recorded one when its recording is over |
//! | `connect` | the exchange with a collector: one socket, within a bounded time |
//! | `reservation` | the range of addresses that sessions are mapped into |
//! | `join` | becoming part of a recording, at the beginning and after a fork |
//! | `claim` | getting a slot |
//! | `fork` | what a child does with what it has inherited |
//! | `arrivals` | threads that are entering, and the one that looks at all others before the session is left |
//! | `departure` | leaving, so that the process can be recorded again |
//! | `upcalls` | functions of higher floors that are called from here |

pub(crate) mod answer;
pub(crate) mod arrivals;
mod claim;
#[expect(unsafe_code, reason = "receives descriptors and maps them")]
pub(crate) mod connect;
mod departure;
#[expect(unsafe_code, reason = "maps the page of the doorbell")]
pub(crate) mod doorbell;
pub(crate) mod fork;
pub(crate) mod join;
#[expect(unsafe_code, reason = "asks the dynamic loader")]
pub(crate) mod readiness;
#[expect(unsafe_code, reason = "maps the memory of sessions")]
mod reservation;
#[expect(unsafe_code, reason = "declares functions that the linker binds")]
mod upcalls;
