//! The thread that counts.

use super::answer::Answer;
use super::ask::Asked;
use super::request::Request;
use crate::options::Options;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The screen shows a sign when an answer takes longer than this.
const TIMEOUT: Duration = Duration::from_millis(50);

/// Answers one request at a time: the latest.
pub(crate) struct Worker {
    requests: Sender<Request>,
    answers: Receiver<(Request, Answer)>,
    /// Tells the current pass over the events to give up.
    stop: Arc<AtomicBool>,
    /// The request being answered, and since when.
    present: Option<(Request, Instant)>,
    /// The request to answer next.
    next: Option<Request>,
}

impl Worker {
    /// Starts a thread for a capture. It ends with this process, or when nobody asks any more.
    pub(crate) fn start(options: Options) -> std::io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut capture = Asked::new(options, stop.clone());
        Self::answering(stop, move |request| capture.answer(request))
    }

    /// Starts a thread that answers with `answer`, which gives up soon after `stop` was set.
    fn answering(
        stop: Arc<AtomicBool>,
        mut answer: impl FnMut(&Request) -> Answer + Send + 'static,
    ) -> std::io::Result<Self> {
        let (requests, asked) = channel::<Request>();
        let (answered, answers) = channel();
        thread::Builder::new().name("analysis".to_owned()).spawn(move || {
            while let Ok(request) = asked.recv() {
                let answer = answer(&request);
                if answered.send((request, answer)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { requests, answers, stop, present: None, next: None })
    }

    /// Makes this the request to answer. Any other in progress is cancelled.
    pub(crate) fn ask(&mut self, request: Request) {
        match &self.present {
            Some((present, _)) if *present == request => self.next = None,
            Some(_) => {
                // Relaxed: a mere hint; answers come through the channel.
                self.stop.store(true, Ordering::Relaxed);
                self.next = Some(request);
            }
            None => self.send(request),
        }
    }

    /// The next answer that is still wanted.
    pub(crate) fn answer(&mut self) -> Option<(Request, Answer)> {
        let (request, answer) = self.answers.try_recv().ok()?;
        self.present = None;
        // Relaxed: the thread now waits for a request, and the channel orders this store before it.
        let was_stopped = self.stop.swap(false, Ordering::Relaxed);
        if let Some(next) = self.next.take() {
            self.send(next);
        }
        // A cancelled request may have been answered all the same; but an error then means only that it was
        // cancelled.
        let is_stopped = was_stopped && matches!(answer, Answer::Failed(_));
        (!is_stopped).then_some((request, answer))
    }

    /// True when an answer is being waited for.
    pub(crate) fn is_busy(&self) -> bool {
        self.present.is_some()
    }

    /// True when the wait has been so long that the user should see it.
    pub(crate) fn is_late(&self, now: Instant) -> bool {
        self.present.as_ref().is_some_and(|(_, since)| now.saturating_duration_since(*since) >= TIMEOUT)
    }

    fn send(&mut self, request: Request) {
        self.present = Some((request.clone(), Instant::now()));
        // Fails only when the thread has panicked, which ends the process.
        let _ = self.requests.send(request);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str) -> Request {
        Request::Source(path.into())
    }

    /// Check that asking never blocks, though nothing is answered until a hundred requests were made; and that the
    /// first request is cancelled, the last one answered, and none between looked at.
    #[test]
    fn slow_answers_keep_nobody_waiting() {
        let (go, wait) = channel::<()>();
        let (looked, looks) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let told = stop.clone();
        let mut worker = Worker::answering(stop, move |request| {
            wait.recv().expect("the test lets it go on");
            looked.send((request.clone(), told.load(Ordering::Relaxed))).expect("the test waits for it");
            Answer::Failed("given up".to_owned())
        })
        .unwrap();
        for asked in 0..100 {
            worker.ask(of(&asked.to_string()));
            assert!(worker.is_busy() && worker.answer().is_none());
        }
        (0..2).for_each(|_| go.send(()).unwrap());
        assert_eq!(looks.recv().unwrap(), (of("0"), true));
        // The second request is sent on when the first answer is taken.
        let answered = std::iter::from_fn(|| Some(worker.answer())).inspect(|_| thread::yield_now());
        let (request, _) = answered.flatten().next().expect("it goes on without end");
        assert_eq!((request, worker.is_busy()), (of("99"), false));
        assert_eq!(looks.recv().unwrap(), (of("99"), false));
        assert!(looks.try_recv().is_err());
    }

    /// Check that an answer is late after 50 ms and not before, and that none is late when none is awaited.
    #[test]
    fn answers_are_late_after_a_while() {
        let (_go, wait) = channel::<()>();
        let mut worker = Worker::answering(Arc::default(), move |_| {
            let _ = wait.recv();
            Answer::Failed(String::new())
        })
        .unwrap();
        assert!(!worker.is_late(Instant::now() + Duration::from_secs(9)));
        worker.ask(of("a"));
        let (_, since) = worker.present.as_ref().expect("it was asked");
        let after = |milliseconds| *since + Duration::from_millis(milliseconds);
        for (now, is_late) in [(after(0), false), (after(49), false), (after(50), true), (after(5000), true)]
        {
            assert_eq!(worker.is_late(now), is_late);
        }
    }
}
