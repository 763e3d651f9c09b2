//! Opens modules.

use crate::answers::Answers;
use crate::arena::Arena;
use crate::debug_files;
use crate::debug_files::DebugFiles;
use crate::debuginfod::Client;
use crate::elf::Elf;
use crate::identity::ModuleFile;
use crate::image::Image;
use crate::lookup::Lookup;
use crate::options::Options;
use crate::options::Places;
use crate::reason::Reason;
use crate::resolver::Resolver;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Opens modules. Threads may share it, each opening its own modules.
#[derive(Clone, Debug, Default)]
pub struct Symbolizer {
    options: Options,
    /// Shared by all clones.
    client: Option<Arc<Client>>,
}

impl Symbolizer {
    /// Creates a symbolizer with these options.
    pub fn new(options: Options) -> Self {
        let client = options.servers.clone().map(|servers| Arc::new(Client::new(servers)));
        Symbolizer { options, client }
    }

    /// Whether names are demangled.
    pub(crate) fn demangles(&self) -> bool {
        self.options.demangle
    }

    /// Number of threads that look up names.
    pub(crate) fn threads(&self) -> usize {
        let of_machine = || std::thread::available_parallelism().map_or(1, usize::from);
        self.options.threads.map_or_else(of_machine, usize::from)
    }

    /// The answers already known for addresses of an opened module.
    pub(crate) fn answers(&self, module: &ModuleSymbols) -> Answers<'_> {
        match (&self.options.cache, module.resolver.origin()) {
            (Some(cache), Some(origin)) => Answers::of(cache, origin),
            _ => Answers::none(),
        }
    }

    /// Opens a file, makes sure that it is the one that was mapped, and finds its debug files. If the file is gone, a
    /// copy or a debug file of the same build takes its place.
    ///
    /// # Errors
    /// The reason that every address of this module has no name.
    pub fn open(&self, module: &ModuleFile) -> Result<ModuleSymbols, Reason> {
        self.open_recorded(module).or_else(|reason| self.open_stand_in(module).ok_or(reason))
    }

    /// Opens the file where it was when it was mapped.
    fn open_recorded(&self, module: &ModuleFile) -> Result<ModuleSymbols, Reason> {
        let inside = self.options.sysroot.as_ref().zip(module.path.strip_prefix("/").ok());
        let inside = inside.map(|(root, path)| self.open_at(&root.join(path), &root.join(path), module));
        match inside {
            Some(Ok(opened)) => Ok(opened),
            Some(Err(reason)) if reason != Reason::FileMissing => {
                self.open_at(&module.path, &module.path, module).map_err(|_| reason)
            }
            _ => self.open_at(&module.path, &module.path, module),
        }
    }

    /// As [`Symbolizer::open`]; if the file was deleted or replaced, opens it through `way`, the path of a
    /// descriptor.
    ///
    /// # Errors
    /// As [`Symbolizer::open`].
    pub fn open_held(&self, module: &ModuleFile, way: &Path) -> Result<ModuleSymbols, Reason> {
        let held = |reason| match reason {
            Reason::FileMissing | Reason::FileReplaced => {
                self.open_at(way, &module.path, module).map_err(|_| reason)
            }
            _ => Err(reason),
        };
        let opened = self.open_recorded(module).or_else(held);
        opened.or_else(|reason| self.open_stand_in(module).ok_or(reason))
    }

    /// Opens another file of the same build, which only its build id proves.
    fn open_stand_in(&self, module: &ModuleFile) -> Option<ModuleSymbols> {
        let is_of_build = |path: &PathBuf| self.open_at(path, path, module).ok();
        let found = debug_files::stand_ins(module, &self.options).iter().find_map(is_of_build);
        found.or_else(|| is_of_build(&self.client.as_deref()?.debug_file(&module.build_id)?))
    }

    /// Opens a file by the path `way`; its debug files are looked for from `path`, where it lives.
    fn open_at(&self, way: &Path, path: &Path, module: &ModuleFile) -> Result<ModuleSymbols, Reason> {
        let (image, identity) = Image::open(way)?;
        ModuleSymbols::build(|arena| {
            let elf = Elf::parse(arena.keep(image))?;
            module.check(&identity, elf.build_id())?;
            Ok(Resolver::of(elf, path, Some(identity), self.places(), arena))
        })
    }

    /// Where to look for debug files, and the cache.
    fn places(&self) -> Places<'_> {
        Places { options: &self.options, client: self.client.as_deref() }
    }

    /// Opens an ELF image without a file: the vdso. Debug files are found by its build id.
    ///
    /// # Errors
    /// [`Reason::UnreadableElf`].
    pub fn open_image(&self, bytes: Vec<u8>) -> Result<ModuleSymbols, Reason> {
        ModuleSymbols::build(|arena| {
            let elf = Elf::parse(arena.keep(Image::Owned(bytes)))?;
            Ok(Resolver::of(elf, Path::new(""), None, self.places(), arena))
        })
    }
}

/// Names and lines of one opened module. Units of debug information are read on first use and kept: open one big
/// module at a time and drop it.
pub struct ModuleSymbols {
    /// Borrows from `arena`; declared first, so dropped first.
    resolver: Resolver<'static>,
    /// Never used, only kept alive.
    _arena: Arc<Arena>,
}

impl ModuleSymbols {
    /// Names of an address, in the file's own virtual addresses. For a frame that is not innermost, pass the return
    /// address minus one: the call may be the last instruction of its function.
    pub fn lookup(&self, address: u64) -> Lookup {
        self.resolver.lookup(address)
    }

    /// The name of the variable at `offset` bytes from where the file's beginning is mapped, and the range of offsets
    /// with the same answer; no name where no named variable lies, or where it is thread-local.
    pub fn variable(&self, offset: u64) -> (Range<u64>, Option<String>) {
        self.resolver.variable(offset)
    }

    /// The debug files that were used or refused.
    pub fn debug_files(&self) -> &DebugFiles {
        self.resolver.debug_files()
    }

    /// Announces which addresses will be looked up, before the first lookup: what none of them needs is then not
    /// read.
    pub(crate) fn expect(&mut self, addresses: Vec<u64>) {
        self.resolver.expect(addresses);
    }

    /// Whether answers depend on nothing but the module's origin, and so may be kept.
    pub(crate) fn answers_last(&self) -> bool {
        !self.resolver.has_read_others()
    }

    /// Fills an arena, and ties whatever borrows from it to the arena's lifetime.
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
