//! A ring of words from one producer to one consumer.
//!
//! Positions count words since the ring was created and never wrap (2⁶⁴ words are 4,000 years at full speed); the
//! slot of a position is given by its low bits. A record may cross the end of the memory word by word, so neither a
//! double mapping nor padding records are needed, and any page size will do.
//!
//! ```text
//!            tail                     head (published)     position (producer's own)
//!             │ committed, not yet read │ being written      │ free
//!   ──────────┴────────────────────────┴────────────────────┴──────────────────────►
//! ```
//!
//! Example with 8 slots: head = 13, tail = 9: slots 1, 2, 3, 4 hold words; four are free. A record of two words
//! goes to slots 5 and 6, then `head = 15` is stored with Release: the consumer sees both words or neither.

mod consumer;
mod producer;

/// How often per lap a producer looks at the tail, and checks whether the collector must be woken.
const LOOKS: usize = 8;

/// Number of words from which a ring calls for the collector: with the distance between looks, about a third is
/// filled then.
fn mark(length: usize) -> usize {
    length / 4
}

pub(crate) use crate::primitive::AtomicU64 as Word;
pub use consumer::Consumer;
pub use producer::{Producer, Reservation};

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, not(loom)))]
mod tests;
