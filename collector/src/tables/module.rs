//! A file as a module of the capture.

use capture::Module;
use symbols::ModuleFile;

/// The table row for a file with code.
pub(crate) fn module_of(file: &ModuleFile) -> Module {
    Module {
        path: file.path.to_string_lossy().into_owned(),
        build_id: file.build_id.clone(),
        device: file.device,
        inode: file.inode,
        modified_ns: file.modified_ns,
    }
}
