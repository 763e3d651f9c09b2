//! The library that records, which is on stacks as well.

/// Prefix of its file name.
const AGENT: &str = "libsysprof_memprof_preload";

/// True for the path of that library.
pub(crate) fn is_agents(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.starts_with(AGENT))
}
