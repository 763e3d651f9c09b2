//! Answers agents: who may connect, and what they are given.

mod door;
pub(crate) mod listener;
pub(crate) mod listening_socket;
mod pending;
pub(crate) mod refuse;
mod socket;
mod strangers;
mod unrecorded;
