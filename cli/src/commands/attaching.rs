//! How processes come into a recording that run already.

use super::supervise;
use crate::exit::Failure;
use crate::{agent, message};
use anyhow::anyhow;
use collector::Session;
use collector::attach::{Refusal, make_doorbell};
use collector::inject::Injection;
use collector::launch::Signals;
use std::time::{Duration, Instant};
use viewer::format::duration;

/// A process that is waited for is called for so long at once.
const TURN: Duration = Duration::from_secs(1);

/// Attaches to processes, and gives the agent to those that have none.
#[derive(Debug)]
pub(super) struct Attaching<'s> {
    /// How long a process is waited for that does not answer.
    patience: Duration,
    /// Says nothing of what is waited for.
    quiet: bool,
    /// Those that end the waiting.
    signals: &'s Signals,
    /// Processes without the agent get it.
    injects: bool,
    /// Those that got it: they have it for as long as these are there.
    pub(super) injected: Vec<Injection>,
}

/// Leads processes past the agent again that got it, and says of which that could not be done.
pub(super) fn take_back(injected: Vec<Injection>) {
    for injection in injected {
        let pid = injection.pid();
        if let Err(refusal) = injection.end() {
            message::warning(&format!(
                "process {pid} still calls the agent, which records nothing and takes 1 or 2 ns a call: {refusal}"
            ));
        }
    }
}

impl<'s> Attaching<'s> {
    /// Waits for each process for so long, and says so unless `quiet`.
    pub(super) fn new(patience: Duration, quiet: bool, injects: bool, signals: &'s Signals) -> Attaching<'s> {
        Attaching { patience, quiet, signals, injects, injected: Vec::new() }
    }

    /// Attaches to all that can be recorded; a failure when that is none.
    pub(super) fn all(&mut self, session: &Session, pids: &[u32]) -> Result<(), Failure> {
        let (mut texts, mut is_interrupted) = (Vec::new(), false);
        for pid in pids {
            texts.extend(self.one(session, *pid, &mut is_interrupted).err());
            if is_interrupted {
                break;
            }
        }
        if texts.len() < pids.len() && !is_interrupted {
            texts.iter().for_each(|text| message::warning(text));
            return Ok(());
        }
        Err(Failure::usage(anyhow!(texts.join("\n"))))
    }

    fn one(&mut self, session: &Session, pid: u32, is_interrupted: &mut bool) -> Result<(), String> {
        match self.call(session, pid, is_interrupted) {
            Err(refusal @ (Refusal::NotPreloaded { .. } | Refusal::NoDoorbell { .. })) if self.injects => {
                self.inject(pid).map_err(|why| format!("{refusal}. It cannot be given it now: {why}"))?;
                self.call(session, pid, is_interrupted).map_err(|refusal| refusal.to_string())
            }
            called => called.map_err(|refusal| refusal.to_string()),
        }
    }

    fn inject(&mut self, pid: u32) -> Result<(), String> {
        let agent = agent::provide().map_err(|error| error.to_string())?;
        make_doorbell().map_err(|error| format!("there is no doorbell: {error}"))?;
        let injection = Injection::new(pid, &agent.path, self.patience);
        self.injected.push(injection.map_err(|refusal| refusal.to_string())?);
        Ok(())
    }

    /// Calls a process, says what it waits for, and gives up when it is told to.
    fn call(&self, session: &Session, pid: u32, is_interrupted: &mut bool) -> Result<(), Refusal> {
        let started = Instant::now();
        let mut has_said = self.quiet;
        loop {
            let rest = self.patience.saturating_sub(started.elapsed());
            let refusal = match session.attach(pid, rest.min(TURN)) {
                Err(refusal @ Refusal::Silent { .. }) if rest > TURN => refusal,
                result => return result,
            };
            if !std::mem::replace(&mut has_said, true) {
                let most = u64::try_from(self.patience.as_nanos()).unwrap_or(u64::MAX);
                message::note(&format!("{refusal}. Waiting for it, {} at most", duration(most)));
            }
            *is_interrupted = supervise::is_interrupted(self.signals);
            if *is_interrupted {
                return Err(refusal);
            }
        }
    }
}
