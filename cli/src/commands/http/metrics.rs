//! The metrics of recordings that go on.

use super::families::{Families, Kind, Meaning};
use crate::commands::labels::{self, Labels};
use crate::commands::live::{Heaps, Memory};
use analysis::{Amount, Profile, meaningful};
use capture::{CounterKind, Process, ProcessId};
use collector::LiveHeap;
use engine::Loaded;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Most processes that have series of their own, those that hold most.
const PROCESSES: usize = 256;
/// Functions of a process that have series: those that hold most.
const FUNCTIONS: usize = 10;

/// Our own labels, which others cannot have.
const OURS: &[&str] = &["pid", "comm", "function", "event"];

const LIVE_BYTES: Meaning =
    ("memprof_live_bytes", Kind::Gauge, "Bytes in blocks that are allocated and not freed.");
const LIVE_BLOCKS: Meaning = ("memprof_live_blocks", Kind::Gauge, "Blocks that are allocated and not freed.");
const ALLOCATED_BYTES: Meaning =
    ("memprof_allocated_bytes", Kind::Counter, "Bytes allocated since the recording began.");
const ALLOCATIONS: Meaning =
    ("memprof_allocations", Kind::Counter, "Blocks allocated since the recording began.");
const FREED_BYTES: Meaning = ("memprof_freed_bytes", Kind::Counter, "Of the bytes allocated, those freed.");
const FREES: Meaning = ("memprof_frees", Kind::Counter, "Of the blocks allocated, those freed.");
const LOST: Meaning =
    ("memprof_lost_events", Kind::Counter, "Allocations and frees of the process that were not recorded.");
const FUNCTION_BYTES: Meaning = (
    "memprof_function_live_bytes",
    Kind::Gauge,
    "Live bytes of the functions that hold most, by allocating function.",
);
const FUNCTION_BLOCKS: Meaning = (
    "memprof_function_live_blocks",
    Kind::Gauge,
    "Live blocks of the functions that hold most, by allocating function.",
);
const RSS: Meaning = ("memprof_resident_bytes", Kind::Gauge, "Resident memory of the process.");
const PSS: Meaning =
    ("memprof_proportional_bytes", Kind::Gauge, "Resident memory, each shared page divided among its users.");
const SWAP: Meaning = ("memprof_swapped_bytes", Kind::Gauge, "Memory of the process in swap.");
const CPU: Meaning = ("memprof_process_cpu_seconds", Kind::Counter, "CPU time of the process.");
const CGROUP_BYTES: Meaning =
    ("memprof_cgroup_memory_bytes", Kind::Gauge, "Memory of the process' control group.");
const CGROUP_RECLAIMABLE: Meaning = (
    "memprof_cgroup_memory_reclaimable_bytes",
    Kind::Gauge,
    "Of that, what the kernel takes back before it ends a process, such as cached files.",
);
const CGROUP_LIMIT: Meaning = (
    "memprof_cgroup_memory_limit_bytes",
    Kind::Gauge,
    "What the control group may use; absent without a limit.",
);
const CGROUP_EVENTS: Meaning =
    ("memprof_cgroup_memory_events", Kind::Counter, "How often the control group reached a limit, by event.");
const RECORDED: Meaning = ("memprof_recorded_processes", Kind::Gauge, "Processes that are recorded.");
const ALL_LOST: Meaning = (
    "memprof_recordings_lost_events",
    Kind::Counter,
    "Events lost in processes of the present recordings that have ended.",
);
const COLLECTOR_CPU: Meaning = ("memprof_collector_cpu_seconds", Kind::Counter, "CPU time of the collector.");
const COLLECTOR_RSS: Meaning =
    ("memprof_collector_resident_bytes", Kind::Gauge, "Resident memory of the collector.");
const AGENT_CPU: Meaning = (
    "memprof_agent_cpu_seconds",
    Kind::Counter,
    "CPU time in the agent, estimated, in processes of the present recordings that have ended.",
);

/// What there is to scrape now.
pub(super) fn collect(heaps: &Heaps, chosen: &[(String, String)]) -> Families {
    let mut families = Families::default();
    let all = heaps.all();
    let (mut lost, mut agent, mut cpu, mut rss) = (0, 0, 0, None);
    let recorded: usize = all.iter().map(|(_, heap)| heap.processes.len()).sum();
    for (path, mut heap) in all {
        lost += heap.lost;
        agent += heap.overhead.agent_cpu_ns;
        cpu = heap.overhead.collector_cpu_ns.max(cpu);
        rss = heap.counters.get(&(None, CounterKind::CollectorRss)).copied().or(rss);
        let processes = largest(&heap).into_iter().map(|(id, process)| {
            let labels = labels_of(&process, chosen);
            (id, process.pid, labels)
        });
        let processes: Vec<_> = processes.collect();
        for (id, pid, labels) in &processes {
            add_process(&mut families, &heap, (*id, *pid), labels);
        }
        let profile = std::mem::take(&mut heap.profile);
        // Names take their time; until all are there, functions would have others.
        if let Ok(loaded) = heaps.named(&path, &mut heap, profile, false)
            && !heaps.is_naming(&path)
        {
            for (id, _, labels) in &processes {
                add_functions(&mut families, &loaded, *id, labels);
            }
        }
    }
    let none = Labels::new();
    families.add(RECORDED, &none, Some(recorded as f64));
    families.add(ALL_LOST, &none, Some(lost as f64));
    families.add(COLLECTOR_CPU, &none, Some(seconds(cpu)).filter(|_| cpu > 0));
    families.add(COLLECTOR_RSS, &none, rss.map(|bytes| bytes as f64));
    families.add(AGENT_CPU, &none, Some(seconds(agent)).filter(|_| agent > 0));
    families
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

/// The processes that hold most.
fn largest(heap: &LiveHeap) -> Vec<(ProcessId, Process)> {
    let mut processes = heap.processes.clone();
    let live = |id: &ProcessId| heap.profile.processes.get(id.index()).map_or(0, |one| one.cost.live().bytes);
    processes.sort_by_key(|(id, _)| (Reverse(live(id)), *id));
    processes.truncate(PROCESSES);
    processes
}

fn labels_of(process: &Process, chosen: &[(String, String)]) -> Labels {
    let ours = [("pid", process.pid.to_string()), ("comm", labels::value(&process.name))];
    let ours = ours.into_iter().map(|(name, value)| (name.to_owned(), value));
    let all: Vec<_> = chosen.iter().chain(&process.labels).cloned().collect();
    ours.chain(labels::of(&all, OURS)).collect()
}

fn with(labels: &Labels, name: &str, value: &str) -> Labels {
    labels.iter().cloned().chain([(name.to_owned(), labels::value(value))]).collect()
}

fn add_process(families: &mut Families, heap: &LiveHeap, (id, pid): (ProcessId, u32), labels: &Labels) {
    let Some(process) = heap.profile.processes.get(id.index()) else { return };
    let live = process.cost.live();
    let mut add = |meaning, value| families.add(meaning, labels, value);
    add(LIVE_BYTES, Some(live.bytes as f64));
    add(LIVE_BLOCKS, Some(live.blocks as f64));
    add(ALLOCATED_BYTES, Some(process.cost.allocated.bytes as f64));
    add(ALLOCATIONS, Some(process.cost.allocated.blocks as f64));
    add(FREED_BYTES, Some(process.cost.freed.bytes as f64));
    add(FREES, Some(process.cost.freed.blocks as f64));
    add(LOST, Some(process.gaps.allocations.saturating_add(process.gaps.frees) as f64));
    let counter = |kind| heap.counters.get(&(Some(id), kind)).copied();
    add(RSS, counter(CounterKind::Rss).map(|bytes| bytes as f64));
    add(PSS, counter(CounterKind::Pss).map(|bytes| bytes as f64));
    add(SWAP, counter(CounterKind::Swap).map(|bytes| bytes as f64));
    let cpu = counter(CounterKind::UserTime).zip(counter(CounterKind::SystemTime));
    add(CPU, cpu.map(|(user, system)| seconds(user + system)));
    let memory = Memory::of(pid);
    add(CGROUP_BYTES, memory.current.map(|bytes| bytes as f64));
    add(CGROUP_RECLAIMABLE, memory.current.map(|_| memory.reclaimable as f64));
    add(CGROUP_LIMIT, memory.limit.map(|bytes| bytes as f64));
    for (event, count) in &memory.events {
        families.add(CGROUP_EVENTS, &with(labels, "event", event), Some(*count as f64));
    }
}

fn add_functions(families: &mut Families, loaded: &Loaded, id: ProcessId, labels: &Labels) {
    for (function, live) in holders(loaded, &loaded.profile, id) {
        let labels = with(labels, "function", function);
        families.add(FUNCTION_BYTES, &labels, Some(live.bytes as f64));
        families.add(FUNCTION_BLOCKS, &labels, Some(live.blocks as f64));
    }
}

/// The functions of a process that hold most, each with what it allocated itself or by library functions. Those of one short name are one, and so
/// are those whose names are cut to the same.
fn holders<'l>(loaded: &'l Loaded, profile: &Profile, id: ProcessId) -> Vec<(&'l str, Amount)> {
    let mut all: HashMap<String, (&str, Amount)> = HashMap::new();
    for site in profile.sites.iter().filter(|site| site.process == id && !site.cost.live().is_zero()) {
        let mut steps = meaningful(&loaded.tables, &loaded.names, site.node);
        let name = steps.next().map_or("[unknown]", |(_, step)| loaded.names.label(step.label).name.as_str());
        all.entry(labels::value(name)).or_insert((name, Amount::ZERO)).1 += site.cost.live();
    }
    let mut all: Vec<(&str, Amount)> = all.into_values().collect();
    all.sort_by_key(|(name, live)| (Reverse(live.bytes), *name));
    all.truncate(FUNCTIONS);
    all
}
