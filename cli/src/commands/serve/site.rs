//! What can be requested, and by whom.

use super::question::{DataQuestion, GraphQuestion, ScanQuestion};
use super::report::Report;
use super::request::{Refusal, Request};
use crate::graphviz::{self, MOST_OF_DRAWING, Undrawn};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two checks whether it is this request's turn, or its client has left.
const TURN: Duration = Duration::from_millis(5);

/// The page of one capture.
pub(super) struct Site {
    token: String,
    /// The host names under which browsers may reach this server.
    hosts: [String; 2],
    page: (Arc<Vec<u8>>, String),
    /// Somebody who knows the address has asked for the page.
    has_come: Arc<AtomicBool>,
    /// The lock serialises passes over the capture: two at once would both take longer.
    report: Mutex<Report>,
    /// Held while Graphviz draws: a drawing takes a processor and some memory, and nobody looks at two.
    drawing: Mutex<()>,
}

/// The policy for plain data: a drawing opened by itself runs no scripts and makes no requests either.
const NOTHING_RUNS: &str = "default-src 'none'";

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// The HTTP status line.
    pub(super) status: &'static str,
    /// The body's content type.
    pub(super) kind: &'static str,
    /// The content security policy.
    pub(super) policy: String,
    /// The body.
    pub(super) body: Arc<Vec<u8>>,
}

impl Answer {
    fn found(kind: &'static str, policy: &str, body: Arc<Vec<u8>>) -> Self {
        Self { status: "200 OK", kind, policy: policy.to_owned(), body }
    }

    fn error(status: &'static str, text: &str) -> Self {
        let body = Arc::new(text.as_bytes().to_vec());
        Self { status, kind: "text/plain; charset=utf-8", policy: NOTHING_RUNS.to_owned(), body }
    }

    /// For a request about data that no longer exists.
    fn outdated() -> Self {
        Self::error("409 Conflict", "outdated: the recording has grown since, or has no such item")
    }

    fn to_nobody() -> Self {
        Self::error("503 Service Unavailable", "cancelled")
    }

    /// For a refused request.
    pub(super) fn refusal(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Malformed => Self::error("400 Bad Request", "malformed request"),
            Refusal::TooLong => Self::error("431 Request Header Fields Too Large", "request too long"),
            Refusal::Method => Self::error("405 Method Not Allowed", "only GET is allowed"),
        }
    }
}

impl Site {
    /// Serves a report below a token, on a port.
    pub(super) fn new(report: Report, token: String, port: u16) -> Self {
        let hosts = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{port}"));
        let (page, policy) = web::served_page();
        Self {
            token,
            hosts,
            page: (Arc::new(page), policy),
            has_come: Arc::default(),
            report: Mutex::new(report),
            drawing: Mutex::new(()),
        }
    }

    /// Set once somebody who knows the address has asked for the page.
    pub(super) fn has_come(&self) -> Arc<AtomicBool> {
        self.has_come.clone()
    }

    /// The page that a request is for, or the answer for those who do not know the address.
    pub(super) fn admit<'r>(&self, request: &'r Request) -> Result<&'r str, Answer> {
        if !self.hosts.contains(&request.host) {
            return Err(Answer::error("421 Misdirected Request", "wrong Host header"));
        }
        let path = request.parts().0.strip_prefix('/').and_then(|path| path.split_once('/'));
        let name = path.filter(|(token, _)| is_same(token, &self.token)).map(|(_, name)| name);
        name.ok_or_else(not_found)
    }

    /// Answers a request. Long work is given up when `gone` is set.
    pub(super) fn answer(&self, request: &Request, gone: &Arc<AtomicBool>) -> Answer {
        let name = match self.admit(request) {
            Ok(name) => name,
            Err(refusal) => return refusal,
        };
        let (_, words) = request.parts();
        match name {
            "" => {
                // Relaxed: nothing else is read on the strength of it.
                self.has_come.store(true, Ordering::Relaxed);
                let (page, policy) = &self.page;
                Answer::found("text/html; charset=utf-8", policy, page.clone())
            }
            "data" => self.data_of(words, gone),
            "retained" => self.scan_of(words, gone),
            "graph.svg" => self.drawing_of(words, gone),
            _ => not_found(),
        }
    }

    fn data_of<'a>(&self, words: impl Iterator<Item = (&'a str, &'a str)>, gone: &Arc<AtomicBool>) -> Answer {
        let Some(DataQuestion { range }) = DataQuestion::of(words) else {
            return Answer::error("400 Bad Request", "`from` and `to` must be nanoseconds");
        };
        let Some(mut report) = turn(&self.report, gone) else { return Answer::to_nobody() };
        match report.data(range, gone) {
            Ok(body) => Answer::found("application/octet-stream", NOTHING_RUNS, body),
            Err(error) => Answer::error("500 Internal Server Error", &error.to_text()),
        }
    }

    fn scan_of<'a>(&self, words: impl Iterator<Item = (&'a str, &'a str)>, gone: &Arc<AtomicBool>) -> Answer {
        let Some(question) = ScanQuestion::of(words) else {
            return Answer::error("400 Bad Request", "a scan needs a number and a time");
        };
        let Some(mut report) = turn(&self.report, gone) else { return Answer::to_nobody() };
        match report.scan(question, gone) {
            Ok(Some(body)) => Answer::found("application/octet-stream", NOTHING_RUNS, body),
            Ok(None) => Answer::outdated(),
            Err(error) => Answer::error("500 Internal Server Error", &error.to_text()),
        }
    }

    fn drawing_of<'a>(
        &self,
        words: impl Iterator<Item = (&'a str, &'a str)>,
        gone: &Arc<AtomicBool>,
    ) -> Answer {
        let Some(GraphQuestion { range, slices, query }) = GraphQuestion::of(words) else {
            return Answer::error("400 Bad Request", "malformed drawing request");
        };
        let Some(mut report) = turn(&self.report, gone) else { return Answer::to_nobody() };
        let graph = match report.graph(range, slices, &query, gone) {
            Ok(Some(graph)) => graph,
            Ok(None) => return Answer::outdated(),
            Err(error) => return Answer::error("500 Internal Server Error", &error.to_text()),
        };
        // Releases the data while this drawing is made.
        drop(report);
        let Some(_drawing) = turn(&self.drawing, gone) else { return Answer::to_nobody() };
        let begun = Instant::now();
        // Relaxed: a hint; no other data depends on it.
        let is_given_up = || gone.load(Ordering::Relaxed) || begun.elapsed() > MOST_OF_DRAWING;
        match graphviz::draw(&graph, "svg", &is_given_up) {
            Ok(svg) => Answer::found("image/svg+xml", NOTHING_RUNS, Arc::new(svg)),
            Err(error @ Undrawn::NotInstalled) => Answer::error("501 Not Implemented", &error.to_string()),
            Err(error @ Undrawn::GivenUp) => Answer::error("504 Gateway Timeout", &error.to_string()),
            Err(error) => Answer::error("500 Internal Server Error", &error.to_string()),
        }
    }
}

fn not_found() -> Answer {
    Answer::error("404 Not Found", "not found: use the address that was printed")
}

/// Waits for a lock; `None` if the client leaves first, so that abandoned requests do not take anybody's place.
fn turn<'m, T>(taken: &'m Mutex<T>, gone: &AtomicBool) -> Option<MutexGuard<'m, T>> {
    loop {
        match taken.try_lock() {
            Ok(mine) => return Some(mine),
            Err(TryLockError::Poisoned(mine)) => return Some(mine.into_inner()),
            // Relaxed: a hint; no other data depends on it.
            Err(TryLockError::WouldBlock) if gone.load(Ordering::Relaxed) => return None,
            Err(TryLockError::WouldBlock) => thread::sleep(TURN),
        }
    }
}

/// Compares in constant time, which does not reveal where the texts differ.
fn is_same(given: &str, expected: &str) -> bool {
    let differ = given.bytes().zip(expected.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b));
    given.len() == expected.len() && differ == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Naming;
    use web::PageOptions;

    fn ask(target: &str, host: &str) -> Answer {
        let site = Site::new(
            Report::new("none.memprof".into(), None, None, Naming::Stored, PageOptions::default()),
            "s3cret".to_owned(),
            80,
        );
        let request = Request { target: target.to_owned(), host: host.to_owned() };
        site.answer(&request, &Arc::default())
    }

    /// Check that only clients that know the token and the server's own name are answered.
    #[test]
    fn strangers_get_nothing() {
        for (target, host, status) in [
            ("/s3cret/", "127.0.0.1:80", "200 OK"),
            ("/s3cret/", "localhost:80", "200 OK"),
            ("/s3cret/", "evil.example:80", "421 Misdirected Request"),
            ("/s3cret/", "127.0.0.1:81", "421 Misdirected Request"),
            ("/", "127.0.0.1:80", "404 Not Found"),
            ("/s3cre/", "127.0.0.1:80", "404 Not Found"),
            ("/s3cretx/", "127.0.0.1:80", "404 Not Found"),
            ("/s3cret", "127.0.0.1:80", "404 Not Found"),
            ("/s3cret/../etc/passwd", "127.0.0.1:80", "404 Not Found"),
            ("/s3cret/data?from=x", "127.0.0.1:80", "400 Bad Request"),
            ("/s3cret/retained?scan=1", "127.0.0.1:80", "400 Bad Request"),
            ("/s3cret/data", "127.0.0.1:80", "500 Internal Server Error"),
        ] {
            assert_eq!(ask(target, host).status, status, "{target} of {host}");
        }
    }

    /// Check that the page may make requests only to its own server, and runs only its own scripts.
    #[test]
    fn the_page_keeps_its_policy() {
        let answer = ask("/s3cret/", "127.0.0.1:80");
        assert!(answer.policy.starts_with("default-src 'none'; connect-src 'self'; script-src 'sha256-"));
        assert!(String::from_utf8_lossy(&answer.body).contains(&answer.policy));
    }
}
