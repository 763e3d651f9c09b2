//! Brings running processes into a recording.

use super::recording_options::failure_of;
use super::supervise;
use crate::exit::Failure;
use crate::{agent, message};
use analysis::format::duration;
use anyhow::anyhow;
use collector::Session;
use collector::attach::launch::Signals;
use collector::attach::{CallMode, Refusal, is_callable, make_doorbell};
use collector::inject::{self, Injection};
use std::time::{Duration, Instant};

/// In this time all processes that are waited for are called once, each for an equal part of it.
const LAP: Duration = Duration::from_secs(1);
/// The shortest such part.
const TURN: Duration = Duration::from_millis(100);

/// Attaches to processes, and injects the agent into those that have none.
#[derive(Debug)]
pub(super) struct Attacher<'s> {
    /// How long to wait for processes that do not answer.
    timeout: Duration,
    /// Prints nothing about waiting.
    quiet: bool,
    /// Signals that end the waiting.
    signals: &'s Signals,
    /// Injects the agent into processes that lack it, and makes those answer that do not.
    injects: bool,
    /// Injected agents, each of which stays until it is dropped here.
    pub(super) injected: Vec<Injection>,
    /// Processes without an agent that could not get it, and why.
    refused: Vec<(u32, String)>,
    /// How long to record, from the first process on: after that no other process is waited for.
    duration: Option<Duration>,
    /// When the first process was attached to.
    pub(super) began: Option<Instant>,
}

/// Redirects processes past injected agents again, and reports those for which that failed.
pub(super) fn take_back(injected: Vec<Injection>) {
    for injection in injected {
        let pid = injection.pid();
        if let Err(refusal) = injection.end() {
            message::warning(&format!(
                "process {pid} still calls the agent, which records nothing but costs 1 to 2 ns per call: \
                 {refusal}"
            ));
        }
    }
}

impl<'s> Attacher<'s> {
    /// Waits for each process up to `timeout`, and says so unless `quiet`.
    pub(super) fn new(timeout: Duration, quiet: bool, injects: bool, signals: &'s Signals) -> Attacher<'s> {
        let (injected, refused) = (Vec::new(), Vec::new());
        Attacher { timeout, quiet, signals, injects, injected, refused, duration: None, began: None }
    }

    /// The same for a recording with a limited duration.
    pub(super) fn for_duration(self, duration: Option<Duration>) -> Attacher<'s> {
        Attacher { duration, ..self }
    }

    /// Injects the agent into processes that lack it. This precedes the recording, so that it does not count as
    /// recorded time.
    ///
    /// # Errors
    /// Why none of them can be recorded. No file has been created or replaced then.
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
            // A process that has had the agent from its start needs a doorbell, wherever our agent is.
            let is_beside = matches!(refusal, Refusal::NoDoorbell { .. })
                && matches!(
                    why.downcast_ref(),
                    Some(inject::Refusal::WithoutDoorbell | inject::Refusal::Unreachable { .. })
                );
            let why =
                if is_beside { String::new() } else { format!(". The agent cannot be injected now: {why}") };
            self.refused.push((pid, format!("{refusal}{why}")));
        }
    }

    /// Why a process could not get the agent.
    fn refused(&self, pid: u32) -> Option<&str> {
        self.refused.iter().find(|(refused, _)| *refused == pid).map(|(_, text)| text.as_str())
    }

    /// How long to go on waiting for processes that do not answer.
    fn rest(&self, deadline: Instant) -> Duration {
        let over = self.duration.zip(self.began).map(|(duration, began)| began + duration);
        over.map_or(deadline, |over| over.min(deadline)).saturating_duration_since(Instant::now())
    }

    /// Attaches to all processes that can be recorded, and returns their number; fails if there are none. A process
    /// that does not answer does not delay the others. Then the capture gets its name.
    pub(super) fn all(&mut self, session: &Session, pids: &[u32]) -> Result<usize, Failure> {
        let deadline = Instant::now() + self.timeout;
        // In the first lap each has its turn, however many there are.
        let mut least = self.timeout;
        let (mut waiting, mut texts) = (pids.to_vec(), Vec::new());
        let mut has_said = self.quiet;
        let mut manner = CallMode::Passive;
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
                && (!self.injects || manner == CallMode::Wake)
                && !std::mem::replace(&mut has_said, true)
            {
                self.say_who_is_waited_for(first, others.len());
            }
            if self.injects {
                // Processes that call the allocator now and then have answered by now, undisturbed.
                manner = CallMode::Wake;
            }
        }
        let attached = pids.len().saturating_sub(texts.len());
        if attached != 0 {
            session.keep().map_err(failure_of)?;
            texts.iter().for_each(|text| message::warning(text));
            return Ok(attached);
        }
        Err(Failure::usage(anyhow!(texts.join("\n"))))
    }

    fn say_who_is_waited_for(&self, first: &str, others: usize) {
        let most = duration(u64::try_from(self.timeout.as_nanos()).unwrap_or(u64::MAX));
        message::note(&match others {
            0 => format!("{first}. Waiting for it, up to {most}"),
            _ => format!("{first}. Waiting for it and {others} more, up to {most}"),
        });
    }

    /// Attaches to a process within the given time.
    fn one(
        &mut self,
        session: &Session,
        pid: u32,
        timeout: Duration,
        manner: CallMode,
    ) -> Result<(), Refused> {
        let refused = |attacher: &Self| {
            let text = attacher.refused(pid).map(str::to_owned);
            text.map_or(Ok(()), |text| Err(Refused { text, may_pass: false }))
        };
        refused(self)?;
        match session.attach(pid, timeout, manner) {
            // It has executed another program since.
            Err(refusal) if self.injects && lacks_the_agent(&refusal) => {
                self.inject_or_note(pid, &refusal);
                refused(self)?;
                Ok(session.attach(pid, timeout, manner)?)
            }
            called => Ok(called?),
        }
    }

    fn inject(&mut self, pid: u32) -> anyhow::Result<()> {
        let agent = agent::provide()?;
        make_doorbell().map_err(|error| anyhow!("there is no doorbell: {error}"))?;
        self.injected.push(Injection::new(pid, &agent.path, self.timeout)?);
        Ok(())
    }
}

/// True for processes into which [`Attacher`] can inject the agent.
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
