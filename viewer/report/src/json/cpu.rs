//! How the CPU was sampled, how page faults were recorded, and a summary of counters.

use engine::Loaded;
use serde::Serialize;

/// The CPU samples of a recording.
#[derive(Serialize)]
pub(super) struct CpuInfo<'a> {
    event: Option<&'a str>,
    frequency: u32,
    system_wide: bool,
    kernel: bool,
    samples: u64,
    lost: u64,
    throttled: u64,
    late: u64,
    truncated: u64,
    incomplete: u64,
    clock_error_ns: u64,
    cost_ns: u64,
    note: Option<&'a str>,
}

impl<'a> CpuInfo<'a> {
    /// None when samples were not requested, or the recording was truncated.
    pub(super) fn new(loaded: &'a Loaded) -> Option<Self> {
        let cpu = &loaded.tables.summary.as_ref()?.cpu;
        let text = |text: &'a str| Some(text).filter(|text| !text.is_empty());
        (*cpu != capture::CpuSummary::default()).then_some(Self {
            event: text(&cpu.event),
            frequency: cpu.frequency,
            system_wide: cpu.is_system_wide,
            kernel: cpu.has_kernel,
            samples: cpu.samples,
            lost: cpu.lost,
            throttled: cpu.throttled,
            late: cpu.late,
            truncated: cpu.truncated,
            incomplete: cpu.incomplete,
            clock_error_ns: cpu.clock_error_ns,
            cost_ns: cpu.cost_ns,
            note: text(&cpu.refused),
        })
    }
}

/// The page faults of a recording.
#[derive(Serialize)]
pub(super) struct FaultInfo<'a> {
    recorded: bool,
    kernel: bool,
    faults: u64,
    lost: u64,
    without_stack: u64,
    page_bytes: u64,
    huge_pages: Option<&'a str>,
    huge_page_bytes: u64,
    note: Option<&'a str>,
}

impl<'a> FaultInfo<'a> {
    /// None when they were not requested, or the recording was truncated.
    pub(super) fn new(loaded: &'a Loaded) -> Option<Self> {
        let faults = &loaded.tables.summary.as_ref()?.faults;
        let text = |text: &'a str| Some(text).filter(|text| !text.is_empty());
        (*faults != capture::FaultSummary::default()).then_some(Self {
            recorded: faults.is_recorded,
            kernel: faults.has_kernel,
            faults: faults.faults,
            lost: faults.lost,
            without_stack: faults.without_stack,
            page_bytes: faults.page_bytes,
            huge_pages: text(&faults.huge_pages),
            huge_page_bytes: faults.huge_page_bytes,
            note: text(&faults.refused),
        })
    }
}

/// One series of a counter.
#[derive(Serialize)]
pub(super) struct SeriesFields {
    counter: &'static str,
    pid: Option<u32>,
    instance: u32,
    points: usize,
    peak: u64,
    peak_time_ns: u64,
    last: u64,
}

/// All series.
pub(super) fn series(loaded: &Loaded) -> Vec<SeriesFields> {
    let fields = loaded.counters.iter().filter_map(|(process, kind, instance, points)| {
        let peak = points.iter().max_by_key(|point| point.value)?;
        let process = process.and_then(|process| loaded.tables.processes.get(process.index()));
        Some(SeriesFields {
            counter: kind.name(),
            pid: process.map(|process| process.pid),
            instance,
            points: points.len(),
            peak: peak.value,
            peak_time_ns: peak.time,
            last: points.last()?.value,
        })
    });
    fields.collect()
}
