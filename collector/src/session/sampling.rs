//! The sampler, wanted or not, possible or not.

use crate::Options;
use crate::clock::Clock;
use crate::counters::Subjects;
use crate::perf::{Plan, Sampled, Sampler, Samples, Traces};

/// Processors are sampled, or this says why not.
#[derive(Debug)]
pub(super) struct Sampling(Result<Sampler, Box<Sampled>>);

impl Sampling {
    /// Begins with what is asked for, as far as the system lets us. Samples come out of the other end.
    pub(super) fn start(
        options: &Options,
        traces: Traces,
        clock: Clock,
        recorded: Subjects,
    ) -> (Sampling, Samples) {
        let Some(cpu) = options.cpu else { return (Sampling(Err(Box::default())), Samples::none()) };
        let plan = Plan {
            options: cpu,
            traces,
            only: options.only.clone(),
            skip: options.skip.clone(),
            max_depth: options.max_depth.max(1),
            cache: options.symbols.cache.clone(),
        };
        match Sampler::start(plan, clock, recorded) {
            Ok((sampler, samples)) => (Sampling(Ok(sampler)), samples),
            Err(sampled) => (Sampling(Err(sampled)), Samples::none()),
        }
    }

    /// Ends it: all samples are with the writer.
    pub(super) fn stop(self) -> Sampled {
        self.0.map_or_else(|sampled| *sampled, Sampler::stop)
    }
}
