//! The tables beside the events: processes, threads, modules, stacks and names.

use crate::aggregate::AGGREGATE;
use crate::ids::{FrameId, MarkId, ModuleId, NodeId, ProcessId, StringId, ThreadId};
use crate::numbered::numbered;
use crate::scan::Scan;
use serde::{Deserialize, Serialize};

/// What is known when a recording begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    /// Version of the tool that recorded, e.g. `0.1.0`.
    pub tool_version: String,
    /// The command given to `run`; empty for `record`, and with `--no-cmdline`.
    pub command: Vec<String>,
    /// Wall clock at the start, nanoseconds since the Unix epoch. For display only.
    pub started_unix_ns: u64,
    /// The kernel's boot id: pids and clocks of two captures are comparable only within one boot.
    pub boot_id: String,
    /// The clock that event times come from.
    pub clock: Clock,
    /// Options that change what the events mean, as `name`, `value`.
    pub options: Vec<(String, String)>,
    /// Mean sampling distance in bytes, 0 when every allocation was recorded: see [`crate::Sampling`].
    pub sample_interval: u64,
    /// Where it was recorded, and what the user says of it, as `name`, `value`. Names are OpenTelemetry's for
    /// attributes of resources, such as `host.name`, where it has one.
    pub labels: Vec<(String, String)>,
}

impl Metadata {
    /// In an aggregated capture, which has totals per stack in place of single events: the initial interval between
    /// snapshots, in nanoseconds.
    pub fn aggregate(&self) -> Option<u64> {
        let option = self.options.iter().find(|(name, _)| name == AGGREGATE);
        option.and_then(|(_, value)| value.parse().ok())
    }

    /// True when failed allocation calls were recorded: if the capture then has none, none failed.
    pub fn tells_failed_calls(&self) -> bool {
        self.options.iter().any(|(name, value)| name == FAILED_CALLS && value == "true")
    }

    /// True when the stacks of frees were recorded.
    pub fn has_free_stacks(&self) -> bool {
        self.options.iter().any(|(name, value)| name == FREE_STACKS && value == "true")
    }
}

/// The option in [`Metadata::options`] that is `true` where the stacks of frees were recorded.
pub const FREE_STACKS: &str = "free_stacks";

/// The option in [`Metadata::options`] that is `true` where failed allocation calls were recorded.
pub const FAILED_CALLS: &str = "failed_calls";

/// The clock of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Clock {
    /// The processor's time stamp counter, converted to nanoseconds.
    #[default]
    Tsc,
    /// `CLOCK_MONOTONIC_RAW`, where the time stamp counter is not invariant or not allowed.
    MonotonicRaw,
}

/// A file with code, as it was when it was mapped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Module {
    /// Path as the process saw it; in brackets where there is no file, such as `[vdso]` and `[heap of 1234]`.
    pub path: String,
    /// GNU build id, empty when the file has none.
    pub build_id: Vec<u8>,
    /// Device, inode and modification time (nanoseconds since the Unix epoch); 0 where unknown.
    pub device: u64,
    /// See `device`.
    pub inode: u64,
    /// See `device`.
    pub modified_ns: u64,
}

/// One image of a process. A later record of the same id replaces the earlier one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Pid in the collector's namespace.
    pub pid: u32,
    /// Pid of the parent.
    pub parent_pid: u32,
    /// The image that this one came from: by fork (which inherits its blocks), or by exec.
    pub parent: Option<ProcessId>,
    /// Number of exec calls of this pid before this image; 0 for the one that fork made.
    pub image: u32,
    /// Start time of the process in clock ticks since boot, which tells reused pids apart.
    pub start_ticks: u64,
    /// True when the heap was inherited from `parent` by fork.
    pub forked: bool,
    /// The name by which it was started, without folders: of a link, or else of the executable; `[pid = N]` where there
    /// is none.
    pub name: String,
    /// Path of the executable.
    pub executable: String,
    /// Command line; empty with `--no-cmdline`.
    pub command: Vec<String>,
    /// How it ended, if it ended before the recording did.
    pub end: Option<ProcessEnd>,
    /// True when it ran before its recording began: earlier blocks are not known, and frees of them mean nothing.
    pub attached: bool,
    /// What it runs in, such as `container.id`, and what it says of itself: as in [`Metadata::labels`].
    pub labels: Vec<(String, String)>,
}

/// End of a process image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessEnd {
    /// How.
    pub ended: Ended,
    /// Nanoseconds since the start of the recording.
    pub time: u64,
}

/// How a process image ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// The process is gone, and whoever learned why cannot be asked.
    #[default]
    Unknown,
    /// Exited with this code.
    Exited(i32),
    /// Killed by this signal.
    Signaled(i32),
    /// Replaced by the next image: its blocks were *alive at exec*, not leaked.
    Exec,
    /// Still running when the recording ended.
    Running,
}

/// A thread of a process image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// The image it belongs to.
    pub process: ProcessId,
    /// Thread id in the collector's namespace.
    pub tid: u32,
    /// Name (`comm`), empty where it could not be read. Like the rest of the row, it is replaced by a later record of
    /// the same id.
    pub name: String,
}

/// A moment that the program named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Nanoseconds since the recording began.
    pub time: u64,
    /// The thread that set it; its process follows from [`Thread::process`].
    pub thread: ThreadId,
    /// Whether it is a point, or begins or ends a region.
    pub kind: MarkKind,
    /// Its name, which need not be unique.
    pub name: StringId,
}

/// What a mark stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MarkKind {
    /// A point in time.
    #[default]
    Instant,
    /// A region of this name begins.
    Begin,
    /// A region of this name ends, perhaps in another thread than the one where it began.
    End,
}

impl MarkKind {
    /// Its word in views.
    pub fn name(self) -> &'static str {
        match self {
            MarkKind::Instant => "instant",
            MarkKind::Begin => "begin",
            MarkKind::End => "end",
        }
    }
}

/// A thread as seen by samples, whether an agent records it or not. A later record of the same id replaces the
/// earlier one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Process id in the collector's namespace.
    pub pid: u32,
    /// Thread id in the collector's namespace.
    pub tid: u32,
    /// The last name (`comm`) that the kernel reported; in brackets for a kernel thread.
    pub name: String,
    /// The process image it belongs to: set at the end of a recording, since agents may report an image later than
    /// the kernel does.
    pub process: Option<ProcessId>,
}

/// One step of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Frame {
    /// Code.
    Code {
        /// The file it belongs to, when it is known.
        module: Option<ModuleId>,
        /// Relative to the module (a virtual address of its ELF file), or absolute where there is no module.
        address: u64,
        /// True for the address of an instruction; false for a return address, so look up `address - 1`.
        exact: bool,
    },
    /// Not code, see [`Pseudo`].
    Pseudo(Pseudo),
}

numbered! {
    /// Frames that are not code. An innermost one says which function was called, if not plain `malloc`; an outermost
    /// one says why the stack does not reach the root.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Pseudo: u8 {
        /// `calloc`.
        Calloc = 1,
        /// `realloc`.
        Realloc = 2,
        /// `reallocarray`.
        Reallocarray = 3,
        /// `posix_memalign`.
        PosixMemalign = 4,
        /// `aligned_alloc`.
        AlignedAlloc = 5,
        /// `memalign`.
        Memalign = 6,
        /// `valloc`.
        Valloc = 7,
        /// `pvalloc`.
        Pvalloc = 8,
        /// `operator new`.
        New = 9,
        /// `operator new[]`.
        NewArray = 10,
        /// `operator new` with an alignment.
        NewAligned = 11,
        /// `operator new[]` with an alignment.
        NewArrayAligned = 12,
        /// `memprof_report_alloc`, which reports a block in one of the program's own pools.
        ReportAlloc = 13,
        /// `memprof_report_realloc`.
        ReportRealloc = 14,
        /// `mmap`.
        Mmap = 20,
        /// `mremap`.
        Mremap = 21,
        /// `brk` or `sbrk`.
        Brk = 22,
        /// The outer frames are beyond the depth limit.
        Truncated = 40,
        /// The outermost frame shown has no unwind information.
        NoUnwindInfo = 41,
        /// The unwind broke off: unreadable memory, or a stack pointer that did not rise.
        Broken = 42,
        /// The table of stacks was full.
        StackTableFull = 43,
        /// The agent could not take a stack at this moment.
        NotTaken = 44,
    }
}

impl Pseudo {
    /// Text shown to people.
    pub fn label(self) -> &'static str {
        match self {
            Pseudo::Calloc => "calloc",
            Pseudo::Realloc => "realloc",
            Pseudo::Reallocarray => "reallocarray",
            Pseudo::PosixMemalign => "posix_memalign",
            Pseudo::AlignedAlloc => "aligned_alloc",
            Pseudo::Memalign => "memalign",
            Pseudo::Valloc => "valloc",
            Pseudo::Pvalloc => "pvalloc",
            Pseudo::New => "operator new",
            Pseudo::NewArray => "operator new[]",
            Pseudo::NewAligned => "operator new (aligned)",
            Pseudo::NewArrayAligned => "operator new[] (aligned)",
            Pseudo::ReportAlloc => "memprof_report_alloc",
            Pseudo::ReportRealloc => "memprof_report_realloc",
            Pseudo::Mmap => "mmap",
            Pseudo::Mremap => "mremap",
            Pseudo::Brk => "brk",
            Pseudo::Truncated => "[truncated stack]",
            Pseudo::NoUnwindInfo => "[incomplete: no unwind information]",
            Pseudo::Broken => "[incomplete: broken stack]",
            Pseudo::StackTableFull => "[stack table full]",
            Pseudo::NotTaken => "[incomplete: not taken]",
        }
    }

    /// True for the called functions, which are innermost and hidden by views.
    pub fn is_call(self) -> bool {
        (self as u8) < 40
    }
}

/// A frame and the stack that called it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// The caller's stack; smaller than the node's own id.
    pub parent: NodeId,
    /// What was executing.
    pub frame: FrameId,
}

/// The names of one code frame, innermost inlined function first, last the function that owns the code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbolized {
    /// The frame these names belong to.
    pub frame: FrameId,
    /// Empty when there is no name.
    pub names: Vec<SourceFrame>,
    /// Why there is no name, as text for the user, when `names` is empty or has no function.
    pub reason: Option<StringId>,
    /// Linkage name of the function that owns the code, such as `_ZN4Pool4growEm`, where it differs from the readable
    /// name; `main` for a function without a name that is known to be that.
    pub linkage: Option<StringId>,
    /// Where the function that owns the code begins, as an address of its file, if it has no name but unwind tables
    /// tell.
    pub start: Option<u64>,
}

/// One function at one line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFrame {
    /// Demangled function name.
    pub function: Option<StringId>,
    /// Source file as the compiler recorded it.
    pub file: Option<StringId>,
    /// Line, from 1.
    pub line: Option<u32>,
}

/// What is known when a recording ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// From the start of the recording to its end.
    pub duration_ns: u64,
    /// Events that were not recorded, by reason.
    pub lost: Vec<Lost>,
    /// What the recording cost.
    pub overhead: Overhead,
    /// Processes that were still running when the recording ended, as `pid name`.
    pub unrecorded: Vec<String>,
    /// Remarks for the user, one sentence each.
    pub remarks: Vec<String>,
    /// The collector's work.
    pub effort: CollectorCost,
    /// How the processors were sampled.
    pub cpu: CpuSummary,
    /// How page faults were recorded.
    pub faults: FaultSummary,
}

/// Events lost for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// `ring_full`, `nested`, `no_ring`, `stack_table_full` …
    pub reason: String,
    /// How many events.
    pub events: u64,
    /// What the user can do about it.
    pub advice: String,
}

/// Cost of the recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overhead {
    /// CPU time spent in the hooks of all recorded threads, estimated by sampling, nanoseconds.
    pub agent_cpu_ns: u64,
    /// CPU time of the collector itself.
    pub collector_cpu_ns: u64,
    /// Time that recorded threads waited for room in their rings, nanoseconds.
    pub wait_ns: u64,
    /// Peak resident memory of the collector, bytes.
    pub collector_peak_rss: u64,
    /// Bytes of shared memory that the recorded processes used.
    pub shared_memory: u64,
    /// Allocation calls that the agent itself made through its own hooks; 0 unless the agent has a defect.
    pub agent_allocations: u64,
}

/// Work of the collector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollectorCost {
    /// CPU time of the thread that drains the rings, nanoseconds.
    pub drain_cpu_ns: u64,
    /// CPU time of the thread that writes the capture, excluding symbolization, nanoseconds.
    pub writer_cpu_ns: u64,
    /// Wake-ups of the thread that drains the rings.
    pub wake_ups: u64,
    /// Time during which that thread left the rings alone because the writer had fallen behind, nanoseconds.
    pub held_ns: u64,
}

/// How the processors were sampled, and what that missed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuSummary {
    /// The event that samples were taken of: `cycles` or `cpu-clock`. Empty when nothing was sampled.
    pub event: String,
    /// Requested samples per second of a processor's work.
    pub frequency: u32,
    /// All processes of the system were sampled, not only those of the target.
    pub is_system_wide: bool,
    /// The kernel's work was sampled, too.
    pub has_kernel: bool,
    /// Samples in the capture.
    pub samples: u64,
    /// Samples that the kernel dropped for want of room.
    pub lost: u64,
    /// Times that the kernel throttled sampling because it took too long.
    pub throttled: u64,
    /// Records that came too late to be sorted by time.
    pub late: u64,
    /// Samples whose stack goes on beyond the part that was copied.
    pub truncated: u64,
    /// Samples whose stack ends before the root for another reason.
    pub incomplete: u64,
    /// Nanoseconds by which the times of samples and of events may disagree.
    pub clock_error_ns: u64,
    /// CPU time spent on processing samples, nanoseconds.
    pub cost_ns: u64,
    /// Why there are no samples, or fewer, and what to do about it; empty when nothing is wrong.
    pub refused: String,
}

/// How page faults were recorded, and what that missed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultSummary {
    /// Page faults were requested, and the kernel permitted it.
    pub is_recorded: bool,
    /// Faults of kernel code on behalf of a program, as in `read`, were recorded, too.
    pub has_kernel: bool,
    /// Faults in the capture.
    pub faults: u64,
    /// Faults that the kernel dropped for want of room: their pages are not known.
    pub lost: u64,
    /// Faults in the capture whose stack the kernel had no room for.
    pub without_stack: u64,
    /// The kernel's setting for huge pages: `always`, `madvise` or `never`; empty where it is not known.
    pub huge_pages: String,
    /// Size of a page in bytes.
    pub page_bytes: u64,
    /// Size of a huge page in bytes; 0 where there are none.
    pub huge_page_bytes: u64,
    /// Why there are no faults, or fewer, and what to do about it; empty when nothing is wrong.
    pub refused: String,
}

/// All tables of a capture, as a reader rebuilds them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    /// From the first chunk.
    pub metadata: Metadata,
    /// Names.
    pub strings: Vec<String>,
    /// Files with code.
    pub modules: Vec<Module>,
    /// Process images.
    pub processes: Vec<Process>,
    /// Threads.
    pub threads: Vec<Thread>,
    /// Sampled threads.
    pub tasks: Vec<Task>,
    /// Code addresses and pseudo frames.
    pub frames: Vec<Frame>,
    /// Stacks; index 0 is [`NodeId::ROOT`], a placeholder whose contents mean nothing.
    pub nodes: Vec<Node>,
    /// Names by frame, `None` where none were stored.
    pub symbols: Vec<Option<Symbolized>>,
    /// Moments that programs named, in merged order.
    pub marks: Vec<Mark>,
    /// Scans of memory for pointers, ordered by time.
    pub scans: Vec<Scan>,
    /// From the last chunk; `None` when the file was cut off or is still being written.
    pub summary: Option<Summary>,
}

impl Tables {
    /// A stored string, or `""` for an id outside the table.
    pub fn string(&self, id: StringId) -> &str {
        self.strings.get(id.index()).map_or("", String::as_str)
    }

    /// A mark's row.
    pub fn mark(&self, id: MarkId) -> Option<&Mark> {
        self.marks.get(id.index())
    }

    /// The process of a thread, when both are known.
    pub fn process_of(&self, thread: ThreadId) -> Option<ProcessId> {
        self.threads.get(thread.index()).map(|thread| thread.process)
    }

    /// The nodes of a stack from the innermost frame to the outermost.
    pub fn stack(&self, node: NodeId) -> impl Iterator<Item = (NodeId, Node)> + '_ {
        let mut next = node;
        std::iter::from_fn(move || {
            if next == NodeId::ROOT {
                return None;
            }
            let id = next;
            let node = *self.nodes.get(id.index())?;
            // A parent that does not precede its child would make an endless loop.
            next = if node.parent < id { node.parent } else { NodeId::ROOT };
            Some((id, node))
        })
    }

    /// The names of a frame.
    pub fn symbol(&self, frame: FrameId) -> Option<&Symbolized> {
        self.symbols.get(frame.index()).and_then(Option::as_ref)
    }
}
