//! What the sampler sends to the writer. Ids are the sampler's own, dense, and defined before they are used.

use super::registers::Start;
use crate::remote_unwind::files::KnownFile;
use capture::{Pseudo, Region};
use std::sync::mpsc::Receiver;
use symbols::Reason;

/// What happened since the last batch.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// New files with code, by id.
    pub(super) modules: Vec<KnownFile>,
    /// New kernel frames, by id.
    pub(super) kernel: Vec<KernelFrame>,
    /// New stacks, by id. Id 0 is the empty stack and never appears here.
    pub(super) nodes: Vec<(u32, Step)>,
    /// New and changed images.
    pub(super) images: Vec<(u32, Image)>,
    /// Images that no further record can refer to, by id.
    pub(super) gone: Vec<u32>,
    /// New and changed threads.
    pub(super) tasks: Vec<(u32, Task)>,
    /// Names that threads had when they ended, or took after they were sampled.
    pub(super) names: Vec<ThreadName>,
    /// In order of time.
    pub(super) samples: Vec<Sample>,
    /// What samples were unwound from, in their order, if that is to be kept.
    pub(super) copies: Vec<Copied>,
    /// In order of time.
    pub(super) faults: Vec<Fault>,
}

impl Batch {
    pub(crate) fn is_empty(&self) -> bool {
        let has_readings = !(self.samples.is_empty() && self.faults.is_empty());
        let has_tasks = !(self.images.is_empty()
            && self.tasks.is_empty()
            && self.names.is_empty()
            && self.gone.is_empty());
        !has_readings && !has_tasks
    }
}

/// One step of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Step {
    /// Code of a process, at an address in its module.
    Code { module: u32, address: u64, exact: bool },
    /// Code of this process that no file holds, at an address in the process.
    Unfiled { pid: u32, address: u64, exact: bool },
    /// Code of the kernel.
    Kernel(u32),
    /// Why the stack ends here.
    End(Pseudo),
}

/// An instruction or return address in the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KernelFrame {
    /// `[kernel]`, or the loadable module in brackets.
    pub(super) module: String,
    /// Offset from the beginning of that module.
    pub(super) address: u64,
    pub(super) exact: bool,
    pub(super) name: Result<String, Reason>,
}

/// What the kernel reports about one image of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Image {
    pub(super) pid: u32,
    /// The image that it came from, by fork or exec.
    pub(super) parent: Option<u32>,
    /// It began with an exec; otherwise with a fork, or before the recording.
    pub(super) is_exec: bool,
    /// It replaced an earlier image, but the record that said when and by what was lost. Its start is the time from
    /// which records are missing.
    pub(super) is_unannounced: bool,
    /// Name of its main thread.
    pub(super) name: String,
    /// Path of its program; empty if unknown.
    pub(super) executable: String,
    /// Ticks at its start; 0 if it ran before the recording.
    pub(super) started: u64,
    /// Ticks at its end.
    pub(super) ended: Option<u64>,
    /// It was sampled.
    pub(super) is_sampled: bool,
    /// The user wants it.
    pub(super) is_chosen: bool,
}

impl Image {
    /// Drops the program's name and path: they turned out to belong to the next image.
    pub(super) fn forget(&mut self) {
        self.name.clear();
        self.executable.clear();
    }

    /// True if it is not known what it runs.
    pub(super) fn is_unknown(&self) -> bool {
        self.name.is_empty() && self.executable.is_empty()
    }

    /// Name of its program, without directories.
    pub(super) fn program(&self) -> String {
        let program = self.executable.rsplit('/').next().unwrap_or("");
        let name = if program.is_empty() { self.name.as_str() } else { program };
        if name.is_empty() { format!("[pid = {}]", self.pid) } else { name.to_owned() }
    }
}

/// A thread of an image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Task {
    pub(super) image: u32,
    pub(super) pid: u32,
    pub(super) tid: u32,
    pub(super) name: String,
}

/// The name of a thread, sampled or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ThreadName {
    pub(super) pid: u32,
    pub(super) tid: u32,
    pub(super) name: String,
}

/// What a processor was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) ticks: u64,
    pub(super) task: u32,
    pub(super) cpu: u32,
    pub(super) node: u32,
    pub(super) weight: u64,
}

/// What a sample was unwound from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Copied {
    /// Position of the sample in its batch.
    pub(super) sample: usize,
    pub(super) start: Start,
    pub(super) is_cut: bool,
    pub(super) stack: Vec<u8>,
    pub(super) code: Vec<MappedCode>,
}

/// Mapped code, with the sampler's own number for its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MappedCode {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) offset: u64,
    pub(super) module: Option<u32>,
}

/// A page fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) ticks: u64,
    pub(super) task: u32,
    pub(super) address: u64,
    /// None if there was no room for the stack.
    pub(super) node: Option<u32>,
    pub(super) region: Region,
}

/// Source of batches; empty if nothing is sampled.
#[derive(Debug)]
pub(crate) struct Samples(Option<Receiver<Batch>>);

impl Samples {
    /// For a recording without samples.
    pub(crate) fn none() -> Samples {
        Samples(None)
    }

    pub(super) fn from(batches: Receiver<Batch>) -> Samples {
        Samples(Some(batches))
    }

    /// Hands every batch that has arrived to `take`, until that fails.
    ///
    /// # Errors
    /// Those of `take`.
    pub(crate) fn try_each<E>(&self, take: impl FnMut(Batch) -> Result<(), E>) -> Result<(), E> {
        self.0.iter().flat_map(Receiver::try_iter).try_for_each(take)
    }
}
