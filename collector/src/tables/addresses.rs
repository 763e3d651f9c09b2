//! Addresses in the capture that need names, and the files the names come from.

use super::anonymous_code::JitReport;
use super::file_copies::FileCopies;
use super::modules::Modules;
use super::unnamed::Unnamed;
use capture::ModuleId;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::sync::{Arc, LazyLock};
use symbols::{ModuleFile, Reason};

/// Most descriptors kept for names, whatever the process's limit, a quarter of which they may take: the rest is for
/// rings.
const MOST_HANDLES: u64 = 1 << 14;

/// What is looked up at the end.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    /// Code frames that need a name.
    pub(crate) frames: Unnamed,
    /// Each module, and where to open it, or why it cannot be opened.
    pub(crate) files: FxHashMap<ModuleId, Result<ModuleFile, Reason>>,
    /// Files kept open, at most [`MOST_HANDLES`], since programs may be rebuilt while they are recorded.
    pub(crate) handles: FxHashMap<ModuleId, Arc<File>>,
    /// Copies of files that may be written to again.
    pub(crate) copies: FileCopies,
    /// Modules without a file, and what the process reported about the code in them.
    pub(crate) made: FxHashMap<ModuleId, JitReport>,
}

impl Addresses {
    /// Takes an image's new frames, files and modules.
    pub(crate) fn take(&mut self, modules: &mut Modules) {
        modules.new_frames.drain(..).for_each(|frame| self.frames.add(frame));
        self.files.extend(modules.new_files.drain(..));
        modules.new_handles.drain(..).for_each(|(module, handle)| self.hold(module, handle));
    }

    /// Keeps a module's file open, if there is room.
    pub(crate) fn hold(&mut self, module: ModuleId, handle: Arc<File>) {
        static MOST: LazyLock<u64> = LazyLock::new(|| {
            let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
            limit.map_or(MOST_HANDLES, |limit| (limit / 4).min(MOST_HANDLES))
        });
        if (self.handles.len() as u64) < *MOST
            && let Entry::Vacant(entry) = self.handles.entry(module)
        {
            if let Some(Ok(file)) = self.files.get(&module) {
                self.copies.keep(module, file, &handle);
            }
            entry.insert(handle);
        }
    }
}
