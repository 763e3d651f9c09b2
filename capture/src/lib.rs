//! The capture file: self-describing, checksummed, compressed chunks of events, and the tables they refer to.
//! `FORMAT.md` specifies it byte by byte.
//!
//! # Constraints
//!
//! - **A recording ends at any moment.** A file is valid up to its last whole chunk; [`Reader::cut`] says where and
//!   why the rest is missing. Definitions are written before their users.
//! - **A file is hostile.** Every decoder is total: any bytes give an error or a cut, never a panic, a loop or more
//!   memory than 256 MiB and 64 times the file's length. Ids that a reader hands out are in range.
//! - **Files outlive versions.** The major version decides whether a file opens; unknown kinds of chunks and of
//!   events are skipped and counted; records may grow at their end.
//! - **Order is stored, time is rounded.** Events are in merged order; a stored time differs from the measured one by
//!   less than [`TIME_UNIT_NS`].
//! - **Recording must be cheap.** An event takes one or two bytes and some ten nanoseconds to write; reading is many
//!   times faster than a program allocates.
//!
//! This crate knows no process, ring or screen: it is the contract between the recording and the viewing side.
//!
//! ```
//! use capture::{Action, Event, Frame, Metadata, NodeId, Process, Pseudo, Reader, Summary, Thread, Writer};
//!
//! # fn main() -> Result<(), capture::Error> {
//! let mut writer = Writer::new(Vec::new(), &Metadata::default())?;
//! let process = writer.process(Process { pid: 42, ..Process::default() })?;
//! let thread = writer.thread(Thread { process, tid: 42, name: "main".into() })?;
//! let frame = writer.frame(Frame::Pseudo(Pseudo::NotTaken))?;
//! let stack = writer.node(NodeId::ROOT, frame)?;
//! let action = Action::Alloc { address: 0x5000, size: 24, alignment: 0, stack };
//! writer.event(Event { time: 0, thread, action })?;
//! let bytes = writer.finish(&Summary::default())?;
//!
//! let reader = Reader::from_source(bytes)?;
//! assert_eq!(reader.tables().processes[0].pid, 42);
//! assert_eq!(reader.events()?.next().unwrap()?.action, action);
//! # Ok(())
//! # }
//! ```
//!
//! # Files
//!
//! | file | what it has |
//! |---|---|
//! | `model` `event` `counter` `fault` `sample` `stack_copy` `scan` | what a capture says: tables, events, readings, and their columns |
//! | `aggregate` `sampling` | what stands for single events, and what sampled blocks stand for |
//! | `ids` `numbered` `error` | typed indices, enums with numbers, what can go wrong |
//! | `format` `version` `sniff` | fixed parts and limits of the file, its versions, what a file is |
//! | `observer` `blocks` `hash` | what follows the events while they are written; live blocks by address |
//! | `computed` | what an observer has computed, stored beside the events |
//! | `events` | the payload of an event chunk, with the models that make an event a byte or two |
//! | `stacks` `meta` | the payloads of stacks and of the small tables |
//! | `columns` `planes` `varint` | how runs of numbers are written |
//! | `chunk` | payload to bytes and back: compression, checksum |
//! | `writer` `sink` `atomic` `intern` | writing, chunk by chunk; equal things once; files that appear whole or not at all |
//! | `reader` `source` `fetch` `load` `index` `cut` | opening a file that is whole, cut off or growing |
//! | `readings` `ahead` | reading the rest chunk by chunk, and events in another thread before they are wanted |
//! | `fuzzing` | run by the fuzzer and its replay |

pub mod aggregate;
pub mod event;
pub mod ids;
pub mod model;
mod sampling;
mod scan;

mod error;
mod format;
mod sniff;
mod version;

mod blocks;
mod columns;
mod counter;
mod events;
mod fault;
mod hash;
mod meta;
mod numbered;
mod planes;
mod sample;
mod stack_copy;
mod stacks;
mod varint;

mod atomic;
mod chunk;
mod index;
mod intern;
mod observer;
mod sink;
mod writer;

mod ahead;
mod computed;
mod cut;
mod fetch;
mod load;
mod reader;
mod readings;
mod source;

#[doc(hidden)]
pub mod fuzzing;

#[cfg(test)]
mod document;

pub use aggregate::{FigureKind, SumKind};
pub use atomic::AtomicFile;
pub use blocks::{BlockSlot, BlockTable, Vacancy};
pub use chunk::Chunk;
pub use counter::{Counter, CounterKind};
pub use cut::{Cut, CutReason};
pub use error::{Error, WRITE};
pub use event::{Action, Event, ReallocOutcome};
pub use fault::{Fault, Region};
pub use format::{ChunkKind, Header, TIME_UNIT_NS};
pub use hash::Seed;
pub use ids::{
    BlockNumber, FrameId, MarkId, ModuleId, NodeId, ProcessId, ScanId, StringId, TaskId, ThreadId,
};
pub use model::{
    Clock, CollectorCost, CpuSummary, Ended, FAILED_CALLS, FREE_STACKS, FaultSummary, Frame, Lost, Mark,
    MarkKind, Metadata, Module, Node, Overhead, Process, ProcessEnd, Pseudo, SourceFrame, Summary,
    Symbolized, Tables, Task, Thread,
};
pub use observer::{AHEAD, LiveBlocks, Observer};
pub use reader::{Cursor, Events, Reader};
pub use sample::Sample;
pub use sampling::{Sampling, Weight};
pub use scan::{Area, AreaKind, Object, Pointer, Scan};
pub use sink::Sink;
pub use sniff::{SNIFF_LENGTH, Sniff, sniff};
pub use source::{EndedFile, ReadAt};
pub use stack_copy::{MappedCode, StackCopy};
pub use version::{MAGIC, VERSION, Version};
pub use writer::{Create, Writer};
