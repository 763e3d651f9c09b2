//! The words through which modules call the allocator: redirected to the hooks, and put back.
//!
//! The process changes them itself, in a call that we make: so each store is atomic, and no thread is stopped but the
//! one that makes the call.

use super::host::{Fresh, Host, Word};
use super::linkage::{Loaded, Module};
use super::loading::AGAIN;
use super::remote::{AREA, Caller};
use crate::base::log::debug;
use crate::ptrace::refusal::Refusal;
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// How long the process is asked to leave its recording, and how long to wait for a moment to call it.
const LEAVES: Duration = Duration::from_secs(2);
/// Bytes of a change: address, old value, new value, and whether the page is read-only.
const CHANGE: usize = 32;

/// A word and its new value.
type Change<'w> = (&'w Word, u64);

impl Host {
    /// Puts the hooks into the words of modules that do not have them yet; false if some words were not what they had
    /// been.
    pub(super) fn hook(&mut self, caller: &mut Caller, fresh: &Fresh) -> Result<bool, Refusal> {
        self.find(caller, &self.wanted(fresh))?;
        let mut changes = self.leading(fresh)?;
        let changed = self.change(caller, &mut changes)?;
        debug!(
            "{changed} of {} words in {} modules of process {} lead to hooks now",
            changes.len(),
            fresh.modules.len(),
            self.pid
        );
        let is_done = changed == changes.len();
        if is_done {
            self.hooked.extend(&fresh.modules);
        }
        Ok(is_done)
    }

    /// The words to redirect, with the hooks that they are to lead to.
    fn leading<'w>(&self, fresh: &'w Fresh) -> Result<Vec<Change<'w>>, Refusal> {
        let base = self.base()?;
        let change = |word: &'w Word| {
            let hook = self.hooks.get(word.slot.function)?;
            let is_unbound = word.slot.is_lazy && word.module.contains(&word.value);
            (hook.next == Some(word.value) || is_unbound && hook.next.is_some())
                .then_some((word, base.wrapping_add(hook.offset)))
        };
        Ok(fresh.words.iter().filter_map(change).collect())
    }

    /// The original value of a word that leads to a hook.
    fn original<'w>(&self, word: &'w Word) -> Option<Change<'w>> {
        let hook = self.hooks.get(word.slot.function)?;
        let is_ours = word.value == self.base?.wrapping_add(hook.offset);
        Some((word, hook.next.filter(|_| is_ours)?))
    }

    /// Has words changed; returns how many still had their old values.
    fn change(&self, caller: &mut Caller, changes: &mut [Change<'_>]) -> Result<usize, Refusal> {
        // Keeps changes to one page together.
        changes.sort_by_key(|(word, _)| word.slot.address);
        let (change, area) = (self.base()?.wrapping_add(self.change), caller.area());
        let mut changed = 0;
        for changes in changes.chunks(AREA / CHANGE) {
            let words = changes.iter().flat_map(|(word, to)| {
                [word.slot.address, word.value, *to, word.is_sealed.into()].map(u64::to_le_bytes)
            });
            let bytes: Vec<u8> = words.flatten().collect();
            caller.write(&self.memory, &bytes).map_err(|error| Refusal::of(self.pid, error))?;
            let count = changes.len() as u64;
            changed += self.call(caller, change, [area, count])?.min(count);
        }
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    /// Looks for libraries that were loaded since.
    pub(super) fn follow(&mut self) -> Result<(), Refusal> {
        if !self.has_agent_still()? {
            // It has executed another program.
            return Ok(());
        }
        let present: HashSet<Loaded> = self.modules.iter().map(Module::loaded).collect();
        // Another module may be loaded where one was.
        self.hooked.retain(|module| present.contains(module));
        let fresh = self.fresh();
        if self.wanted(&fresh).is_empty() && self.leading(&fresh)?.is_empty() {
            self.hooked.extend(&fresh.modules);
            return Ok(());
        }
        let mut caller = self.caller(&mut self.survey(), Instant::now() + LEAVES)?;
        if !self.has_agent_still()? {
            return Ok(());
        }
        if self.hook(&mut caller, &fresh)? { Ok(()) } else { Err(Refusal::Sealed) }
    }

    /// Puts all words back, and makes the process leave a recording that has ended. A process that has executed
    /// another program has nothing of ours.
    pub(super) fn restore(&mut self) -> Result<(), Refusal> {
        if !self.has_agent_still()? {
            return Ok(());
        }
        let base = self.base()?;
        let words = self.all_words();
        let mut changes: Vec<Change<'_>> = words.iter().filter_map(|word| self.original(word)).collect();
        let deadline = Instant::now() + LEAVES;
        let mut checker = self.survey();
        let mut caller = self.caller(&mut checker, deadline)?;
        // It may have executed one while this waited for a moment; now one of its threads is stopped.
        if !self.has_agent_still()? {
            return Ok(());
        }
        let changed = self.change(&mut caller, &mut changes)?;
        debug!("{changed} of {} words of process {} are what they were", changes.len(), self.pid);
        // Other threads may still be in hooks; this one is not.
        while self.call(&mut caller, base.wrapping_add(self.leave), [0; 2])? & 0xff == 0 {
            drop(caller);
            std::thread::sleep(AGAIN);
            caller = self.caller(&mut checker, deadline)?;
            if !self.has_agent_still()? {
                break;
            }
        }
        Ok(())
    }
}
