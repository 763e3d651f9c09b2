//! What is to be sampled.

use super::CpuOptions;
use super::trace::Traces;
use symbols::Cache;

/// The user's wishes, as the sampler needs them.
pub(crate) struct Plan {
    pub(crate) options: CpuOptions,
    pub(crate) traces: Traces,
    /// Names of programs that are wanted, all where it is empty, and of those that are not.
    pub(crate) only: Vec<String>,
    pub(crate) skip: Vec<String>,
    /// Most frames of a stack.
    pub(crate) max_depth: u32,
    /// Where names of the kernel's functions are kept from one recording to the next.
    pub(crate) cache: Option<Cache>,
}

#[cfg(test)]
impl Plan {
    /// All programs are wanted.
    pub(super) fn of(options: CpuOptions) -> Plan {
        let (only, skip) = (Vec::new(), Vec::new());
        Plan { options, traces: Traces::default(), only, skip, max_depth: 64, cache: None }
    }
}
