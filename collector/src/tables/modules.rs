//! The modules of an image, and the functions that interpreters in it run: translates the agent's descriptions into
//! the capture's tables.

use super::anonymous_code::{AnonymousCode, JitReport};
use super::file_copies::{FileCopies, modified_ns};
use super::module::module_of;
use super::unnamed::CodeFrame;
use crate::base::capture_writer::Writer;
use crate::proc::mapped_file::{Holder, Identity, MappedFile};
use crate::proc::process::Info;
use crate::proc::vdso::VDSO;
use capture::{Error, Module, ModuleId, StringId};
use rustc_hash::FxHashMap;
use shared_ring::Segment;
use shared_ring::module_log::{self, Described, Function, ModuleLog};
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use symbols::{ModuleFile, Reason};

/// Stands for the file of functions that have none.
const NO_FILE: &str = "[script]";

/// What an agent described, translated for the capture.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Known {
    /// A module, and its load bias.
    Module(ModuleId, u64),
    /// A function of an interpreter: its file in place of a module, its name, and the name of the file, if it has
    /// one.
    Function(ModuleId, StringId, Option<StringId>),
}

/// Most modules that are known by their build ids.
const MOST_KNOWN: usize = 1 << 14;

/// Modules whose files are held, by build id and path: one process after another maps the same programs and libraries,
/// which the capture tells apart by their build ids, so their files need to be looked at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownFiles {
    by_name: Arc<Mutex<FxHashMap<Name, ModuleId>>>,
    /// Copies of those that may be written to again.
    pub(crate) copies: FileCopies,
}

/// Build id and path.
type Name = (Vec<u8>, Vec<u8>);

impl KnownFiles {
    fn get(&self, name: &Name) -> Option<ModuleId> {
        self.known().get(name).copied()
    }

    fn put(&self, name: Name, module: ModuleId) {
        let mut known = self.known();
        if known.len() < MOST_KNOWN {
            known.insert(name, module);
        }
    }

    fn known(&self) -> MutexGuard<'_, FxHashMap<Name, ModuleId>> {
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Modules of one image by their serial.
#[derive(Debug)]
pub(crate) struct Modules {
    info: Info,
    by_serial: FxHashMap<u32, Option<Known>>,
    /// The next description not looked at yet.
    next: u32,
    /// Code frames added since they were last taken.
    pub(crate) new_frames: Vec<CodeFrame>,
    /// Modules added since they were last taken, and where to open them, or why they cannot be opened.
    pub(crate) new_files: Vec<(ModuleId, Result<ModuleFile, Reason>)>,
    /// Handles of files added since they were last taken.
    pub(crate) new_handles: Vec<(ModuleId, Arc<File>)>,
    anonymous: AnonymousCode,
    known: KnownFiles,
}

impl Modules {
    pub(crate) fn new(info: Info, known: KnownFiles) -> Modules {
        Modules {
            known,
            anonymous: AnonymousCode::new(info.pid),
            info,
            by_serial: FxHashMap::default(),
            next: ModuleLog::FIRST,
            new_frames: Vec::new(),
            new_files: Vec::new(),
            new_handles: Vec::new(),
        }
    }

    /// What has this serial number; `None` for code outside modules.
    pub(crate) fn find(
        &mut self,
        serial: u32,
        segment: &Segment,
        writer: &mut Writer,
    ) -> Result<Option<Known>, Error> {
        if serial == 0 {
            return Ok(None);
        }
        if let Some(known) = self.by_serial.get(&serial) {
            return Ok(*known);
        }
        let found = match segment.modules().read(serial) {
            Ok(Some(entry)) => Some(match entry.described() {
                Described::Module(module) => Known::Module(self.add(&module, writer)?, module.bias),
                Described::Function(function) => add_function(function, writer)?,
            }),
            // Not filled in, or impossible: its addresses stay without a module.
            _ => None,
        };
        self.by_serial.insert(serial, found);
        Ok(found)
    }

    /// The module of an address that the loader did not report, and its load bias; `None` if nothing is known of it.
    pub(crate) fn anonymous(
        &mut self,
        address: u64,
        writer: &mut Writer,
    ) -> Result<Option<(ModuleId, u64)>, Error> {
        let Some(found) = self.anonymous.find(address, writer)? else { return Ok(None) };
        self.new_files.extend(found.file.map(|file| (found.module, file)));
        self.new_handles.extend(found.handle.map(|handle| (found.module, handle)));
        Ok(Some((found.module, found.bias)))
    }

    /// What the process reported about code that it made, by module. To be called when the process or the recording
    /// has ended.
    pub(crate) fn jit_reports(&mut self) -> Vec<(ModuleId, JitReport)> {
        self.anonymous.jit_reports()
    }

    /// Takes in all descriptions, including those without frames: a process's mappings are part of its record.
    pub(crate) fn find_all(&mut self, segment: &Segment, writer: &mut Writer) -> Result<(), Error> {
        while let Ok(Some(entry)) = segment.modules().read(self.next) {
            self.find(self.next, segment, writer)?;
            self.next = entry.next;
        }
        Ok(())
    }

    fn add(&mut self, described: &module_log::Module<'_>, writer: &mut Writer) -> Result<ModuleId, Error> {
        let build_id = described.build_id.to_vec();
        let name = (!build_id.is_empty()).then(|| (build_id.clone(), described.path.to_vec()));
        if let Some(known) = name.as_ref().and_then(|name| self.known.get(name)) {
            return Ok(known);
        }
        // The loader lists the vdso under the name in its own headers.
        if described.path.starts_with(b"linux-vdso") || described.path.starts_with(b"linux-gate") {
            let module = Module { path: VDSO.into(), build_id, ..Module::default() };
            let id = writer.module(module)?;
            self.new_files.push((id, Ok(ModuleFile::at(VDSO))));
            return Ok(id);
        }
        let mapped = self.mapped(described);
        let holder =
            Holder { pid: self.info.pid, program: self.info.program.as_ref(), root: self.info.root.as_ref() };
        let found = holder.open(&mapped);
        let metadata = found.as_ref().ok().and_then(|handle| handle.metadata().ok());
        let modified = |metadata: &Metadata| match described.file.modified_ns {
            0 => modified_ns(metadata),
            described => described,
        };
        let file = ModuleFile {
            path: mapped.path,
            build_id,
            device: metadata.as_ref().map_or(0, MetadataExt::dev),
            inode: metadata.as_ref().map_or(0, MetadataExt::ino),
            modified_ns: metadata.as_ref().map_or(0, modified),
        };
        let id = writer.module(module_of(&file))?;
        if let Some(name) = name.filter(|_| found.is_ok()) {
            self.known.put(name, id);
        }
        let file = match &found {
            // Another copy of the file may be had, which the build id proves.
            Err(reason) if file.build_id.is_empty() => Err(*reason),
            _ => Ok(file),
        };
        if let (Ok(file), Ok(handle)) = (&file, &found) {
            self.known.copies.keep(id, file, handle);
        }
        self.new_files.push((id, file));
        self.new_handles.extend(found.ok().map(|handle| (id, handle)));
        Ok(id)
    }

    /// The file of a module: as the agent saw it, or as far as can be seen now.
    fn mapped(&self, described: &module_log::Module<'_>) -> MappedFile {
        let module_log::MappedFile { device, inode, modified_ns } = described.file;
        let path = Path::new(OsStr::from_bytes(described.path));
        if inode != 0 {
            let identity = Identity { device, inode };
            let is_gone = modified_ns == 0;
            return MappedFile { path: path.to_owned(), identity, is_gone, mapped: None };
        }
        MappedFile::at(self.info.pid, described.start)
            .unwrap_or_else(|| MappedFile::listed(&self.info.folder.join(path), Identity::default()))
    }

    /// Notes a frame that will need a name.
    pub(crate) fn used(&mut self, frame: CodeFrame) {
        self.new_frames.push(frame);
    }
}

/// A script's file has no machine code, but its functions are in it: so it stands in for a module.
fn add_function(function: Function<'_>, writer: &mut Writer) -> Result<Known, Error> {
    let name = writer.string(&String::from_utf8_lossy(function.name))?;
    let path = String::from_utf8_lossy(function.file);
    let file = if path.is_empty() { None } else { Some(writer.string(&path)?) };
    let path = if path.is_empty() { NO_FILE.into() } else { path.into_owned() };
    let module = writer.module(Module { path, ..Module::default() })?;
    Ok(Known::Function(module, name, file))
}
