//! Keeps the recording's variables in the environment that an `exec` or `posix_spawn` passes to the next program.
//!
//! A program that builds an environment of its own would lose them, and its children would not be recorded. Only
//! missing variables are added; of what the program set nothing changes but `LD_PRELOAD`, where the agent is put in
//! front. If the longer environment is too long for the system, the program's own is used. A program that would not
//! start with the agent preloaded gets a list without it, whoever put the agent there, and whether this process is
//! recorded or not.
//!
//! The copy lies on the caller's stack and is as small as possible: after an exec nothing can be freed, in a child of
//! vfork any mapping would be left behind in the parent, and a thread's stack may be small.
//!
//! ```text
//!   *variable … *preload *socket *key null  "LD_PRELOAD=agent:theirs\0"  "SYSPROF_MEMPROF_SOCKET=name\0"  "SYSPROF_MEMPROF_KEY=5f…\0"
//! ```

use crate::hooks::program::{self, Program};
use crate::platform::allowed_calls::{self, Need};
use crate::platform::{arch, config, own_image, sys};
use crate::process;
use core::ffi::{CStr, c_char, c_void};
use core::ptr::{null, null_mut};
use rustix::fs::{Access, CWD, Mode, OFlags};

/// A list of strings as `execve` takes it, ended by a null pointer; a null pointer itself is an empty list.
pub(crate) type Strings = *const *const c_char;

const PRELOAD: &[u8] = b"LD_PRELOAD";
/// The shell of `system` and `popen`.
const SHELL: &CStr = c"/bin/sh";
/// Largest copy on the stack in bytes: any thread has at least 16 KiB of stack.
const SMALL: usize = 4096;
/// The same in a child of vfork, where nothing may be mapped. A larger environment is passed on unchanged there. So
/// is any that exceeds `SMALL` in a child that shares its parent's memory in another way.
const SMALL_IN_VFORK: usize = 1 << 16;

/// True when the next program may have the agent: no filter that it inherits kills it for what the agent does, and
/// its loader can open the agent.
#[cold]
fn may_be_loaded() -> bool {
    allowed_calls::allows(Need::Begin) && is_in_reach()
}

/// True when a loader can open this library. As another user or in another root it may be unable to, and would say so
/// on the program's standard error.
// Cost: three system calls.
#[cold]
fn is_in_reach() -> bool {
    let name = own_image::name();
    if name.is_null() || !allowed_calls::allows(Need::Files) {
        return true;
    }
    // SAFETY: the loader's string for a library that is never unloaded.
    let path = unsafe { CStr::from_ptr(name) };
    // The first call checks with the real user's rights, without the capabilities that the next program loses; the
    // second with the effective user's.
    rustix::fs::access(path, Access::READ_OK).is_ok()
        && rustix::fs::openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).is_ok()
}

/// How a call with an environment ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    /// What the call returned.
    pub(crate) result: i32,
    /// The system found arguments and environment too long.
    pub(crate) is_too_long: bool,
}

/// Calls `call`, which starts `program`, with the environment `given`, or with a corrected copy of it.
pub(crate) fn with_variables(
    program: Program,
    given: Strings,
    mut call: impl FnMut(Strings) -> Ended,
) -> i32 {
    if let Some(change) = Change::of(given, || program.wants_to_be_alone() || !may_be_loaded()) {
        let mut ended = None;
        change.with_memory(|memory| {
            change.write(memory);
            ended = Some(call(memory.cast::<*const c_char>()));
        });
        if let Some(ended) = ended.filter(|ended| !ended.is_too_long) {
            return ended.result;
        }
    }
    call(given).result
}

/// Calls `call`, by which libc starts a shell with the process' own environment, while that environment is corrected.
///
/// Only in a process with one thread, since others might read or change the environment meanwhile. The copy is not on
/// the stack: a signal handler may leave the call by `longjmp`, and then the copy stays the environment.
pub(crate) fn with_own_variables<R>(call: impl FnOnce() -> R) -> R {
    let in_vfork = arch::thread_local().is_in_vfork();
    if in_vfork || !sys::is_single_threaded() {
        return call();
    }
    // SAFETY: there is no other thread that could change it.
    let given = unsafe { config::libc_environ() };
    let shell = Program::At(libc::AT_FDCWD, SHELL.as_ptr());
    let is_alone = || shell.wants_to_be_alone() || !may_be_loaded();
    let Some(change) = Change::of(given, is_alone) else { return call() };
    let bytes = change.bytes();
    let memory = sys::map_private(bytes);
    if memory.is_null() {
        return call();
    }
    change.write(memory.cast());
    let copy: Strings = memory.cast();
    // SAFETY: there is no other thread, and the copy is unmapped only when it is no longer the environment.
    unsafe { config::set_libc_environ(copy) };
    let result = call();
    // SAFETY: as above.
    let is_still = unsafe { config::libc_environ() } == copy;
    // A handler that has changed the environment may have kept strings of the copy.
    if is_still {
        // SAFETY: as above.
        unsafe { config::set_libc_environ(given) };
        // SAFETY: the call is over, and the process has its own environment again.
        unsafe { sys::unmap(memory, bytes) };
    }
    result
}

/// The changes to an environment.
#[derive(Clone, Copy, Debug)]
struct Change {
    given: Strings,
    /// Number of variables that are kept.
    kept: usize,
    /// The parts of the new `LD_PRELOAD`, if it changes.
    preload: Option<[&'static [u8]; 3]>,
    /// The socket's name, if it is missing.
    socket: Option<&'static [u8]>,
    /// The recording's key, if the socket is the recording's and the key is missing.
    key: Option<&'static [u8]>,
}

impl Change {
    /// `None` when nothing needs to change. `is_alone`, whether the next program must start without us, is called
    /// only if it matters.
    fn of(given: Strings, is_alone: impl FnOnce() -> bool) -> Option<Change> {
        let follows = follows();
        let theirs = config::value_in(given, PRELOAD).unwrap_or(b"");
        let preload = preload_list(own_image::path()?, theirs, follows, is_alone);
        // A process that the doorbell called has no socket to name.
        let ours = Some(config::socket()).filter(|socket| follows && !socket.is_empty());
        let given_socket = config::value_in(given, config::SOCKET);
        let socket = ours.filter(|_| given_socket.is_none());
        // If the socket is another recording's, so is the key.
        let is_ours = ours.is_some() && given_socket.is_none_or(|name| Some(name) == ours);
        let key = Some(config::key_text()).filter(|key| is_ours && !key.is_empty());
        let key = key.filter(|key| config::value_in(given, config::KEY) != Some(key));
        let change = Change { given, kept: 0, preload, socket, key };
        let kept = change.kept().count();
        (preload.is_some() || socket.is_some() || key.is_some()).then_some(Change { kept, ..change })
    }

    /// The variables that are passed on unchanged.
    fn kept(&self) -> impl Iterator<Item = *const c_char> {
        let replaced = [(PRELOAD, self.preload.is_some()), (config::KEY, self.key.is_some())];
        entries(self.given).filter(move |entry| {
            // SAFETY: entries of an environment are strings.
            let text = unsafe { CStr::from_ptr(*entry) }.to_bytes();
            let is = |name: &[u8]| text.strip_prefix(name).is_some_and(|rest| rest.first() == Some(&b'='));
            !replaced.iter().any(|(name, is_replaced)| *is_replaced && is(name))
        })
    }

    /// The parts of the variables that are added.
    fn added(&self) -> [Option<[&'static [u8]; 5]>; 3] {
        let preload = self.preload.map(|[before, colon, after]| [PRELOAD, b"=", before, colon, after]);
        let socket = self.socket.map(|name| [config::SOCKET, b"=".as_slice(), name, b"", b""]);
        let key = self.key.map(|text| [config::KEY, b"=".as_slice(), text, b"", b""]);
        [preload, socket, key]
    }

    /// Number of pointers in the copy, with the null at its end.
    fn pointers(&self) -> usize {
        self.kept + self.added().iter().flatten().count() + 1
    }

    /// Size of the copy in bytes.
    fn bytes(&self) -> usize {
        let length = |parts: &[&[u8]; 5]| parts.iter().map(|part| part.len()).sum::<usize>() + 1;
        self.pointers() * size_of::<*const c_char>()
            + self.added().iter().flatten().map(length).sum::<usize>()
    }

    /// Calls `function` with memory for the copy; does nothing when there is none.
    fn with_memory(&self, mut function: impl FnMut(*mut u8)) {
        unsafe extern "C" fn enter<F: FnMut(*mut u8)>(memory: *mut u8, function: *mut c_void) {
            // SAFETY: the context given to `with_stack` below, borrowed only for that call.
            let function = unsafe { &mut *function.cast::<F>() };
            function(memory);
        }

        fn on_stack<F: FnMut(*mut u8)>(bytes: usize, function: &mut F) {
            // SAFETY: any thread that calls an exec has so much stack left; libc's own exec functions need as much.
            unsafe { arch::with_stack(bytes, enter::<F>, core::ptr::from_mut(function).cast()) };
        }
        let bytes = self.bytes();
        let in_vfork = arch::thread_local().is_in_vfork();
        if bytes <= SMALL || in_vfork && bytes <= SMALL_IN_VFORK {
            return on_stack(bytes, &mut function);
        }
        let memory = if in_vfork || is_guest() { null_mut() } else { sys::map_private(bytes) };
        if !memory.is_null() {
            function(memory.cast());
            // SAFETY: the call that used the copy is over: it has failed, or has created a process of its own.
            unsafe { sys::unmap(memory, bytes) };
        }
    }

    /// Writes the copy into memory of [`Change::bytes`] bytes.
    fn write(&self, memory: *mut u8) {
        let pointers = memory.cast::<*const c_char>();
        let mut next = self.pointers() * size_of::<*const c_char>();
        let mut count = 0;
        let mut push = |entry: *const c_char| {
            // SAFETY: so many pointers fit, and the memory is aligned for them.
            unsafe { pointers.wrapping_add(count).write(entry) };
            count += 1;
        };
        // Another thread may change the environment meanwhile, as without us; there is no room for more than was
        // counted.
        self.kept().take(self.kept).for_each(&mut push);
        for parts in self.added().iter().flatten() {
            push(memory.wrapping_add(next).cast());
            for byte in parts.iter().copied().flatten().chain(&[0]) {
                // SAFETY: so many bytes were counted behind the pointers.
                unsafe { memory.wrapping_add(next).write(*byte) };
                next += 1;
            }
        }
        push(null());
    }
}

/// The `LD_PRELOAD` for the next program in three parts, if it differs from `theirs`: with the agent in front when
/// the process `follows`, and without the agent for a program that `is_alone`.
fn preload_list(
    agent: &'static [u8],
    theirs: &'static [u8],
    follows: bool,
    is_alone: impl FnOnce() -> bool,
) -> Option<[&'static [u8]; 3]> {
    let place = place_of(agent, theirs);
    if place.is_none() && !follows {
        return None;
    }
    let is_alone = libraries(theirs).any(program::wants_to_be_first) || is_alone();
    match place {
        None if !is_alone => Some(joined(agent, theirs)),
        Some((start, end)) if is_alone => {
            let before = theirs.get(..start.saturating_sub(1)).unwrap_or(b"");
            Some(joined(before, theirs.get(end.saturating_add(1)..).unwrap_or(b"")))
        }
        _ => None,
    }
}

/// The libraries in a list.
fn libraries(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|byte| matches!(byte, b':' | b' '))
}

/// Where a library is in a list: start and end.
fn place_of(library: &[u8], list: &[u8]) -> Option<(usize, usize)> {
    let mut start = 0_usize;
    for part in libraries(list) {
        let end = start.saturating_add(part.len());
        if part == library {
            return Some((start, end));
        }
        start = end.saturating_add(1);
    }
    None
}

/// Two lists joined.
fn joined(first: &'static [u8], second: &'static [u8]) -> [&'static [u8]; 3] {
    [first, if first.is_empty() || second.is_empty() { b"" } else { b":" }, second]
}

/// The strings in a list.
pub(crate) fn entries(list: Strings) -> impl Iterator<Item = *const c_char> {
    (0..).map_while(move |index| {
        if list.is_null() {
            return None;
        }
        // SAFETY: the list is terminated by a null pointer, at which the iterator ends.
        let entry = unsafe { list.wrapping_add(index).read() };
        (!entry.is_null()).then_some(entry)
    })
}

/// True in a process that shares its parent's memory without `vfork`, as runtimes create it by `clone`. The size of
/// its stack is unknown.
#[cold]
fn is_guest() -> bool {
    process::epoch_in_session() != 0 && !process::is_itself()
}

fn follows() -> bool {
    process::is_not_chosen() || process::is_recorded() && process::is_followed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;

    /// The environment that is passed on for `given` with these changes.
    fn changed(given: &[&str], preload: Option<[&'static [u8]; 3]>) -> Vec<String> {
        changed_with(given, preload, None)
    }

    fn changed_with(
        given: &[&str],
        preload: Option<[&'static [u8]; 3]>,
        key: Option<&'static [u8]>,
    ) -> Vec<String> {
        let strings: Vec<_> = given.iter().map(|text| CString::new(*text).unwrap()).collect();
        let list: Vec<_> = strings.iter().map(|text| text.as_ptr()).chain([null()]).collect();
        let change = Change { given: list.as_ptr(), kept: 0, preload, socket: Some(b"@socket"), key };
        let change = Change { kept: change.kept().count(), ..change };
        let mut found = Vec::new();
        change.with_memory(|memory| {
            change.write(memory);
            for entry in entries(memory.cast()) {
                // SAFETY: strings of the copy.
                found.push(unsafe { CStr::from_ptr(entry) }.to_str().unwrap().to_string());
            }
        });
        found
    }

    /// Check that missing variables are added after the given ones, which stay unchanged except for the list that the
    /// agent is put into; also when the copy does not fit on a stack.
    #[test]
    fn missing_variables_are_added() {
        let socket = "SYSPROF_MEMPROF_SOCKET=@socket";
        assert_eq!(changed(&[], Some(joined(b"/a.so", b""))), ["LD_PRELOAD=/a.so", socket]);
        assert_eq!(changed(&["A=1", "B"], None), ["A=1", "B", socket]);
        let given = ["LD_PRELOAD=/b.so", "LD_PRELOAD_NOT=1", "LD_PRELOADED", "C="];
        let expected = ["LD_PRELOAD_NOT=1", "LD_PRELOADED", "C=", "LD_PRELOAD=/a.so:/b.so", socket];
        assert_eq!(changed(&given, Some(joined(b"/a.so", b"/b.so"))), expected);
        let many: Vec<_> = (0..5000).map(|number| format!("N{number}={number}")).collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        let found = changed(&many, Some(joined(b"/a.so", b"")));
        assert_eq!(found[..5000], many);
        assert_eq!(found[5000..], ["LD_PRELOAD=/a.so", socket]);
    }

    /// Check that the recording's key is added with its socket and replaces any other key, which would be found
    /// first.
    #[test]
    fn key_replaces_that_of_others() {
        let (socket, key) = ("SYSPROF_MEMPROF_SOCKET=@socket", "SYSPROF_MEMPROF_KEY=5f");
        assert_eq!(changed_with(&["A=1"], None, Some(b"5f")), ["A=1", socket, key]);
        let given = ["SYSPROF_MEMPROF_KEY=00", "SYSPROF_MEMPROF_KEYS=1", "A=1"];
        assert_eq!(changed_with(&given, None, Some(b"5f")), ["SYSPROF_MEMPROF_KEYS=1", "A=1", socket, key]);
        assert_eq!(changed(&given, None), [&given[..], &[socket]].concat());
    }

    /// Check what becomes of the list of libraries, with and without the agent in it, for programs that start with it
    /// and for those that do not.
    #[test]
    fn programs_that_want_to_be_alone_are_left_alone() {
        let list = |theirs: &'static str, follows, is_alone| {
            preload_list(b"/a.so", theirs.as_bytes(), follows, || is_alone)
                .map(|parts| String::from_utf8(parts.concat()).unwrap())
        };
        let text = |list: &str| Some(list.to_owned());
        assert_eq!(list("", true, false), text("/a.so"));
        assert_eq!(list("/b.so", true, false), text("/a.so:/b.so"));
        for (theirs, without) in [
            ("/a.so", ""),
            ("/a.so:/b.so", "/b.so"),
            ("/b.so:/a.so", "/b.so"),
            ("/b.so /a.so:/c.so", "/b.so:/c.so"),
        ] {
            assert_eq!(list(theirs, true, false), None, "{theirs}");
            for follows in [true, false] {
                assert_eq!(list(theirs, follows, true), text(without), "{theirs}");
            }
        }
        // A sanitizer's runtime that is preloaded must stay first.
        assert_eq!(list("/a.so:/lib/libasan.so.8", true, false), text("/lib/libasan.so.8"));
        assert_eq!(list("/lib/libasan.so.8", true, false), None);
        assert_eq!(list("/b.so", true, true), None);
        let unasked = preload_list(b"/a.so", b"/b.so", false, || unreachable!("it does not matter"));
        assert_eq!(unasked, None);
    }
}
