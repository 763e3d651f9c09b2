//! What an alarm does.

use super::grown::Grown;
use crate::client::Client;
use crate::message;
use analysis::format::bytes;
use anyhow::{Context, bail};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{Seek, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long a command may take, and a server.
const TIMEOUT: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(10);

/// What is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// A line on standard error, which is the journal where systemd says so.
    Log,
    /// A capture of what was recorded so far.
    Snapshot,
    /// A shell command, with the alarm at its standard input.
    Run(String),
    /// The alarm as the body of a request.
    Post(String),
    /// The exit code.
    Fail,
}

impl FromStr for Action {
    type Err = String;

    fn from_str(text: &str) -> Result<Action, String> {
        match text.split_once(':') {
            None if text == "log" => Ok(Action::Log),
            None if text == "snapshot" => Ok(Action::Snapshot),
            None if text == "fail" => Ok(Action::Fail),
            Some(("run", command)) if !command.trim().is_empty() => Ok(Action::Run(command.to_owned())),
            Some(("post", url)) if ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme)) => {
                Ok(Action::Post(url.to_owned()))
            }
            _ => Err("expected log, snapshot, fail, run:COMMAND or post:https://HOST:PORT/PATH".to_owned()),
        }
    }
}

/// An alarm that was raised.
#[derive(Clone, Debug)]
pub(super) struct Alarm {
    pub(super) condition: String,
    /// The capture that is written.
    pub(super) capture: PathBuf,
    /// Recorded processes, by pid.
    pub(super) processes: Vec<(u32, String)>,
    pub(super) live: u64,
    /// What the control group uses, and may use.
    pub(super) group: Option<(u64, u64)>,
    pub(super) grown: Vec<Grown>,
    /// The capture that was saved.
    pub(super) snapshot: Option<PathBuf>,
    pub(super) labels: Vec<(String, String)>,
}

impl Alarm {
    /// As one line.
    fn text(&self) -> String {
        let processes: Vec<String> =
            self.processes.iter().take(3).map(|(pid, name)| format!("{name} ({pid})")).collect();
        let who = if processes.is_empty() { "the recording".to_owned() } else { processes.join(", ") };
        let live = bytes(i64::try_from(self.live).unwrap_or(i64::MAX));
        let group = self.group.map(|(used, limit)| {
            let part = |bytes_: u64| bytes(i64::try_from(bytes_).unwrap_or(i64::MAX));
            format!(", its control group uses {} of {}", part(used), part(limit))
        });
        let grown: Vec<String> = self.grown.iter().map(Grown::text).collect();
        let grown = if grown.is_empty() { String::new() } else { format!("; grown: {}", grown.join("; ")) };
        let snapshot = self.snapshot.as_ref().map(|path| format!("; see {}", path.display()));
        format!(
            "alarm {}: {who} holds {live}{}{grown}{}",
            self.condition,
            group.unwrap_or_default(),
            snapshot.unwrap_or_default()
        )
    }

    /// As a document.
    fn json(&self) -> Value {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let process = |(pid, name): &(u32, String)| json!({"pid": pid, "name": name});
        let labels: serde_json::Map<String, Value> =
            self.labels.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        json!({
            "schema": 1,
            "document": "alarm",
            "condition": self.condition,
            "time_unix_ns": u64::try_from(time.as_nanos()).unwrap_or(u64::MAX),
            "capture": self.capture.display().to_string(),
            "snapshot": self.snapshot.as_ref().map(|path| path.display().to_string()),
            "processes": self.processes.iter().map(process).collect::<Vec<_>>(),
            "labels": labels,
            "live_bytes": self.live,
            "cgroup_bytes": self.group.map(|(used, _)| used),
            "cgroup_limit_bytes": self.group.map(|(_, limit)| limit),
            "grown": self.grown.iter().map(Grown::json).collect::<Vec<_>>(),
        })
    }

    /// Does what is to be done; snapshots were saved before.
    pub(super) fn act(&self, actions: &[Action]) {
        for action in actions {
            let done = match action {
                Action::Log => {
                    message::alarm(&self.text());
                    Ok(())
                }
                Action::Run(command) => run(command, &self.json()),
                Action::Post(url) => post(url, &self.json()),
                Action::Snapshot | Action::Fail => Ok(()),
            };
            if let Err(error) = done {
                message::warning(&format!("alarm {}: {error:#}", self.condition));
            }
        }
    }
}

/// Runs a shell command, and ends it with what it has started if it takes too long.
fn run(command: &str, document: &Value) -> anyhow::Result<()> {
    // A pipe would keep us if the command does not read it.
    let mut input = File::from(memfd_create("alarm", MemfdFlags::CLOEXEC)?);
    writeln!(input, "{document}").and_then(|()| input.rewind())?;
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).stdin(input).stdout(Stdio::null()).process_group(0);
    let mut child = shell.spawn().with_context(|| format!("cannot run {command}"))?;
    let begun = Instant::now();
    loop {
        match child.try_wait() {
            Ok(None) if begun.elapsed() < TIMEOUT => thread::sleep(LOOK),
            Ok(None) => {
                if let Some(group) = Pid::from_raw(child.id().cast_signed()) {
                    let _ = kill_process_group(group, Signal::KILL);
                }
                let _ = child.wait();
                bail!("{command} was ended: it took more than {} s", TIMEOUT.as_secs());
            }
            Ok(Some(status)) if !status.success() => bail!("{command} failed: {status}"),
            // Whoever waits for the target may have waited for it, too.
            Ok(Some(_)) | Err(_) => return Ok(()),
        }
    }
}

fn post(url: &str, document: &Value) -> anyhow::Result<()> {
    let body = document.to_string();
    let send = || {
        let headers = [("Content-Type", "application/json")];
        Client::new(url, None)?.post(url, headers, body.as_bytes(), TIMEOUT)
    };
    let answer = send().with_context(|| format!("cannot send to {url}"))?;
    if answer.is_success() { Ok(()) } else { bail!("{url} answers {}", answer.reason()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check how actions are written, and that others are refused with advice.
    #[test]
    fn actions_are_read() {
        for (text, expected) in [
            ("log", Action::Log),
            ("snapshot", Action::Snapshot),
            ("fail", Action::Fail),
            ("run:logger -t x", Action::Run("logger -t x".into())),
            ("post:http://[::1]:80/x", Action::Post("http://[::1]:80/x".into())),
            ("post:https://host/x", Action::Post("https://host/x".into())),
        ] {
            assert_eq!(text.parse(), Ok(expected));
        }
        for text in ["", "run:", "run", "post:ftp://x", "mail:me"] {
            assert!(text.parse::<Action>().is_err(), "{text}");
        }
    }

    /// Check that a command gets the document, and that one that fails is reported.
    #[test]
    fn commands_get_the_alarm() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("alarm");
        run(&format!("cat >{}", file.display()), &json!({"a": 1})).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "{\"a\":1}\n");
        // It does not matter how much a command does not read.
        run("true", &json!("x".repeat(1 << 20))).unwrap();
        assert!(run("exit 3", &Value::Null).unwrap_err().to_string().contains("exit 3 failed"));
    }
}
