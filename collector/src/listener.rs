//! The thread that answers agents: looks who asks, makes the memory of the image, hands it over.

use crate::error::Error;
use crate::glob;
use crate::image::{Image, ImageId};
use crate::keeper::Keeper;
use crate::log::debug;
use crate::memory::{Memory, Policy};
use crate::process::Info;
use crate::watcher::{Request, Watcher};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType,
};
use shared_ring::handshake::{Hello, MESSAGE, Reply, Verdict};
use shared_ring::{Geometry, PROTOCOL_VERSION};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;

/// An agent that says nothing for so long is given up.
const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
/// How often the thread looks whether the recording is over.
const ROUND: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// What the listener decides by.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) geometry: Geometry,
    pub(crate) policy: Policy,
    pub(crate) only: Vec<String>,
    pub(crate) skip: Vec<String>,
}

/// Agents that could not be recorded though they should have been.
#[derive(Debug, Default)]
pub(crate) struct Failures(Mutex<(u64, String)>);

impl Failures {
    fn add(&self, error: &std::io::Error) {
        if let Ok(mut failures) = self.0.lock() {
            failures.0 += 1;
            failures.1 = error.to_string();
        }
    }

    /// One sentence for the user, when there were any.
    pub(crate) fn remark(&self) -> Option<String> {
        let failures = self.0.lock().ok()?;
        let (count, last) = &*failures;
        (*count > 0).then(|| {
            format!("Processes that could not be recorded: {count}, the last one because of: {last}.")
        })
    }
}

/// Where agents connect.
#[derive(Debug)]
pub(crate) struct Listener {
    name: PathBuf,
    failures: Arc<Failures>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Listens on `path`, or on a name of our own in the abstract namespace, and answers in a thread.
    pub(crate) fn start(
        path: Option<&Path>,
        rules: Rules,
        keeper: Arc<Keeper>,
        images: mpsc::Sender<Arc<Image>>,
        watcher: Watcher,
    ) -> Result<Listener, Error> {
        let (socket, name) = open(path)?;
        let over = Arc::new(AtomicBool::new(false));
        let failures = Arc::new(Failures::default());
        let host = Host {
            rules,
            keeper,
            images,
            watcher,
            known: Mutex::new(Vec::new()),
            next: AtomicU32::new(0),
            failures: failures.clone(),
        };
        let ended = over.clone();
        let thread = std::thread::Builder::new()
            .name("listener".into())
            .spawn(move || host.serve(&socket, &ended))
            .map_err(|source| Error::System { what: "start a thread", source })?;
        Ok(Listener { name, failures, over, thread: Some(thread) })
    }

    /// What went wrong, to be read at the end.
    pub(crate) fn failures(&self) -> Arc<Failures> {
        self.failures.clone()
    }

    /// The name for `SYSPROF_MEMPROF_SOCKET`.
    pub(crate) fn name(&self) -> &Path {
        &self.name
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        if !self.name.as_os_str().as_bytes().starts_with(b"@") {
            let _ = std::fs::remove_file(&self.name);
        }
    }
}

/// Opens the socket: sequenced packets, so that each message comes whole.
fn open(path: Option<&Path>) -> Result<(OwnedFd, PathBuf), Error> {
    let name = match path {
        Some(path) => path.to_owned(),
        None => PathBuf::from(format!("@sysprof-memprof-{}-{:016x}", std::process::id(), random())),
    };
    let failed = |source: rustix::io::Errno| Error::Listen { path: name.clone(), source: source.into() };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket =
        rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).map_err(failed)?;
    let address = match name.as_os_str().as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddrUnix::new_abstract_name(name).map_err(failed)?,
        None => {
            remove_stale(&name);
            SocketAddrUnix::new(&name).map_err(failed)?
        }
    };
    rustix::net::bind(&socket, &address).map_err(failed)?;
    if address.path().is_some() {
        // Only the same user, and root, may connect.
        rustix::fs::chmod(&name, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).map_err(failed)?;
    }
    rustix::net::listen(&socket, 1024).map_err(failed)?;
    Ok((socket, name))
}

/// Removes a socket that nobody listens on any more.
fn remove_stale(path: &Path) {
    use std::os::unix::fs::FileTypeExt;
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket());
    if !is_socket {
        return;
    }
    let probe = rustix::net::socket(AddressFamily::UNIX, SocketType::SEQPACKET, None)
        .and_then(|socket| rustix::net::connect(&socket, &SocketAddrUnix::new(path)?));
    if probe == Err(rustix::io::Errno::CONNREFUSED) {
        let _ = std::fs::remove_file(path);
    }
}

/// Something that no other process guesses: the address space's own randomness and the time.
fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

struct Host {
    failures: Arc<Failures>,
    rules: Rules,
    keeper: Arc<Keeper>,
    images: mpsc::Sender<Arc<Image>>,
    watcher: Watcher,
    /// Images that may still live, to notice an exec.
    known: Mutex<Vec<std::sync::Weak<Image>>>,
    next: AtomicU32,
}

impl Host {
    fn serve(&self, socket: &OwnedFd, over: &AtomicBool) {
        while !over.load(Ordering::Relaxed) {
            let mut ready = [PollFd::new(socket, PollFlags::IN)];
            if poll(&mut ready, Some(&ROUND)).unwrap_or(0) == 0 {
                continue;
            }
            let answered = rustix::net::accept_with(socket, SocketFlags::CLOEXEC)
                .map_err(std::io::Error::from)
                .and_then(|agent| self.answer(&agent));
            if let Err(error) = answered {
                debug!("an agent could not be answered: {error}");
                self.failures.add(&error);
            }
        }
        // Those that still wait are told that it is over.
        while let Ok(agent) = rustix::net::accept_with(socket, SocketFlags::CLOEXEC) {
            let _ = refuse(&agent, Verdict::Over);
        }
    }

    fn answer(&self, agent: &OwnedFd) -> std::io::Result<()> {
        let peer = socket_peercred(agent)?;
        let ours = rustix::process::geteuid();
        if !ours.is_root() && peer.uid != ours && !peer.uid.is_root() {
            return refuse(agent, Verdict::NotChosen);
        }
        let mut ready = [PollFd::new(agent, PollFlags::IN)];
        if poll(&mut ready, Some(&PATIENCE))? == 0 {
            return Ok(());
        }
        let mut message = [0; MESSAGE];
        let (length, _) = rustix::net::recv(agent, &mut message, RecvFlags::DONTWAIT)?;
        let Some(hello) = Hello::from_bytes(&message).filter(|_| length == MESSAGE) else { return Ok(()) };
        if hello.version != PROTOCOL_VERSION {
            debug!("an agent speaks version {}, not {PROTOCOL_VERSION}", hello.version);
            return refuse(agent, Verdict::Version);
        }
        let pid = peer.pid.as_raw_nonzero().get().cast_unsigned();
        let info = Info::read(pid);
        // Whatever it is now, what it was before is over.
        self.forget(pid);
        let is_first = self.next.load(Ordering::Relaxed) == 0;
        let follows = self.rules.policy.follow || is_first;
        debug!("pid {pid} ({}) connects", info.name());
        if !follows || !glob::is_chosen(&info.name(), &self.rules.only, &self.rules.skip) {
            debug!("pid {pid} is not chosen");
            return refuse(agent, Verdict::NotChosen);
        }
        let geometry = self.rules.geometry.within(hello.address_space);
        let mut memory = Memory::new(geometry, self.rules.policy, self.keeper.thread_id())?;
        let Some(descriptors) = memory.take_descriptors() else { return Ok(()) };
        let id = ImageId(self.next.fetch_add(1, Ordering::Relaxed));
        let image = Image::new(id, memory, info, self.keeper.clone());
        if let Ok(mut known) = self.known.lock() {
            known.push(Arc::downgrade(&image));
        }
        let sent = accept(agent, image.memory.geometry(), descriptors);
        // The image goes on even when the answer did not arrive: its process is watched and ends soon or now.
        self.watcher.ask(Request::Watch { image: image.clone(), slot: 0, pid });
        let _ = self.images.send(image);
        sent
    }

    /// Ends the earlier images of a process that has connected anew: it executed another program.
    fn forget(&self, pid: u32) {
        if let Ok(mut known) = self.known.lock() {
            known.retain(|image| image.upgrade().inspect(|image| image.execed(pid)).is_some());
        }
    }
}

/// Sends the memory; our copies of its descriptors are closed with that.
fn accept(agent: &OwnedFd, geometry: Geometry, descriptors: [OwnedFd; 2]) -> std::io::Result<()> {
    let reply = Reply { version: PROTOCOL_VERSION, verdict: Verdict::Accepted, geometry, slot: 0 };
    let descriptors = descriptors.each_ref().map(OwnedFd::as_fd);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    rustix::net::sendmsg(agent, &[IoSlice::new(&reply.to_bytes())], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

fn refuse(agent: &OwnedFd, verdict: Verdict) -> std::io::Result<()> {
    let reply = Reply { version: PROTOCOL_VERSION, verdict, geometry: Geometry::default(), slot: 0 };
    rustix::net::send(agent, &reply.to_bytes(), SendFlags::NOSIGNAL)?;
    Ok(())
}
