//! The thread that counts.

use super::answer::Answer;
use super::ask::Asked;
use super::request::Request;
use crate::shell::Options;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Instant;

/// One question at a time is answered: that which was asked last.
pub(crate) struct Worker {
    requests: Sender<Request>,
    answers: Receiver<(Request, Answer)>,
    /// Tells the pass over the events that is going on to give up.
    stop: Arc<AtomicBool>,
    /// What is being answered, and since when.
    present: Option<(Request, Instant)>,
    /// What is to be answered after it.
    next: Option<Request>,
}

impl Worker {
    /// A thread for a capture. It ends with this process, or when nobody asks it any more.
    pub(crate) fn start(options: Options) -> std::io::Result<Self> {
        let (requests, asked) = channel::<Request>();
        let (answered, answers) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let mut capture = Asked::new(options, stop.clone());
        thread::Builder::new().name("analysis".to_owned()).spawn(move || {
            while let Ok(request) = asked.recv() {
                let answer = capture.answer(&request);
                if answered.send((request, answer)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { requests, answers, stop, present: None, next: None })
    }

    /// Makes a request the one that is answered. What else is being answered is given up.
    pub(crate) fn ask(&mut self, request: Request) {
        match &self.present {
            Some((present, _)) if *present == request => self.next = None,
            Some(_) => {
                // Relaxed: it is a hint; answers come through the channel.
                self.stop.store(true, Ordering::Relaxed);
                self.next = Some(request);
            }
            None => self.send(request),
        }
    }

    /// The next answer that somebody still wants.
    pub(crate) fn answer(&mut self) -> Option<(Request, Answer)> {
        let (request, answer) = self.answers.try_recv().ok()?;
        self.present = None;
        // Relaxed: the thread waits for a request now, and will see this through the channel.
        let was_stopped = self.stop.swap(false, Ordering::Relaxed);
        if let Some(next) = self.next.take() {
            self.send(next);
        }
        // A request that was given up may have been answered all the same, but not by an error that means only this.
        let is_stopped = was_stopped && matches!(answer, Answer::Failed(_));
        (!is_stopped).then_some((request, answer))
    }

    /// Since when somebody waits; none when nobody does.
    pub(crate) fn busy_since(&self) -> Option<Instant> {
        self.present.as_ref().map(|(_, since)| *since)
    }

    fn send(&mut self, request: Request) {
        self.present = Some((request.clone(), Instant::now()));
        // It fails only when the thread has panicked, which ends the process.
        let _ = self.requests.send(request);
    }
}
