//! The words that calls of the allocator go through: led to the hooks, and put back.

use super::group::Group;
use super::host::{Fresh, Host, Word};
use super::linkage::{Loaded, Module};
use super::loading::AGAIN;
use super::refusal::Refusal;
use crate::log::debug;
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// How long the process is asked to leave its recording, and how long a moment for a call is waited for.
const LEAVES: Duration = Duration::from_secs(2);

impl Host {
    /// Puts the hooks into words of modules that do not have them yet.
    pub(super) fn hook(&mut self, fresh: &Fresh) -> Result<(), Refusal> {
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
    pub(super) fn follow(&mut self) -> Result<(), Refusal> {
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
    pub(super) fn restore(&mut self) -> Result<(), Refusal> {
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
