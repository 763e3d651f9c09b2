//! What there is to be read, and for whom.

use super::report::{Range, Report};
use super::request::{Refusal, Request};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::thread;
use std::time::Duration;

/// Between two looks at whether it is one's turn, or nobody waits any more.
const TURN: Duration = Duration::from_millis(5);
use viewer::web;

/// The page of one capture.
pub(super) struct Site {
    token: String,
    /// What browsers may call this server.
    hosts: [String; 2],
    page: (Vec<u8>, String),
    /// The lock makes passes over the capture follow each other: of two at once, neither would be sooner done.
    report: Mutex<Report>,
}

/// An answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// As HTTP has it.
    pub(super) status: &'static str,
    /// What the body is.
    pub(super) kind: &'static str,
    /// What the page may do.
    pub(super) policy: String,
    /// What is sent.
    pub(super) body: Arc<Vec<u8>>,
}

impl Answer {
    fn error(status: &'static str, text: &str) -> Self {
        let body = Arc::new(text.as_bytes().to_vec());
        Self { status, kind: "text/plain; charset=utf-8", policy: "default-src 'none'".to_owned(), body }
    }

    /// To what is no request.
    pub(super) fn refusal(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Malformed => Self::error("400 Bad Request", "this is no request"),
            Refusal::TooLong => Self::error("431 Request Header Fields Too Large", "the request is too long"),
            Refusal::Method => Self::error("405 Method Not Allowed", "here is only something to be read"),
        }
    }
}

impl Site {
    /// Of a capture, behind a token, on a port.
    pub(super) fn new(report: Report, token: String, port: u16) -> Self {
        let hosts = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{port}"));
        Self { token, hosts, page: web::served_page(), report: Mutex::new(report) }
    }

    /// Answers a request. What takes long is given up when `gone` is set.
    pub(super) fn answer(&self, request: &Request, gone: &Arc<AtomicBool>) -> Answer {
        if !self.hosts.contains(&request.host) {
            return Answer::error("421 Misdirected Request", "this server has another name");
        }
        let (path, words) = request.parts();
        let nothing =
            || Answer::error("404 Not Found", "there is nothing here: use the address that was printed");
        let Some((token, name)) = path.strip_prefix('/').and_then(|path| path.split_once('/')) else {
            return nothing();
        };
        if !is_same(token, &self.token) {
            return nothing();
        }
        match name {
            "" => {
                let (page, policy) = self.page.clone();
                let kind = "text/html; charset=utf-8";
                Answer { status: "200 OK", kind, policy, body: Arc::new(page) }
            }
            "data" => self.data_of(words, gone),
            _ => nothing(),
        }
    }

    /// Waits until nobody else has something counted; none when whoever asks has gone before, so that connections of those
    /// who have changed their mind take nobody's place.
    fn turn(&self, gone: &AtomicBool) -> Option<MutexGuard<'_, Report>> {
        loop {
            match self.report.try_lock() {
                Ok(report) => return Some(report),
                Err(TryLockError::Poisoned(report)) => return Some(report.into_inner()),
                // Relaxed: a hint; nothing is read because of it.
                Err(TryLockError::WouldBlock) if gone.load(Ordering::Relaxed) => return None,
                Err(TryLockError::WouldBlock) => thread::sleep(TURN),
            }
        }
    }

    /// Does what ranges need while the reader looks at what was answered, unless somebody else has something counted.
    pub(super) fn prepare(&self) {
        if let Ok(mut report) = self.report.try_lock() {
            report.prepare();
        }
    }

    fn data_of<'a>(&self, words: impl Iterator<Item = (&'a str, &'a str)>, gone: &Arc<AtomicBool>) -> Answer {
        let (mut from, mut to) = (0, 0);
        for (name, value) in words {
            let place = match name {
                "from" => &mut from,
                "to" => &mut to,
                _ => continue,
            };
            let Ok(time) = value.parse::<u64>() else {
                return Answer::error("400 Bad Request", "from and to are numbers of nanoseconds");
            };
            *place = time;
        }
        let range = (to > from).then_some(Range { from, to });
        let Some(mut report) = self.turn(gone) else {
            return Answer::error("503 Service Unavailable", "nobody waits for it any more");
        };
        match report.data(range, gone) {
            Ok(body) => {
                let policy = "default-src 'none'".to_owned();
                Answer { status: "200 OK", kind: "application/octet-stream", policy, body }
            }
            Err(error) => Answer::error("500 Internal Server Error", &error.to_text()),
        }
    }
}

/// Compares in a time that tells nothing of where they differ.
fn is_same(given: &str, expected: &str) -> bool {
    let differ = given.bytes().zip(expected.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b));
    given.len() == expected.len() && differ == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use viewer::Naming;
    use viewer::web::PageOptions;

    fn ask(target: &str, host: &str) -> Answer {
        let site = Site::new(
            Report::new("none.memprof".into(), None, Naming::Stored, PageOptions::default(), true),
            "s3cret".to_owned(),
            80,
        );
        let request = Request { target: target.to_owned(), host: host.to_owned() };
        site.answer(&request, &Arc::default())
    }

    /// Check that only those who know the token and the server's own name are answered.
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
            ("/s3cret/data", "127.0.0.1:80", "500 Internal Server Error"),
        ] {
            assert_eq!(ask(target, host).status, status, "{target} of {host}");
        }
    }

    /// Check that the page may ask its own server, nobody else, and runs no script but its own.
    #[test]
    fn the_page_keeps_its_policy() {
        let answer = ask("/s3cret/", "127.0.0.1:80");
        assert!(answer.policy.starts_with("default-src 'none'; connect-src 'self'; script-src 'sha256-"));
        assert!(String::from_utf8_lossy(&answer.body).contains(&answer.policy));
    }
}
