//! Addresses in the capture that need names, and the files the names come from.

use crate::anonymous_code::Told;
use crate::modules::Modules;
use crate::unnamed::Unnamed;
use capture::ModuleId;
use rustc_hash::FxHashMap;
use std::fs::File;
use std::sync::Arc;
use symbols::{ModuleFile, Reason};

/// Most descriptors kept for names; the rest of the process's limit is for rings.
const MOST_HANDLES: usize = 256;

/// What is looked up at the end.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    /// Code frames that need a name.
    pub(crate) frames: Unnamed,
    /// Each module, and where to open it, or why it cannot be opened.
    pub(crate) files: FxHashMap<ModuleId, Result<ModuleFile, Reason>>,
    /// Files kept open, at most [`MOST_HANDLES`], since programs may be rebuilt while they are recorded.
    pub(crate) handles: FxHashMap<ModuleId, Arc<File>>,
    /// Modules without a file, and what the process reported about the code in them.
    pub(crate) made: FxHashMap<ModuleId, Told>,
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
        if self.handles.len() < MOST_HANDLES {
            self.handles.entry(module).or_insert(handle);
        }
    }
}
