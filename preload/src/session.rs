//! The process' part in a recording: how it connects, joins, and leaves.

#[expect(unsafe_code, reason = "receives descriptors and maps them")]
pub(crate) mod connect;
pub(crate) mod departure;
#[expect(unsafe_code, reason = "maps the page of the doorbell")]
pub(crate) mod doorbell;
#[expect(unsafe_code, reason = "maps the memory of sessions")]
pub(crate) mod reservation;
