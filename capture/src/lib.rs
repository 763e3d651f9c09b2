//! The capture file: self-describing, checksummed, compressed chunks of events.

pub mod event;
pub mod ids;
pub mod model;

pub use event::{Action, Event, ReallocOutcome};
pub use ids::{FrameId, ModuleId, NodeId, ProcessId, StringId, ThreadId};
pub use model::{
    Clock, Ended, Frame, Lost, Metadata, Module, Node, Overhead, Process, ProcessEnd, Pseudo, SourceFrame,
    Summary, Symbolized, Tables, Thread,
};
