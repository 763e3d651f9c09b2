//! The threads that answer agents: check who connects, make the memory of the image, hand it over.

use super::admission::{Admission, new_key};
use super::listening_socket::ListeningSocket;
use super::refuse::refuse;
use super::rejected::Rejected;
use super::socket::{beside, open};
use super::unauthenticated::{Unauthenticated, Waiting};
use super::unrecorded::Unrecorded;
use crate::base::alarm::Alarm;
use crate::base::clock;
use crate::base::error::Error;
use crate::base::glob;
use crate::base::log::debug;
use crate::base::peer::Peer;
use crate::base::rights::Rights;
use crate::image::known_images::KnownImages;
use crate::image::liveness::Liveness;
use crate::image::memory::{Memory, Policy};
use crate::image::namespace_pids::{NamespacePids, Relation};
use crate::image::wakeup::Wakeup;
use crate::image::watcher::Watcher;
use crate::image::{Image, ImageId};
use crate::proc::process::Info;
use crate::tables::missed_allocators::MissedAllocators;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use rustix::process::{Resource, getrlimit};
use shared_ring::handshake::{Hello, Inside, MESSAGE, Reply, Verdict};
use shared_ring::key::Key;
use shared_ring::{Geometry, PROTOCOL_VERSION};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;

/// The rules by which the listener decides.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) geometry: Geometry,
    pub(crate) policy: Policy,
    pub(crate) only: Vec<String>,
    pub(crate) skip: Vec<String>,
}

/// Most connections accepted before the clients already accepted are heard.
const AT_ONCE: usize = 32;

/// Most images of one process at a time. Each exec leaves the memory of the earlier image, which is soon given back;
/// a process that still has this many gets no more.
const MOST_OF_ONE: usize = 256;

/// Where agents connect, and who may.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'p> {
    /// The socket that the user named; without one, a name of our own in the abstract namespace.
    pub(crate) path: Option<&'p Path>,
    /// Whom the permissions of the socket's file let connect.
    pub(crate) rights: Rights,
    /// Abstract names belong to a network namespace. For processes that create a network namespace of their own, a
    /// socket of the same name lies in this private folder.
    pub(crate) folder: Option<&'p Path>,
}

/// Where images go once their agents were answered.
#[derive(Clone, Debug)]
pub(crate) struct Outlet {
    /// To the drain thread, …
    pub(crate) images: mpsc::Sender<Arc<Image>>,
    /// … which this wakes.
    pub(crate) wakeup: Arc<Wakeup>,
    /// Watches for the end of their processes.
    pub(crate) watcher: Watcher,
}

/// Where agents connect.
#[derive(Debug)]
pub(crate) struct Listener {
    name: PathBuf,
    /// The key that processes of users other than this one and root must show.
    key: Option<Key>,
    host: Arc<Host>,
    /// A second socket, next to the agent's file.
    beside: Option<PathBuf>,
    /// Tells the threads that the recording is over.
    over: Arc<Alarm>,
    threads: Vec<JoinHandle<()>>,
}

impl Listener {
    /// Listens at `place`, and answers in threads of its own.
    pub(crate) fn start(place: Place<'_>, rules: Rules, outlet: Outlet) -> Result<Listener, Error> {
        let (socket, name) = open(place.path, place.rights)?;
        let key = match place.path {
            None => Some(new_key().map_err(|source| Error::System { what: "read /dev/urandom", source })?),
            Some(_) => None,
        };
        let admission = match key {
            Some(key) => Admission::Key(key),
            // The file's permissions have already kept everybody else out.
            None if is_file(&name) => Admission::Open,
            None => Admission::Closed,
        };
        let failed = |source| Error::System { what: "make an eventfd", source };
        let over = Arc::new(Alarm::new().map_err(failed)?);
        let failed = |source| Error::System { what: "start a thread", source };
        let host = Arc::new(Host::new(rules, outlet).map_err(failed)?);
        let mut listener = Listener { name, key, host, beside: None, over, threads: Vec::new() };
        listener.serve(socket, admission)?;
        listener.listen_beside(place.folder);
        Ok(listener)
    }

    fn serve(&mut self, socket: OwnedFd, admission: Admission) -> Result<(), Error> {
        let (host, ended) = (self.host.clone(), self.over.clone());
        let thread = std::thread::Builder::new()
            .name("listener".into())
            .spawn(move || host.serve(ListeningSocket::new(socket), &admission, &ended))
            .map_err(|source| Error::System { what: "start a thread", source })?;
        self.threads.push(thread);
        Ok(())
    }

    /// Where this fails, processes in other network namespaces are not recorded.
    fn listen_beside(&mut self, folder: Option<&Path>) {
        let Some(beside) = folder.and_then(|folder| beside(folder, &self.name)) else { return };
        let opened = open(Some(&beside), Rights::default());
        match opened.and_then(|(socket, _)| self.serve(socket, Admission::Open)) {
            Ok(()) => self.beside = Some(beside),
            Err(error) => debug!("no socket beside the agent: {error}"),
        }
    }

    /// Stops taking agents in. Those still waiting are told so.
    pub(crate) fn stop(self) -> Closed {
        let Host { unrecorded, missed, rejected, has_passed_over, .. } = &*self.host;
        Closed {
            unrecorded: unrecorded.clone(),
            missed: missed.clone(),
            rejected: rejected.clone(),
            // Relaxed: the threads that set it have ended, or wait for nothing any more.
            has_passed_over: has_passed_over.load(Ordering::Relaxed),
        }
    }

    /// The host that answers, for agents that connect elsewhere.
    pub(crate) fn host(&self) -> Arc<Host> {
        self.host.clone()
    }

    /// The name for `SYSPROF_MEMPROF_SOCKET`.
    pub(crate) fn name(&self) -> &Path {
        &self.name
    }

    /// The key for `SYSPROF_MEMPROF_KEY`, when processes of other users need one.
    pub(crate) fn key(&self) -> Option<Key> {
        self.key
    }
}

/// False for a name in the abstract namespace.
fn is_file(name: &Path) -> bool {
    !name.as_os_str().as_bytes().starts_with(b"@")
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.over.call();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        for file in is_file(&self.name).then_some(&self.name).into_iter().chain(&self.beside) {
            let _ = std::fs::remove_file(file);
        }
    }
}

/// Why nobody came.
const NO_AGENT: &str = "The program ended before the agent could start in it, or refused to load it. \
                        `sysprof-memprof doctor` shows what is wrong with this machine.";

/// What a closed listener leaves: no more agents will come.
#[derive(Debug)]
pub(crate) struct Closed {
    unrecorded: Arc<Unrecorded>,
    missed: Arc<MissedAllocators>,
    rejected: Arc<Rejected>,
    /// Some process was not recorded because the user did not choose it.
    has_passed_over: bool,
}

impl Closed {
    /// Why a process that was to be recorded was not, although the user chose it.
    pub(crate) fn refused(&self) -> Option<String> {
        self.remark_on_unrecorded().or_else(|| self.remark_on_rejected())
    }

    /// Why a recording without any process has failed; none if the user chose no process that came.
    pub(crate) fn why_nobody(&self) -> Option<String> {
        let unknown = || (!self.has_passed_over).then(|| NO_AGENT.to_owned());
        self.refused().or_else(unknown)
    }

    /// Remark for the user about agents that were not recorded.
    pub(crate) fn remark_on_unrecorded(&self) -> Option<String> {
        self.unrecorded.remark()
    }

    /// The same about processes of other users.
    pub(crate) fn remark_on_rejected(&self) -> Option<String> {
        self.rejected.remark()
    }

    /// The same about allocators that could not be observed.
    pub(crate) fn remark_on_missed(&self) -> Option<String> {
        self.missed.remark()
    }
}

/// Answers agents and takes in their processes.
#[derive(Debug)]
pub(crate) struct Host {
    unrecorded: Arc<Unrecorded>,
    missed: Arc<MissedAllocators>,
    rejected: Arc<Rejected>,
    /// See [`Closed`].
    has_passed_over: AtomicBool,
    rules: Rules,
    liveness: Arc<Liveness>,
    outlet: Outlet,
    known: Mutex<KnownImages>,
    namespace_pids: Arc<NamespacePids>,
    next: AtomicU32,
}

impl Host {
    fn new(rules: Rules, outlet: Outlet) -> std::io::Result<Host> {
        Ok(Host {
            rules,
            outlet,
            liveness: Arc::new(Liveness::start()?),
            known: Mutex::default(),
            namespace_pids: Arc::default(),
            next: AtomicU32::new(0),
            unrecorded: Arc::default(),
            missed: Arc::default(),
            rejected: Arc::default(),
            has_passed_over: AtomicBool::new(false),
        })
    }

    /// Answers agents as they speak, regardless of silent ones, until the recording is over.
    fn serve(&self, mut listening: ListeningSocket, admission: &Admission, over: &Alarm) {
        let mut waiting = Waiting::default();
        loop {
            waiting.give_up();
            let ready = waiting.ready(&listening, over);
            if ready.is_over {
                break;
            }
            for agent in waiting.take(&ready) {
                self.answer_or_refuse(&agent, admission);
            }
            if ready.has_new {
                self.accept_waiting(&mut listening, admission, &mut waiting);
            }
        }
        // Agents still waiting are told that the recording is over.
        let new = std::iter::from_fn(|| listening.accept().ok().flatten());
        for agent in waiting.into_sockets().chain(new) {
            let _ = refuse(&agent, Verdict::Over);
        }
    }

    /// Accepts waiting connections.
    fn accept_waiting(&self, listening: &mut ListeningSocket, admission: &Admission, waiting: &mut Waiting) {
        for _ in 0..AT_ONCE {
            if !waiting.has_room() {
                return;
            }
            match listening.accept() {
                Ok(Some(socket)) => {
                    // Fails only for a client that has gone.
                    let Ok(peer) = Peer::of(&socket) else { continue };
                    if !waiting.admit(socket, peer, admission) {
                        self.rejected.add(peer.uid);
                    }
                }
                Ok(None) => return,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
                Err(error) => return self.note(&error),
            }
        }
    }

    fn note(&self, error: &std::io::Error) {
        debug!("an agent could not be answered: {error}");
        self.unrecorded.add(error);
    }

    /// Answers an agent that has spoken. One that gets no memory is told so; otherwise it would come again.
    fn answer_or_refuse(&self, agent: &Unauthenticated, admission: &Admission) {
        if let Err(error) = self.answer(agent, admission) {
            self.note(&error);
            let _ = refuse(&agent.socket, Verdict::NoMeans);
        }
    }

    fn answer(
        &self,
        Unauthenticated { socket: agent, peer, .. }: &Unauthenticated,
        admission: &Admission,
    ) -> std::io::Result<()> {
        let mut message = [0; MESSAGE];
        let received = rustix::net::recv(agent, &mut message, RecvFlags::DONTWAIT);
        // Anything but a hello does not come from an agent, and an agent that has gone is not answered either.
        let Ok((MESSAGE, _)) = received else { return Ok(()) };
        let Some(hello) = Hello::from_bytes(&message) else { return Ok(()) };
        let is_ours = hello.version == PROTOCOL_VERSION;
        // Another version may keep its key elsewhere in the message.
        if !admission.admits(peer, if is_ours { &hello.key } else { &Key::NONE }) {
            debug!("a process of uid {} has not the key of this recording", peer.uid);
            self.rejected.add(peer.uid);
            let _ = refuse(agent, if is_ours { Verdict::NotAdmitted } else { Verdict::Version });
            return Ok(());
        }
        if !is_ours {
            refuse(agent, Verdict::Version)?;
            return Err(std::io::Error::other(format!(
                "it has an agent with protocol {}, but this version uses {PROTOCOL_VERSION}: preload the \
                 agent that sysprof-memprof agent path prints",
                hello.version
            )));
        }
        let pid = match peer.pid() {
            Ok(pid) => pid,
            Err(error) => return refuse(agent, Verdict::NotChosen).and(Err(error)),
        };
        if has_gone(agent) {
            // Memory would be made for nothing while other agents wait for theirs.
            return Err(std::io::Error::other("it waited too long, on an overloaded machine"));
        }
        let info = Info::read(pid);
        // Whatever program the process runs now, its earlier image is over.
        if self.end_earlier_images(&info) >= MOST_OF_ONE {
            return Err(std::io::Error::other(
                "it connects again and again, and keeps the memory of all its recordings",
            ));
        }
        let is_first = self.next.load(Ordering::Relaxed) == 0;
        let follows = self.rules.policy.follow || is_first;
        debug!("pid {pid} ({}) connects", info.name());
        if !follows
            || !glob::is_chosen(&[&info.name(), &info.executable_name()], &self.rules.only, &self.rules.skip)
        {
            debug!("pid {pid} is not chosen");
            // Relaxed: read when this thread has ended.
            self.has_passed_over.store(true, Ordering::Relaxed);
            return refuse(agent, Verdict::NotChosen);
        }
        let (image, descriptors) = self.image(&hello, info)?;
        let sent = accept(agent, image.memory.geometry(), descriptors);
        // Even if the reply did not arrive: the process is watched, and the image ends with it, soon or now.
        self.take_in(image);
        sent
    }

    /// Makes the memory of an image, and the descriptors for its agent.
    pub(crate) fn image(&self, hello: &Hello, info: Info) -> std::io::Result<(Arc<Image>, [OwnedFd; 2])> {
        // Shared memory is a file, so the limit on file sizes applies. `within` takes a sixteenth of what it is
        // given.
        let largest_file = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX).saturating_mul(16);
        let geometry = self.rules.geometry.within(hello.address_space.min(largest_file));
        let mut memory = Memory::new(geometry, self.rules.policy, self.liveness.keeper()?)?;
        let descriptors = memory.take_descriptors().ok_or(std::io::ErrorKind::NotConnected)?;
        let id = ImageId(self.next.fetch_add(1, Ordering::Relaxed));
        if hello.inside == Inside::Unseen {
            self.missed.add(info.name());
        }
        // Libraries used its allocator before the calls were redirected to the agent.
        let attached = info.attached || hello.inside == Inside::Led;
        let info = Info { attached, connected: clock::now(self.rules.policy.tsc), ..info };
        let (liveness, wakeup) = (self.liveness.clone(), self.outlet.wakeup.clone());
        Ok((Image::new(id, memory, info, self.namespace_pids.clone(), liveness, wakeup), descriptors))
    }

    /// Starts watching, draining and writing an image.
    pub(crate) fn take_in(&self, image: Arc<Image>) {
        if let Ok(mut known) = self.known.lock() {
            known.add(&image);
        }
        let Outlet { images, wakeup, watcher } = &self.outlet;
        watcher.watch(&image);
        let _ = images.send(image);
        wakeup.notify();
    }

    /// Ends the recording of a process's images. A forked process has no image of its own: it shares that of the
    /// process that connected, and ends the recording for all of them once that process is gone.
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

    /// Ends the recording of all images.
    pub(crate) fn close_all(&self) {
        self.recorded().iter().for_each(|image| image.close());
    }

    /// True when this process is recorded: it connected here, or was forked by one that did.
    pub(crate) fn knows(&self, pid: u32) -> bool {
        self.open().iter().any(|image| image.has(pid))
    }

    /// The processes whose images are recorded.
    pub(crate) fn pids(&self) -> Vec<u32> {
        self.recorded().iter().map(|image| image.info.pid).collect()
    }

    /// True while any image is recorded.
    pub(crate) fn is_recording(&self) -> bool {
        !self.recorded().is_empty()
    }

    /// Images whose connecting process still runs.
    fn recorded(&self) -> Vec<Arc<Image>> {
        let mut images = self.open();
        images.retain(|image| !image.is_over());
        images
    }

    /// Images into which some process may still write, perhaps only children of the one that connected.
    fn open(&self) -> Vec<Arc<Image>> {
        let mut images = self.known();
        images.retain(|image| image.memory.control().is_recording());
        images
    }

    /// Images that are not drained to their end yet.
    fn known(&self) -> Vec<Arc<Image>> {
        self.known.lock().map(|mut known| known.all()).unwrap_or_default()
    }

    /// Ends the earlier images of a process that connects again: it executed another program. Returns how many of
    /// them are still there.
    fn end_earlier_images(&self, info: &Info) -> usize {
        self.namespace_pids.add(&Relation::all(info), clock::now(self.rules.policy.tsc));
        self.known
            .lock()
            .map_or(0, |mut known| known.end_earlier_images(info.pid, &self.namespace_pids.forked))
    }
}

/// True when the client has gone and will not read the answer.
fn has_gone(agent: &OwnedFd) -> bool {
    let mut look = [PollFd::new(agent, PollFlags::empty())];
    let looked = poll(&mut look, Some(&Timespec::default()));
    looked.is_ok_and(|_| look.iter().any(|agent| agent.revents().intersects(PollFlags::HUP | PollFlags::ERR)))
}

/// Outcome of ending the recording of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detached {
    /// It runs on unrecorded from its next allocation or free.
    Done,
    /// It was forked and shares the recording of this process, which continues.
    Shared { with: u32 },
    /// It is not recorded here.
    Unknown,
}

/// Sends the memory and closes our copies of the descriptors.
pub(crate) fn accept(agent: &OwnedFd, geometry: Geometry, descriptors: [OwnedFd; 2]) -> std::io::Result<()> {
    let reply = Reply { version: PROTOCOL_VERSION, verdict: Verdict::Accepted, geometry, slot: 0 };
    let descriptors = descriptors.each_ref().map(OwnedFd::as_fd);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    rustix::net::sendmsg(agent, &[IoSlice::new(&reply.to_bytes())], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::unauthenticated::TIMEOUT;
    use super::*;
    use crate::image::End;
    use crate::image::wakeup::MOST;
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, recv, socketpair};
    use shared_ring::handshake::Purpose;
    use std::time::Instant;

    /// A listener on a private name, and the receiver of its images.
    fn listener() -> (Listener, mpsc::Receiver<Arc<Image>>) {
        let rules = Rules {
            geometry: Geometry { rings: 2, ring_words: 9, nodes: 10, pcs: 10, slots: 2, module_bytes: 14 },
            policy: Policy::default(),
            only: Vec::new(),
            skip: Vec::new(),
        };
        let (images, connected) = mpsc::channel();
        let (watcher, _) = Watcher::start(crate::base::clock::Clock::start()).unwrap();
        let outlet = Outlet { images, wakeup: Arc::default(), watcher };
        let place = Place { path: None, rights: Rights::default(), folder: None };
        (Listener::start(place, rules, outlet).unwrap(), connected)
    }

    fn connect(listener: &Listener) -> OwnedFd {
        let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).unwrap();
        let name = listener.name().as_os_str().as_bytes().strip_prefix(b"@").unwrap();
        rustix::net::connect(&socket, &SocketAddrUnix::new_abstract_name(name).unwrap()).unwrap();
        socket
    }

    fn hello(version: u32) -> [u8; MESSAGE] {
        let (purpose, inside, key) = (Purpose::Start, Inside::Nothing, Key::NONE);
        Hello { version, pid: 1, address_space: u64::MAX, purpose, inside, key }.to_bytes()
    }

    fn answer(socket: &OwnedFd) -> Option<Verdict> {
        let mut message = [0; MESSAGE];
        let (length, _) = recv(socket, &mut message, RecvFlags::empty()).unwrap();
        (length == MESSAGE).then(|| Reply::from_bytes(&message).unwrap().verdict)
    }

    /// Check that no memory is made for an agent that has gone before it was answered, and that it is counted, as is
    /// an agent of another version, with advice. Messages that are not ours are neither answered nor counted.
    #[test]
    fn agents_that_cannot_be_answered_are_counted() {
        let (listener, images) = listener();
        // However soon it is heard, it has gone by then.
        let (gone, ours) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::empty(), None).unwrap();
        rustix::net::send(&gone, &hello(PROTOCOL_VERSION), SendFlags::empty()).unwrap();
        drop(gone);
        let peer = Peer::of(&ours).unwrap();
        listener.host.answer_or_refuse(&Unauthenticated::new(ours, peer), &Admission::Closed);
        let remark = listener.host.unrecorded.remark().unwrap();
        assert!(remark.contains("waited too long"), "{remark}");
        let old = connect(&listener);
        rustix::net::send(&old, &hello(PROTOCOL_VERSION - 1), SendFlags::empty()).unwrap();
        assert_eq!(answer(&old), Some(Verdict::Version));
        for strange in [&[0_u8; MESSAGE][..], &[], &[7; 1000], &hello(PROTOCOL_VERSION)[..10]] {
            let socket = connect(&listener);
            rustix::net::send(&socket, strange, SendFlags::empty()).unwrap();
            assert_eq!(answer(&socket), None, "{strange:?}");
        }
        let closed = listener.stop();
        let remark = closed.remark_on_unrecorded().unwrap();
        assert!(remark.contains("recorded: 2,"), "{remark}");
        assert!(closed.remark_on_rejected().is_none());
        assert!(images.try_recv().is_err());
    }

    /// Check that a process that connects again and again without giving anything back cannot exhaust us.
    #[test]
    fn one_process_does_not_take_all() {
        let (listener, images) = listener();
        let verdicts: Vec<_> = (0..MOST_OF_ONE + 5)
            .map(|_| {
                let socket = connect(&listener);
                rustix::net::send(&socket, &hello(PROTOCOL_VERSION), SendFlags::empty()).unwrap();
                answer(&socket)
            })
            .collect();
        let accepted = verdicts.iter().take_while(|verdict| **verdict == Some(Verdict::Accepted)).count();
        assert_eq!(accepted, MOST_OF_ONE);
        assert_eq!(verdicts[accepted..], [Some(Verdict::NoMeans); 5]);
        drop(images);
        let closed = listener.stop();
        assert!(closed.remark_on_unrecorded().unwrap().contains("recorded: 5,"));
    }

    /// Check that among many images, too, a process that connects again ends its earlier image, and a forked one
    /// its part of its parent's, and that images which are gone are forgotten.
    #[test]
    fn execs_are_noticed_among_many_images() {
        let (listener, _) = listener();
        let host = &listener.host;
        let hello = Hello::from_bytes(&hello(PROTOCOL_VERSION)).unwrap();
        let of = |pid| Info { pid, ns_pid: pid, ..Info::default() };
        let first = 1 << 30;
        let claim = |image: &Image, slot: usize, pid, parent| {
            let segment = image.memory.segment();
            assert!(segment.slots()[slot].claim(pid, parent));
            segment.header().slots_used.store(slot as u32 + 1, Ordering::Release);
        };
        let make = |pid| {
            let (image, _) = host.image(&hello, of(pid)).unwrap();
            claim(&image, 0, pid, None);
            host.known.lock().unwrap().add(&image);
            image
        };
        let images: Vec<Arc<Image>> = (first..first + 2 * MOST as u32).map(make).collect();
        let child = first - 1;
        claim(&images[5], 1, child, Some(0));
        images[5].note_fork();
        assert_eq!((host.end_earlier_images(&of(child)), host.end_earlier_images(&images[7].info)), (0, 1));
        for (number, image) in images.iter().enumerate() {
            let expected = [(number == 7).then_some(End::Exec), (number == 5).then_some(End::Exec)];
            assert_eq!([0, 1].map(|slot| image.take_end(slot)), expected, "{number}");
        }
        assert_eq!(host.known().len(), images.len());
        drop(images);
        assert!(host.known().is_empty());
    }

    /// Check that silent agents delay nobody, and are let go when the recording is over.
    #[test]
    fn silent_agents_delay_nobody() {
        let (listener, connected) = listener();
        let started = Instant::now();
        let pending: Vec<OwnedFd> = (0..20).map(|_| connect(&listener)).collect();
        let agent = connect(&listener);
        rustix::net::send(&agent, &hello(PROTOCOL_VERSION), SendFlags::empty()).unwrap();
        let mut message = [0; MESSAGE];
        recv(&agent, &mut message, RecvFlags::empty()).unwrap();
        assert_eq!(Reply::from_bytes(&message).unwrap().verdict, Verdict::Accepted);
        assert!(started.elapsed() < TIMEOUT * 20);
        assert!(connected.recv().is_ok());
        drop(listener);
        for agent in pending {
            // Either told that it is over, or closed before.
            let (length, _) = recv(&agent, &mut message, RecvFlags::empty()).unwrap();
            assert!(length == 0 || Reply::from_bytes(&message).unwrap().verdict == Verdict::Over);
        }
    }
}
