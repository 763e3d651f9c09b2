//! Commands to a running collector, from other processes of the same user, or of root.
//!
//! Each collector listens on a name in the abstract namespace that contains its pid. Nothing is left behind when it
//! is killed, and nobody can pose as it, because clients compare the pid of whoever answers. A command is one packet
//! of words, each terminated by a zero byte; the answer is one packet whose first byte tells success from failure:
//!
//! ```text
//!   snapshot\0 4711\0 /tmp/a.memprof\0  ──►
//!                                       ◄──  + wrote /tmp/a.memprof
//!                                       ◄──  - process 4711 is not recorded here
//! ```

use crate::accept::listening_socket::ListeningSocket;
use crate::base::alarm::Alarm;
use crate::base::peer::Peer;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::sync::Arc;
use std::thread::JoinHandle;

/// Most clients answered at once. One more is answered by the listening thread itself, and further ones wait for
/// that.
const AT_ONCE: usize = 32;
/// Longest packet, in bytes.
const LONGEST: usize = 64 << 10;
/// How long a client may take to send its command.
const TIMEOUT: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// A collector's answer: what it did, or why not.
pub type Answer = Result<String, String>;

/// Executes commands, several at a time.
pub(crate) type CommandHandler = Arc<dyn Fn(&[OsString]) -> Answer + Send + Sync>;

/// Why a collector could not be asked, or its refusal.
#[derive(Debug, thiserror::Error)]
pub enum NotDone {
    /// It takes no commands.
    #[error("process {pid} takes no commands: {source}")]
    NoAnswer {
        /// The collector.
        pid: u32,
        /// The system's error.
        source: io::Error,
    },
    /// No daemon is running.
    #[error("no daemon of this user is running: {source}. Start one with sysprof-memprof daemon")]
    NoDaemon {
        /// The system's error.
        source: io::Error,
    },
    /// It refused.
    #[error("{0}")]
    Refused(String),
}

/// Listens for commands. Each is executed in a thread of its own, since one may take long, like a snapshot of a large
/// capture, while others arrive. Dropping this ends all threads.
#[derive(Debug)]
pub struct ControlSocket {
    over: Arc<Alarm>,
    thread: Option<JoinHandle<()>>,
}

impl ControlSocket {
    /// Listens for commands to this process. Only one `ControlSocket` can in a process.
    ///
    /// # Errors
    /// The system's error.
    pub fn open(handler: CommandHandler) -> io::Result<ControlSocket> {
        ControlSocket::open_at(&address_of(std::process::id())?, handler)
    }

    /// Listens for commands to this user's daemon, of which there can be only one.
    ///
    /// # Errors
    /// The system's error, for example when a daemon is already running.
    pub fn open_as_daemon(handler: CommandHandler) -> io::Result<ControlSocket> {
        ControlSocket::open_at(&daemon()?, handler)
    }

    fn open_at(address: &SocketAddrUnix, handler: CommandHandler) -> io::Result<ControlSocket> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        rustix::net::bind(&socket, address)?;
        rustix::net::listen(&socket, 16)?;
        let over = Arc::new(Alarm::new()?);
        let ended = over.clone();
        let thread = std::thread::Builder::new().name("commands".into()).spawn(move || {
            let mut listening = ListeningSocket::new(socket);
            let mut answering = Vec::new();
            while !is_over(&listening, &ended) {
                answering.retain(|thread: &JoinHandle<()>| !thread.is_finished());
                // A client that has gone needs no answer.
                if let Ok(Some(client)) = listening.accept() {
                    answering.extend(serve(Arc::new(client), &handler, answering.len() < AT_ONCE));
                }
            }
            // Commands that have begun are finished; a thread that panicked has said so.
            answering.into_iter().for_each(|thread| drop(thread.join()));
        })?;
        Ok(ControlSocket { over, thread: Some(thread) })
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        self.over.call();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Waits for a client or for the end; true at the end.
fn is_over(listening: &ListeningSocket, over: &Alarm) -> bool {
    let mut both = [PollFd::new(over, PollFlags::IN), PollFd::new(listening, listening.wanted())];
    let rest = listening.rest().map(|rest| Timespec { tv_sec: 0, tv_nsec: rest.subsec_nanos().into() });
    let _ = poll(&mut both, rest.as_ref());
    !both[0].revents().is_empty()
}

/// Answers a client, in a thread of its own if `apart`.
fn serve(client: Arc<OwnedFd>, handler: &CommandHandler, apart: bool) -> Option<JoinHandle<()>> {
    let (same, handles) = (client.clone(), handler.clone());
    let thread = apart.then(|| {
        let answer_it = move || drop(answer(&same, &handles));
        std::thread::Builder::new().name("command".into()).spawn(answer_it)
    });
    match thread {
        Some(Ok(thread)) => Some(thread),
        Some(Err(_)) | None => {
            let _ = answer(&client, handler);
            None
        }
    }
}

fn answer(client: &OwnedFd, handler: &CommandHandler) -> io::Result<()> {
    let answer = if Peer::of(client)?.is_trusted() {
        handler(&words(&receive(client)?))
    } else {
        Err("this collector belongs to another user".to_string())
    };
    let packet = match answer {
        Ok(text) => format!("+{text}"),
        Err(text) => format!("-{text}"),
    };
    rustix::net::send(client, packet.as_bytes(), SendFlags::NOSIGNAL)?;
    Ok(())
}

fn receive(socket: &OwnedFd) -> io::Result<Vec<u8>> {
    if poll(&mut [PollFd::new(socket, PollFlags::IN)], Some(&TIMEOUT))? == 0 {
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

fn address_of(pid: u32) -> rustix::io::Result<SocketAddrUnix> {
    SocketAddrUnix::new_abstract_name(format!("sysprof-memprof-collector-{pid}").as_bytes())
}

/// One daemon per doorbell: with another `SYSPROF_MEMPROF_DIR` there can be another daemon.
fn daemon() -> rustix::io::Result<SocketAddrUnix> {
    let (uid, folders) = (rustix::process::geteuid().as_raw(), crate::base::folders::hash());
    SocketAddrUnix::new_abstract_name(format!("sysprof-memprof-daemon-{uid}-{folders:016x}").as_bytes())
}

/// Sends a command to a collector, and returns its answer.
///
/// # Errors
/// When it cannot be asked, or refuses.
pub fn ask<W: AsRef<OsStr>>(pid: u32, words: impl IntoIterator<Item = W>) -> Result<String, NotDone> {
    let failed = |source: io::Error| NotDone::NoAnswer { pid, source };
    let is_it = |peer: Peer| peer.pid().is_ok_and(|peer| peer == pid);
    let answer =
        address_of(pid).map_err(io::Error::from).and_then(|address| converse(&address, is_it, words));
    understand(answer.map_err(failed)?).unwrap_or_else(|| Err(failed(io::ErrorKind::UnexpectedEof.into())))
}

/// Sends a command to this user's daemon, and returns its answer.
///
/// # Errors
/// When there is no daemon, or it refuses.
pub fn ask_daemon<W: AsRef<OsStr>>(words: impl IntoIterator<Item = W>) -> Result<String, NotDone> {
    // Anybody could listen under that name.
    let is_ours = |peer: Peer| peer.uid == rustix::process::geteuid().as_raw();
    let answer = daemon().map_err(io::Error::from).and_then(|address| converse(&address, is_ours, words));
    let failed = |source| NotDone::NoDaemon { source };
    understand(answer.map_err(failed)?).unwrap_or_else(|| Err(failed(io::ErrorKind::UnexpectedEof.into())))
}

/// Parses an answer; `None` if it is not one.
fn understand(answer: Vec<u8>) -> Option<Result<String, NotDone>> {
    let text = String::from_utf8_lossy(answer.get(1..).unwrap_or_default()).into_owned();
    match answer.first()? {
        b'+' => Some(Ok(text)),
        b'-' => Some(Err(NotDone::Refused(text))),
        _ => None,
    }
}

fn converse<W: AsRef<OsStr>>(
    address: &SocketAddrUnix,
    is_the_one: impl Fn(Peer) -> bool,
    words: impl IntoIterator<Item = W>,
) -> io::Result<Vec<u8>> {
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    rustix::net::connect(&socket, address)?;
    if !is_the_one(Peer::of(&socket)?) {
        return Err(io::Error::other("another process answers in its name"));
    }
    let mut packet = Vec::new();
    for word in words {
        packet.extend_from_slice(word.as_ref().as_bytes());
        packet.push(0);
    }
    rustix::net::send(&socket, &packet, SendFlags::NOSIGNAL)?;
    let mut answer = vec![0; LONGEST];
    // No timeout: a command may take long, like a snapshot of a large capture, and if the collector ends the
    // connection closes.
    let (length, _) = rustix::net::recv(&socket, answer.as_mut_slice(), RecvFlags::empty())?;
    answer.truncate(length);
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
    use std::time::Duration;

    /// One `ControlSocket` at a time in this process.
    fn alone() -> MutexGuard<'static, ()> {
        static SOCKET: Mutex<()> = Mutex::new(());
        SOCKET.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Check that clients are answered while another one's command takes long, and that it is finished when the socket
    /// is dropped.
    #[test]
    fn slow_commands_delay_nobody() {
        let _alone = alone();
        let (begun, is_begun) = mpsc::channel();
        let (release, is_released) = mpsc::channel();
        let is_released = Mutex::new(is_released);
        let socket = ControlSocket::open(Arc::new(move |words: &[OsString]| {
            if words != ["slow"] {
                return Ok("quick".to_string());
            }
            begun.send(()).unwrap();
            // Longer than any machine takes for the others, but bounded.
            let released = is_released.lock().unwrap().recv_timeout(Duration::from_secs(60));
            released.map(|()| "slow".to_string()).map_err(|_| "nobody came".to_string())
        }));
        let socket = socket.unwrap();
        let ask_it = |word: &'static str| ask(std::process::id(), [word]).map_err(|error| error.to_string());
        let slow = std::thread::spawn(move || ask_it("slow"));
        is_begun.recv().unwrap();
        for _ in 0..3 {
            assert_eq!(ask_it("quick"), Ok("quick".to_string()));
        }
        release.send(()).unwrap();
        drop(socket);
        assert_eq!(slow.join().unwrap(), Ok("slow".to_string()));
    }

    /// Check that as many commands as may run at once, and more, are all answered.
    #[test]
    fn floods_of_commands_are_answered() {
        let _alone = alone();
        let socket = ControlSocket::open(Arc::new(|words: &[OsString]| Ok(format!("{words:?}")))).unwrap();
        let clients: Vec<_> = (0..3 * AT_ONCE)
            .map(|number| std::thread::spawn(move || ask(std::process::id(), [number.to_string()]).unwrap()))
            .collect();
        for (number, client) in clients.into_iter().enumerate() {
            assert_eq!(client.join().unwrap(), format!("[\"{number}\"]"));
        }
        drop(socket);
    }

    /// Check that words arrive as sent, including empty ones and ones that are not text, and that both kinds of
    /// answers come back.
    #[test]
    fn commands_are_answered() {
        let _alone = alone();
        let socket = ControlSocket::open(Arc::new(|words: &[OsString]| {
            let texts: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
            if words.len() == 3 { Ok(texts.join(" ")) } else { Err(texts.join(" ")) }
        }));
        let socket = socket.unwrap();
        let odd = OsString::from_vec(vec![b'a', 0xff, b' ']);
        let told = ask(std::process::id(), [OsStr::new("one"), OsStr::new(""), &odd]).unwrap();
        assert_eq!(told, format!("\"one\" \"\" {odd:?}"));
        let refused = ask(std::process::id(), ["one"]).unwrap_err();
        assert!(matches!(refused, NotDone::Refused(text) if text == "\"one\""));
        drop(socket);
        assert!(matches!(ask(std::process::id(), ["one"]), Err(NotDone::NoAnswer { .. })));
    }
}
