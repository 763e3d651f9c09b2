//! A browser's request, as far as it matters here.
//!
//! A page sends GET for a path below the token. Everything else is refused: other methods, other host names (a web
//! page may point its own name to this machine), and requests longer than those of browsers.

use std::io::{self, BufReader, Read};

/// Most bytes of a request.
const MOST_BYTES: u64 = 16 << 10;

/// What is requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// The path, including the query string.
    pub(super) target: String,
    /// The host that the browser believes it talks to.
    pub(super) host: String,
}

/// Why the answer is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It is not a valid request.
    Malformed,
    /// It is longer than any request of the page.
    TooLong,
    /// It wants to do something other than read.
    Method,
}

impl Request {
    /// Reads a request.
    ///
    /// # Errors
    /// Those of the connection. The inner error says why the request is refused.
    pub(super) fn read(stream: impl Read) -> io::Result<Result<Self, Refusal>> {
        let mut head = Vec::new();
        let mut bytes = BufReader::new(stream.take(MOST_BYTES)).bytes();
        while !head.ends_with(b"\r\n\r\n") {
            match bytes.next() {
                Some(byte) => head.push(byte?),
                None if head.len() as u64 == MOST_BYTES => return Ok(Err(Refusal::TooLong)),
                None => return Ok(Err(Refusal::Malformed)),
            }
        }
        Ok(std::str::from_utf8(&head).map_err(|_| Refusal::Malformed).and_then(Self::parse))
    }

    fn parse(head: &str) -> Result<Self, Refusal> {
        let mut lines = head.split("\r\n");
        let mut words = lines.next().unwrap_or_default().split(' ');
        let (method, target, version) = (words.next(), words.next(), words.next());
        let (Some(method), Some(target), Some("HTTP/1.0" | "HTTP/1.1"), None) =
            (method, target, version, words.next())
        else {
            return Err(Refusal::Malformed);
        };
        if method != "GET" {
            return Err(Refusal::Method);
        }
        let mut hosts = lines.filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("host").then(|| value.trim())
        });
        match (hosts.next(), hosts.next()) {
            (Some(host), None) => Ok(Self { target: target.to_owned(), host: host.to_owned() }),
            _ => Err(Refusal::Malformed),
        }
    }

    /// The path, and the parameters of the query string.
    pub(super) fn parts(&self) -> (&str, impl Iterator<Item = (&str, &str)>) {
        let (path, query) = self.target.split_once('?').unwrap_or((&self.target, ""));
        (path, query.split('&').filter_map(|pair| pair.split_once('=')))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Request, Refusal> {
        Request::read(text.as_bytes()).expect("bytes in memory can be read")
    }

    /// Check which requests are accepted and which refused.
    #[test]
    fn requests_are_read() {
        let request =
            read("GET /t/data?from=1&to=2 HTTP/1.1\r\nAccept: */*\r\nhOST:  127.0.0.1:80 \r\n\r\n").unwrap();
        assert_eq!((request.target.as_str(), request.host.as_str()), ("/t/data?from=1&to=2", "127.0.0.1:80"));
        let (path, words) = request.parts();
        assert_eq!((path, words.collect::<Vec<_>>()), ("/t/data", vec![("from", "1"), ("to", "2")]));
        for (text, refusal) in [
            ("POST / HTTP/1.1\r\nHost: a\r\n\r\n", Refusal::Method),
            ("GET / HTTP/1.1\r\n\r\n", Refusal::Malformed),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", Refusal::Malformed),
            ("GET / HTTP/2\r\nHost: a\r\n\r\n", Refusal::Malformed),
            ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", Refusal::Malformed),
            ("GET / HTTP/1.1\r\nHost: a\r\n", Refusal::Malformed),
            ("", Refusal::Malformed),
        ] {
            assert_eq!(read(text), Err(refusal), "{text:?}");
        }
        assert_eq!(read(&"x".repeat(1 << 20)), Err(Refusal::TooLong));
    }

    proptest! {
        /// Check that arbitrary bytes do not stop the reader.
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..300), tail in "(GET / HTTP/1.1|\r\n|Host: a|:| ){0,12}") {
            let _ = Request::read(&bytes[..]).unwrap();
            let _ = Request::read(tail.as_bytes()).unwrap();
        }
    }
}
