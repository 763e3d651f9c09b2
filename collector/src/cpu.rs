//! CPU samples from the kernel's performance events.
//!
//! ```text
//!  kernel ──► one ring for each processor ──► sampler thread ──────────────────────────► writer
//!               samples: registers,             records by time · processes, mappings      nodes, tasks,
//!               a piece of stack, kernel stack  unwinding with files' tables · own ids     samples
//! ```
//!
//! The sampler has a thread of its own and shares nothing with the one that drains the agents' rings. If it falls
//! behind, the kernel counts the records that it had no room for. Nothing here can make a recording fail: what the
//! kernel refuses becomes a sentence ([`refusal::Refusal`]) in the capture.

pub(crate) mod counters;
mod owners;
mod refusal;
mod sample_writer;
mod sampled;
pub(crate) mod without_agent;

#[expect(unsafe_code, reason = "asks the kernel for events")]
mod event;
mod record;
mod registers;
#[expect(unsafe_code, reason = "reads the rings that the kernel fills")]
mod ring;
mod room;
mod time;

mod order;

mod huge;
mod kernel;
mod regions;

mod stacks;
mod tasks;

mod batch;
mod images;
mod nameless;
mod pairs;
mod plan;
mod sampler;
mod state;
mod unsampled;
mod unwind_again;
mod walk;

pub(crate) use batch::{Batch, Samples};
pub use event::{Probe, probe};
pub(crate) use nameless::remark_on_nameless;
pub(crate) use owners::GRACE;
pub(crate) use plan::Plan;
pub(crate) use sample_writer::SampleWriter;
pub(crate) use sampled::Sampled;
pub(crate) use sampler::Sampler;
pub(crate) use stacks::remark_on_cut;
pub use unwind_again::{UnwoundAgain, unwind_again};
