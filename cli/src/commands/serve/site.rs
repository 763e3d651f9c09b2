//! What can be requested, and by whom.

use super::question::{DataQuestion, GraphQuestion, ScanQuestion, ViewQuestion};
use super::report::Report;
use crate::graphviz::{self, MOST_OF_DRAWING, Undrawn};
use http_server::{Answer, Bytes, Request, is_same};
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

/// A body that is kept for others who ask for the same.
struct Shared(Arc<Vec<u8>>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

fn found(kind: &str, policy: &str, body: Arc<Vec<u8>>) -> Answer {
    Answer::found(kind, Bytes::from_owner(Shared(body))).with("content-security-policy", policy)
}

fn error(status: u16, text: &str) -> Answer {
    Answer::error(status, text).with("content-security-policy", NOTHING_RUNS)
}

/// For a request about data that no longer exists.
fn outdated() -> Answer {
    error(409, "outdated: the recording has grown since, or has no such item")
}

fn to_nobody() -> Answer {
    error(503, "cancelled")
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
    fn name<'r>(&self, request: &'r Request) -> Result<&'r str, Answer> {
        if !self.hosts.contains(&request.host) {
            return Err(error(421, "wrong Host header"));
        }
        let path = request.path.strip_prefix('/').and_then(|path| path.split_once('/'));
        let name = path.filter(|(token, _)| is_same(token, &self.token)).map(|(_, name)| name);
        name.ok_or_else(not_found)
    }

    fn data_of<'a>(&self, words: impl Iterator<Item = (&'a str, &'a str)>, gone: &Arc<AtomicBool>) -> Answer {
        let Some(DataQuestion { range }) = DataQuestion::of(words) else {
            return error(400, "`from` and `to` must be nanoseconds");
        };
        let Some(mut report) = turn(&self.report, gone) else { return to_nobody() };
        match report.data(range, gone) {
            Ok(body) => found("application/octet-stream", NOTHING_RUNS, body),
            Err(failure) => error(500, &failure.to_text()),
        }
    }

    fn view_of<'a>(
        &self,
        words: impl Iterator<Item = (&'a str, &'a str)> + Clone,
        gone: &Arc<AtomicBool>,
    ) -> Answer {
        let Some(question) = ViewQuestion::of(words) else {
            return error(400, "no such view, or no such range");
        };
        let Some(report) = turn(&self.report, gone) else { return to_nobody() };
        match report.view(&question, gone) {
            Ok(body) => found("application/json", NOTHING_RUNS, Arc::new(body)),
            Err(failure) => error(500, &failure.to_text()),
        }
    }

    fn scan_of<'a>(&self, words: impl Iterator<Item = (&'a str, &'a str)>, gone: &Arc<AtomicBool>) -> Answer {
        let Some(question) = ScanQuestion::of(words) else {
            return error(400, "a scan needs a number and a time");
        };
        let Some(mut report) = turn(&self.report, gone) else { return to_nobody() };
        match report.scan(question, gone) {
            Ok(Some(body)) => found("application/octet-stream", NOTHING_RUNS, body),
            Ok(None) => outdated(),
            Err(failure) => error(500, &failure.to_text()),
        }
    }

    fn drawing_of<'a>(
        &self,
        words: impl Iterator<Item = (&'a str, &'a str)>,
        gone: &Arc<AtomicBool>,
    ) -> Answer {
        let Some(GraphQuestion { range, slices, query }) = GraphQuestion::of(words) else {
            return error(400, "malformed drawing request");
        };
        let Some(mut report) = turn(&self.report, gone) else { return to_nobody() };
        let graph = match report.graph(range, slices, &query, gone) {
            Ok(Some(graph)) => graph,
            Ok(None) => return outdated(),
            Err(failure) => return error(500, &failure.to_text()),
        };
        // Releases the data while this drawing is made.
        drop(report);
        let Some(_drawing) = turn(&self.drawing, gone) else { return to_nobody() };
        let begun = Instant::now();
        // Relaxed: a hint; no other data depends on it.
        let is_given_up = || gone.load(Ordering::Relaxed) || begun.elapsed() > MOST_OF_DRAWING;
        match graphviz::draw(&graph, "svg", &is_given_up) {
            Ok(svg) => found("image/svg+xml", NOTHING_RUNS, Arc::new(svg)),
            Err(undrawn @ Undrawn::NotInstalled) => error(501, &undrawn.to_string()),
            Err(undrawn @ Undrawn::GivenUp) => error(504, &undrawn.to_string()),
            Err(undrawn) => error(500, &undrawn.to_string()),
        }
    }
}

impl http_server::Site for Site {
    fn admit(&self, request: &Request) -> Result<(), Answer> {
        self.name(request).map(drop)
    }

    /// Long work is given up when `gone` is set.
    fn answer(&self, request: &Request, gone: &Arc<AtomicBool>) -> Answer {
        let name = match self.name(request) {
            Ok(name) => name,
            Err(refusal) => return refusal,
        };
        let words = request.parameters();
        match name {
            "" => {
                // Relaxed: nothing else is read on the strength of it.
                self.has_come.store(true, Ordering::Relaxed);
                let (page, policy) = &self.page;
                found("text/html; charset=utf-8", policy, page.clone())
            }
            "data" => self.data_of(words, gone),
            "retained" => self.scan_of(words, gone),
            "view" => self.view_of(words, gone),
            "graph.svg" => self.drawing_of(words, gone),
            _ => not_found(),
        }
    }
}

fn not_found() -> Answer {
    error(404, "not found: use the address that was printed")
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

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Naming;
    use http_server::Site as _;
    use web::PageOptions;

    fn ask(target: &str, host: &str) -> Answer {
        let site = Site::new(
            Report::new("none.memprof".into(), None, None, Naming::Stored, PageOptions::default()),
            "s3cret".to_owned(),
            80,
        );
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let (path, query, host) = (path.to_owned(), query.to_owned(), host.to_owned());
        let request = Request { path, query, host, ..Request::default() };
        site.answer(&request, &Arc::default())
    }

    /// Check that only clients that know the token and the server's own name are answered.
    #[test]
    fn strangers_get_nothing() {
        for (target, host, status) in [
            ("/s3cret/", "127.0.0.1:80", 200),
            ("/s3cret/", "localhost:80", 200),
            ("/s3cret/", "evil.example:80", 421),
            ("/s3cret/", "127.0.0.1:81", 421),
            ("/", "127.0.0.1:80", 404),
            ("/s3cre/", "127.0.0.1:80", 404),
            ("/s3cretx/", "127.0.0.1:80", 404),
            ("/s3cret", "127.0.0.1:80", 404),
            ("/s3cret/../etc/passwd", "127.0.0.1:80", 404),
            ("/s3cret/data?from=x", "127.0.0.1:80", 400),
            ("/s3cret/retained?scan=1", "127.0.0.1:80", 400),
            ("/s3cret/view?view=nothing", "127.0.0.1:80", 400),
            ("/s3cret/data", "127.0.0.1:80", 500),
        ] {
            assert_eq!(ask(target, host).status, status, "{target} of {host}");
        }
    }

    /// Check that the page may make requests only to its own server, and runs only its own scripts.
    #[test]
    fn the_page_keeps_its_policy() {
        let answer = ask("/s3cret/", "127.0.0.1:80");
        let policy = answer.headers.iter().find(|(name, _)| *name == "content-security-policy");
        let policy = &policy.expect("there is one").1;
        assert!(policy.starts_with("default-src 'none'; connect-src 'self'; script-src 'sha256-"));
        assert!(String::from_utf8_lossy(&answer.body).contains(policy));
    }
}
