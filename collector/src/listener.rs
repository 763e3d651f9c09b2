//! The thread that answers agents: looks who asks, makes the memory of the image, hands it over.

use crate::alarm::Alarm;
use crate::clock;
use crate::error::Error;
use crate::glob;
use crate::image::{Image, ImageId};
use crate::listening_socket::ListeningSocket;
use crate::liveness::Liveness;
use crate::log::debug;
use crate::memory::{Memory, Policy};
use crate::missed_allocators::MissedAllocators;
use crate::occupant::Occupant;
use crate::peer::Peer;
use crate::pending::{Pending, ready};
use crate::process::Info;
use crate::sleeper::Bell;
use crate::socket::{beside, open};
use crate::unrecorded::Unrecorded;
use crate::watcher::{Request, Watcher};
use rustix::fd::OwnedFd;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use rustix::process::{Resource, getrlimit};
use shared_ring::handshake::{Hello, Inside, MESSAGE, Reply, Verdict};
use shared_ring::{Geometry, PROTOCOL_VERSION};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;

/// What the listener decides by.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) geometry: Geometry,
    pub(crate) policy: Policy,
    pub(crate) only: Vec<String>,
    pub(crate) skip: Vec<String>,
}

/// Where images go whose agents were answered.
#[derive(Clone, Debug)]
pub(crate) struct Outlet {
    /// To the drain thread, …
    pub(crate) images: mpsc::Sender<Arc<Image>>,
    /// … which this wakes.
    pub(crate) bell: Arc<Bell>,
    /// Whoever sees their processes end.
    pub(crate) watcher: Watcher,
}

/// Where agents connect.
#[derive(Debug)]
pub(crate) struct Listener {
    name: PathBuf,
    host: Arc<Host>,
    /// The same listens there, too.
    beside: Option<PathBuf>,
    /// Tells the threads that the recording is over.
    over: Arc<Alarm>,
    threads: Vec<JoinHandle<()>>,
}

impl Listener {
    /// Listens on `path`, or on a name of our own in the abstract namespace, and answers in a thread. Such names are those of a network
    /// namespace: for processes that make themselves another one there is a socket of that name in a private `folder`.
    pub(crate) fn start(
        path: Option<&Path>,
        folder: Option<&Path>,
        rules: Rules,
        outlet: Outlet,
    ) -> Result<Listener, Error> {
        let (socket, name) = open(path)?;
        let failed = |source| Error::System { what: "make an eventfd", source };
        let over = Arc::new(Alarm::new().map_err(failed)?);
        let failed = |source| Error::System { what: "start a thread", source };
        let host = Arc::new(Host::new(rules, outlet).map_err(failed)?);
        let mut listener = Listener { name, host, beside: None, over, threads: Vec::new() };
        listener.serve(socket)?;
        listener.listen_beside(folder);
        Ok(listener)
    }

    fn serve(&mut self, socket: OwnedFd) -> Result<(), Error> {
        let (host, ended) = (self.host.clone(), self.over.clone());
        let thread = std::thread::Builder::new()
            .name("listener".into())
            .spawn(move || host.serve(ListeningSocket::new(socket), &ended))
            .map_err(|source| Error::System { what: "start a thread", source })?;
        self.threads.push(thread);
        Ok(())
    }

    /// Where that cannot be, processes in other network namespaces are not recorded.
    fn listen_beside(&mut self, folder: Option<&Path>) {
        let Some(beside) = folder.and_then(|folder| beside(folder, &self.name)) else { return };
        match open(Some(&beside)).and_then(|(socket, _)| self.serve(socket)) {
            Ok(()) => self.beside = Some(beside),
            Err(error) => debug!("no socket beside the agent: {error}"),
        }
    }

    /// Takes no agent in any more. Those that wait are told so.
    pub(crate) fn stop(self) -> Closed {
        Closed { unrecorded: self.host.unrecorded.clone(), missed: self.host.missed.clone() }
    }

    /// What answers, for agents that connect elsewhere.
    pub(crate) fn host(&self) -> Arc<Host> {
        self.host.clone()
    }

    /// The name for `SYSPROF_MEMPROF_SOCKET`.
    pub(crate) fn name(&self) -> &Path {
        &self.name
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.over.call();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        let is_file = !self.name.as_os_str().as_bytes().starts_with(b"@");
        for file in is_file.then_some(&self.name).into_iter().chain(&self.beside) {
            let _ = std::fs::remove_file(file);
        }
    }
}

/// What a listener leaves that is closed: no agent comes any more.
#[derive(Debug)]
pub(crate) struct Closed {
    unrecorded: Arc<Unrecorded>,
    missed: Arc<MissedAllocators>,
}

impl Closed {
    /// What the user should know of agents that were not recorded.
    pub(crate) fn remark_on_unrecorded(&self) -> Option<String> {
        self.unrecorded.remark()
    }

    /// The same of allocators of which nothing was seen.
    pub(crate) fn remark_on_missed(&self) -> Option<String> {
        self.missed.remark()
    }
}

/// Answers agents and takes their processes in.
#[derive(Debug)]
pub(crate) struct Host {
    unrecorded: Arc<Unrecorded>,
    missed: Arc<MissedAllocators>,
    rules: Rules,
    liveness: Arc<Liveness>,
    outlet: Outlet,
    /// Images that may still live, to notice an exec.
    known: Mutex<Vec<std::sync::Weak<Image>>>,
    next: AtomicU32,
}

impl Host {
    fn new(rules: Rules, outlet: Outlet) -> std::io::Result<Host> {
        Ok(Host {
            rules,
            outlet,
            liveness: Arc::new(Liveness::start()?),
            known: Mutex::default(),
            next: AtomicU32::new(0),
            unrecorded: Arc::default(),
            missed: Arc::default(),
        })
    }

    /// Answers agents as they speak, whoever else is silent, until the recording is over.
    fn serve(&self, mut listening: ListeningSocket, over: &Alarm) {
        let mut pending: Vec<Pending> = Vec::new();
        loop {
            pending.retain(Pending::is_hopeful);
            let ready = ready(&listening, over, &pending);
            if ready.is_over {
                break;
            }
            let mut speaking = ready.agents.into_iter();
            for agent in pending.extract_if(.., |_| speaking.next().unwrap_or(false)) {
                self.note(self.answer(&agent.socket));
            }
            if ready.has_new {
                let agent = listening.let_in().and_then(|agent| agent.map_or(Ok(None), Pending::new));
                self.note(agent.map(|agent| pending.extend(agent)));
            }
        }
        // Those that still wait are told that it is over.
        let new = std::iter::from_fn(|| listening.let_in().ok().flatten());
        for agent in pending.into_iter().map(|agent| agent.socket).chain(new) {
            let _ = refuse(&agent, Verdict::Over);
        }
    }

    fn note(&self, result: std::io::Result<()>) {
        if let Err(error) = result {
            debug!("an agent could not be answered: {error}");
            self.unrecorded.add(&error);
        }
    }

    /// Answers an agent that has spoken.
    fn answer(&self, agent: &OwnedFd) -> std::io::Result<()> {
        let mut message = [0; MESSAGE];
        let (length, _) = rustix::net::recv(agent, &mut message, RecvFlags::DONTWAIT)?;
        let Some(hello) = Hello::from_bytes(&message).filter(|_| length == MESSAGE) else { return Ok(()) };
        if hello.version != PROTOCOL_VERSION {
            debug!("an agent speaks version {}, not {PROTOCOL_VERSION}", hello.version);
            return refuse(agent, Verdict::Version);
        }
        let pid = match Peer::of(agent)?.pid() {
            Ok(pid) => pid,
            Err(error) => return refuse(agent, Verdict::NotChosen).and(Err(error)),
        };
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
        let (image, descriptors) = self.image(&hello, info)?;
        let sent = accept(agent, image.memory.geometry(), descriptors);
        // The image goes on even when the answer did not arrive: its process is watched and ends soon or now.
        self.take_in(image, pid);
        sent
    }

    /// Makes the memory of an image, and the descriptors for its agent.
    pub(crate) fn image(&self, hello: &Hello, info: Info) -> std::io::Result<(Arc<Image>, [OwnedFd; 2])> {
        // Shared memory is a file, which may not be larger than files may be.
        let largest_file = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX).saturating_mul(16);
        let geometry = self.rules.geometry.within(hello.address_space.min(largest_file));
        let mut memory = Memory::new(geometry, self.rules.policy, self.liveness.keeper()?)?;
        let descriptors = memory.take_descriptors().ok_or(std::io::ErrorKind::NotConnected)?;
        let id = ImageId(self.next.fetch_add(1, Ordering::Relaxed));
        if hello.inside == Inside::Unseen {
            self.missed.add(info.name());
        }
        // Libraries have used its allocator before it was led to the agent.
        let attached = info.attached || hello.inside == Inside::Led;
        let info = Info { attached, connected: clock::now(self.rules.policy.tsc), ..info };
        Ok((Image::new(id, memory, info, self.liveness.clone(), self.outlet.bell.clone()), descriptors))
    }

    /// Has an image watched, drained and written.
    pub(crate) fn take_in(&self, image: Arc<Image>, pid: u32) {
        if let Ok(mut known) = self.known.lock() {
            known.push(Arc::downgrade(&image));
        }
        let occupant = Arc::new(Occupant::found(image.info.own_pid, pid));
        let Outlet { images, bell, watcher } = &self.outlet;
        watcher.ask(Request::Watch { image: image.clone(), slot: 0, occupant });
        let _ = images.send(image);
        bell.ring();
    }

    /// Tells the images of a process that their recording is over. A process that was forked has none of its own: it goes with the one
    /// that connected, and speaks for all once that is gone.
    pub(crate) fn close(&self, pid: u32) -> Detached {
        let images = self.recorded();
        let of_process = images.iter().filter(|image| image.info.pid == pid);
        if of_process.map(|image| image.close()).count() != 0 {
            return Detached::Done;
        }
        let shared = self.known().into_iter().find(|image| image.has(pid));
        match shared {
            None => Detached::Unknown,
            Some(image) if image.is_over() || !image.memory.control().is_recording() => {
                image.close();
                Detached::Done
            }
            Some(image) => Detached::Shared { with: image.info.pid },
        }
    }

    /// Tells all images that their recording is over.
    pub(crate) fn close_all(&self) {
        self.recorded().iter().for_each(|image| image.close());
    }

    /// True when this process is recorded: one that connected here, or one that it has forked.
    pub(crate) fn knows(&self, pid: u32) -> bool {
        self.open().iter().any(|image| image.has(pid))
    }

    /// True while any image is recorded.
    pub(crate) fn is_recording(&self) -> bool {
        !self.recorded().is_empty()
    }

    /// Images whose process is there that connected.
    fn recorded(&self) -> Vec<Arc<Image>> {
        let mut images = self.open();
        images.retain(|image| !image.is_over());
        images
    }

    /// Images into which somebody may write, perhaps only children of the process that connected.
    fn open(&self) -> Vec<Arc<Image>> {
        let mut images = self.known();
        images.retain(|image| image.memory.control().is_recording());
        images
    }

    /// Images that are not read to their end yet.
    fn known(&self) -> Vec<Arc<Image>> {
        let Ok(mut known) = self.known.lock() else { return Vec::new() };
        known.retain(|image| image.strong_count() != 0);
        known.iter().filter_map(std::sync::Weak::upgrade).collect()
    }

    /// Ends the earlier images of a process that has connected anew: it executed another program.
    fn forget(&self, pid: u32) {
        if let Ok(mut known) = self.known.lock() {
            known.retain(|image| image.upgrade().inspect(|image| image.execed(pid)).is_some());
        }
    }
}

/// What became of a wish that a process is recorded no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detached {
    /// It goes on unrecorded, from its next allocation or free.
    Done,
    /// It was forked, and its recording is that of this process, which goes on.
    Shared { with: u32 },
    /// It is not recorded here.
    Unknown,
}

/// Sends the memory; our copies of its descriptors are closed with that.
pub(crate) fn accept(agent: &OwnedFd, geometry: Geometry, descriptors: [OwnedFd; 2]) -> std::io::Result<()> {
    let reply = Reply { version: PROTOCOL_VERSION, verdict: Verdict::Accepted, geometry, slot: 0 };
    let descriptors = descriptors.each_ref().map(OwnedFd::as_fd);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    rustix::net::sendmsg(agent, &[IoSlice::new(&reply.to_bytes())], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Tells an agent that it is not recorded.
pub(crate) fn refuse(agent: &OwnedFd, verdict: Verdict) -> std::io::Result<()> {
    let reply = Reply { version: PROTOCOL_VERSION, verdict, geometry: Geometry::default(), slot: 0 };
    rustix::net::send(agent, &reply.to_bytes(), SendFlags::NOSIGNAL)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pending::PATIENCE;
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, recv};
    use shared_ring::handshake::Purpose;
    use std::time::Instant;

    /// Check that agents which say nothing delay nobody, and are let go when the recording is over.
    #[test]
    fn silent_agents_delay_nobody() {
        let rules = Rules {
            geometry: Geometry { rings: 2, ring_words: 9, nodes: 10, pcs: 10, slots: 2, module_bytes: 14 },
            policy: Policy::default(),
            only: Vec::new(),
            skip: Vec::new(),
        };
        let (images, connected) = mpsc::channel();
        let (watcher, _) = Watcher::start(crate::clock::Clock::start()).unwrap();
        let outlet = Outlet { images, bell: Arc::default(), watcher };
        let listener = Listener::start(None, None, rules, outlet).unwrap();
        let connect = || {
            let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).unwrap();
            let name = listener.name().as_os_str().as_bytes().strip_prefix(b"@").unwrap();
            rustix::net::connect(&socket, &SocketAddrUnix::new_abstract_name(name).unwrap()).unwrap();
            socket
        };
        let started = Instant::now();
        let pending: Vec<OwnedFd> = (0..20).map(|_| connect()).collect();
        let agent = connect();
        let purpose = Purpose::Start;
        let inside = Inside::Nothing;
        let hello = Hello { version: PROTOCOL_VERSION, pid: 1, address_space: u64::MAX, purpose, inside };
        rustix::net::send(&agent, &hello.to_bytes(), SendFlags::empty()).unwrap();
        let mut message = [0; MESSAGE];
        recv(&agent, &mut message, RecvFlags::empty()).unwrap();
        assert_eq!(Reply::from_bytes(&message).unwrap().verdict, Verdict::Accepted);
        assert!(started.elapsed() < PATIENCE * 20);
        assert!(connected.recv().is_ok());
        drop(listener);
        for agent in pending {
            // Told so, or let go before.
            let (length, _) = recv(&agent, &mut message, RecvFlags::empty()).unwrap();
            assert!(length == 0 || Reply::from_bytes(&message).unwrap().verdict == Verdict::Over);
        }
    }
}
