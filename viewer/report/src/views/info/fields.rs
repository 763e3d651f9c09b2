//! What programs get of `info`.

use crate::ended::ended_word;
use crate::table::{Fields, Value};
use crate::views::fields::{sample_interval, span};
use crate::views::scan::scan_fields;
use analysis::{
    Amount, Anomalies, Cost, Metric, ProcessProfile, Spread, nameless, process_name, stack_states,
    state_share, thread_count,
};
use capture::{Clock, CollectorCost, CpuSummary, Ended, FaultSummary, Overhead, Process, Summary};
use engine::suppression::Left;
use engine::{Loaded, MarkRow};

/// All of them.
pub(super) fn fields(loaded: &Loaded) -> Fields {
    let (tables, profile) = (&loaded.tables, &loaded.profile);
    let (metadata, summary) = (&tables.metadata, tables.summary.as_ref());
    let clock = match metadata.clock {
        Clock::Tsc => "tsc",
        Clock::MonotonicRaw => "monotonic_raw",
    };
    let aggregated = metadata.aggregate().zip(profile.snapshots).map(|(every_ns, snapshots)| {
        Value::Record(vec![
            ("every_ns", Value::Duration(every_ns)),
            ("snapshots", Value::count(snapshots.count)),
            ("first_ns", Value::Time(snapshots.first)),
            ("last_ns", Value::Time(snapshots.last)),
        ])
    });
    let scans = (1..).zip(&tables.scans);
    let scans = scans.map(|(number, scan)| Value::Record(scan_fields(loaded, number, scan)));
    let processes = tables.processes.iter().zip(&profile.processes);
    let is_sampled = profile.sampling.is_some();
    let processes = processes.map(|(row, profile)| Value::Record(process(row, profile, is_sampled)));
    let mut fields = span(profile.span);
    fields.extend([
        ("unknown_chunks", Value::count(loaded.source.unknown_chunks)),
        ("command", names(&metadata.command)),
        ("tool_version", Value::name(&metadata.tool_version)),
        ("started_unix_ns", Value::Id(metadata.started_unix_ns)),
        ("boot_id", Value::name(&metadata.boot_id)),
        ("clock", clock.into()),
        ("options", by_name(&metadata.options)),
        ("labels", by_name(&metadata.labels)),
        ("sample_interval", sample_interval(loaded)),
        ("aggregated", Value::known(aggregated)),
        ("duration_ns", Value::Duration(loaded.duration_ns())),
        ("events", Value::count(profile.events)),
        ("threads", Value::count(thread_count(tables))),
        ("totals", Value::Record(totals(loaded))),
        ("lost", Value::Record(lost(loaded))),
        ("stacks", Value::Record(stacks(loaded))),
        ("mappings", Value::Record(mappings(loaded))),
        ("nameless", Value::List(without_name(loaded))),
        ("heaps", Value::List(heaps(loaded))),
        ("marks", Value::List(loaded.marks().map(mark).collect())),
        ("mark_names", Value::List(mark_names(loaded))),
        ("scans", Value::List(scans.collect())),
        ("pauses", Value::count(profile.pauses().pauses)),
        ("paused_ns", Value::Duration(profile.pauses().time)),
        ("overhead", Value::known(summary.map(cost))),
        ("cpu", Value::known(summary.and_then(|summary| cpu(&summary.cpu)))),
        ("faults", Value::known(summary.and_then(|summary| faults(&summary.faults)))),
        ("counters", Value::List(counters(loaded))),
        ("processes", Value::List(processes.collect())),
        ("unrecorded", names(summary.map_or(&[], |summary| &summary.unrecorded))),
        ("remarks", names(summary.map_or(&[], |summary| &summary.remarks))),
    ]);
    fields
}

fn names(names: &[String]) -> Value {
    Value::Listed(names.to_vec(), names.len())
}

fn by_name(pairs: &[(String, String)]) -> Value {
    Value::Texts(pairs.iter().cloned().collect())
}

/// Amounts as fields, the number of blocks before the size, and the standard errors of all of them.
#[derive(Default)]
struct Sums(Fields, Vec<(&'static str, i64)>);

impl Sums {
    fn blocks(&mut self, name: &'static str, amount: Amount, spread: Spread) {
        self.0.push((name, Value::count(amount.blocks)));
        self.1.push((name, spread.blocks_error()));
    }

    fn bytes(&mut self, name: &'static str, amount: Amount, spread: Spread) {
        self.0.push((name, Value::bytes(amount.bytes)));
        self.1.push((name, spread.bytes_error()));
    }

    fn both(&mut self, [blocks, bytes]: [&'static str; 2], amount: Amount, spread: Spread) {
        self.blocks(blocks, amount, spread);
        self.bytes(bytes, amount, spread);
    }

    /// What ended without a free that was recorded.
    fn ends(&mut self, cost: &Cost, spread: &Cost<Spread>) {
        self.both(["uncertain_blocks", "uncertain_bytes"], cost.uncertain, spread.uncertain);
        self.both(["exec_blocks", "exec_bytes"], cost.at_exec, spread.at_exec);
    }
}

/// Totals over all processes.
fn totals(loaded: &Loaded) -> Fields {
    let profile = &loaded.profile;
    let (total, spread, peak) = (&profile.total, &profile.total_spread, profile.peak);
    let Left { leaked, held, suppressed } = Left::of(loaded);
    let left = [("leaked", leaked), ("held", held), ("suppressed", suppressed)];
    let left = left.map(|(name, (amount, _))| (name, Value::Amount(amount)));
    let resident = loaded.most_resident_process().map(|(_, peak)| Value::bytes(peak.bytes));
    let mut sums = Sums::default();
    sums.both(["allocations", "allocated_bytes"], total.allocated, spread.allocated);
    sums.both(["frees", "freed_bytes"], total.freed, spread.freed);
    sums.both(["temporary", "temporary_bytes"], total.temporary, spread.temporary);
    sums.bytes("peak_bytes", peak.held, spread.peak);
    sums.blocks("peak_blocks", peak.held, spread.peak);
    sums.0.push(("peak_time_ns", Value::Time(peak.at.time)));
    sums.both(["leaked_blocks", "leaked_bytes"], total.leaked, spread.leaked);
    let (running, running_spread) = (profile.still_running(), profile.still_running_spread());
    sums.both(["running_blocks", "running_bytes"], running, running_spread);
    sums.0.extend([("left", Value::Record(left.into())), ("most_resident_bytes", Value::known(resident))]);
    sums.ends(total, spread);
    let Sums(mut fields, errors) = sums;
    if profile.sampling.is_some() {
        fields.push(("", Value::Errors(errors)));
    }
    fields.extend(anomalies(&profile.anomalies()));
    fields.extend([
        ("failed_calls", Value::count(profile.failed_calls())),
        ("stray_events", Value::count(profile.stray_events)),
    ]);
    fields
}

/// Events that contradict each other.
fn anomalies(anomalies: &Anomalies) -> Fields {
    let numbers = [
        ("unmatched_frees", anomalies.unmatched_frees),
        ("frees_from_before", anomalies.frees_from_before),
        ("inherited_frees", anomalies.inherited_frees),
        ("lost_allocations", anomalies.lost_allocations),
        ("lost_frees", anomalies.lost_frees),
        ("paused_allocations", anomalies.paused_allocations),
        ("paused_frees", anomalies.paused_frees),
        ("conflicts", anomalies.conflicts),
    ];
    numbers.map(|(name, number)| (name, Value::count(number))).into()
}

/// What was not recorded.
fn lost(loaded: &Loaded) -> Fields {
    let reasons = loaded.lost().iter().map(|lost| {
        Value::Record(vec![
            ("reason", Value::name(&lost.reason)),
            ("events", Value::count(lost.events)),
            ("advice", Value::name(&lost.advice)),
        ])
    });
    let mut fields =
        vec![("events", Value::count(loaded.lost_events())), ("by_reason", Value::List(reasons.collect()))];
    fields.extend(gaps(loaded.profile.gaps()));
    fields
}

fn gaps(gaps: analysis::GapTotals) -> Fields {
    let numbers = [("gaps", gaps.gaps), ("gap_allocations", gaps.allocations), ("gap_frees", gaps.frees)];
    numbers.map(|(name, number)| (name, Value::count(number))).into()
}

fn stacks(loaded: &Loaded) -> Fields {
    let share = state_share(&loaded.profile, &stack_states(&loaded.tables));
    vec![
        ("distinct", Value::count(share.distinct)),
        ("complete", Value::count(share.complete)),
        ("truncated", Value::count(share.truncated)),
        ("incomplete", Value::count(share.incomplete)),
        ("complete_allocations", Value::count(share.complete_allocations)),
        ("addresses", Value::count(loaded.addresses())),
    ]
}

fn mappings(loaded: &Loaded) -> Fields {
    let (totals, own) = (loaded.profile.mappings(), loaded.profile.own_pages);
    let calls = [
        (["mmap_calls", "mmap_bytes"], totals.mapped),
        (["allocator_mmap_calls", "allocator_mmap_bytes"], totals.in_hook),
        (["munmap_calls", "munmap_bytes"], totals.unmapped),
        (["mremap_calls", "mremap_growth_bytes"], totals.remapped),
        (["brk_calls", "brk_growth_bytes"], totals.breaks),
    ];
    let mut sums = Sums::default();
    calls.into_iter().for_each(|(names, amount)| sums.both(names, amount, Spread::ZERO));
    sums.0.extend([("own_peak_bytes", Value::bytes(own.bytes)), ("own_peak_time_ns", Value::Time(own.time))]);
    sums.0
}

/// Why functions have no name: a row for each reason, the one with most bytes first.
fn without_name(loaded: &Loaded) -> Vec<Value> {
    let Loaded { profile, tables, names, .. } = loaded;
    let row = |row: analysis::Nameless| {
        let modules = row.modules.iter().filter_map(|module| tables.modules.get(module.index()));
        let modules = modules.map(|module| Value::name(&module.path)).collect();
        Value::Record(vec![
            ("reason", row.reason.map_or("no name was stored".into(), Value::from)),
            ("addresses", Value::count(row.frames)),
            ("modules", Value::List(modules)),
            ("stack_allocations", Value::count(row.cost.blocks)),
            ("stack_bytes", Value::bytes(row.cost.bytes)),
            ("self_allocations", Value::count(row.own.blocks)),
            ("self_bytes", Value::bytes(row.own.bytes)),
        ])
    };
    nameless(profile, tables, names, Metric::Bytes).into_iter().map(row).collect()
}

/// The programs' own heaps (pools).
fn heaps(loaded: &Loaded) -> Vec<Value> {
    let row = |pool: &analysis::PoolProfile| {
        let mut sums = Sums(vec![("name", Value::name(loaded.tables.string(pool.name)))], Vec::new());
        sums.both(["allocations", "allocated_bytes"], pool.allocated, Spread::ZERO);
        sums.both(["frees", "freed_bytes"], pool.freed, Spread::ZERO);
        sums.both(["peak_blocks", "peak_bytes"], pool.peak.held, Spread::ZERO);
        sums.0.push(("peak_time_ns", Value::Time(pool.peak.at.time)));
        sums.both(["leaked_blocks", "leaked_bytes"], pool.leaked, Spread::ZERO);
        sums.both(["uncertain_blocks", "uncertain_bytes"], pool.uncertain, Spread::ZERO);
        Value::Record(sums.0)
    };
    loaded.profile.pools.iter().map(row).collect()
}

fn mark(row: MarkRow<'_>) -> Value {
    Value::Record(vec![
        ("name", Value::name(row.name)),
        ("kind", row.mark.kind.name().into()),
        ("time_ns", Value::Time(row.mark.time)),
        ("pid", Value::known(row.process.map(|process| Value::count(process.pid)))),
        ("tid", Value::known(row.thread.map(|thread| Value::count(thread.tid)))),
    ])
}

/// Marks by name, with how long their regions took.
fn mark_names(loaded: &Loaded) -> Vec<Value> {
    let row = |row: analysis::MarkName| {
        let [min, mean, max] = row.lengths().map_or([const { Value::Unknown }; 3], |lengths| {
            [lengths.min, lengths.mean, lengths.max].map(Value::Duration)
        });
        Value::Record(vec![
            ("name", Value::name(loaded.tables.string(row.name))),
            ("instants", Value::count(row.instants)),
            ("regions", Value::count(row.regions.len() as u64)),
            ("unfinished", Value::count(row.unfinished())),
            ("stray_ends", Value::count(row.stray_ends)),
            ("min_ns", min),
            ("mean_ns", mean),
            ("max_ns", max),
        ])
    };
    loaded.marks_by_name().into_iter().map(row).collect()
}

/// What the recording cost.
fn cost(summary: &Summary) -> Value {
    let Overhead { agent_cpu_ns, collector_cpu_ns, wait_ns, .. } = summary.overhead;
    let Overhead { collector_peak_rss, shared_memory, agent_allocations, .. } = summary.overhead;
    let CollectorCost { drain_cpu_ns, writer_cpu_ns, wake_ups, held_ns } = summary.effort;
    let numbers = [
        ("agent_cpu_ns", agent_cpu_ns),
        ("collector_cpu_ns", collector_cpu_ns),
        ("drain_cpu_ns", drain_cpu_ns),
        ("writer_cpu_ns", writer_cpu_ns),
        ("wake_ups", wake_ups),
        ("wait_ns", wait_ns),
        ("held_ns", held_ns),
        ("collector_peak_rss", collector_peak_rss),
        ("shared_memory", shared_memory),
        ("agent_allocations", agent_allocations),
    ];
    Value::Record(numbers.map(|(name, number)| (name, Value::Id(number))).into())
}

/// How the CPU was sampled; none when that was not requested.
fn cpu(cpu: &CpuSummary) -> Option<Value> {
    (*cpu != CpuSummary::default()).then(|| {
        Value::Record(vec![
            ("event", Value::named(&cpu.event)),
            ("frequency", Value::count(cpu.frequency)),
            ("system_wide", Value::Flag(cpu.is_system_wide)),
            ("kernel", Value::Flag(cpu.has_kernel)),
            ("samples", Value::count(cpu.samples)),
            ("lost", Value::count(cpu.lost)),
            ("throttled", Value::count(cpu.throttled)),
            ("late", Value::count(cpu.late)),
            ("truncated", Value::count(cpu.truncated)),
            ("incomplete", Value::count(cpu.incomplete)),
            ("clock_error_ns", Value::Duration(cpu.clock_error_ns)),
            ("cost_ns", Value::Duration(cpu.cost_ns)),
            ("note", Value::named(&cpu.refused)),
        ])
    })
}

/// How page faults were recorded; none when that was not requested.
fn faults(faults: &FaultSummary) -> Option<Value> {
    (*faults != FaultSummary::default()).then(|| {
        Value::Record(vec![
            ("recorded", Value::Flag(faults.is_recorded)),
            ("kernel", Value::Flag(faults.has_kernel)),
            ("faults", Value::count(faults.faults)),
            ("lost", Value::count(faults.lost)),
            ("without_stack", Value::count(faults.without_stack)),
            ("page_bytes", Value::bytes(faults.page_bytes)),
            ("huge_pages", Value::named(&faults.huge_pages)),
            ("huge_page_bytes", Value::bytes(faults.huge_page_bytes)),
            ("note", Value::named(&faults.refused)),
        ])
    })
}

/// A row for each series of a counter.
fn counters(loaded: &Loaded) -> Vec<Value> {
    let rows = loaded.counters.iter().filter_map(|(process, kind, instance, points)| {
        let peak = points.iter().max_by_key(|point| point.value)?;
        Some(Value::Record(vec![
            ("counter", kind.name().into()),
            ("pid", Value::known(process.map(Value::Process))),
            ("instance", Value::count(instance)),
            ("points", Value::count(points.len() as u64)),
            ("peak", Value::Id(peak.value)),
            ("peak_time_ns", Value::Time(peak.time)),
            ("last", Value::Id(points.last()?.value)),
        ]))
    });
    rows.collect()
}

fn process(row: &Process, profile: &ProcessProfile, is_sampled: bool) -> Fields {
    let (cost, spread) = (&profile.cost, &profile.spread);
    let (exit, signal) = match profile.ended {
        Ended::Exited(code) => (Some(code), None),
        Ended::Signaled(signal) => (None, Some(signal)),
        _ => (None, None),
    };
    let fields = vec![
        ("pid", Value::count(row.pid)),
        ("ppid", Value::count(row.parent_pid)),
        ("image", Value::count(row.image)),
        ("forked", Value::Flag(row.forked)),
        ("name", process_name(row).into()),
        ("executable", Value::name(&row.executable)),
        ("command", names(&row.command)),
        ("labels", by_name(&row.labels)),
        ("ended", ended_word(profile.ended).into()),
        ("exit", Value::known(exit.map(Value::count))),
        ("signal", Value::known(signal.map(Value::count))),
        ("end_time_ns", Value::known(row.end.as_ref().map(|end| Value::Time(end.time)))),
        ("recorded", Value::Flag(profile.seen)),
    ];
    let mut sums = Sums(fields, Vec::new());
    sums.both(["allocations", "allocated_bytes"], cost.allocated, spread.allocated);
    sums.blocks("frees", cost.freed, spread.freed);
    sums.blocks("temporary", cost.temporary, spread.temporary);
    sums.0.extend([
        ("peak_bytes", Value::bytes(profile.peak.held.bytes)),
        ("peak_blocks", Value::count(profile.peak.held.blocks)),
        ("peak_time_ns", Value::Time(profile.peak.at.time)),
        ("bytes_at_capture_peak", Value::bytes(cost.peak.bytes)),
    ]);
    sums.both(["leaked_blocks", "leaked_bytes"], cost.leaked, spread.leaked);
    sums.0.push(("in_realloc_blocks", Value::count(profile.in_realloc.blocks)));
    sums.ends(cost, spread);
    sums.1.push(("bytes_at_capture_peak", spread.peak.bytes_error()));
    let Sums(mut fields, errors) = sums;
    if is_sampled {
        fields.push(("", Value::Errors(errors)));
    }
    fields.extend(anomalies(&profile.anomalies));
    fields.extend(gaps(profile.gaps));
    let pauses = profile.pauses;
    fields.extend([("pauses", Value::count(pauses.pauses)), ("paused_ns", Value::Duration(pauses.time))]);
    fields
}
