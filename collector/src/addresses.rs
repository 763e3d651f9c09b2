//! Addresses of the capture that want names, and where names come from.

use crate::anonymous_code::Told;
use crate::modules::Modules;
use crate::unnamed::Unnamed;
use capture::ModuleId;
use rustc_hash::FxHashMap;
use std::fs::File;
use std::sync::Arc;
use symbols::ModuleFile;

/// Descriptors that are kept for names; the rest of what a process may have is for rings.
const MOST_HANDLES: usize = 256;

/// What is looked up at the end.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    /// Code frames that want a name.
    pub(crate) frames: Unnamed,
    /// Each module, and where to open it.
    pub(crate) files: FxHashMap<ModuleId, ModuleFile>,
    /// Files that are kept open, at most [`MOST_HANDLES`]: programs are rebuilt while they are recorded.
    pub(crate) handles: FxHashMap<ModuleId, Arc<File>>,
    /// Modules that are no files, and what the process told of the code in them.
    pub(crate) made: FxHashMap<ModuleId, Told>,
}

impl Addresses {
    /// Takes what is new of an image's modules.
    pub(crate) fn take(&mut self, modules: &mut Modules) {
        modules.new_frames.drain(..).for_each(|frame| self.frames.add(frame));
        self.files.extend(modules.new_files.drain(..));
        for (module, handle) in modules.new_handles.drain(..) {
            if self.handles.len() < MOST_HANDLES {
                self.handles.entry(module).or_insert(handle);
            }
        }
    }
}
