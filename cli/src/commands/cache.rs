//! Where results are cached that would otherwise be computed again: indices of large captures, and names.

use engine::Cache;
use std::env;
use std::path::PathBuf;

/// The cache for indices.
pub(super) fn of_user() -> Cache {
    folder().map_or_else(Cache::none, Cache::in_folder)
}

/// Our folder in the user's cache; `None` without a home directory. A relative path in the environment is ignored, as
/// the XDG specification demands.
pub(super) fn folder() -> Option<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    folder.map(|folder| folder.join("sysprof-memprof"))
}
