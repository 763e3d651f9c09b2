//! A browser's request, as far as it matters here.
//!
//! A page sends GET for a path below the token. Everything else is refused: other methods, other host names (a web
//! page may point its own name to this machine), and requests longer than those of browsers.

use std::io::{self, Read};

/// Most bytes of a request.
const MOST_BYTES: usize = 16 << 10;

/// What ends the head of a request; the page's requests have nothing else.
const END: &[u8] = b"\r\n\r\n";

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

/// The beginning of a request that has not come whole yet.
#[derive(Debug, Default)]
pub(super) struct Head(Vec<u8>);

impl Head {
    /// Reads what has come; the request, once it is whole, or why it is refused.
    ///
    /// # Errors
    /// Those of the connection, except that nothing has come.
    pub(super) fn read(&mut self, stream: &mut impl Read) -> io::Result<Option<Result<Request, Refusal>>> {
        let mut piece = [0; 4096];
        loop {
            let length = match stream.read(&mut piece) {
                Ok(0) => return Ok(Some(Err(Refusal::Malformed))),
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            // The end may lie across two pieces.
            let seen = self.0.len().saturating_sub(END.len() - 1);
            self.0.extend_from_slice(&piece[..length]);
            let end = self.0[seen..].windows(END.len()).position(|four| four == END);
            if let Some(end) = end.map(|end| seen + end).filter(|end| *end <= MOST_BYTES) {
                let head = std::str::from_utf8(&self.0[..end]).map_err(|_| Refusal::Malformed);
                return Ok(Some(head.and_then(Request::parse)));
            }
            if self.0.len() > MOST_BYTES {
                return Ok(Some(Err(Refusal::TooLong)));
            }
        }
    }
}

impl Request {
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
        let read = Head::default().read(&mut text.as_bytes()).expect("bytes in memory can be read");
        read.expect("they end")
    }

    /// Bytes that come in two pieces, with a pause.
    struct Halting<'b>(&'b [u8], &'b [u8], bool);

    impl Read for Halting<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() && !std::mem::replace(&mut self.2, true) {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            if self.0.is_empty() { self.1.read(buffer) } else { self.0.read(buffer) }
        }
    }

    /// Check that a request is the same wherever it was cut on its way.
    #[test]
    fn requests_come_in_pieces() {
        let text = b"GET /t/ HTTP/1.1\r\nHost: a\r\n\r\n";
        for (first, second) in (0..text.len()).map(|cut| text.split_at(cut)) {
            let (mut head, mut stream) = (Head::default(), Halting(first, second, false));
            assert!(head.read(&mut stream).unwrap().is_none(), "{}", first.len());
            let request = head.read(&mut stream).unwrap().unwrap().unwrap();
            assert_eq!(request, Request { target: "/t/".to_owned(), host: "a".to_owned() });
        }
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
            prop_assert!(Head::default().read(&mut &bytes[..]).unwrap().is_some());
            prop_assert!(Head::default().read(&mut tail.as_bytes()).unwrap().is_some());
        }
    }
}
