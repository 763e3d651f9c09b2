//! Takes away agents of other versions that nobody uses.
//!
//! Each version of the tool leaves its own copy, and programs that were started with it may need it for as long as
//! they run: what they start loads it again. So a copy goes when it was not handed out for a day and no process has
//! it mapped. Who hands a copy out marks it as used while it holds a shared lock on the folder; who sweeps holds an
//! exclusive one, so that nothing is handed out and swept at once.

use super::folder::PrivateFolder;
use super::is_private_name;
use std::fs;
use std::time::{Duration, SystemTime};

/// How long a copy stays that was not handed out.
const UNUSED: Duration = Duration::from_secs(24 * 60 * 60);

/// Removes what is not used, except the file called `name`; gives up silently when somebody else is at it, or when
/// anything fails: it is tried again next time.
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
        // Whoever opened it before keeps it: a file without a name lives as long as somebody has it.
        let _ = folder.remove(file);
    }
    drop(lock);
}

/// What all processes have mapped that we may look into; others cannot read our private folder.
fn mapped_by_anyone() -> Vec<String> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_process = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    processes
        .filter(|entry| entry.file_name().to_str().is_some_and(is_process))
        .filter_map(|entry| fs::read(entry.path().join("maps")).ok())
        .map(|maps| String::from_utf8_lossy(&maps).into_owned())
        .collect()
}
