//! Costs as flattened fields.

use analysis::{Cost, Spread};
use engine::Loaded;
use serde::Serialize;

/// The numbers of a stack, or of a whole capture.
#[derive(Serialize)]
pub(super) struct CostFields {
    allocations: i64,
    bytes: i64,
    frees: i64,
    freed_bytes: i64,
    live_blocks: i64,
    live_bytes: i64,
    temporary: i64,
    temporary_bytes: i64,
    peak_blocks: i64,
    peak_bytes: i64,
    leaked_blocks: i64,
    leaked_bytes: i64,
    uncertain_blocks: i64,
    uncertain_bytes: i64,
    exec_blocks: i64,
    exec_bytes: i64,
    /// Only if the stacks of frees were recorded.
    #[serde(flatten)]
    frees_here: Option<FreesFields>,
    /// Only if the CPU was sampled.
    #[serde(flatten)]
    cpu: Option<CpuFields>,
    /// Only for estimates.
    #[serde(flatten)]
    errors: Option<ErrorFields>,
}

/// What a stack freed itself, whoever allocated it.
#[derive(Serialize)]
struct FreesFields {
    frees_here: i64,
    freed_here_bytes: i64,
    #[serde(flatten)]
    errors: Option<FreesErrors>,
}

#[derive(Serialize)]
struct FreesErrors {
    frees_here_stderr: i64,
    freed_here_bytes_stderr: i64,
}

impl FreesFields {
    fn new(loaded: &Loaded, cost: &Cost, spread: &Cost<Spread>) -> Option<Self> {
        loaded.has_free_stacks().then(|| Self {
            frees_here: cost.frees.blocks,
            freed_here_bytes: cost.frees.bytes,
            errors: loaded.profile.sampling.map(|_| FreesErrors {
                frees_here_stderr: spread.frees.blocks_error(),
                freed_here_bytes_stderr: spread.frees.bytes_error(),
            }),
        })
    }
}

/// CPU samples, and what they stand for: 0 where only other parts of the recording have some.
#[derive(Serialize)]
struct CpuFields {
    samples: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_cycles: Option<i64>,
}

impl CpuFields {
    fn new(loaded: &Loaded, cost: &Cost) -> Option<Self> {
        let of_recording = loaded.tables.summary.as_ref().map(|summary| &summary.cpu);
        let of_cycles = of_recording.is_some_and(|cpu| cpu.event == "cycles");
        let is_sampled = of_recording.is_some_and(|cpu| cpu.samples > 0);
        (is_sampled || !loaded.profile.total.cpu.is_zero()).then_some(Self {
            samples: cost.cpu.blocks,
            cpu_ns: (!of_cycles).then_some(cost.cpu.bytes),
            cpu_cycles: of_cycles.then_some(cost.cpu.bytes),
        })
    }
}

/// Their standard errors.
#[derive(Serialize)]
struct ErrorFields {
    allocations_stderr: i64,
    bytes_stderr: i64,
    frees_stderr: i64,
    freed_bytes_stderr: i64,
    live_blocks_stderr: i64,
    live_bytes_stderr: i64,
    temporary_stderr: i64,
    temporary_bytes_stderr: i64,
    peak_blocks_stderr: i64,
    peak_bytes_stderr: i64,
    leaked_blocks_stderr: i64,
    leaked_bytes_stderr: i64,
    uncertain_blocks_stderr: i64,
    uncertain_bytes_stderr: i64,
    exec_blocks_stderr: i64,
    exec_bytes_stderr: i64,
}

impl CostFields {
    /// Includes standard errors if the capture is sampled.
    pub(super) fn new(loaded: &Loaded, cost: &Cost, spread: &Cost<Spread>) -> Self {
        let errors = loaded.profile.sampling.map(|_| ErrorFields::from(spread));
        let frees_here = FreesFields::new(loaded, cost, spread);
        Self { frees_here, cpu: CpuFields::new(loaded, cost), errors, ..Self::from(cost) }
    }
}

impl From<&Cost> for CostFields {
    fn from(cost: &Cost) -> Self {
        let live = cost.live();
        Self {
            allocations: cost.allocated.blocks,
            bytes: cost.allocated.bytes,
            frees: cost.freed.blocks,
            freed_bytes: cost.freed.bytes,
            live_blocks: live.blocks,
            live_bytes: live.bytes,
            temporary: cost.temporary.blocks,
            temporary_bytes: cost.temporary.bytes,
            peak_blocks: cost.peak.blocks,
            peak_bytes: cost.peak.bytes,
            leaked_blocks: cost.leaked.blocks,
            leaked_bytes: cost.leaked.bytes,
            uncertain_blocks: cost.uncertain.blocks,
            uncertain_bytes: cost.uncertain.bytes,
            exec_blocks: cost.at_exec.blocks,
            exec_bytes: cost.at_exec.bytes,
            frees_here: None,
            cpu: None,
            errors: None,
        }
    }
}

impl From<&Cost<Spread>> for ErrorFields {
    fn from(cost: &Cost<Spread>) -> Self {
        let live = cost.live();
        Self {
            allocations_stderr: cost.allocated.blocks_error(),
            bytes_stderr: cost.allocated.bytes_error(),
            frees_stderr: cost.freed.blocks_error(),
            freed_bytes_stderr: cost.freed.bytes_error(),
            live_blocks_stderr: live.blocks_error(),
            live_bytes_stderr: live.bytes_error(),
            temporary_stderr: cost.temporary.blocks_error(),
            temporary_bytes_stderr: cost.temporary.bytes_error(),
            peak_blocks_stderr: cost.peak.blocks_error(),
            peak_bytes_stderr: cost.peak.bytes_error(),
            leaked_blocks_stderr: cost.leaked.blocks_error(),
            leaked_bytes_stderr: cost.leaked.bytes_error(),
            uncertain_blocks_stderr: cost.uncertain.blocks_error(),
            uncertain_bytes_stderr: cost.uncertain.bytes_error(),
            exec_blocks_stderr: cost.at_exec.blocks_error(),
            exec_bytes_stderr: cost.at_exec.bytes_error(),
        }
    }
}
