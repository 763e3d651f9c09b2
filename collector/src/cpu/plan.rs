//! What is to be sampled.

use crate::base::cpu_options::CpuOptions;
use symbols::Cache;

/// The user's choices, as the sampler needs them.
pub(crate) struct Plan {
    pub(crate) options: CpuOptions,
    /// Names of programs to sample, all if empty; and of programs to leave out.
    pub(crate) only: Vec<String>,
    pub(crate) skip: Vec<String>,
    /// Most frames in a stack.
    pub(crate) max_depth: u32,
    /// Where the kernel's symbols are cached from one recording to the next.
    pub(crate) cache: Option<Cache>,
}

#[cfg(test)]
impl Plan {
    /// A plan that samples all programs.
    pub(super) fn of(options: CpuOptions) -> Plan {
        let (only, skip) = (Vec::new(), Vec::new());
        Plan { options, only, skip, max_depth: 64, cache: None }
    }
}
