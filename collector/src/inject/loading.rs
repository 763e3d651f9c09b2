//! Loading the agent: a thread of the process calls what has to be called, at a moment when it holds no lock.

use super::group::idlest;
use super::host::{Fresh, Host};
use super::moment::{Bad, Ground, Refused};
use super::refusal::Refusal;
use super::remote::{Argument, Caller, Failed, look};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

/// What the agent's first call gives.
const IS_READY: u64 = 0;
const HAS_NO_DOORBELL: u64 = 1;
const IS_PRELOADED: u64 = 3;
/// How long a thread may take to stop, before another one is looked at.
const STOPS: Duration = Duration::from_millis(50);
/// Between two rounds over all threads.
pub(super) const AGAIN: Duration = Duration::from_millis(3);

impl Host {
    pub(super) fn survey(&self) -> Ground {
        Ground::survey(self.pid, &self.memory, &self.maps, &self.modules, &self.libc)
    }

    /// Stops a thread at a good moment.
    pub(super) fn caller(&self, ground: &mut Ground, deadline: Instant) -> Result<Caller, Refusal> {
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
    pub(super) fn call(
        &self,
        caller: &mut Caller,
        function: u64,
        arguments: &[Argument<'_>],
    ) -> Result<u64, Refusal> {
        caller.call(function, arguments).map_err(|failed| match failed {
            Failed::System(error) => Refusal::of(self.pid, error),
            Failed::Signal(signal) => Refusal::Crashed { signal },
        })
    }

    /// Has the process load the agent, and finds out what stands behind each hook.
    pub(super) fn load(&mut self, deadline: Instant) -> Result<Fresh, Refusal> {
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
    pub(super) fn find(&mut self, caller: &mut Caller, wanted: Vec<usize>) -> Result<(), Refusal> {
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
}

/// A thread that has ended has no moment, good or bad.
fn ended<T>(error: std::io::Error) -> std::io::Result<Option<T>> {
    if error.raw_os_error() == Some(libc::ESRCH) { Ok(None) } else { Err(error) }
}
