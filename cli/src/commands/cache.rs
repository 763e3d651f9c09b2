//! Where names are cached that would otherwise be looked up again.

use std::env;
use std::path::PathBuf;

/// Our folder in the user's cache; `None` without a home directory. A relative path in the environment is ignored, as
/// the XDG specification demands.
pub(super) fn folder() -> Option<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    folder.map(|folder| folder.join("sysprof-memprof"))
}
