//! Gives the agent to a process that runs without it, so that it can be attached to.
//!
//! ```text
//!  moment ── a thread that holds no lock of the loader's or the allocator's ─► remote: it calls dlopen, and asks the agent
//!  linkage ─ the words through which modules call malloc and its kin ─┐
//!  group ─── all threads stand still ─────────────────────────────────┴─► the words are changed, all go on
//! ```
//!
//! The agent is then as it is where it was preloaded: dormant, until it is called. Its library stays in the process for good, since
//! somebody may have kept the address of a function in it; the words are put back at the end, and with them goes all that it costs.
//! Libraries that the process loads later are looked for once a second.
//!
//! What is different from a preloaded agent: words that are nobody's relocation, as copies of `&malloc` that the program made for
//! itself, stay what they were, and so does what the dynamic loader allocates.

mod group;
mod linkage;
mod memory;
mod moment;
mod refusal;
mod remote;
#[expect(unsafe_code, reason = "ptrace")]
mod tracee;

pub use refusal::Refusal;

use crate::launch::descendants;
use crate::log::debug;
use group::{Group, idlest};
use linkage::{Function, Linkage, Loaded, Module, Slot};
use memory::Memory;
use moment::{Bad, Ground, Refused};
use procfs::process::{MemoryMaps, Process};
use remote::{Argument, Caller, Failed, look};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::io::Read;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Names of files.
const LIBC: &str = "libc.so.6";
const LOADER: &str = "ld-linux";
/// Functions of the agent: what a call of one gives when all is well, see `preload/src/injected.rs`.
const BEGIN: &[u8] = b"sysprof_memprof_injected";
const NEXT: &[u8] = b"sysprof_memprof_next";
const LEAVE: &[u8] = b"sysprof_memprof_withdrawn";
const IS_READY: u64 = 0;
const HAS_NO_DOORBELL: u64 = 1;
const IS_PRELOADED: u64 = 3;
/// Its other functions are not hooks.
const OWN: [&[u8]; 2] = [b"sysprof_memprof", b"memprof_"];
/// How often new libraries are looked for.
const PACE: Duration = Duration::from_secs(1);
/// How long a thread may take to stop, before another one is looked at.
const STOPS: Duration = Duration::from_millis(50);
/// Between two rounds over all threads.
const AGAIN: Duration = Duration::from_millis(3);
/// How long the process is asked to leave its recording.
const LEAVES: Duration = Duration::from_secs(2);

/// An agent in a process that was not preloaded, until this is dropped.
#[derive(Debug)]
pub struct Injection {
    /// Dropped first: the thread sees that it is over.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Injection {
    /// Loads the agent's file into a process and puts its hooks in front of the allocator's functions. The process stands still for some
    /// milliseconds, and for no longer one of its threads at a good moment, which is waited for until `patience` is at its end.
    ///
    /// # Errors
    /// Why the process cannot have it.
    pub fn new(pid: u32, agent: &Path, patience: Duration) -> Result<Injection, Refusal> {
        let (end, ends) = channel();
        let (tell, told) = channel();
        let agent = agent.to_owned();
        // A thread of its own: tracees belong to threads, and are free when it ends.
        let work = move || work(pid, &agent, patience, &tell, &ends);
        let thread =
            std::thread::Builder::new().name("inject".into()).spawn(work).map_err(Refusal::System)?;
        let injection = Injection { end: Some(end), thread: Some(thread) };
        match told.recv() {
            Ok(Ok(())) => Ok(injection),
            Ok(Err(refusal)) => Err(refusal),
            Err(_) => Err(Refusal::System(std::io::Error::other("the thread that injects has crashed"))),
        }
    }
}

impl Drop for Injection {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn work(pid: u32, agent: &Path, patience: Duration, tell: &Sender<Result<(), Refusal>>, ends: &Receiver<()>) {
    let begun = Host::new(pid, agent).and_then(|mut host| {
        let fresh = host.load(Instant::now() + patience)?;
        if let Err(refusal) = host.hook(&fresh) {
            // Some of it may be done.
            host.restore()?;
            return Err(refusal);
        }
        Ok(host)
    });
    let mut host = match begun {
        Ok(host) => host,
        Err(refusal) => {
            let _ = tell.send(Err(refusal));
            return;
        }
    };
    let _ = tell.send(Ok(()));
    while ends.recv_timeout(PACE) == Err(RecvTimeoutError::Timeout) {
        match host.follow() {
            Ok(()) => {}
            Err(Refusal::NoProcess { .. }) => return,
            Err(refusal) => debug!("cannot follow what process {pid} loads: {refusal}"),
        }
    }
    // What it forked meanwhile has copies of the changed words.
    let children = descendants(pid);
    if let Err(refusal) = host.restore() {
        debug!("process {pid} keeps the hooks: {refusal}");
    }
    for child in children {
        if let Err(refusal) = host.in_child(child.pid).and_then(|mut host| host.restore()) {
            debug!("child {} of process {pid}: {refusal}", child.pid);
        }
    }
}

/// A function of the agent that stands for one of the program's.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hook {
    name: Vec<u8>,
    /// Address in the agent's file.
    offset: u64,
    /// What the agent calls in its turn, once that was asked for.
    next: Option<u64>,
}

/// A word that calls go through, and where its module lies.
struct Word {
    slot: Slot,
    module: Range<u64>,
}

/// Modules that were not there before, and their words.
struct Fresh {
    modules: Vec<Loaded>,
    words: Vec<Word>,
}

/// A process that gets the agent.
struct Host {
    pid: u32,
    agent: PathBuf,
    memory: Memory,
    maps: MemoryMaps,
    modules: Vec<Module>,
    /// What libc defines for others.
    libc: Vec<Function>,
    hooks: Vec<Hook>,
    /// Functions of the agent that we call, by address in its file.
    begin: u64,
    next: u64,
    leave: u64,
    by_name: HashMap<Vec<u8>, usize>,
    /// Modules whose words were changed.
    hooked: HashSet<Loaded>,
}

impl Host {
    fn new(pid: u32, agent: &Path) -> Result<Host, Refusal> {
        refusal::check(pid)?;
        let memory = Memory::of(pid).map_err(|error| Refusal::of(pid, error))?;
        let maps = maps(pid)?;
        let modules = Module::all(&maps);
        let functions = exported(agent)?;
        let own = |name: &[u8]| {
            let found = functions.iter().find(|(function, _)| function == name);
            found.map(|(_, offset)| *offset).ok_or(Refusal::OtherVersion)
        };
        let (begin, next, leave) = (own(BEGIN)?, own(NEXT)?, own(LEAVE)?);
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
            leave,
            by_name,
            hooked: HashSet::new(),
        };
        host.libc = host.module(LIBC).map(|libc| host.functions(libc)).unwrap_or_default();
        host.check()?;
        Ok(host)
    }

    /// A process that this one has forked: what was found is where it was.
    fn in_child(&self, pid: u32) -> Result<Host, Refusal> {
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

    /// Fails on processes that have no place for the agent.
    fn check(&self) -> Result<(), Refusal> {
        let executable = self.modules.first().and_then(|first| Linkage::read(&self.memory, first));
        let functions = executable.ok_or(Refusal::Static)?.functions();
        if self.module(LOADER).is_none() || self.module(LIBC).is_none() {
            return Err(Refusal::NotGlibc);
        }
        // The agent would lie there and record nothing.
        self.in_libc("_dl_find_object")?;
        // Calls inside an executable go no way that could be changed.
        if functions.iter().any(|function| function.name == "malloc") {
            return Err(Refusal::OwnAllocator);
        }
        if is_same_file(&self.agent, &self.inside()).unwrap_or(false) {
            Ok(())
        } else {
            Err(Refusal::Unreachable { path: self.agent.clone() })
        }
    }

    /// The agent's file as the process sees it.
    fn inside(&self) -> PathBuf {
        let agent = self.agent.strip_prefix("/").unwrap_or(&self.agent);
        Path::new("/proc").join(self.pid.to_string()).join("root").join(agent)
    }

    fn module(&self, name: &str) -> Option<&Module> {
        self.modules.iter().find(|module| module.is_named(name))
    }

    /// Where the agent is.
    fn base(&self) -> Option<u64> {
        let inode = fs::metadata(self.inside()).ok()?.ino();
        let agent = self.modules.iter().find(|module| module.inode == inode && module.path == self.agent);
        agent.map(|module| module.range.start)
    }

    fn look_again(&mut self) -> Result<(), Refusal> {
        self.maps = maps(self.pid)?;
        self.modules = Module::all(&self.maps);
        Ok(())
    }

    /// What a module defines for others.
    fn functions(&self, module: &Module) -> Vec<Function> {
        Linkage::read(&self.memory, module).map(|linkage| linkage.functions()).unwrap_or_default()
    }

    /// Where libc has a function.
    fn in_libc(&self, name: &str) -> Result<u64, Refusal> {
        let found = self.libc.iter().find(|function| function.name == name);
        found.map(|function| function.range.start).ok_or(Refusal::OldGlibc)
    }

    fn survey(&self) -> Ground {
        Ground::survey(self.pid, &self.memory, &self.maps, &self.modules, &self.libc)
    }

    /// Stops a thread at a good moment.
    fn caller(&self, ground: &mut Ground, deadline: Instant) -> Result<Caller, Refusal> {
        let pid = self.pid;
        let failed = |error| Refusal::of(pid, error);
        let gate = self.gate()?;
        let mut last = Bad::Dark;
        while Instant::now() < deadline {
            let mut good = Vec::new();
            let mut is_loading = false;
            for thread in idlest(pid).map_err(failed)? {
                let stood = look(pid, thread, &self.memory, Instant::now() + STOPS);
                let Some(stood) = stood.map(Some).or_else(ended).map_err(failed)? else { continue };
                // At leisure: to read unwind tables takes longer than a thread should stand still.
                match stood.map(|stood| ground.check(&stood.registers, &stood.stack)) {
                    Some(Ok(()) | Err(Refused { until: Some(_), is_loading: false, .. })) => {
                        good.push(thread)
                    }
                    Some(Err(refused)) => {
                        last = refused.bad;
                        is_loading |= refused.is_loading;
                    }
                    // It has not stopped, so nobody knows what it does.
                    None => (last, is_loading) = (Bad::Call, true),
                }
            }
            // One that stays in the loader, or may, has its lock.
            for thread in good.into_iter().filter(|_| !is_loading) {
                let deadline = Instant::now() + STOPS;
                let stopped = Caller::stop(thread, gate, ground, &self.memory, deadline).map(Some);
                match stopped.or_else(ended).map_err(failed)? {
                    Some(Ok(caller)) => return Ok(caller),
                    Some(Err(bad)) => last = bad,
                    None => {}
                }
            }
            std::thread::sleep(AGAIN);
        }
        Err(Refusal::NoMoment { last: last.to_string() })
    }

    /// A `syscall` instruction: libc's function of that name has one.
    fn gate(&self) -> Result<u64, Refusal> {
        let start = self.in_libc("syscall")?;
        let code = self.memory.bytes_up_to(start, 64);
        let at = code.windows(2).position(|bytes| bytes == [0x0f, 0x05]).ok_or(Refusal::NotGlibc)?;
        Ok(start + at as u64)
    }

    /// Calls a function of the process.
    fn call(&self, caller: &mut Caller, function: u64, arguments: &[Argument<'_>]) -> Result<u64, Refusal> {
        caller.call(function, arguments).map_err(|failed| match failed {
            Failed::System(error) => Refusal::of(self.pid, error),
            Failed::Signal(signal) => Refusal::Crashed { signal },
        })
    }

    /// Has the process load the agent, and finds out what stands behind each hook.
    fn load(&mut self, deadline: Instant) -> Result<Fresh, Refusal> {
        let (open, error) = (self.in_libc("dlopen")?, self.in_libc("dlerror")?);
        let fresh = self.fresh();
        let mut caller = self.caller(&mut self.survey(), deadline)?;
        let path = self.agent.as_os_str().as_bytes();
        let flags = Argument::Number(u64::from((libc::RTLD_NOW | libc::RTLD_LOCAL).cast_unsigned()));
        let handle = self.call(&mut caller, open, &[Argument::Text(path), flags])?;
        if handle == 0 {
            let text = self.call(&mut caller, error, &[])?;
            return Err(Refusal::Load { text: self.memory.text(text) });
        }
        let is_new = self.base().is_none();
        self.look_again()?;
        let base = self.base().ok_or(Refusal::OtherVersion)?;
        let state = self.call(&mut caller, base + self.begin, &[Argument::Number(is_new.into())])?;
        match state & u64::from(u32::MAX) {
            IS_READY => {}
            HAS_NO_DOORBELL => return Err(Refusal::NoDoorbell),
            IS_PRELOADED => return Err(Refusal::Deaf),
            _ => return Err(Refusal::OldGlibc),
        }
        self.find(&mut caller, self.wanted(&fresh))?;
        Ok(fresh)
    }

    /// Asks the agent what stands behind hooks.
    fn find(&mut self, caller: &mut Caller, wanted: Vec<usize>) -> Result<(), Refusal> {
        let next = self.base().ok_or(Refusal::OtherVersion)? + self.next;
        for at in wanted {
            let Some(hook) = self.hooks.get(at) else { continue };
            let found = self.call(caller, next, &[Argument::Text(&hook.name)])?;
            if let Some(hook) = self.hooks.get_mut(at).filter(|_| found != 0) {
                hook.next = Some(found);
            }
        }
        Ok(())
    }

    /// The hooks that are not known yet and that one of these words could hold: a search that finds nothing would leave its message in
    /// the program's thread.
    fn wanted(&self, fresh: &Fresh) -> Vec<usize> {
        let is_used = |word: &&Word| self.memory.word(word.slot.address).is_some_and(|value| value != 0);
        let functions: BTreeSet<usize> =
            fresh.words.iter().filter(is_used).map(|word| word.slot.function).collect();
        let is_unknown = |at: &usize| self.hooks.get(*at).is_some_and(|hook| hook.next.is_none());
        functions.into_iter().filter(is_unknown).collect()
    }

    /// The modules that have no hooks yet.
    fn fresh(&self) -> Fresh {
        let modules = || self.modules.iter().filter(|module| !self.hooked.contains(&module.loaded()));
        Fresh {
            modules: modules().map(Module::loaded).collect(),
            words: modules().flat_map(|module| self.words(module)).collect(),
        }
    }

    /// The words through which a module calls what there are hooks for.
    fn words(&self, module: &Module) -> Vec<Word> {
        if module.path == self.agent {
            return Vec::new();
        }
        let slots = Linkage::read(&self.memory, module).map(|linkage| linkage.slots(&self.by_name));
        let word = |slot| Word { slot, module: module.range.clone() };
        slots.unwrap_or_default().into_iter().map(word).collect()
    }

    /// Puts the hooks into words of modules that do not have them yet.
    fn hook(&mut self, fresh: &Fresh) -> Result<(), Refusal> {
        let base = self.base().ok_or(Refusal::OtherVersion)?;
        let change = |Word { slot, module }: &Word| {
            let hook = self.hooks.get(slot.function)?;
            let (word, next) = (self.memory.word(slot.address)?, hook.next?);
            let is_unbound = slot.is_lazy && module.contains(&word);
            (word == next || is_unbound).then_some((slot.address, base + hook.offset))
        };
        let changed = self.change(&fresh.words, change)?;
        debug!(
            "{changed} of {} words in {} modules of process {} lead to hooks",
            fresh.words.len(),
            fresh.modules.len(),
            self.pid
        );
        self.hooked.extend(&fresh.modules);
        Ok(())
    }

    /// Changes words while all threads stand still.
    fn change(&self, words: &[Word], change: impl Fn(&Word) -> Option<(u64, u64)>) -> Result<usize, Refusal> {
        // Most need not be looked at again.
        let likely: Vec<&Word> = words.iter().filter(|word| change(word).is_some()).collect();
        if likely.is_empty() {
            return Ok(0);
        }
        let failed = |error| Refusal::of(self.pid, error);
        let begun = Instant::now();
        let group = Group::stop(self.pid).map_err(failed)?;
        let mut changed = 0;
        for (address, word) in likely.into_iter().filter_map(change) {
            group.poke(address, word).map_err(failed)?;
            changed += 1;
        }
        drop(group);
        debug!("process {} stood still for {:?}", self.pid, begun.elapsed());
        Ok(changed)
    }

    /// Looks for libraries that were loaded since.
    fn follow(&mut self) -> Result<(), Refusal> {
        self.look_again()?;
        let present: HashSet<Loaded> = self.modules.iter().map(Module::loaded).collect();
        // Another one may be loaded where one was.
        self.hooked.retain(|module| present.contains(module));
        let fresh = self.fresh();
        if fresh.modules.is_empty() {
            return Ok(());
        }
        let wanted = self.wanted(&fresh);
        if !wanted.is_empty() {
            let mut caller = self.caller(&mut self.survey(), Instant::now() + LEAVES)?;
            self.find(&mut caller, wanted)?;
        }
        self.hook(&fresh)
    }

    /// Puts all words back, and has the process leave a recording that is over.
    fn restore(&mut self) -> Result<(), Refusal> {
        self.look_again()?;
        let base = self.base().ok_or(Refusal::OtherVersion)?;
        let words: Vec<Word> = self.modules.iter().flat_map(|module| self.words(module)).collect();
        let change = |Word { slot, .. }: &Word| {
            let hook = self.hooks.get(slot.function)?;
            let is_ours = self.memory.word(slot.address)? == base + hook.offset;
            Some((slot.address, hook.next.filter(|_| is_ours)?))
        };
        let changed = self.change(&words, change)?;
        debug!("{changed} words of process {} are what they were", self.pid);
        let deadline = Instant::now() + LEAVES;
        let mut ground = self.survey();
        let mut caller = self.caller(&mut ground, deadline)?;
        // Threads may still be in hooks, this one is not.
        while self.call(&mut caller, base + self.leave, &[])? & 0xff == 0 {
            drop(caller);
            std::thread::sleep(AGAIN);
            caller = self.caller(&mut ground, deadline)?;
        }
        Ok(())
    }
}

/// True when another process' file is just like one of ours, as that of a container may be. It can be anything, and is not waited for.
fn is_same_file(ours: &Path, theirs: &Path) -> std::io::Result<bool> {
    let ours = fs::read(ours)?;
    let theirs =
        fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(theirs)?;
    let metadata = theirs.metadata()?;
    if !metadata.is_file() || metadata.len() != ours.len() as u64 {
        return Ok(false);
    }
    let mut bytes = Vec::new();
    theirs.take(metadata.len()).read_to_end(&mut bytes)?;
    Ok(bytes == ours)
}

/// A thread that has ended has no moment, good or bad.
fn ended<T>(error: std::io::Error) -> std::io::Result<Option<T>> {
    if error.raw_os_error() == Some(libc::ESRCH) { Ok(None) } else { Err(error) }
}

fn maps(pid: u32) -> Result<MemoryMaps, Refusal> {
    let maps = Process::new(pid.cast_signed()).and_then(|process| process.maps());
    maps.map_err(|error| match error {
        procfs::ProcError::PermissionDenied(_) => {
            Refusal::of(pid, std::io::ErrorKind::PermissionDenied.into())
        }
        _ => Refusal::NoProcess { pid },
    })
}

/// The functions that the agent's file defines for others, with their addresses in it.
fn exported(agent: &Path) -> Result<Vec<(Vec<u8>, u64)>, Refusal> {
    use object::{Object, ObjectSymbol, SymbolKind};
    let bytes = fs::read(agent).map_err(Refusal::System)?;
    let file = object::File::parse(&*bytes).map_err(|error| Refusal::System(std::io::Error::other(error)))?;
    let functions =
        file.dynamic_symbols().filter(|symbol| symbol.is_definition() && symbol.kind() == SymbolKind::Text);
    Ok(functions.filter_map(|symbol| Some((symbol.name_bytes().ok()?.to_vec(), symbol.address()))).collect())
}
