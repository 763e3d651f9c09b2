//! Where is kept what would otherwise be found out again: indices of large captures, and names.

use std::env;
use std::path::PathBuf;
use viewer::Cache;

/// Where indices are kept.
pub(super) fn of_user() -> Cache {
    folder().map_or_else(Cache::none, Cache::in_folder)
}

/// The folder of the user's cache that is ours; none without a home. A relative path in the environment does not count,
/// as the specification of these folders has it.
pub(super) fn folder() -> Option<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    folder.map(|folder| folder.join("sysprof-memprof"))
}
