//! Where indices of large captures are kept.

use std::env;
use std::path::PathBuf;
use viewer::Cache;

/// The folder of the user's cache that is ours; none without a home. A relative path in the environment does not count,
/// as the specification of these folders has it.
pub(super) fn of_user() -> Cache {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    folder.map_or_else(Cache::none, |folder| Cache::in_folder(folder.join("sysprof-memprof")))
}
