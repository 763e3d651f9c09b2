//! Shared memory between the agent and the collector: rings of records, stacks, code addresses, modules.
//!
//! # Overview
//!
//! Two memfds, created and sealed by the collector, one pair for each executed image of a process:
//!
//! ```text
//!  segment (agent and collector write)                        control (only the collector writes)
//! ┌────────┬─────────┬───────────┬────────────┬───────┬──────┐ ┌────────┬───────────────────────┐
//! │ header │ process │ ring      │ pc table   │module │rings │ │ header │ tail of ring 0, 1, …  │
//! │counters│ slots   │ directory │ stack table│log    │0 1 … │ │ state  │ one cache line each   │
//! │        │         │ (heads)   │ + indices  │       │      │ │ policy │                       │
//! └────────┴─────────┴───────────┴────────────┴───────┴──────┘ └────────┴───────────────────────┘
//! ```
//!
//! # Files
//!
//! | file | what it has |
//! |---|---|
//! | `geometry` | sizes and offsets of both memories |
//! | `segment` `control` | typed access to them: what both sides write, and what only the collector does |
//! | `process_slot` | one entry for each process that writes into a segment |
//! | `record` `decode` | words of a record, made and read; `record/name` is for those with a name |
//! | `ring` | words from one producer to one consumer |
//! | `wakeup` | how agents wake a sleeping collector |
//! | `intern` `pc_table` `stack_table` | tables that many threads fill without locks: of code addresses, and of stacks |
//! | `module_log` | descriptions of modules, and of functions that an interpreter runs |
//! | `pseudo` | frames that are not code |
//! | `handshake` `key` `version` `injected` | the messages at the beginning, who may join, the version of all this; the answer of an agent that was injected |
//! | `doorbell` | the page through which dormant agents are called |
//! | `system_calls` `bpf` | system calls that agents make, and what a seccomp filter says to them |
//! | `error` | impossible things that the other side did |
//! | `primitive` | the atomics, or loom's |
//!
//! # Trust
//!
//! Each side assumes that the other may be rogue or dying. The collector copies a word once, then checks and uses
//! only the copy. If a head is impossible, a parent does not come before its child, or a length exceeds the end, the
//! ring or table is given up and the loss counted. The agent clamps what it reads from the control memory; nothing
//! there can make it write outside of its own segment.
//!
//! # Every atomic and its partner
//!
//! | word | written by | read by | why |
//! |---|---|---|---|
//! | ring `head` | producer, Release | consumer, Acquire | the record's words, and the nodes and pcs it names, are visible before it is |
//! | ring `tail` | consumer, Release | producer, Acquire | the words were copied out before they are overwritten |
//! | directory `owner` | claimant CAS Acquire; owner, or the collector when its process is gone, Release | next claimant | the last owner's head is visible to the next |
//! | directory `waiting`, `tail` | `SeqCst` fences | `SeqCst` fences | either the producer sees the room, or the consumer sees that it waits |
//! | `rings_used`, `slots_used` | claimants, maximum, `AcqRel` | collector, Acquire | what lies below them was claimed, so nothing else need be looked at. Agents read `rings_used` Relaxed: a hint where to search |
//! | index slot | inserter CAS Release | any, Acquire | the entry's words are visible before its id |
//! | `level`, `next` | CAS or add, `AcqRel` | any, Acquire | a level is in use only after it was chosen; ids are unique |
//! | slot `state` | child CAS `AcqRel` | collector, Acquire | the slot's words are visible before its pid |
//! | slot `state`, to free it | collector, Release | next child's CAS | the counters are zero for the next owner |
//! | slot `parting` | process CAS Release, collector CAS Acquire, then Release | the other side, Acquire | the collector sees what the process wrote before it waits; the process goes on after it was looked at |
//! | module `length` | agent Release | collector, Acquire | the description is complete before it has a length |
//! | control `recording`, `owner` | collector / kernel | agents, Relaxed | a flag, on which no other read depends |
//! | counters of slots, `refused` | agents, Relaxed | collector, Relaxed | numbers, on which nothing depends |
//! | control `asleep`, heads | `SeqCst` fences | `SeqCst` fences | either the producer sees that the collector sleeps, or the collector sees the filled ring, see [`wakeup`] |
//! | doorbell `generation` | attacher, Release | dormant agents, Relaxed, then Acquire | whoever sees a ring sees whom it is for |
//! | segment `wakeups` | agents, Release | collector, Acquire; then a futex | a collector that has counted a call sees what it was made for |
//!
//! Words of a ring are atomics with Relaxed ordering: they cost a plain store, and a hostile writer causes no data
//! race.
//!
//! The crate uses no file, no socket and no system call. It works on memory that it is given, so the same code runs
//! under loom. It is `no_std` and never allocates.

#![cfg_attr(not(any(test, loom)), no_std)]

mod primitive;

#[cfg(not(loom))]
pub mod bpf;
pub mod decode;
#[cfg(not(loom))]
pub mod doorbell;
mod error;
pub mod geometry;
pub mod handshake;
pub mod injected;
pub mod intern;
pub mod key;
pub mod pc_table;
pub mod pseudo;
pub mod record;
pub mod ring;
pub mod stack_table;
#[cfg(not(loom))]
pub mod system_calls;
mod version;
pub mod wakeup;

#[cfg(not(loom))]
#[expect(unsafe_code, reason = "turns the mapped memory into typed references")]
pub mod control;
#[cfg(not(loom))]
pub mod module_log;
#[cfg(not(loom))]
pub mod process_slot;
#[cfg(not(loom))]
#[expect(unsafe_code, reason = "turns the mapped memory into typed references")]
pub mod segment;

#[cfg(not(loom))]
pub use control::Control;
pub use error::Corrupt;
pub use geometry::Geometry;
#[cfg(not(loom))]
pub use segment::Segment;

pub use version::PROTOCOL_VERSION;
