//! Keeps a folder of cached files within a size.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Removes the least recently used files with this extension, except `keep`, until all together have at most `most`
/// bytes. Files that cannot be removed stay.
pub(crate) fn prune(folder: &Path, extension: &str, most: u64, keep: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let is_ours = |path: &PathBuf| path.extension().is_some_and(|found| found == extension);
    let files = entries.flatten().map(|entry| entry.path()).filter(is_ours);
    let known = files.filter_map(|path| {
        let status = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
        Some(((status.mtime(), status.mtime_nsec()), status.len(), path))
    });
    let mut known: Vec<_> = known.collect();
    known.sort();
    let mut total: u64 = known.iter().map(|(_, length, _)| length).sum();
    for (_, length, path) in known.iter().filter(|(.., path)| path != keep) {
        if total <= most {
            return;
        }
        if fs::remove_file(path).is_ok() {
            total -= length;
        }
    }
}
