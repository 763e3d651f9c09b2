//! Costs as fields.

use analysis::{Amount, Cost, Spread};
use engine::Loaded;
use serde::ser::SerializeMap;

/// A part of a cost: the names of its two numbers, and where they are.
struct Part(&'static str, &'static str, fn(&Cost) -> Amount, fn(&Cost<Spread>) -> Spread);

/// What all rows have, in this order.
const PARTS: [Part; 8] = [
    Part("allocations", "bytes", |cost| cost.allocated, |cost| cost.allocated),
    Part("frees", "freed_bytes", |cost| cost.freed, |cost| cost.freed),
    Part("live_blocks", "live_bytes", Cost::live, Cost::live),
    Part("temporary", "temporary_bytes", |cost| cost.temporary, |cost| cost.temporary),
    Part("peak_blocks", "peak_bytes", |cost| cost.peak, |cost| cost.peak),
    Part("leaked_blocks", "leaked_bytes", |cost| cost.leaked, |cost| cost.leaked),
    Part("uncertain_blocks", "uncertain_bytes", |cost| cost.uncertain, |cost| cost.uncertain),
    Part("exec_blocks", "exec_bytes", |cost| cost.at_exec, |cost| cost.at_exec),
];

/// What a stack freed itself, whoever allocated it: only if the stacks of frees were recorded.
const FREES: [Part; 1] = [Part("frees_here", "freed_here_bytes", |cost| cost.frees, |cost| cost.frees)];

/// The numbers of a stack, or of a whole capture, with standard errors if the capture is sampled.
pub(super) fn fields<M: SerializeMap>(
    map: &mut M,
    loaded: &Loaded,
    cost: &Cost,
    spread: &Cost<Spread>,
) -> Result<(), M::Error> {
    let is_sampled = loaded.profile.sampling.is_some();
    numbers(map, &PARTS, cost)?;
    if loaded.has_free_stacks() {
        numbers(map, &FREES, cost)?;
        errors(map, &FREES, spread, is_sampled)?;
    }
    cpu(map, loaded, cost.cpu)?;
    errors(map, &PARTS, spread, is_sampled)
}

fn numbers<M: SerializeMap>(map: &mut M, parts: &[Part], cost: &Cost) -> Result<(), M::Error> {
    parts.iter().try_for_each(|Part(blocks, bytes, of, _)| {
        map.serialize_entry(blocks, &of(cost).blocks)?;
        map.serialize_entry(bytes, &of(cost).bytes)
    })
}

fn errors<M: SerializeMap>(
    map: &mut M,
    parts: &[Part],
    spread: &Cost<Spread>,
    is_sampled: bool,
) -> Result<(), M::Error> {
    parts.iter().filter(|_| is_sampled).try_for_each(|Part(blocks, bytes, _, of)| {
        map.serialize_entry(&format!("{blocks}_stderr"), &of(spread).blocks_error())?;
        map.serialize_entry(&format!("{bytes}_stderr"), &of(spread).bytes_error())
    })
}

/// CPU samples, and what they stand for: only if the CPU was sampled, and 0 where only other parts of the recording have
/// some.
fn cpu<M: SerializeMap>(map: &mut M, loaded: &Loaded, cpu: Amount) -> Result<(), M::Error> {
    let of_recording = loaded.tables.summary.as_ref().map(|summary| &summary.cpu);
    let is_sampled = of_recording.is_some_and(|cpu| cpu.samples > 0);
    if !is_sampled && loaded.profile.total.cpu.is_zero() {
        return Ok(());
    }
    map.serialize_entry("samples", &cpu.blocks)?;
    map.serialize_entry(if loaded.counts_cycles() { "cpu_cycles" } else { "cpu_ns" }, &cpu.bytes)
}
