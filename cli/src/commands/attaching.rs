//! How processes come into a recording that run already.

use super::supervise;
use crate::exit::Failure;
use crate::{agent, message};
use anyhow::anyhow;
use collector::Session;
use collector::attach::{Manner, Refusal, is_callable, make_doorbell};
use collector::inject::Injection;
use collector::launch::Signals;
use std::time::{Duration, Instant};
use viewer::format::duration;

/// All processes that are waited for are called once in so long, each for its part of it.
const LAP: Duration = Duration::from_secs(1);
/// The least part.
const TURN: Duration = Duration::from_millis(100);

/// Attaches to processes, and gives the agent to those that have none.
#[derive(Debug)]
pub(super) struct Attaching<'s> {
    /// How long processes are waited for that do not answer.
    patience: Duration,
    /// Says nothing of what is waited for.
    quiet: bool,
    /// Those that end the waiting.
    signals: &'s Signals,
    /// Processes without the agent get it, and those that do not answer are made to.
    injects: bool,
    /// Those that got it: they have it for as long as these are there.
    pub(super) injected: Vec<Injection>,
    /// Those that could not get it, and why.
    refused: Vec<(u32, String)>,
    /// How long is recorded, from the first process on: no other one is waited for when that is over.
    duration: Option<Duration>,
    /// When the first process was attached to.
    pub(super) began: Option<Instant>,
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
    /// Waits for processes for so long, and says so unless `quiet`.
    pub(super) fn new(patience: Duration, quiet: bool, injects: bool, signals: &'s Signals) -> Attaching<'s> {
        let (injected, refused) = (Vec::new(), Vec::new());
        Attaching { patience, quiet, signals, injects, injected, refused, duration: None, began: None }
    }

    /// The same for a recording that is to take so long.
    pub(super) fn for_duration(self, duration: Option<Duration>) -> Attaching<'s> {
        Attaching { duration, ..self }
    }

    /// Gives the agent to processes that have none, before there is a recording, whose time that would be.
    ///
    /// # Errors
    /// Why none of them can be recorded. No file was made or replaced then.
    pub(super) fn prepare(&mut self, pids: &[u32]) -> Result<(), Failure> {
        let mut texts = Vec::new();
        for &pid in pids {
            let Err(refusal) = is_callable(pid) else { continue };
            if self.injects && lacks_the_agent(&refusal) {
                self.inject_or_note(pid, &refusal);
                texts.extend(self.refused(pid).map(str::to_owned));
            } else if !refusal.may_pass() {
                texts.push(refusal.to_string());
            }
        }
        if texts.len() == pids.len() { Err(Failure::usage(anyhow!(texts.join("\n")))) } else { Ok(()) }
    }

    fn inject_or_note(&mut self, pid: u32, refusal: &Refusal) {
        if lacks_the_agent(refusal)
            && let Err(why) = self.inject(pid)
        {
            self.refused.push((pid, format!("{refusal}. It cannot be given it now: {why}")));
        }
    }

    /// Why a process could not get the agent.
    fn refused(&self, pid: u32) -> Option<&str> {
        self.refused.iter().find(|(refused, _)| *refused == pid).map(|(_, text)| text.as_str())
    }

    /// How long the processes that do not answer are still waited for.
    fn rest(&self, deadline: Instant) -> Duration {
        let over = self.duration.zip(self.began).map(|(duration, began)| began + duration);
        over.map_or(deadline, |over| over.min(deadline)).saturating_duration_since(Instant::now())
    }

    /// Attaches to all that can be recorded, and says how many; a failure when that is none. Those that do not answer keep nobody else
    /// waiting.
    pub(super) fn all(&mut self, session: &Session, pids: &[u32]) -> Result<usize, Failure> {
        let deadline = Instant::now() + self.patience;
        // Each has its turn in the first lap, however many there are.
        let mut least = self.patience;
        let (mut waiting, mut texts) = (pids.to_vec(), Vec::new());
        let mut has_said = self.quiet;
        let mut manner = Manner::Patient;
        while !waiting.is_empty() {
            let turn = (LAP / u32::try_from(waiting.len()).unwrap_or(u32::MAX)).max(TURN);
            let mut silent = Vec::new();
            for pid in std::mem::take(&mut waiting) {
                let rest = self.rest(deadline);
                match self.one(session, pid, rest.max(least).min(turn), manner) {
                    Ok(()) => self.began = self.began.or_else(|| Some(Instant::now())),
                    Err(refused) if refused.may_pass && rest > turn => {
                        if supervise::is_interrupted(self.signals) {
                            return Err(Failure::usage(anyhow!(refused.text)));
                        }
                        waiting.push(pid);
                        silent.push(refused.text);
                    }
                    Err(refused) => texts.push(refused.text),
                }
            }
            least = Duration::ZERO;
            if let [first, others @ ..] = silent.as_slice()
                && (!self.injects || manner == Manner::Waking)
                && !std::mem::replace(&mut has_said, true)
            {
                self.say_who_is_waited_for(first, others.len());
            }
            if self.injects {
                // Who calls the allocator now and then has done so by now, and was not disturbed.
                manner = Manner::Waking;
            }
        }
        let attached = pids.len().saturating_sub(texts.len());
        if attached != 0 {
            texts.iter().for_each(|text| message::warning(text));
            return Ok(attached);
        }
        Err(Failure::usage(anyhow!(texts.join("\n"))))
    }

    fn say_who_is_waited_for(&self, first: &str, others: usize) {
        let most = duration(u64::try_from(self.patience.as_nanos()).unwrap_or(u64::MAX));
        message::note(&match others {
            0 => format!("{first}. Waiting for it, {most} at most"),
            _ => format!("{first}. Waiting for it and {others} more, {most} at most"),
        });
    }

    /// Attaches to a process within this time.
    fn one(
        &mut self,
        session: &Session,
        pid: u32,
        patience: Duration,
        manner: Manner,
    ) -> Result<(), Refused> {
        let refused = |attaching: &Self| {
            let text = attaching.refused(pid).map(str::to_owned);
            text.map_or(Ok(()), |text| Err(Refused { text, may_pass: false }))
        };
        refused(self)?;
        match session.attach(pid, patience, manner) {
            // It has executed another program since.
            Err(refusal) if self.injects && lacks_the_agent(&refusal) => {
                self.inject_or_note(pid, &refusal);
                refused(self)?;
                Ok(session.attach(pid, patience, manner)?)
            }
            called => Ok(called?),
        }
    }

    fn inject(&mut self, pid: u32) -> Result<(), String> {
        let agent = agent::provide().map_err(|error| error.to_string())?;
        make_doorbell().map_err(|error| format!("there is no doorbell: {error}"))?;
        let injection = Injection::new(pid, &agent.path, self.patience);
        self.injected.push(injection.map_err(|refusal| refusal.to_string())?);
        Ok(())
    }
}

/// True of processes that [`Attaching`] can give the agent to.
fn lacks_the_agent(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::NotPreloaded { .. } | Refusal::NoDoorbell { .. })
}

/// Why a process is not recorded yet.
#[derive(Debug)]
struct Refused {
    text: String,
    /// See [`Refusal::may_pass`].
    may_pass: bool,
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Refused {
        Refused { text: refusal.to_string(), may_pass: refusal.may_pass() }
    }
}
