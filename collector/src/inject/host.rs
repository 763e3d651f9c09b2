//! The target process of an injection, and what is known about it and the agent's hooks.

use super::linkage::{Function, Linkage, Loaded, Module, Slot, protection};
use crate::ptrace::arch::{restorer, way_back};
use crate::ptrace::memory::Memory;
use crate::ptrace::refusal::{self, Refusal};
use procfs::process::{MMPermissions, MMapPath, MemoryMap, MemoryMaps, Process};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Largest file that is taken for an agent's: with debug information it has some megabytes.
const LARGEST: u64 = 64 << 20;
/// File names.
pub(super) const LIBC: &str = "libc.so.6";
pub(super) const LOADER: &str = "ld-linux";
/// libc's file name before glibc 2.34. There `dlopen` was in a library of its own, which a program may not have
/// loaded.
const OLD_LIBC: &str = "libc-2.";
/// The agent's functions that we call; see `preload/src/entry/injected.rs`.
const BEGIN: &[u8] = b"sysprof_memprof_injected";
const NEXT: &[u8] = b"sysprof_memprof_next";
const CHANGE: &[u8] = b"sysprof_memprof_change";
const LEAVE: &[u8] = b"sysprof_memprof_withdrawn";
const ANSWER: &[u8] = b"sysprof_memprof_answer";
/// Prefixes of its functions that are not hooks.
const OWN: [&[u8]; 2] = [b"sysprof_memprof", b"memprof_"];

/// A function of the agent that replaces one of the program's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hook {
    pub(super) name: Vec<u8>,
    /// Address in the agent's file.
    pub(super) offset: u64,
    /// The original that the agent calls, once it has been asked for.
    pub(super) next: Option<u64>,
}

/// A word through which calls go.
pub(super) struct Word {
    pub(super) slot: Slot,
    pub(super) value: u64,
    /// Its page is read-only.
    pub(super) is_sealed: bool,
    /// Address range of its module.
    pub(super) module: Range<u64>,
}

/// Modules that have appeared since, and their words.
pub(super) struct Fresh {
    pub(super) modules: Vec<Loaded>,
    pub(super) words: Vec<Word>,
}

/// The target process.
pub(super) struct Host {
    pub(super) pid: u32,
    pub(super) agent: PathBuf,
    pub(super) memory: Memory,
    pub(super) maps: MemoryMaps,
    pub(super) modules: Vec<Module>,
    /// Functions that libc exports.
    pub(super) libc: Vec<Function>,
    pub(super) hooks: Vec<Hook>,
    /// The agent's functions that we call, by address in its file.
    pub(super) begin: u64,
    pub(super) next: u64,
    pub(super) change: u64,
    pub(super) leave: u64,
    pub(super) answer: u64,
    /// Address of the instructions by which signal handlers return.
    pub(super) restorer: u64,
    /// How long to wait for calls.
    pub(super) timeout: Duration,
    /// Base address of the agent.
    pub(super) base: Option<u64>,
    /// The agent's mapped file, which may have been renamed since.
    mapped: Option<Loaded>,
    by_name: HashMap<Vec<u8>, usize>,
    /// Modules whose words were changed.
    pub(super) hooked: HashSet<Loaded>,
}

impl Host {
    /// A process that is to have our agent's file, or has it.
    pub(super) fn new(pid: u32, agent: &Path, timeout: Duration) -> Result<Host, Refusal> {
        Host::with_agent(pid, agent, agent, timeout)
    }

    /// A process that has had an agent from its start, perhaps from a folder where we have none.
    pub(super) fn preloaded(pid: u32, agent: &Path, timeout: Duration) -> Result<Host, Refusal> {
        Host::with_agent(pid, agent, &inside(pid, agent), timeout)
    }

    fn with_agent(pid: u32, agent: &Path, file: &Path, timeout: Duration) -> Result<Host, Refusal> {
        refusal::check(pid)?;
        let memory = Memory::of(pid).map_err(|error| Refusal::of(pid, error))?;
        let maps = maps(pid)?;
        let modules = Module::all(&maps);
        let functions = exported(file)?;
        let own = |name: &[u8]| {
            let found = functions.iter().find(|(function, _)| function == name);
            found.map(|(_, offset)| *offset).ok_or(Refusal::OtherVersion)
        };
        let (begin, next, change) = (own(BEGIN)?, own(NEXT)?, own(CHANGE)?);
        let (leave, answer) = (own(LEAVE)?, own(ANSWER)?);
        let is_hook = |name: &[u8]| !OWN.iter().any(|own| name.starts_with(own));
        let hooks: Vec<Hook> = functions
            .into_iter()
            .filter(|(name, _)| is_hook(name))
            .map(|(name, offset)| Hook { name, offset, next: None })
            .collect();
        let by_name = hooks.iter().enumerate().map(|(at, hook)| (hook.name.clone(), at)).collect();
        let mut host = Host {
            pid,
            agent: agent.to_owned(),
            memory,
            maps,
            modules,
            libc: Vec::new(),
            hooks,
            begin,
            next,
            change,
            leave,
            answer,
            restorer: 0,
            timeout,
            base: None,
            mapped: None,
            by_name,
            hooked: HashSet::new(),
        };
        host.libc = host.module(LIBC).map(|libc| host.functions(libc)).unwrap_or_default();
        host.check(file)?;
        host.restorer = host.find_restorer().ok_or(Refusal::NotGlibc)?;
        host.base = host.find_agent();
        host.note_agent();
        Ok(host)
    }

    /// The same for a process forked by this one: everything is at the same addresses, unless it has executed a
    /// program since.
    pub(super) fn in_child(&self, pid: u32) -> Result<Host, Refusal> {
        refusal::check(pid)?;
        let memory = Memory::of(pid).map_err(|error| Refusal::of(pid, error))?;
        let maps = maps(pid)?;
        Ok(Host {
            pid,
            memory,
            modules: Module::all(&maps),
            maps,
            agent: self.agent.clone(),
            libc: self.libc.clone(),
            hooks: self.hooks.clone(),
            by_name: self.by_name.clone(),
            hooked: HashSet::new(),
            ..*self
        })
    }

    /// Fails for processes in which the agent cannot work.
    fn check(&self, file: &Path) -> Result<(), Refusal> {
        let executable = self.modules.first().and_then(|first| Linkage::read(&self.memory, first));
        let executable = executable.ok_or(Refusal::Static)?;
        check_library(&self.modules)?;
        // Calls within an executable do not go through words that could be changed.
        if executable.defines(b"malloc") {
            return Err(Refusal::OwnAllocator);
        }
        let theirs = inside(self.pid, &self.agent);
        if file == theirs || is_same_file(file, &theirs).unwrap_or(false) {
            Ok(())
        } else {
            Err(Refusal::Unreachable { path: self.agent.clone() })
        }
    }

    fn find_restorer(&self) -> Option<u64> {
        let libc = self.module(LIBC)?;
        let may_have = |map: &&MemoryMap| match way_back::IS_IN_LIBC {
            true => map.perms.contains(MMPermissions::EXECUTE) && libc.range.contains(&map.address.0),
            false => map.pathname == MMapPath::Vdso,
        };
        self.maps.iter().filter(may_have).find_map(|map| {
            let (start, end) = map.address;
            let at = restorer(&self.memory.bytes(start, end - start)?)?;
            Some(start + at as u64)
        })
    }

    fn module(&self, name: &str) -> Option<&Module> {
        self.modules.iter().find(|module| module.is_named(name))
    }

    /// The base address of the agent; `None` before it is loaded.
    pub(super) fn find_agent(&self) -> Option<u64> {
        let inode = fs::metadata(inside(self.pid, &self.agent)).ok()?.ino();
        let agent = self.modules.iter().find(|module| module.inode == inode && module.path == self.agent);
        agent.map(|module| module.range.start)
    }

    /// The base address of the agent in a process that has it.
    pub(super) fn base(&self) -> Result<u64, Refusal> {
        self.base.ok_or(Refusal::OtherVersion)
    }

    /// Remembers which file is mapped at the agent's base.
    pub(super) fn note_agent(&mut self) {
        let agent = self.modules.iter().find(|module| Some(module.range.start) == self.base);
        self.mapped = agent.map(Module::loaded);
    }

    /// Checks that the agent is still where it was found: after an exec anything may be there.
    pub(super) fn has_agent_still(&mut self) -> Result<bool, Refusal> {
        self.look_again()?;
        Ok(self.mapped.is_some_and(|mapped| lies(&self.modules, mapped)))
    }

    pub(super) fn look_again(&mut self) -> Result<(), Refusal> {
        self.maps = maps(self.pid)?;
        self.modules = Module::all(&self.maps);
        Ok(())
    }

    /// The functions that a module exports.
    fn functions(&self, module: &Module) -> Vec<Function> {
        Linkage::read(&self.memory, module).map(|linkage| linkage.functions()).unwrap_or_default()
    }

    /// The address of a libc function.
    pub(super) fn in_libc(&self, name: &str) -> Result<u64, Refusal> {
        let found = self.libc.iter().find(|function| function.name == name);
        found.map(|function| function.range.start).ok_or(Refusal::OldGlibc)
    }

    /// Unresolved hooks that one of these words might need. A search that found nothing would leave its error message
    /// in the program's thread, so others are not looked for.
    pub(super) fn wanted(&self, fresh: &Fresh) -> Vec<usize> {
        let is_used = |word: &&Word| word.value != 0;
        let functions: BTreeSet<usize> =
            fresh.words.iter().filter(is_used).map(|word| word.slot.function).collect();
        let is_unknown = |at: &usize| self.hooks.get(*at).is_some_and(|hook| hook.next.is_none());
        functions.into_iter().filter(is_unknown).collect()
    }

    /// The modules that have no hooks yet. Modules that the loader is still working on are left for later.
    pub(super) fn fresh(&self) -> Fresh {
        let mut fresh = Fresh { modules: Vec::new(), words: Vec::new() };
        for module in self.modules.iter().filter(|module| !self.hooked.contains(&module.loaded())) {
            // Nothing of it can be read yet, or ever.
            let Some(linkage) = Linkage::read(&self.memory, module) else { continue };
            if linkage.is_done(&self.maps) {
                fresh.words.extend(self.words(module, &linkage));
                fresh.modules.push(module.loaded());
            }
        }
        fresh
    }

    /// All words of all modules.
    pub(super) fn all_words(&self) -> Vec<Word> {
        let words = |module| Some(self.words(module, &Linkage::read(&self.memory, module)?));
        self.modules.iter().filter_map(words).flatten().collect()
    }

    /// The words through which a module calls functions that have hooks; none for the agent itself.
    fn words(&self, module: &Module, linkage: &Linkage<'_>) -> Vec<Word> {
        if module.path == self.agent {
            return Vec::new();
        }
        let word = |slot: Slot| {
            let protection = protection(&self.maps, slot.address)?;
            // A word in executable memory is not a table entry that the loader writes.
            (!protection.contains(MMPermissions::EXECUTE)).then_some(Word {
                slot,
                value: self.memory.word(slot.address)?,
                is_sealed: !protection.contains(MMPermissions::WRITE),
                module: module.range.clone(),
            })
        };
        linkage.slots(&self.by_name).into_iter().filter_map(word).collect()
    }
}

/// True if a file is still where it was loaded.
fn lies(modules: &[Module], loaded: Loaded) -> bool {
    modules.iter().any(|module| module.loaded() == loaded)
}

/// A process's file, by the path that it has there.
fn inside(pid: u32, path: &Path) -> PathBuf {
    Path::new("/proc").join(pid.to_string()).join("root").join(path.strip_prefix("/").unwrap_or(path))
}

/// True if another process's file has the same contents as ours, as a container's copy may.
fn is_same_file(ours: &Path, theirs: &Path) -> io::Result<bool> {
    Ok(contents(ours)? == contents(theirs)?)
}

/// Contents of a file of a process. The path can be anything, so this must not block on it.
fn contents(path: &Path) -> io::Result<Vec<u8>> {
    let no_file = || io::Error::other("it is no file of an agent");
    // Opening something that is not a file may have side effects.
    if !fs::metadata(path)?.is_file() {
        return Err(no_file());
    }
    let file =
        fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() > LARGEST {
        return Err(no_file());
    }
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// True if a process got its agent from us, and not from its start: then symbol search finds libc first. False if its
/// memory cannot be read, and so nothing be injected either.
pub(crate) fn is_injected(pid: u32, agent: &Path) -> bool {
    let libc_precedes = || {
        let (memory, maps) = (Memory::of(pid).ok()?, maps(pid).ok()?);
        let modules = Module::all(&maps);
        let executable = Linkage::read(&memory, modules.first()?)?;
        let is_libc = |path: &PathBuf| path.file_name().is_some_and(|name| name == LIBC);
        executable.search_order().find(|path| path == agent || is_libc(path)).map(|path| path != agent)
    };
    libc_precedes() == Some(true)
}

fn maps(pid: u32) -> Result<MemoryMaps, Refusal> {
    let maps = Process::new(pid.cast_signed()).and_then(|process| process.maps());
    maps.map_err(|error| match error {
        procfs::ProcError::PermissionDenied(_) => Refusal::of(pid, io::ErrorKind::PermissionDenied.into()),
        _ => Refusal::NoProcess { pid },
    })
}

/// The functions that the agent's file exports, with their addresses in it.
fn exported(agent: &Path) -> Result<Vec<(Vec<u8>, u64)>, Refusal> {
    use object::{Object, ObjectSymbol, SymbolKind};
    let bytes = contents(agent).map_err(Refusal::System)?;
    let file = object::File::parse(&*bytes).map_err(|error| Refusal::System(io::Error::other(error)))?;
    let functions =
        file.dynamic_symbols().filter(|symbol| symbol.is_definition() && symbol.kind() == SymbolKind::Text);
    Ok(functions.filter_map(|symbol| Some((symbol.name_bytes().ok()?.to_vec(), symbol.address()))).collect())
}

/// Fails if the C library cannot load the agent for us.
fn check_library(modules: &[Module]) -> Result<(), Refusal> {
    let has = |name| modules.iter().any(|module| module.is_named(name));
    match () {
        () if has(OLD_LIBC) => Err(Refusal::OldGlibc),
        () if has(LOADER) && has(LIBC) => Ok(()),
        () => Err(Refusal::NotGlibc),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that each C library is recognised.
    #[test]
    fn libraries_are_told_apart() {
        let check = |names: [&str; 2]| {
            let modules =
                names.map(|name| Module { path: Path::new("/lib").join(name), inode: 1, range: 0..1 });
            check_library(&modules)
        };
        assert!(check(["libc.so.6", "ld-linux-x86-64.so.2"]).is_ok());
        assert!(matches!(check(["libc-2.31.so", "ld-2.31.so"]), Err(Refusal::OldGlibc)));
        assert!(matches!(check(["ld-musl-x86_64.so.1", "libz.so.1"]), Err(Refusal::NotGlibc)));
    }

    /// Check that the agent counts as present as long as the same file is mapped at its address, whatever the file's
    /// name.
    #[test]
    fn agent_is_where_its_file_is() {
        let module =
            |path: &str, inode, start| Module { path: path.into(), inode, range: start..start + 0x1000 };
        let before = [module("/bin/x", 1, 0x1000), module("/lib/agent.so", 7, 0x4000)];
        let loaded = before[1].loaded();
        let renamed = [module("/bin/x", 1, 0x1000), module("/lib/agent.so (deleted)", 7, 0x4000)];
        assert!(lies(&before, loaded) && lies(&renamed, loaded));
        let elsewhere = [module("/bin/sleep", 2, 0x1000), module("/lib/agent.so", 7, 0x6000)];
        let another = [module("/bin/sleep", 2, 0x1000), module("/lib/libc.so.6", 8, 0x4000)];
        assert!(!lies(&elsewhere, loaded) && !lies(&another, loaded) && !lies(&[], loaded));
    }
}
