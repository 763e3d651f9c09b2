//! Decides whether a thread can be made to load a library at the point where it is.
//!
//! Loading takes the locks of the loader, the allocator and the exit handlers. All other threads keep running, so
//! only what the thread itself holds can cause a deadlock. A point is safe if no function that holds one of these
//! locks is on the thread's stack, which requires a stack that can be unwound to its root. Whatever is unknown, such
//! as unnamed functions of a stripped libc, counts as unsafe: there will be another point, or another thread.

use super::linkage::{Function, Linkage, Module};
use crate::proc::mapped_file::Identity;
use crate::proc::vdso::VDSO;
use crate::ptrace::arch::{OLD_WAITS, Registers};
use crate::ptrace::memory::Memory;
use crate::remote_unwind::files::Files;
use crate::remote_unwind::space::{Mapping, Space, View};
use procfs::process::{MMPermissions, MMapPath, MemoryMaps};
use std::fmt;
use std::ops::Range;
use unwind::{CodeAddress, End, Scratch, StackSample, unwind_sample};

/// Most bytes of a stack that are copied.
pub(super) const STACK: usize = 256 << 10;
/// Room below the stack pointer that loading may need.
const ROOM: u64 = 80 << 10;
const MOST_FRAMES: usize = 1024;
/// Most frames that must return before the thread is at a safe point.
const MOST_IN_THE_WAY: usize = 32;
/// Functions of libc that hold one of the locks, or copy the process.
const LOCKING: &str = "malloc calloc realloc reallocarray free cfree memalign aligned_alloc posix_memalign valloc pvalloc \
    malloc_trim malloc_info malloc_stats mallinfo mallinfo2 mallopt malloc_usable_size free_sized free_aligned_sized \
    dl_iterate_phdr dlopen dlmopen dlclose dlsym dlvsym dladdr dladdr1 dlinfo dlerror exit quick_exit _exit on_exit atexit \
    at_quick_exit __cxa_atexit __cxa_at_quick_exit __cxa_finalize __cxa_thread_atexit_impl __register_atfork \
    pthread_atfork fork _Fork vfork posix_spawn posix_spawnp pthread_create pthread_exit __libc_freeres";
/// Those of them that hold the loader's lock.
const LOADING: &str = "dl_iterate_phdr dlopen dlmopen dlclose dlsym dlvsym dladdr dladdr1 dlinfo";
/// Functions of libc that wait for something of the program's, by a futex or in a system call that is restarted after
/// an interruption.
const WAITING: &str = "nanosleep clock_nanosleep usleep sleep thrd_sleep poll ppoll syscall pthread_cond_wait pthread_cond_timedwait pthread_cond_clockwait sem_wait sem_timedwait \
    sem_clockwait pthread_join pthread_timedjoin_np pthread_clockjoin_np pthread_mutex_lock pthread_mutex_timedlock \
    pthread_mutex_clocklock pthread_rwlock_rdlock pthread_rwlock_wrlock pthread_barrier_wait cnd_wait cnd_timedwait thrd_join \
    mtx_lock";
/// System calls in which programs wait for something from outside, while libc holds no lock.
const WAITS: [i64; 25] = [
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_connect,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_io_getevents,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_rt_sigsuspend,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_sched_yield,
];

/// Why a thread is not at a safe point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// The stack cannot be unwound to its root.
    IncompleteStack,
    /// In a signal handler, which may have interrupted anything.
    SignalHandler,
    /// In the loader or the allocator, or waiting for their locks.
    LockHeld,
    /// In a system call that they may have made.
    SystemCall,
    /// The stack has no room, like those of coroutines.
    SmallStack,
    /// It ignores the signal by which calls return to us.
    SignalIgnored,
    /// Its vector registers are in a mode of their own, in which libraries cannot run.
    StreamingMode,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str(match self {
            Obstacle::IncompleteStack => "its stack could not be followed to its root",
            Obstacle::SignalHandler => "it was in a signal handler",
            Obstacle::LockHeld => "it was in the loader, in the allocator, or beginning or ending",
            Obstacle::SystemCall => "it was in a system call that may be the loader's or the allocator's",
            Obstacle::SmallStack => "its stack is too small",
            Obstacle::StreamingMode => "it was in the processor's streaming mode",
            Obstacle::SignalIgnored => "its process ignores SIGSEGV, which tells of the end of a call",
        })
    }
}

/// A point that is not safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotSafe {
    pub(super) obstacle: Obstacle,
    /// The address at which the thread will be at a safe point, once the functions in the way have returned.
    pub(super) until: Option<u64>,
    /// It is in the loader, and may hold its locks.
    pub(super) is_loading: bool,
}

impl From<Obstacle> for NotSafe {
    fn from(obstacle: Obstacle) -> NotSafe {
        NotSafe { obstacle, until: None, is_loading: false }
    }
}

/// The memory layout of a process.
pub(super) struct SafepointChecker {
    pid: u32,
    space: Space,
    files: Files,
    scratch: Scratch,
    /// Mappings that may contain stacks.
    writable: Vec<Range<u64>>,
    /// Code of allocators in libraries of their own.
    barred: Vec<Range<u64>>,
    loader: Range<u64>,
    libc: Range<u64>,
    /// In order of address.
    functions: Vec<Known>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Known {
    range: Range<u64>,
    is_locking: bool,
    is_loading: bool,
    is_waiting: bool,
}

/// What a frame executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Elsewhere,
    /// An allocator in a library of its own.
    Barred,
    Loader,
    /// libc; with its exported function, if it is one.
    Libc {
        is_known: bool,
        is_locking: bool,
        is_loading: bool,
        is_waiting: bool,
    },
}

impl SafepointChecker {
    /// The process.
    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    pub(super) fn survey(
        pid: u32,
        memory: &Memory,
        maps: &MemoryMaps,
        modules: &[Module],
        libc_functions: &[Function],
    ) -> SafepointChecker {
        let (mut space, mut files) = (Space::default(), Files::default());
        let mut writable = Vec::new();
        for map in maps {
            if map.perms.contains(MMPermissions::WRITE) {
                writable.push(map.address.0..map.address.1);
            }
            if !map.perms.contains(MMPermissions::EXECUTE) {
                continue;
            }
            let file = match &map.pathname {
                MMapPath::Path(path) => {
                    files.id(path.as_os_str().as_encoded_bytes(), &[], Identity::of_map(map))
                }
                MMapPath::Vdso => files.id(VDSO.as_bytes(), &[], Identity::default()),
                _ => None,
            };
            space.map(map.address.0, Mapping { end: map.address.1, offset: map.offset, file });
        }
        let libc = modules.iter().find(|module| module.is_named(super::host::LIBC));
        let mut functions: Vec<Known> = libc_functions.iter().map(known).collect();
        functions.sort_by_key(|function| function.range.start);
        // A function may have several names.
        functions.dedup_by(|next, kept| {
            let is_same = next.range == kept.range;
            kept.is_locking |= is_same && next.is_locking;
            kept.is_loading |= is_same && next.is_loading;
            kept.is_waiting |= is_same && next.is_waiting;
            is_same
        });
        let is_barred = |module: &&Module| is_allocator(memory, module);
        let loader = modules.iter().find(|module| module.is_named(super::host::LOADER));
        SafepointChecker {
            pid,
            space,
            files,
            scratch: Scratch::new(),
            writable,
            barred: modules.iter().filter(is_barred).map(|module| module.range.clone()).collect(),
            loader: loader.map_or(0..0, |loader| loader.range.clone()),
            libc: libc.map_or(0..0, |libc| libc.range.clone()),
            functions,
        }
    }

    /// Fails for a thread that must not load anything now. `stack` is the thread's stack from the stack pointer on.
    pub(super) fn check(&mut self, registers: &Registers, stack: &[u8]) -> Result<(), NotSafe> {
        let (call, pointer) = (registers.system_call(), registers.stack());
        let room = self.writable.iter().find(|range| range.contains(&pointer));
        if room.is_none_or(|range| pointer - range.start < ROOM && !stack_grows(range, &self.writable)) {
            return Err(Obstacle::SmallStack.into());
        }
        let (start, link) = (registers.start(), registers.link());
        let sample = StackSample { registers: start, link, stack, max_depth: MOST_FRAMES };
        let view = View { space: &self.space, files: &self.files, pid: self.pid };
        let mut codes = Vec::new();
        let end = unwind_sample(&sample, &view, &mut self.scratch, |frame| codes.push(frame.code()));
        if end != End::Root {
            return Err(Obstacle::IncompleteStack.into());
        }
        if codes.iter().skip(1).any(|code| matches!(code, CodeAddress::Exact(_))) {
            return Err(Obstacle::SignalHandler.into());
        }
        let places: Vec<Place> = codes.iter().map(|code| self.place(code.lookup())).collect();
        judge(&places, call).map_err(|obstacle| {
            let outer = 1..places.len().min(MOST_IN_THE_WAY);
            let is_safe =
                |depth: &usize| places.get(*depth..).is_some_and(|outer| judge(outer, None).is_ok());
            let until = outer.into_iter().find(is_safe).and_then(|depth| codes.get(depth));
            let is_loading = places.iter().any(|place| {
                matches!(place, Place::Loader | Place::Libc { is_locking: true, is_loading: true, .. })
            });
            NotSafe { obstacle, until: until.map(|code| code.address()), is_loading }
        })
    }

    fn place(&self, address: u64) -> Place {
        if self.loader.contains(&address) {
            return Place::Loader;
        }
        if self.barred.iter().any(|range| range.contains(&address)) {
            return Place::Barred;
        }
        if !self.libc.contains(&address) {
            return Place::Elsewhere;
        }
        let after = self.functions.partition_point(|function| function.range.start <= address);
        let found = after.checked_sub(1).and_then(|at| self.functions.get(at));
        let found = found.filter(|function| function.range.contains(&address));
        Place::Libc {
            is_known: found.is_some(),
            is_locking: found.is_some_and(|function| function.is_locking),
            is_loading: found.is_some_and(|function| function.is_loading),
            is_waiting: found.is_some_and(|function| function.is_waiting),
        }
    }
}

fn known(function: &Function) -> Known {
    let is_in = |list: &str| list.split_ascii_whitespace().any(|name| name == function.name);
    // libc's own names for its allocator functions.
    let plain = function.name.strip_prefix("__libc_").unwrap_or(&function.name);
    let is_locking = is_in(LOCKING) || LOCKING.split_ascii_whitespace().any(|name| name == plain);
    Known {
        is_locking,
        is_loading: is_in(LOADING),
        is_waiting: is_in(WAITING),
        range: function.range.clone(),
    }
}

/// True for a library other than libc that has a `malloc`.
fn is_allocator(memory: &Memory, module: &Module) -> bool {
    !module.is_named(super::host::LIBC)
        && Linkage::read(memory, module).is_some_and(|linkage| linkage.defines(b"malloc"))
}

/// True for the first thread's stack, which the kernel grows into the gap below it.
fn stack_grows(stack: &Range<u64>, writable: &[Range<u64>]) -> bool {
    let below = writable.iter().map(|range| range.end).filter(|end| *end <= stack.start).max();
    below.is_none_or(|below| stack.start - below > 4 * ROOM)
}

/// Judges a stack that was unwound to its root, innermost frame first.
fn judge(places: &[Place], call: Option<i64>) -> Result<(), Obstacle> {
    let is_locking =
        |place: &Place| matches!(place, Place::Barred | Place::Loader | Place::Libc { is_locking: true, .. });
    if places.iter().any(is_locking) {
        return Err(Obstacle::LockHeld);
    }
    // A wait restarted after an interruption does not say what kind it is.
    let is_futex = matches!(call, Some(libc::SYS_futex | libc::SYS_restart_syscall));
    if call.is_some_and(|call| !is_futex && !WAITS.contains(&call) && !OLD_WAITS.contains(&call)) {
        return Err(Obstacle::SystemCall);
    }
    let is_in_libc = !matches!(places.first(), None | Some(Place::Elsewhere));
    // Unnamed helpers of waiting functions, or the end of a system call, are harmless. Any other unnamed function may
    // hold a lock.
    let helpers = match call {
        Some(_) if is_futex && is_in_libc => {
            let known = places.iter().position(|place| !matches!(place, Place::Libc { is_known: false, .. }));
            match known.and_then(|at| Some((at, places.get(at)?))) {
                Some((at, Place::Libc { is_waiting: true, .. })) => at,
                _ => return Err(Obstacle::LockHeld),
            }
        }
        Some(_) => 1,
        None => 0,
    };
    // The outermost functions of a thread have no names, nor has the function between libc's entry point and main;
    // the innermost frame is never one of these.
    let first = match places.iter().nth_back(1) {
        Some(Place::Libc { is_known: true, .. }) => 3,
        _ => 2,
    };
    let beginning = places.len().saturating_sub(first).max(1);
    let is_dark = |(depth, place): (usize, &Place)| {
        matches!(place, Place::Libc { is_known: false, .. }) && depth >= helpers && depth < beginning
    };
    if places.iter().enumerate().any(is_dark) { Err(Obstacle::LockHeld) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const APP: Place = Place::Elsewhere;
    const NAMELESS: Place =
        Place::Libc { is_known: false, is_locking: false, is_loading: false, is_waiting: false };
    const NAMED: Place =
        Place::Libc { is_known: true, is_locking: false, is_loading: false, is_waiting: false };
    const MALLOC: Place =
        Place::Libc { is_known: true, is_locking: true, is_loading: false, is_waiting: false };
    const COND_WAIT: Place =
        Place::Libc { is_known: true, is_locking: false, is_loading: false, is_waiting: true };

    type Case = (&'static str, &'static [Place], Option<i64>, Result<(), Obstacle>);

    /// Check which stacks are safe: in user code, in a system call, and at a futex.
    #[test]
    fn stacks_are_judged() {
        let cases: [Case; 19] = [
            ("computes", &[APP, APP, NAMELESS, NAMED, APP], None, Ok(())),
            ("computes in a thread", &[APP, NAMELESS, NAMELESS], None, Ok(())),
            ("copies", &[NAMED, APP, NAMELESS, NAMED, APP], None, Ok(())),
            ("allocates", &[NAMELESS, MALLOC, APP, NAMELESS, NAMED, APP], None, Err(Obstacle::LockHeld)),
            ("frees by a tail call", &[NAMELESS, APP, NAMELESS, NAMED, APP], None, Err(Obstacle::LockHeld)),
            ("loads", &[APP, Place::Loader, APP, NAMELESS, NAMED, APP], None, Err(Obstacle::LockHeld)),
            ("begins", &[NAMELESS, NAMELESS], None, Err(Obstacle::LockHeld)),
            ("polls", &[NAMED, APP, NAMELESS, NAMED, APP], Some(libc::SYS_ppoll), Ok(())),
            ("polls, nameless", &[NAMELESS, NAMED, APP, NAMELESS, NAMED, APP], Some(libc::SYS_ppoll), Ok(())),
            ("maps", &[NAMED, APP, NAMELESS, NAMED, APP], Some(libc::SYS_mmap), Err(Obstacle::SystemCall)),
            ("grows the heap", &[NAMELESS, MALLOC, APP], Some(libc::SYS_read), Err(Obstacle::LockHeld)),
            (
                "waits",
                &[NAMELESS, NAMELESS, COND_WAIT, APP, NAMELESS, NAMELESS],
                Some(libc::SYS_futex),
                Ok(()),
            ),
            ("sleeps on", &[COND_WAIT, APP, NAMELESS, NAMED, APP], Some(libc::SYS_restart_syscall), Ok(())),
            (
                "waits on in malloc",
                &[NAMELESS, NAMELESS, APP],
                Some(libc::SYS_restart_syscall),
                Err(Obstacle::LockHeld),
            ),
            ("waits by itself", &[APP, APP, NAMELESS, NAMELESS], Some(libc::SYS_futex), Ok(())),
            (
                "waits in free",
                &[NAMELESS, NAMELESS, APP, NAMELESS, NAMED, APP],
                Some(libc::SYS_futex),
                Err(Obstacle::LockHeld),
            ),
            ("waits in malloc", &[NAMELESS, MALLOC, APP], Some(libc::SYS_futex), Err(Obstacle::LockHeld)),
            ("waits at its end", &[NAMELESS, NAMELESS], Some(libc::SYS_futex), Err(Obstacle::LockHeld)),
            ("waits in puts", &[NAMELESS, NAMED, APP, NAMED], Some(libc::SYS_futex), Err(Obstacle::LockHeld)),
        ];
        for (what, places, call, expected) in cases {
            assert_eq!(judge(places, call), expected, "{what}");
        }
    }
}
