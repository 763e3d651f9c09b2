//! Removes agents of other versions that nobody uses.
//!
//! Each version of the tool leaves its own copy. Programs started with it may need it as long as they run, because
//! the programs they start load it again. So a copy is removed once it has not been handed out for a day and no
//! process maps it. Handing a copy out marks it as used, under a shared lock on the folder; sweeping takes the lock
//! exclusively, so no copy is removed while it is handed out. Within an hour a mark is not renewed: a file that changes
//! with each use has no names in the cache of symbols.

use super::folder::PrivateFolder;
use super::is_private_name;
use std::fs;
use std::time::{Duration, SystemTime};

/// How long a copy stays after it was last handed out.
const UNUSED: Duration = Duration::from_secs(24 * 60 * 60);
/// How long it counts as just marked.
pub(super) const NOTED: Duration = Duration::from_secs(60 * 60);

/// Removes unused copies, except the file called `name`. Gives up silently when the folder is busy or anything fails:
/// the next call tries again.
pub(super) fn sweep(folder: &PrivateFolder, name: &str, now: SystemTime) {
    let Some(lock) = folder.lock_to_sweep() else { return };
    let is_other = |file: &str| {
        let half_written = file.strip_prefix('.').and_then(|rest| rest.rsplit_once('.')).map(|(of, _)| of);
        file != name && is_private_name(half_written.unwrap_or(file))
    };
    let is_old = |file: &str| {
        let used = folder.open_file(file).and_then(|file| file.metadata()).and_then(|file| file.modified());
        used.is_ok_and(|used| now.duration_since(used).is_ok_and(|unused| unused > UNUSED))
    };
    let mut unused = folder.names().unwrap_or_default();
    unused.retain(|file| is_other(file) && is_old(file));
    if unused.is_empty() {
        return;
    }
    let mapped = mapped_by_anyone();
    for file in unused.iter().filter(|file| !mapped.iter().any(|maps| maps.contains(file.as_str()))) {
        // A process that has it open keeps it: an unlinked file lives as long as it is open.
        let _ = folder.remove(file);
    }
    drop(lock);
}

/// The maps of all processes that we may read; other processes cannot read our private folder.
fn mapped_by_anyone() -> Vec<String> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_process = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    processes
        .filter(|entry| entry.file_name().to_str().is_some_and(is_process))
        .filter_map(|entry| fs::read(entry.path().join("maps")).ok())
        .map(|maps| String::from_utf8_lossy(&maps).into_owned())
        .collect()
}
