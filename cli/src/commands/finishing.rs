//! Finishes a recording while its program goes on and has the terminal.

use super::opened_capture;
use super::push::LastInterval;
use super::supervise::{STANDSTILL, tell_what_is_kept};
use crate::exit::NOT_RECORDED;
use crate::message;
use anyhow::Context;
use collector::attach::launch::{Received, Signal, Signals};
use collector::{Error, Finished, NameSearch, Session};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time between two checks for the end.
const LOOK: Duration = Duration::from_millis(50);

/// A recording that is being finished in a thread of its own.
#[derive(Debug)]
pub(super) struct Finishing {
    thread: JoinHandle<Result<Finished, Error>>,
    names: Arc<NameSearch>,
}

impl Finishing {
    /// Starts finishing. If it `tells`, the result is reported as soon as it is known.
    pub(super) fn start(
        session: Session,
        pushed: Option<LastInterval>,
        tells: bool,
        quiet: bool,
    ) -> anyhow::Result<Finishing> {
        if !quiet {
            message::note("time is up: the recording ends, and the program continues unrecorded");
        }
        let names = Arc::<NameSearch>::default();
        let search = names.clone();
        let finish = move || {
            let key = session.output().to_owned();
            let finished = session.stop(search, Vec::new());
            tell_what_is_kept(&finished);
            if let (Some(pushed), Ok(finished)) = (pushed, &finished) {
                pushed.make(&key, &finished.path);
            }
            match &finished {
                Ok(finished) if tells => opened_capture::after_recording(finished, quiet),
                // Reported at once: the program may run on for days.
                Err(error) => message::warning(&format!("the recording has failed: {error}")),
                Ok(_) => {}
            }
            finished
        };
        let thread = std::thread::Builder::new().name("finishing".into()).spawn(finish);
        Ok(Finishing { thread: thread.context("cannot start a thread")?, names })
    }

    /// Waits for the capture after the program has ended. From then on signals are meant for us, as in
    /// [`super::supervise::finish`].
    pub(super) fn wait(self, signals: &Signals, code: u8) -> Result<Finished, Error> {
        let mut given_up: Option<Instant> = None;
        while !self.thread.is_finished() {
            match signals.next(LOOK) {
                Ok(None | Some(Received { signal: Signal::Child | Signal::Snapshot, .. })) => {}
                Ok(Some(_)) if given_up.is_some_and(|then| then.elapsed() > STANDSTILL) => {
                    message::warning("the capture cannot be finished, and stays as it is");
                    std::process::exit(i32::from(if code == 0 { NOT_RECORDED } else { code }));
                }
                Ok(Some(_)) => {
                    self.names.give_up();
                    given_up.get_or_insert_with(Instant::now);
                }
                Err(_) => break,
            }
        }
        self.thread.join().unwrap_or(Err(Error::Crashed))
    }
}
