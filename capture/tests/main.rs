//! The capture file from outside: written with the public writer or by hand, read with the public reader.

mod fixture;
mod hand;

mod compat;
mod concurrent;
mod creation;
mod follow;
mod forward;
mod fuzz_replay;

mod golden;
mod hostile;
mod round_trip;
mod sharing;
mod torn;
