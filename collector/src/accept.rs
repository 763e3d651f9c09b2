//! Answers agents: who may connect, and what they are given.

mod admission;
pub(crate) mod listener;
pub(crate) mod listening_socket;
pub(crate) mod refuse;
mod rejected;
mod socket;
mod unauthenticated;
mod unrecorded;
