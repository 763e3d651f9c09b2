//! The sampler of a recording, which may be unwanted or impossible.

use crate::base::clock::Clock;
use crate::base::options::Options;
use crate::cpu::Sampled;
use crate::cpu::{Plan, Sampler, Samples};
use crate::proc::subjects::Subjects;

/// The running sampler, or why there is none.
#[derive(Debug)]
pub(super) struct Sampling(Result<Sampler, Box<Sampled>>);

impl Sampling {
    /// Starts what was asked for, as far as the system permits. The samples come out of the second value.
    pub(super) fn start(options: &Options, clock: Clock, recorded: Subjects) -> (Sampling, Samples) {
        let Some(cpu) = options.cpu else { return (Sampling(Err(Box::default())), Samples::none()) };
        let plan = Plan {
            options: cpu,
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

    /// Stops it: all samples are with the writer.
    pub(super) fn stop(self) -> Sampled {
        self.0.map_or_else(|sampled| *sampled, Sampler::stop)
    }
}
