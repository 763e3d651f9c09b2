//! Commands to a recorder that runs: asked for by others of the same user, or by root.
//!
//! Each recorder listens on a name in the abstract namespace that its pid is part of. Nothing is left behind when it
//! is killed, and nobody can pose as it, since whoever asks compares the pid of the one that answers. A command is one
//! packet of words, each ended by a zero byte; the answer is one packet, whose first byte says whether it went well:
//!
//! ```text
//!   snapshot\0 4711\0 /tmp/a.memprof\0  ──►
//!                                       ◄──  + wrote /tmp/a.memprof
//!                                       ◄──  - process 4711 is not recorded here
//! ```

use crate::alarm::Alarm;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::Arc;
use std::thread::JoinHandle;

/// Longest packet.
const LONGEST: usize = 64 << 10;
/// A client says what it wants within this time.
const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// What a recorder answers: what it did, or why not.
pub type Answer = Result<String, String>;

/// Why a recorder could not be asked, or what it said.
#[derive(Debug, thiserror::Error)]
pub enum NotDone {
    /// It takes no commands.
    #[error("process {pid} takes no commands: {source}")]
    NoAnswer {
        /// The recorder.
        pid: u32,
        /// What the system said.
        source: io::Error,
    },
    /// It said no.
    #[error("{0}")]
    Refused(String),
}

/// A recorder's ear. Commands are answered one after the other, in a thread that ends with this.
#[derive(Debug)]
pub(crate) struct Ear {
    over: Arc<Alarm>,
    thread: Option<JoinHandle<()>>,
}

impl Ear {
    /// Listens for commands to this process. Only one can in a process.
    pub(crate) fn open(obey: impl Fn(&[OsString]) -> Answer + Send + 'static) -> io::Result<Ear> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        rustix::net::bind(&socket, &address(std::process::id())?)?;
        rustix::net::listen(&socket, 16)?;
        let over = Arc::new(Alarm::new()?);
        let ended = over.clone();
        let thread = std::thread::Builder::new().name("commands".into()).spawn(move || {
            while !is_over(&socket, &ended) {
                // Whoever is not there any more needs no answer.
                let _ = serve(&socket, &obey);
            }
        })?;
        Ok(Ear { over, thread: Some(thread) })
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        self.over.call();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Waits for a client, or for the end.
fn is_over(socket: &OwnedFd, over: &Alarm) -> bool {
    let mut both = [PollFd::new(over, PollFlags::IN), PollFd::new(socket, PollFlags::IN)];
    let _ = poll(&mut both, None);
    !both[0].revents().is_empty()
}

fn serve(socket: &OwnedFd, obey: &impl Fn(&[OsString]) -> Answer) -> io::Result<()> {
    let client = rustix::net::accept_with(socket, SocketFlags::CLOEXEC)?;
    let peer = socket_peercred(&client)?.uid;
    let answer = if peer.is_root() || peer == rustix::process::geteuid() {
        obey(&words(&receive(&client)?))
    } else {
        Err("this recorder belongs to another user".to_string())
    };
    let packet = match answer {
        Ok(text) => format!("+{text}"),
        Err(text) => format!("-{text}"),
    };
    rustix::net::send(&client, packet.as_bytes(), SendFlags::NOSIGNAL)?;
    Ok(())
}

fn receive(socket: &OwnedFd) -> io::Result<Vec<u8>> {
    if poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&PATIENCE))? == 0 {
        return Err(io::ErrorKind::TimedOut.into());
    }
    let mut packet = vec![0; LONGEST];
    let (length, _) = rustix::net::recv(socket, packet.as_mut_slice(), RecvFlags::empty())?;
    packet.truncate(length);
    Ok(packet)
}

fn words(packet: &[u8]) -> Vec<OsString> {
    let packet = packet.strip_suffix(&[0]).unwrap_or(packet);
    packet.split(|byte| *byte == 0).map(|word| OsString::from_vec(word.to_vec())).collect()
}

fn address(pid: u32) -> rustix::io::Result<SocketAddrUnix> {
    SocketAddrUnix::new_abstract_name(format!("sysprof-memprof-recorder-{pid}").as_bytes())
}

/// Has a recorder do something, and gives its answer.
///
/// # Errors
/// When it cannot be asked, or says no.
pub fn ask<W: AsRef<OsStr>>(recorder: u32, words: impl IntoIterator<Item = W>) -> Result<String, NotDone> {
    let failed = |source: io::Error| NotDone::NoAnswer { pid: recorder, source };
    let answer = converse(recorder, words).map_err(failed)?;
    let text = String::from_utf8_lossy(answer.get(1..).unwrap_or_default()).into_owned();
    match answer.first() {
        Some(b'+') => Ok(text),
        Some(b'-') => Err(NotDone::Refused(text)),
        _ => Err(failed(io::ErrorKind::UnexpectedEof.into())),
    }
}

fn converse<W: AsRef<OsStr>>(recorder: u32, words: impl IntoIterator<Item = W>) -> io::Result<Vec<u8>> {
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    rustix::net::connect(&socket, &address(recorder)?)?;
    if socket_peercred(&socket)?.pid.as_raw_nonzero().get().cast_unsigned() != recorder {
        return Err(io::Error::other("another process answers in its name"));
    }
    let mut packet = Vec::new();
    for word in words {
        packet.extend_from_slice(word.as_ref().as_bytes());
        packet.push(0);
    }
    rustix::net::send(&socket, &packet, SendFlags::NOSIGNAL)?;
    let mut answer = vec![0; LONGEST];
    // It may take its time, as a snapshot of a large capture does; when it ends, we hear that.
    let (length, _) = rustix::net::recv(&socket, answer.as_mut_slice(), RecvFlags::empty())?;
    answer.truncate(length);
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that words arrive as they were sent, empty ones and those that are no text too, and that both kinds of
    /// answers come back.
    #[test]
    fn commands_are_answered() {
        let ear = Ear::open(|words| {
            let texts: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
            if words.len() == 3 { Ok(texts.join(" ")) } else { Err(texts.join(" ")) }
        });
        let ear = ear.unwrap();
        let odd = OsString::from_vec(vec![b'a', 0xff, b' ']);
        let told = ask(std::process::id(), [OsStr::new("one"), OsStr::new(""), &odd]).unwrap();
        assert_eq!(told, format!("\"one\" \"\" {odd:?}"));
        let refused = ask(std::process::id(), ["one"]).unwrap_err();
        assert!(matches!(refused, NotDone::Refused(text) if text == "\"one\""));
        drop(ear);
        assert!(matches!(ask(std::process::id(), ["one"]), Err(NotDone::NoAnswer { .. })));
    }
}
