//! The processes that a command is about, each named by pid, or all processes of a name.

use crate::exit::Failure;
use analysis::format::listed;
use anyhow::anyhow;
use collector::attach::{Preloaded, State, named, preloaded};
use collector::control::commands::ask;
use std::collections::BTreeSet;

/// Most processes named in a list for the user; the others are counted.
const NAMED: usize = 10;

/// How a user refers to processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProcessSelector {
    Pid(u32),
    /// The full name of the executable, or the name that the process gives itself, as in `pgrep -x` and `pidof`.
    Name(String),
}

/// A process that is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recorded {
    pub(crate) pid: u32,
    /// The pid of its collector.
    pub(crate) collector: u32,
}

/// Parses a word of the command line. Digits alone are a pid.
pub(crate) fn process_selector(text: &str) -> Result<ProcessSelector, String> {
    match text.parse() {
        Ok(0) => Err("no process has the pid 0".to_string()),
        Ok(pid) => Ok(ProcessSelector::Pid(pid)),
        Err(_) if text.is_empty() || text.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err("expected a pid, or the whole name of a process".to_string())
        }
        Err(_) if text.contains('/') => {
            Err("expected a pid, or the name of an executable without folders".to_string())
        }
        Err(_) => Ok(ProcessSelector::Name(text.to_string())),
    }
}

impl ProcessSelector {
    /// The processes that are meant; fails if none has the name.
    fn pids(&self) -> Result<Vec<u32>, Failure> {
        match self {
            // Whether the pid exists is checked when it is used.
            ProcessSelector::Pid(pid) => Ok(vec![*pid]),
            ProcessSelector::Name(name) => match named(name) {
                none if none.is_empty() => Err(Failure::usage(anyhow!("no process is called {name}"))),
                pids => Ok(pids),
            },
        }
    }

    /// Whether there is such a process.
    pub(crate) fn is_anybody(&self) -> bool {
        self.pids().is_ok()
    }

    /// The one process that is meant.
    ///
    /// # Errors
    /// If no process has the name, or several have it: then the error lists them.
    pub(crate) fn one(&self) -> Result<u32, Failure> {
        self.only(&self.pids()?, "processes are called")
    }

    /// The one recorded process that is meant. Several may have the name if just one of them is recorded.
    ///
    /// # Errors
    /// If it is not recorded, no process has the name, or several recorded ones have it: then the error lists them.
    pub(crate) fn one_recorded(&self) -> Result<Recorded, Failure> {
        self.only_recorded(&self.recorded(&preloaded())?)
    }

    fn only_recorded(&self, recorded: &[Recorded]) -> Result<Recorded, Failure> {
        let pids: Vec<u32> = recorded.iter().map(|process| process.pid).collect();
        let pid = self.only(&pids, "recorded processes are called")?;
        recorded.iter().find(|process| process.pid == pid).copied().ok_or_else(|| not_recorded(pid))
    }

    /// A recorded process that is meant, for a request about its whole recording: the first of several, provided that
    /// all are in one capture.
    ///
    /// # Errors
    /// As in [`ProcessSelector::one_recorded`], if they are in several captures.
    pub(crate) fn of_one_recording(&self) -> Result<Recorded, Failure> {
        let recorded = self.recorded(&preloaded())?;
        let capture = |process: &Recorded| ask(process.collector, ["capture", &process.pid.to_string()]).ok();
        match recorded.as_slice() {
            [first, others @ ..] if !others.is_empty() => {
                let is_theirs = capture(first).map(|path| (first.collector, path));
                let is_same =
                    |other: &Recorded| capture(other).map(|path| (other.collector, path)) == is_theirs;
                if is_theirs.is_some() && others.iter().all(is_same) {
                    Ok(*first)
                } else {
                    self.only_recorded(&recorded)
                }
            }
            _ => self.only_recorded(&recorded),
        }
    }

    fn only(&self, pids: &[u32], are_called: &str) -> Result<u32, Failure> {
        match (self, pids) {
            (_, [pid]) => Ok(*pid),
            (ProcessSelector::Name(name), several) => Err(Failure::usage(anyhow!(
                "{} {are_called} {name}: {}. Give the pid of one",
                several.len(),
                list(several)
            ))),
            (ProcessSelector::Pid(pid), _) => Err(not_recorded(*pid)),
        }
    }

    /// Those processes that are recorded; fails if none is.
    fn recorded(&self, preloaded: &[Preloaded]) -> Result<Vec<Recorded>, Failure> {
        let pids = self.pids()?;
        let state =
            |pid: u32| preloaded.iter().find(|process| process.pid == pid).map(|process| process.state);
        let recorded: Vec<Recorded> = pids
            .iter()
            .filter_map(|&pid| match state(pid)? {
                State::Recorded(collector) => Some(Recorded { pid, collector }),
                State::Dormant | State::WithoutDoorbell | State::Bypassed => None,
            })
            .collect();
        match self {
            _ if !recorded.is_empty() => Ok(recorded),
            ProcessSelector::Pid(pid) if state(*pid) == Some(State::Dormant) => Err(dormant(*pid)),
            ProcessSelector::Pid(pid) => Err(not_recorded(*pid)),
            ProcessSelector::Name(name) => Err(Failure::usage(anyhow!(
                "no process called {name} is recorded ({}), or it belongs to another user",
                list(&pids)
            ))),
        }
    }
}

/// All processes that are meant, without duplicates.
///
/// # Errors
/// If no process has a name.
pub(crate) fn all(selectors: &[ProcessSelector]) -> Result<Vec<u32>, Failure> {
    let mut all = Vec::new();
    for one in selectors {
        all.extend(one.pids()?);
    }
    Ok(once(all))
}

/// All recorded processes that are meant, without duplicates, and the errors for words that match none.
pub(crate) fn all_recorded(selectors: &[ProcessSelector]) -> (Vec<Recorded>, Vec<Failure>) {
    let preloaded = preloaded();
    let (mut all, mut failures) = (Vec::new(), Vec::new());
    for one in selectors {
        match one.recorded(&preloaded) {
            Ok(recorded) => all.extend(recorded),
            Err(failure) => failures.push(failure),
        }
    }
    let mut seen = BTreeSet::new();
    all.retain(|process| seen.insert(process.pid));
    (all, failures)
}

/// Pids as given, since the daemon that is asked to stop knows best; for names, the processes that are recorded.
///
/// # Errors
/// If no process has a name.
pub(crate) fn all_to_stop(selectors: &[ProcessSelector]) -> Result<Vec<u32>, Failure> {
    let preloaded = preloaded();
    let mut all = Vec::new();
    for one in selectors {
        match one {
            ProcessSelector::Pid(pid) => all.push(*pid),
            ProcessSelector::Name(_) => {
                all.extend(one.recorded(&preloaded)?.iter().map(|process| process.pid))
            }
        }
    }
    Ok(once(all))
}

fn once(mut pids: Vec<u32>) -> Vec<u32> {
    let mut seen = BTreeSet::new();
    pids.retain(|pid| seen.insert(*pid));
    pids
}

fn list(pids: &[u32]) -> String {
    listed(&Vec::from_iter(pids.iter().map(u32::to_string)), NAMED)
}

fn dormant(pid: u32) -> Failure {
    // A process that an attach is waiting for looks the same.
    Failure::usage(anyhow!(
        "process {pid} is not recorded: attach to it first. An attach that waits for its answer begins with \
         that"
    ))
}

fn not_recorded(pid: u32) -> Failure {
    Failure::usage(anyhow!("process {pid} is not recorded, or belongs to another user"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that digits are pids, that anything else is a name, and that what can be neither is refused.
    #[test]
    fn words_are_pids_or_names() {
        let name = |name: &str| Some(ProcessSelector::Name(name.to_string()));
        let cases = [
            ("1", Some(ProcessSelector::Pid(1))),
            ("4711", Some(ProcessSelector::Pid(4711))),
            ("0", None),
            ("", None),
            ("99999999999", None),
            ("/usr/sbin/nginx", None),
            ("nginx", name("nginx")),
            ("7z", name("7z")),
            ("-7", name("-7")),
            ("tmux: server", name("tmux: server")),
        ];
        for (text, expected) in cases {
            assert_eq!(process_selector(text).ok(), expected, "{text:?}");
        }
    }

    /// Check that a very long list stays one line.
    #[test]
    fn long_lists_are_cut() {
        assert_eq!(list(&[1, 2, 3]), "1, 2, 3");
        assert_eq!(list(&(1..=12).collect::<Vec<_>>()), "1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more");
    }
}
