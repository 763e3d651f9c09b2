//! The process' part in a recording: how it connects, joins, and leaves.

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
