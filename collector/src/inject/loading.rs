//! Loads the agent: a thread of the process makes the necessary calls, at a safe point, where it holds no lock.

use super::host::Host;
use super::remote::{AREA, CallLimits, Caller, Failed, ThreadState, look};
use super::safepoint::{Obstacle, SafepointChecker};
use crate::ptrace::breakpoints::Ready;
use crate::ptrace::refusal::{Refusal, is_passing, unseized};
use crate::ptrace::threads::idlest;
use crate::ptrace::tracee::late;
use crate::ptrace::tracer::is_abandoned;
use shared_ring::injected;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

/// Bytes of a query: address of the name, and the answer.
const QUESTION: usize = 16;
/// How long a thread may take to stop before another one is tried.
const STOPS: Duration = Duration::from_millis(50);
/// Least time for which a call is waited for: it takes milliseconds, and more if the agent has to be read from a
/// disk.
const SHORTEST: Duration = Duration::from_secs(2);
/// Pause between two rounds over all threads.
pub(super) const AGAIN: Duration = Duration::from_millis(3);
/// Rounds without breakpoints before threads are stopped where they will be at a safe point. A thread keeps what the kernel
/// has set up for a breakpoint as long as it lives, and pays for it at each context switch.
const CHANCES: u32 = 32;

impl Host {
    pub(super) fn survey(&self) -> SafepointChecker {
        SafepointChecker::survey(self.pid, &self.memory, &self.maps, &self.modules, &self.libc)
    }

    /// Stops a thread at a safe point.
    pub(super) fn caller(
        &self,
        checker: &mut SafepointChecker,
        deadline: Instant,
    ) -> Result<Caller, Refusal> {
        let pid = self.pid;
        let failed = |error| Refusal::of(pid, error);
        let mut last = Obstacle::IncompleteStack;
        let (mut chances, mut ready) = (CHANCES, None);
        while Instant::now() < deadline && !is_abandoned() {
            late::let_go();
            let threads = idlest(pid).map_err(failed)?;
            // One that has not stopped may be in the loader. No thread is used then, so none is stopped.
            if threads.iter().any(|thread| late::is_late(*thread)) {
                last = Obstacle::SystemCall;
                std::thread::sleep(AGAIN);
                continue;
            }
            if chances == 0 {
                ready.get_or_insert_with(Ready::new);
            }
            chances = chances.saturating_sub(1);
            let mut safe = Vec::new();
            let mut is_loading = false;
            for thread in threads {
                let state = look(pid, thread, &self.memory, Instant::now() + STOPS);
                let Some(state) = state.map(Some).or_else(|error| ended(pid, thread, error))? else {
                    continue;
                };
                // Checked while the thread runs on: reading unwind tables takes longer than a thread should be
                // stopped.
                let check =
                    |state: ThreadState| (checker.check(&state.registers, &state.stack), !state.waits());
                match state.map(check) {
                    Some((Ok(()), is_at_work)) => safe.push((is_at_work, thread)),
                    Some((Err(refused), is_at_work)) => {
                        last = refused.obstacle;
                        is_loading |= refused.is_loading;
                        if ready.is_some() && refused.until.is_some() && !refused.is_loading {
                            safe.push((is_at_work, thread));
                        }
                    }
                    // It did not stop, so it is unknown what it is doing.
                    None => {
                        (last, is_loading) = (Obstacle::SystemCall, true);
                        break;
                    }
                }
            }
            // A running thread may hold what others wait for, such as an interpreter's lock.
            safe.sort_by_key(|(is_at_work, _)| *is_at_work);
            // A thread that is or may be in the loader may hold its lock, and none is used then.
            for (_, thread) in safe.into_iter().filter(|_| !is_loading) {
                let deadline = Instant::now() + STOPS;
                let stopped = Caller::stop(thread, checker, &self.memory, ready.as_ref(), deadline).map(Some);
                match stopped.or_else(|error| ended(pid, thread, error))? {
                    Some(Ok(caller)) => return Ok(caller),
                    Some(Err(obstacle)) => last = obstacle,
                    None => {}
                }
            }
            std::thread::sleep(AGAIN);
        }
        Err(Refusal::NoMoment { last: last.to_string() })
    }

    /// The same, with bytes in the thread's area.
    fn caller_with(
        &self,
        checker: &mut SafepointChecker,
        bytes: &[u8],
        deadline: Instant,
    ) -> Result<Caller, Refusal> {
        let caller = self.caller(checker, deadline)?;
        caller.write(&self.memory, bytes).map_err(|error| Refusal::of(self.pid, error))?;
        Ok(caller)
    }

    /// Calls a function of the process.
    pub(super) fn call(
        &self,
        caller: &mut Caller,
        function: u64,
        arguments: [u64; 2],
    ) -> Result<u64, Refusal> {
        let time = self.timeout.max(SHORTEST);
        let limits = CallLimits { time, memory: &self.memory, restorer: self.restorer };
        caller.call(function, arguments, &limits).map_err(|failed| match failed {
            Failed::System(error) => Refusal::of(self.pid, error),
            Failed::Signal(signal) => Refusal::Crashed { signal },
            Failed::Late => Refusal::Stuck { thread: caller.id(), seconds: time.as_secs() },
        })
    }

    /// Has the process load the agent, then puts the hooks in front of the allocator's functions. A thread is stopped
    /// for each of the two steps, since loading takes about as long as everything else.
    pub(super) fn load(&mut self) -> Result<(), Refusal> {
        let (open, error) = (self.in_libc("dlopen")?, self.in_libc("dlerror")?);
        let fresh = self.fresh();
        let mut checker = self.survey();
        // A safe point is waited for from now on: on a busy machine all of that may have taken longer.
        let deadline = Instant::now() + self.timeout;
        let mut path = self.agent.as_os_str().as_bytes().to_vec();
        path.push(0);
        let mut caller = self.caller_with(&mut checker, &path, deadline)?;
        // In the global scope, so that it can be moved there (`preload/src/entry/search_scope.rs`).
        let flags = u64::from((libc::RTLD_NOW | libc::RTLD_GLOBAL).cast_unsigned());
        let area = caller.area();
        let handle = self.call(&mut caller, open, [area, flags])?;
        if handle == 0 {
            let text = self.call(&mut caller, error, [0; 2])?;
            return Err(Refusal::Load { text: self.memory.text(text) });
        }
        // A handle points to the loader's description of the module, which begins with the module's base.
        self.base = self.memory.word(handle);
        let base = self.base()?;
        // The agent may have found a doorbell. It would not answer before a call arrives through the hooks, and there
        // may be no other safe point.
        self.call(&mut caller, base.wrapping_add(self.leave), [0; 2])?;
        drop(caller);
        self.look_again()?;
        self.note_agent();
        let mut caller = self.caller_with(&mut checker, &path, deadline)?;
        let area = caller.area();
        let state = self.call(&mut caller, base.wrapping_add(self.begin), [area, 0])?;
        match (state as u32).cast_signed() {
            injected::READY => {}
            injected::NO_DOORBELL => return Err(Refusal::NoDoorbell),
            injected::PRELOADED => return Err(Refusal::WithoutDoorbell),
            // `injected::UNSUPPORTED`, or whatever another version answers.
            _ => return Err(Refusal::OldGlibc),
        }
        let hooked = self.hook(&mut caller, &fresh);
        drop(caller);
        // A word may have been bound meanwhile.
        let hooked = hooked.and_then(|is_done| if is_done { Ok(()) } else { self.follow() });
        if hooked.is_err() {
            // Some words may have been changed already.
            self.restore()?;
        }
        hooked
    }

    /// Asks the agent which functions its hooks replace.
    pub(super) fn find(&mut self, caller: &mut Caller, mut wanted: &[usize]) -> Result<(), Refusal> {
        let failed = |error| Refusal::of(self.pid, error);
        let (next, area) = (self.base()?.wrapping_add(self.next), caller.area());
        while !wanted.is_empty() {
            let names = wanted.iter().filter_map(|at| Some(&*self.hooks.get(*at)?.name));
            let (questions, count) = questions(names, area);
            caller.write(&self.memory, &questions).map_err(failed)?;
            self.call(caller, next, [area, count as u64])?;
            let answers = self.memory.bytes(area, (count * QUESTION) as u64).unwrap_or_default();
            let Some((now, later)) = wanted.split_at_checked(count).filter(|(now, _)| !now.is_empty()) else {
                break;
            };
            for (at, answer) in now.iter().zip(answers.as_chunks::<QUESTION>().0) {
                let found = answer.last_chunk().map_or(0, |word| u64::from_le_bytes(*word));
                if let Some(hook) = self.hooks.get_mut(*at).filter(|_| found != 0) {
                    hook.next = Some(found);
                }
            }
            wanted = later;
        }
        Ok(())
    }
}

/// As many queries as fit, with their names, laid out for this address; and their number. See
/// `preload/src/entry/injected.rs`.
fn questions<'n>(names: impl Iterator<Item = &'n [u8]>, address: u64) -> (Vec<u8>, usize) {
    let mut room = AREA;
    let fits = |name: &&[u8]| {
        let left = room.checked_sub(QUESTION + name.len() + 1);
        room = left.unwrap_or(0);
        left.is_some()
    };
    let names: Vec<&[u8]> = names.take_while(fits).collect();
    let mut bytes = Vec::new();
    let mut place = address + (names.len() * QUESTION) as u64;
    for name in &names {
        bytes.extend(place.to_le_bytes());
        bytes.extend(0_u64.to_le_bytes());
        place += name.len() as u64 + 1;
    }
    for name in &names {
        bytes.extend(*name);
        bytes.push(0);
    }
    (bytes, names.len())
}

/// A thread that has ended, or that another tracer of ours is about to release, is neither at a safe point nor not.
fn ended<T>(pid: u32, thread: u32, error: std::io::Error) -> Result<Option<T>, Refusal> {
    match unseized(pid, thread, error) {
        None => Ok(None),
        Some(Refusal::Traced { by }) if is_passing(by) => Ok(None),
        Some(refusal) => Err(refusal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(50))]

        /// Check that queries fit into their area, as many as possible, and that each points to its name.
        #[test]
        fn questions_lead_to_names(names in prop::collection::vec("[a-z_]{1,80}", 0..200), address in 0..1_u64 << 47) {
            let (bytes, count) = questions(names.iter().map(String::as_bytes), address);
            prop_assert!(bytes.len() <= AREA && count <= names.len());
            let next = names.get(count).map_or(AREA, |name| QUESTION + name.len() + 1);
            prop_assert!(bytes.len() + next > AREA || count == names.len());
            for (name, question) in names.iter().take(count).zip(bytes.as_chunks::<QUESTION>().0) {
                let place = u64::from_le_bytes(*question.first_chunk().unwrap());
                let text = &bytes[usize::try_from(place - address).unwrap()..];
                prop_assert_eq!(text.split(|byte| *byte == 0).next(), Some(name.as_bytes()));
            }
        }
    }
}
