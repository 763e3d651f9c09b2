//! Captures that are sent away while they are made, and not kept: `-o -` and `-o tcp://HOST:PORT`.
//!
//! A capture is written from beginning to end, without ever going back, so the bytes sent are those of the file. A
//! slow receiver acts like a slow disk: rings fill up, and their policy applies.

use crate::exit::Failure;
use anyhow::{Context, anyhow};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::net::sockopt::{set_socket_keepalive, set_tcp_user_timeout};
use rustix::stdio::{dup2_stdout, stderr, stdout};
use std::fs::File;
use std::io::IsTerminal;
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Time limit for connecting, and for the acknowledgement of sent data.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Standard output, once it is the capture's. Anything else written to standard output then goes to standard error.
static TAKEN: Mutex<Option<File>> = Mutex::new(None);

/// Where a capture is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// To the reader of our standard output.
    StandardOutput,
    /// To a listener, by name or address, and port.
    Tcp(String),
}

impl Stream {
    /// The stream that an output means; `None` for a file's path.
    pub(crate) fn of(output: &Path) -> Option<Stream> {
        match output.to_str()? {
            "-" => Some(Stream::StandardOutput),
            text => text.strip_prefix("tcp://").map(|address| Stream::Tcp(address.to_owned())),
        }
    }

    /// Makes sure that a program started later does not write into the capture.
    pub(crate) fn prepare(&self) -> Result<(), Failure> {
        if *self != Stream::StandardOutput {
            return Ok(());
        }
        if std::io::stdout().is_terminal() {
            return Err(Failure::usage(anyhow!(
                "a capture is not written to a terminal: send it to a file or a program, as in --output - | \
                 ssh host 'cat > it.memprof'"
            )));
        }
        // Started programs must not inherit it: the receiver waits until no process has it open.
        let ours = fcntl_dupfd_cloexec(stdout(), 3).context("cannot use standard output")?;
        dup2_stdout(stderr()).context("cannot use standard output")?;
        *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) = Some(File::from(ours));
        Ok(())
    }

    /// Opens the stream.
    pub(crate) fn open(&self) -> Result<File, Failure> {
        match self {
            Stream::StandardOutput => {
                let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner).take();
                taken.ok_or_else(|| Failure::usage(anyhow!("standard output takes one capture")))
            }
            Stream::Tcp(address) => connect(address)
                .with_context(|| {
                    format!("cannot send the capture to {address}. Is somebody listening there, as in nc -l PORT > it.memprof?")
                })
                .map_err(Failure::usage),
        }
    }
}

fn connect(address: &str) -> anyhow::Result<File> {
    let mut last = anyhow!("it has no address");
    for place in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&place, TIMEOUT) {
            Ok(connection) => {
                // Detects a receiver that disappears without closing the connection.
                set_socket_keepalive(&connection, true)?;
                set_tcp_user_timeout(&connection, u32::try_from(TIMEOUT.as_millis()).unwrap_or(u32::MAX))?;
                return Ok(File::from(OwnedFd::from(connection)));
            }
            Err(error) => last = error.into(),
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check which outputs are streams, and that all others are files.
    #[test]
    fn outputs_say_where_captures_are_sent() {
        for (output, expected) in [
            ("-", Some(Stream::StandardOutput)),
            ("tcp://host:4711", Some(Stream::Tcp("host:4711".into()))),
            ("tcp://[::1]:1", Some(Stream::Tcp("[::1]:1".into()))),
            ("./-", None),
            ("tcp", None),
            ("a/tcp://x", None),
        ] {
            assert_eq!(Stream::of(Path::new(output)), expected, "{output}");
        }
    }
}
