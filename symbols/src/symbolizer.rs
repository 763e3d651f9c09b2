//! Opens modules.

use crate::arena::Arena;
use crate::elf::Elf;
use crate::image::Image;
use crate::resolver::Resolver;
use crate::{Lookup, ModuleFile, Reason};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where to look, and how names are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Directories with debug files, searched in this order.
    pub debug_dirs: Vec<PathBuf>,
    /// Show C++ and Rust names as their authors wrote them.
    pub demangle: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { debug_dirs: vec![PathBuf::from("/usr/lib/debug")], demangle: true }
    }
}

/// Opens modules; may be shared by threads, each opening modules of its own.
#[derive(Clone, Debug, Default)]
pub struct Symbolizer {
    options: Options,
}

impl Symbolizer {
    /// A symbolizer with these options.
    pub fn new(options: Options) -> Self {
        Symbolizer { options }
    }

    /// Opens a file, makes sure that it is the one that was mapped, and finds its debug files.
    ///
    /// # Errors
    /// The reason that every address of this module has no name.
    pub fn open(&self, module: &ModuleFile) -> Result<ModuleSymbols, Reason> {
        let (image, identity) = Image::open(&module.path)?;
        ModuleSymbols::build(|arena| {
            let elf = Elf::parse(arena.keep(image))?;
            module.check(&identity, elf.build_id())?;
            Ok(Resolver::of(elf, &module.path, Some(identity), &self.options, arena))
        })
    }

    /// Opens an ELF image that no file holds: the vdso. Debug files are found by its build id.
    ///
    /// # Errors
    /// [`Reason::UnreadableElf`].
    pub fn open_image(&self, bytes: Vec<u8>) -> Result<ModuleSymbols, Reason> {
        ModuleSymbols::build(|arena| {
            let elf = Elf::parse(arena.keep(Image::Owned(bytes)))?;
            Ok(Resolver::of(elf, Path::new(""), None, &self.options, arena))
        })
    }
}

/// Names and lines of one opened module. Units of its debug information are read when first needed and kept:
/// open one big module at a time and drop it.
pub struct ModuleSymbols {
    /// Borrows from `arena`; declared first, so dropped first.
    resolver: Resolver<'static>,
    /// Never touched again, only kept.
    _arena: Arc<Arena>,
}

impl ModuleSymbols {
    /// Names of an address in the file's own virtual addresses. For a frame that is not innermost, pass the return
    /// address minus one: the call may be the last instruction of its function.
    pub fn lookup(&self, address: u64) -> Lookup {
        self.resolver.lookup(address)
    }

    /// The debug files that were taken or refused.
    pub fn debug_files(&self) -> &DebugFiles {
        self.resolver.debug_files()
    }

    /// Fills an arena and ties what borrows from it to its lifetime.
    fn build(
        fill: impl for<'a> FnOnce(&'a Arena) -> Result<Resolver<'a>, Reason>,
    ) -> Result<ModuleSymbols, Reason> {
        let arena = Arc::new(Arena::default());
        // SAFETY: the arena lies on the heap until `_arena`, the last reference to it, is dropped after `resolver`,
        // which is private and lends nothing: so the borrow is never used longer than the arena lives.
        let lasting: &'static Arena = unsafe { &*Arc::as_ptr(&arena) };
        Ok(ModuleSymbols { resolver: fill(lasting)?, _arena: arena })
    }
}

impl fmt::Debug for ModuleSymbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModuleSymbols").field("debug_files", self.debug_files()).finish_non_exhaustive()
    }
}

/// The separate debug files of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DebugFiles {
    /// Taken, in the order of the search.
    pub used: Vec<PathBuf>,
    /// Found but refused, and why.
    pub refused: Vec<(PathBuf, Refusal)>,
}

/// Why a debug file was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It was made from another build.
    #[error("its build id differs from the binary's")]
    OtherBuildId,
    /// It is not the file that `.gnu_debuglink` describes.
    #[error("its CRC differs from the one in the binary's .gnu_debuglink")]
    OtherChecksum,
    /// It could not be opened or is no ELF file.
    #[error("{0}")]
    Unreadable(Reason),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that modules can be opened by several threads, and an opened one handed to another.
    #[test]
    fn modules_move_between_threads() {
        fn sendable<T: Send>() {}
        fn shareable<T: Sync>() {}
        sendable::<ModuleSymbols>();
        shareable::<Symbolizer>();
    }
}
