//! Code of a process that the loader did not report: made at run time, mapped by the program itself, or memory that
//! is no code at all.
//!
//! It belongs to a module of the capture whose path says what it is and whose, so that equal addresses in two
//! processes stay apart: `[anonymous code (JIT?) of 1234]`. Addresses in it are the process's own. Names come from
//! what the compiler wrote next to the program ([`symbols::JitFiles`]).
//!
//! A frame in memory that is not executable is none of code: a program wrote something else into its stack, or the
//! search for callers went wrong. Its module says what the memory is: `[anonymous memory of 1234]`, `[data of libx.so of
//! 1234]`.
//!
//! Some programs map code of files without the loader: node does that with its own. Such code is attributed to that
//! file as usual.

use super::module::module_of;
use crate::base::capture_writer::Writer;
use crate::proc::mapped_file::Identity;
use crate::proc::namespace;
use crate::remote_unwind::files::Files;
use capture::{Error, Module, ModuleId};
use procfs::ProcError;
use procfs::process::{MMPermissions, MMapPath, MemoryMap, Process};
use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use symbols::{JitCode, JitFiles, ModuleFile, Reason};

/// The list of mappings is not read again sooner than this: compilers map code all the time.
const STALE: Duration = Duration::from_millis(100);
/// The label for memory of which nothing better is known.
const ANONYMOUS: &str = "anonymous code (JIT?)";

/// The label for memory that is not executable and has no better one.
const NOT_CODE: &str = "anonymous memory";
/// How often the list is read again within [`STALE`] for memory that was not executable when it was read: compilers
/// make code of it.
const MOST_SOON: u32 = 16;

/// The label for a process whose mappings we may not read because it belongs to another user.
const WITHHELD: &str = "memory of another user";

/// What a process reported about code in some memory.
#[derive(Clone, Debug)]
pub(crate) struct JitReport {
    /// None if nothing could be read.
    pub(crate) code: Option<Arc<JitCode>>,
    /// Why other addresses in that memory have no names.
    pub(crate) otherwise: Reason,
}

/// The code of one process that the loader did not report.
pub(crate) struct AnonymousCode {
    pid: u32,
    /// None until the first address is looked up.
    seen: Option<Seen>,
    files: Files,
    /// Modules that stand for memory which may hold code.
    modules: Vec<ModuleId>,
    /// Modules that stand for other memory.
    data: Vec<ModuleId>,
}

/// A process as it was when first needed: at its end it can no longer be asked.
#[derive(Debug)]
struct Seen {
    regions: Vec<Region>,
    /// Memory that is not executable, without what has its own words.
    data: Vec<Region>,
    at: Instant,
    /// Readings of the list since then.
    soon: u32,
    files: JitFiles,
    /// We may not read the process's mappings.
    is_withheld: bool,
    /// The root of the process's file system, kept open because it must outlive the process.
    _root: Option<File>,
    jit_report: Option<JitReport>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Region {
    addresses: Range<u64>,
    holder: Holder,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Holder {
    /// Memory, with its label.
    Memory(String),
    /// A file, and the offset in it where the region begins.
    File { path: PathBuf, identity: Identity, offset: u64 },
}

/// Where an address lies.
pub(crate) struct Found {
    pub(crate) module: ModuleId,
    /// Subtract this from the process's address to get the module's.
    pub(crate) bias: u64,
    /// The file, if there is one, or why it cannot be opened.
    pub(crate) file: Option<Result<ModuleFile, Reason>>,
    /// The file itself, unless it was given away before.
    pub(crate) handle: Option<Arc<File>>,
}

impl AnonymousCode {
    pub(crate) fn new(pid: u32) -> AnonymousCode {
        AnonymousCode { pid, seen: None, files: Files::default(), modules: Vec::new(), data: Vec::new() }
    }

    /// The module that contains an address; `None` if nothing is known of it.
    pub(crate) fn find(&mut self, address: u64, writer: &mut Writer) -> Result<Option<Found>, Error> {
        match self.region(address) {
            Some(Region { addresses, holder: Holder::File { path, identity, offset } }) => {
                let path = path.as_os_str().as_bytes();
                let mapped = self.files.mapped(path, identity, self.pid, (addresses.start, offset));
                let Some((mut known, bias)) = mapped else { return Ok(None) };
                let (module, handle) = (writer.module(module_of(&known.file))?, known.handle.take());
                Ok(Some(Found { module, bias, file: Some(known.source()), handle }))
            }
            region => {
                // Without a region, the list is a moment old or the process is gone.
                let label = match &region {
                    Some(Region { holder: Holder::Memory(label), .. }) => label,
                    _ if self.seen.as_ref().is_some_and(|seen| seen.is_withheld) => WITHHELD,
                    _ => ANONYMOUS,
                };
                let path = format!("[{label} of {}]", self.pid);
                let module = writer.module(Module { path, ..Module::default() })?;
                let is_data = self.seen.as_ref().is_some_and(|seen| seen.is_data(address));
                let modules = if is_data { &mut self.data } else { &mut self.modules };
                if !modules.contains(&module) {
                    modules.push(module);
                }
                Ok(Some(Found { module, bias: 0, file: None, handle: None }))
            }
        }
    }

    fn region(&mut self, address: u64) -> Option<Region> {
        let seen = self.seen.get_or_insert_with(|| Seen::of(self.pid, maps(self.pid)));
        if find(&seen.regions, address).is_none() {
            let is_stale = seen.at.elapsed() >= STALE;
            if is_stale || seen.is_data(address) && seen.soon < MOST_SOON {
                let maps = maps(self.pid).unwrap_or_default();
                seen.regions = regions(self.pid, &maps, seen.regions.as_slice());
                if !maps.is_empty() {
                    seen.data = data(&maps);
                }
                seen.soon = if is_stale { 0 } else { seen.soon + 1 };
                if is_stale {
                    seen.at = Instant::now();
                }
            }
        }
        find(&seen.regions, address).or_else(|| find(&seen.data, address)).cloned()
    }

    /// What the process reported about its code, by module of memory. To be called when the process or the recording
    /// has ended.
    ///
    /// That counts for memory, too, that was not executable when we looked: a compiler takes the permission away while it
    /// writes.
    pub(crate) fn jit_reports(&mut self) -> Vec<(ModuleId, JitReport)> {
        let Some(seen) = &mut self.seen else { return Vec::new() };
        if self.modules.is_empty() && self.data.is_empty() {
            return Vec::new();
        }
        let withheld = seen.is_withheld.then_some(Reason::PermissionDenied);
        let read = || withheld.map_or_else(|| seen.files.read(), Err);
        let report = seen.jit_report.get_or_insert_with(|| match read() {
            Ok(code) => JitReport { code: Some(Arc::new(code)), otherwise: Reason::Untold },
            Err(otherwise) => JitReport { code: None, otherwise },
        });
        let in_data = JitReport { otherwise: Reason::NotCode, ..report.clone() };
        let of_code = self.modules.iter().map(|module| (*module, report.clone()));
        of_code.chain(self.data.iter().map(|module| (*module, in_data.clone()))).collect()
    }
}

impl std::fmt::Debug for AnonymousCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AnonymousCode")
            .field("pid", &self.pid)
            .field("seen", &self.seen)
            .finish_non_exhaustive()
    }
}

impl Seen {
    /// Whether an address is in memory that was never seen to be executable.
    fn is_data(&self, address: u64) -> bool {
        find(&self.regions, address).is_none() && find(&self.data, address).is_some()
    }

    /// A process with these mappings, or the reason why they cannot be read.
    fn of(pid: u32, maps: Result<Vec<MemoryMap>, Reason>) -> Seen {
        let is_withheld = maps == Err(Reason::PermissionDenied);
        let maps = maps.unwrap_or_default();
        let root = root(pid);
        let base = root.as_ref().map_or_else(
            || PathBuf::from("/"),
            |root| PathBuf::from(format!("/proc/self/fd/{}", root.as_raw_fd())),
        );
        let mapped = dumps(&maps).map(|path| base.join(path.strip_prefix("/").unwrap_or(path)));
        // A short-lived process may be gone before its mappings could be read, so also look under the usual name,
        // which has the pid in the process's own namespace.
        let own = namespace::own(pid).unwrap_or(pid);
        let usual = base.join(format!("tmp/jit-{own}.dump"));
        let files = JitFiles {
            perf_map: base.join(format!("tmp/perf-{own}.map")),
            dumps: mapped.chain([usual]).collect(),
            owner: std::fs::metadata(format!("/proc/{pid}")).map_or(0, |process| process.uid()),
            started_unix_ns: started(pid).unwrap_or(0),
        };
        Seen {
            regions: regions(pid, &maps, &[]),
            data: data(&maps),
            at: Instant::now(),
            soon: 0,
            files,
            is_withheld,
            _root: root,
            jit_report: None,
        }
    }
}

/// A handle of the process's root, through which its files are reached after it is gone.
fn root(pid: u32) -> Option<File> {
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
    std::fs::OpenOptions::new().read(true).custom_flags(flags).open(format!("/proc/{pid}/root")).ok()
}

/// Start of a process, in nanoseconds since the Unix epoch.
fn started(pid: u32) -> Option<u64> {
    let ticks = crate::proc::process::start_ticks(pid)?;
    let booted = procfs::boot_time_secs().ok()?;
    let per_second = procfs::ticks_per_second();
    Some(booted * 1_000_000_000 + ticks.saturating_mul(1_000_000_000) / per_second.max(1))
}

fn maps(pid: u32) -> Result<Vec<MemoryMap>, Reason> {
    match Process::new(pid as i32).and_then(|process| process.maps()) {
        Ok(maps) => Ok(maps.into_iter().collect()),
        Err(ProcError::PermissionDenied(_)) => Err(Reason::PermissionDenied),
        Err(_) => Err(Reason::NoMapping),
    }
}

/// Logs that compilers map to show profilers where they are.
fn dumps(maps: &[MemoryMap]) -> impl Iterator<Item = &Path> {
    maps.iter().filter_map(|map| match &map.pathname {
        MMapPath::Path(path) => Some(path.as_path()).filter(|path| is_dump(path)),
        _ => None,
    })
}

/// True for names like `jit-1234.dump`.
fn is_dump(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let number = name.strip_prefix("jit-").and_then(|rest| rest.strip_suffix(".dump"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()))
}

/// What can hold code now, plus earlier regions whose memory was given back: their labels were right.
fn regions(pid: u32, maps: &[MemoryMap], before: &[Region]) -> Vec<Region> {
    let mut regions: Vec<Region> = maps.iter().filter_map(|map| region(pid, map)).collect();
    let is_over = |region: &&Region| find(&regions, region.addresses.start).is_none();
    let over: Vec<Region> = before.iter().filter(is_over).cloned().collect();
    regions.extend(over);
    regions.sort_by_key(|region| region.addresses.start);
    regions
}

fn region(pid: u32, map: &MemoryMap) -> Option<Region> {
    let holder = match &map.pathname {
        MMapPath::Heap => Holder::Memory("heap".to_owned()),
        MMapPath::Stack => Holder::Memory(format!("stack of thread {pid}")),
        MMapPath::TStack(tid) => Holder::Memory(format!("stack of thread {tid}")),
        MMapPath::Path(path) if !is_memory(path) => {
            Holder::File { path: path.clone(), identity: Identity::of_map(map), offset: map.offset }
        }
        _ => Holder::Memory(ANONYMOUS.to_owned()),
    };
    let is_code = map.perms.contains(MMPermissions::EXECUTE);
    let has_words = matches!(&holder, Holder::Memory(label) if label != ANONYMOUS);
    (is_code || has_words).then_some(Region { addresses: map.address.0..map.address.1, holder })
}

/// Memory that cannot be executed, with labels of its own.
fn data(maps: &[MemoryMap]) -> Vec<Region> {
    let data = maps.iter().filter(|map| !map.perms.contains(MMPermissions::EXECUTE));
    let labelled = data.map(|map| {
        let label = match &map.pathname {
            MMapPath::Path(path) if !is_memory(path) => {
                let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
                format!("data of {}", name.trim_end_matches(" (deleted)"))
            }
            _ => NOT_CODE.to_owned(),
        };
        Region { addresses: map.address.0..map.address.1, holder: Holder::Memory(label) }
    });
    labelled.collect()
}

/// True for files that exist in memory only: compilers map code twice, to write it and to run it.
fn is_memory(path: &Path) -> bool {
    path.starts_with("/dev/zero")
        || path.starts_with("/dev/shm")
        || path.to_string_lossy().starts_with("/memfd:")
}

fn find(regions: &[Region], address: u64) -> Option<&Region> {
    let after = regions.partition_point(|region| region.addresses.start <= address);
    regions[..after].last().filter(|region| region.addresses.contains(&address))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(addresses: Range<u64>, label: &str) -> Region {
        Region { addresses, holder: Holder::Memory(label.to_owned()) }
    }

    /// Check that memory which is not executable is not taken for code, unless it was executable once, or becomes it
    /// before it is asked about again, and that it has its own reason.
    #[test]
    fn memory_that_is_not_executable_is_not_code() {
        let folder = tempfile::tempdir().unwrap();
        let capture = folder.path().join("capture");
        let mut writer = crate::base::capture_writer::create(&capture).unwrap();
        let mut anonymous = AnonymousCode::new(std::process::id());
        let mapped = memmap2::MmapMut::map_anon(4096).unwrap();
        let address = mapped.as_ptr() as u64;
        let mut path = |anonymous: &mut AnonymousCode| {
            let module = anonymous.find(address, &mut writer).unwrap().unwrap().module;
            let report = anonymous.jit_reports().into_iter().find(|(of, _)| *of == module).unwrap().1;
            (module, report.otherwise == Reason::NotCode)
        };
        let (memory, is_data) = path(&mut anonymous);
        assert!(is_data);
        let code = mapped.make_exec().unwrap();
        let (module, is_data) = path(&mut anonymous);
        assert!(module != memory && !is_data);
        let _data = code.make_mut().unwrap();
        assert_eq!(path(&mut anonymous), (module, false));
    }

    /// Check that our own heap and stack have their names, that our code is in our file under its own address, and
    /// that an address in no mapping is labelled as code.
    #[test]
    fn own_memory_has_words() {
        let folder = tempfile::tempdir().unwrap();
        let capture = folder.path().join("capture");
        let mut writer = crate::base::capture_writer::create(&capture).unwrap();
        let pid = std::process::id();
        let mut anonymous = AnonymousCode::new(pid);
        let maps = maps(pid).unwrap();
        let of = |wanted: fn(&MMapPath) -> bool| {
            maps.iter().find(|map| wanted(&map.pathname)).map(|map| map.address.0 + 8)
        };
        let mut module =
            |path: &str| writer.module(Module { path: path.to_owned(), ..Module::default() }).unwrap();
        let stack = of(|path| matches!(path, MMapPath::Stack)).expect("there is a stack");
        let mut expected = vec![(stack, module(&format!("[stack of thread {pid} of {pid}]")))];
        expected.extend(
            of(|path| matches!(path, MMapPath::Heap)).map(|heap| (heap, module(&format!("[heap of {pid}]")))),
        );
        expected.push((1, module(&format!("[anonymous code (JIT?) of {pid}]"))));
        let mapped = memmap2::MmapMut::map_anon(4096).unwrap();
        expected.push((mapped.as_ptr() as u64, module(&format!("[anonymous memory of {pid}]"))));
        static DATA: &str = "not code";
        let name = std::env::current_exe().unwrap();
        let name = name.file_name().unwrap().to_str().unwrap();
        expected.push((DATA.as_ptr() as u64, module(&format!("[data of {name} of {pid}]"))));
        for (address, module) in expected {
            let found = anonymous.find(address, &mut writer).unwrap().unwrap();
            assert_eq!((found.module, found.bias), (module, 0), "{address:x}");
            assert!(found.file.is_none());
        }
        let code = own_memory_has_words as *const () as u64;
        let found = anonymous.find(code, &mut writer).unwrap().unwrap();
        let own = std::fs::read_link("/proc/self/exe").unwrap();
        let file = found.file.expect("our code is in a file").unwrap();
        assert_eq!(file.path, own);
        let symbols = symbols::Symbolizer::default().open(&file).unwrap();
        let lookup = symbols.lookup(code.wrapping_sub(found.bias));
        assert!(lookup.function().is_some_and(|name| name.contains("own_memory_has_words")), "{lookup:?}");
    }

    /// Check that code of a process whose mappings may not be read says so, instead of being attributed to a
    /// compiler.
    #[test]
    fn withheld_memory_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let capture = folder.path().join("capture");
        let mut writer = crate::base::capture_writer::create(&capture).unwrap();
        for (maps, label, reason) in [
            (Err(Reason::PermissionDenied), "[memory of another user of 1]", Reason::PermissionDenied),
            (Err(Reason::NoMapping), "[anonymous code (JIT?) of 1]", Reason::Untold),
        ] {
            let mut anonymous = AnonymousCode { seen: Some(Seen::of(1, maps)), ..AnonymousCode::new(1) };
            let found = anonymous.find(0x1000, &mut writer).unwrap().unwrap();
            assert_eq!(
                found.module,
                writer.module(Module { path: label.into(), ..Module::default() }).unwrap()
            );
            let [(module, told)] = &anonymous.jit_reports()[..] else { panic!("one module was found") };
            assert_eq!(*module, found.module);
            assert!(told.code.as_ref().is_none_or(|code| code.is_empty()), "{label}");
            assert_eq!(told.otherwise, reason, "{label}");
        }
    }

    /// Check that memory that was given back keeps its label, unless something else is there now.
    #[test]
    fn given_back_memory_keeps_its_label() {
        let before = [region(10..20, "before"), region(30..40, "gone")];
        assert_eq!(regions(1, &[], &before), before);
        assert_eq!(find(&before, 19), Some(&before[0]));
        assert_eq!(find(&before, 20), None);
        assert_eq!(find(&before, 9), None);
    }

    /// Check which files count as compiler logs, and which as existing in memory only.
    #[test]
    fn files_are_known_by_their_names() {
        for (name, is) in [
            ("/tmp/jit-12.dump", true),
            ("/home/a/.debug/jit/x/jit-1.dump", true),
            ("/tmp/jit-.dump", false),
            ("/tmp/jit-a.dump", false),
            ("/tmp/jit-1.dump.old", false),
        ] {
            assert_eq!(is_dump(Path::new(name)), is, "{name}");
        }
        for (name, is) in
            [("/memfd:doublemapper (deleted)", true), ("/dev/zero", true), ("/usr/lib/libx.so", false)]
        {
            assert_eq!(is_memory(Path::new(name)), is, "{name}");
        }
    }
}
