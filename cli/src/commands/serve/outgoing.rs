//! An answer on its way to a client, as far as the client has taken it.

use super::site::Answer;
use std::io::{self, Write};
use std::sync::Arc;

/// An answer of which a part is written. The body is shared with others who take the same.
pub(super) struct Outgoing {
    head: Vec<u8>,
    body: Arc<Vec<u8>>,
    /// Bytes written so far, of both together.
    written: usize,
}

impl Outgoing {
    pub(super) fn new(answer: Answer) -> Outgoing {
        let Answer { status, kind, policy, body } = answer;
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nContent-Security-Policy: {policy}\r\n\
             X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCache-Control: no-store\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\nConnection: close\r\n\r\n",
            body.len()
        );
        Outgoing { head: head.into_bytes(), body, written: 0 }
    }

    /// Writes what can be written without waiting; true when that was the rest.
    pub(super) fn write(&mut self, stream: &mut impl Write) -> io::Result<bool> {
        loop {
            let rest = match self.head.get(self.written..) {
                Some(rest) if !rest.is_empty() => rest,
                _ => self.body.get(self.written - self.head.len()..).unwrap_or_default(),
            };
            if rest.is_empty() {
                return Ok(true);
            }
            match stream.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(length) => self.written += length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}
