//! Connections: one thread reads all requests and writes all answers, each at its client's pace.
//!
//! ```text
//!   accept ─► Asking ──── a request of the page ───► Awaiting ── its answer, from a thread ─► Taking ─► closed
//!               └── anything else: a short answer ────────────────────────────────────────────▲
//! ```
//!
//! So a slow client, or one that says nothing, costs a descriptor and no thread. Each has a limited time; where there
//! are too many, the one that has kept us waiting for longest goes. Only those who know the address have threads work
//! for them.
//!
//! The HTTP needed here is a page of code, most of which refuses requests. A library that supports the rest of HTTP
//! would be more code to trust, not less.

use super::outgoing::Outgoing;
use super::request::{Head, Request};
use super::site::{Answer, Site};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Bounds on what clients may take.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Connections at once; a browser opens six.
    connections: usize,
    /// Answers that clients are taking: each is in memory until it is taken.
    answers: usize,
    /// Threads that work answers out.
    threads: usize,
    /// Time for a client to send its request.
    asking: Duration,
    /// Time for it to take the answer.
    taking: Duration,
}

const LIMITS: Limits = Limits {
    connections: 256,
    answers: 32,
    threads: 16,
    asking: Duration::from_secs(10),
    taking: Duration::from_secs(120),
};

/// Connections accepted between two looks at the others.
const AT_ONCE: usize = 64;

/// Pause after a failure that passes by itself, as when this process may open no more files.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// Serves connections for ever.
///
/// # Errors
/// When the listening socket cannot be used.
pub(super) fn serve(listener: &TcpListener, site: &Arc<Site>) -> io::Result<()> {
    let mut server = Server::new(site.clone(), LIMITS)?;
    listener.set_nonblocking(true)?;
    loop {
        server.turn(listener)?;
    }
}

/// All connections.
struct Server {
    site: Arc<Site>,
    limits: Limits,
    connections: Vec<Connection>,
    /// Requests for which no thread works yet, oldest first.
    queue: VecDeque<u64>,
    /// Threads at work.
    working: usize,
    /// The id of the next connection.
    next: u64,
    /// What threads have worked out, by connection; they get copies of the sender.
    answers: (mpsc::Sender<Answered>, mpsc::Receiver<Answered>),
    /// Readable when there are answers.
    wakeup: (UnixStream, UnixStream),
}

/// The answer for a connection.
type Answered = (u64, Answer);

struct Connection {
    id: u64,
    stream: TcpStream,
    /// When it came into its state.
    since: Instant,
    state: State,
}

enum State {
    /// Its request is incomplete.
    Asking(Head),
    /// Its answer is worked out. The flag is set when the client closes the connection, as a browser does when its user
    /// wants something else.
    Awaiting(Request, Arc<AtomicBool>),
    /// It takes its answer; so many bytes of it are written.
    Taking(Outgoing),
    Over,
}

impl Server {
    fn new(site: Arc<Site>, limits: Limits) -> io::Result<Server> {
        let wakeup = UnixStream::pair()?;
        wakeup.0.set_nonblocking(true)?;
        wakeup.1.set_nonblocking(true)?;
        Ok(Server {
            site,
            limits,
            connections: Vec::new(),
            queue: VecDeque::new(),
            working: 0,
            next: 0,
            answers: mpsc::channel(),
            wakeup,
        })
    }

    /// Waits until something can be done, and does it.
    fn turn(&mut self, listener: &TcpListener) -> io::Result<()> {
        let (ready, has_answers, has_new) = self.wait(listener)?;
        if has_answers {
            // What was called for is in the channel.
            while self.wakeup.0.read(&mut [0; 64]).is_ok_and(|length| length != 0) {}
        }
        for (connection, _) in self.connections.iter_mut().zip(ready).filter(|(_, ready)| *ready) {
            match connection.go_on(&self.site) {
                Step::Same => {}
                Step::Request => self.queue.push_back(connection.id),
            }
        }
        while let Ok((id, answer)) = self.answers.1.try_recv() {
            self.working -= 1;
            if let Some(connection) = self.connections.iter_mut().find(|connection| connection.id == id) {
                connection.answer(answer);
            }
        }
        self.close();
        if has_new {
            self.accept(listener);
        }
        self.work();
        Ok(())
    }

    /// Which connections are ready, whether there are answers, and whether there are new connections.
    fn wait(&self, listener: &TcpListener) -> io::Result<(Vec<bool>, bool, bool)> {
        let of = |connection: &Connection| match connection.state {
            State::Taking(_) => PollFlags::OUT,
            _ => PollFlags::IN,
        };
        let mut all: Vec<_> = self.connections.iter().map(|one| PollFd::new(&one.stream, of(one))).collect();
        all.push(PollFd::new(&self.wakeup.0, PollFlags::IN));
        all.push(PollFd::new(listener, PollFlags::IN));
        let ends = self.connections.iter().filter_map(|connection| connection.end(self.limits));
        let rest = ends.min().map(|end| end.saturating_duration_since(Instant::now()));
        // Never 0, so that a limit which is just reached is passed.
        let rest = rest.map(|rest| Timespec {
            tv_sec: rest.as_secs() as i64,
            tv_nsec: i64::from(rest.subsec_nanos()) + 1,
        });
        match poll(&mut all, rest.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut ready: Vec<bool> = all.iter().map(|one| !one.revents().is_empty()).collect();
        let has_new = ready.pop().unwrap_or_default();
        let has_answers = ready.pop().unwrap_or_default();
        Ok((ready, has_answers, has_new))
    }

    /// Takes new connections in, each in the place of the slowest one if there is no other.
    fn accept(&mut self, listener: &TcpListener) {
        for _ in 0..AT_ONCE {
            if self.connections.len() >= self.limits.connections && !self.make_room() {
                return;
            }
            match listener.accept() {
                Ok((stream, _)) => {
                    if stream.set_nonblocking(true).is_ok() {
                        let (id, state) = (self.next, State::Asking(Head::default()));
                        self.connections.push(Connection { id, stream, since: Instant::now(), state });
                        self.next += 1;
                    }
                }
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::ConnectionAborted
                    ) =>
                {
                    return;
                }
                Err(_) => {
                    // Usually out of descriptors; some are freed when connections end.
                    self.make_room();
                    let _ = poll(&mut [], Some(&PAUSE));
                    return;
                }
            }
        }
    }

    /// Closes the connection that has kept us waiting for longest, of those without a request if there are any; false
    /// if all wait for us.
    fn make_room(&mut self) -> bool {
        let slowest = |connections: &[Connection], is: fn(&State) -> bool| {
            let of_kind = connections.iter().enumerate().filter(|(_, connection)| is(&connection.state));
            of_kind.min_by_key(|(_, connection)| connection.since).map(|(place, _)| place)
        };
        let is_asking = |state: &State| matches!(state, State::Asking(_));
        let is_taking = |state: &State| matches!(state, State::Taking(_));
        let found = slowest(&self.connections, is_asking).or_else(|| slowest(&self.connections, is_taking));
        found.map(|place| self.connections.swap_remove(place)).is_some()
    }

    /// Removes connections that are over, have used up their time, or hold more answers than we keep.
    fn close(&mut self) {
        let (now, limits) = (Instant::now(), self.limits);
        let is_taking = |connection: &Connection| matches!(connection.state, State::Taking(_));
        let mut taking: Vec<Instant> =
            self.connections.iter().filter(|one| is_taking(one)).map(|one| one.since).collect();
        taking.sort_unstable();
        let kept = taking.len().saturating_sub(limits.answers);
        let oldest = taking.get(kept).copied();
        self.connections.retain(|connection| {
            let is_late = connection.end(limits).is_some_and(|end| end <= now);
            let is_too_many = is_taking(connection) && oldest.is_some_and(|oldest| connection.since < oldest);
            !is_late && !is_too_many && !matches!(connection.state, State::Over)
        });
    }

    /// Gives requests to threads, as many as may work.
    fn work(&mut self) {
        while self.working < self.limits.threads
            && let Some(id) = self.queue.pop_front()
        {
            let of_id = self.connections.iter().find(|connection| connection.id == id);
            let Some(State::Awaiting(request, gone)) = of_id.map(|connection| &connection.state) else {
                continue;
            };
            let (site, request, gone) = (self.site.clone(), request.clone(), gone.clone());
            let answers = self.answers.0.clone();
            let Ok(mut wakeup) = self.wakeup.1.try_clone() else {
                self.queue.push_front(id);
                return;
            };
            self.working += 1;
            thread::spawn(move || {
                let answer = site.answer(&request, &gone);
                // If nobody receives it, the server has ended; and a full pipe has called already.
                let _ = answers.send((id, answer));
                let _ = wakeup.write(&[1]);
            });
        }
    }
}

/// What became of a connection.
enum Step {
    Same,
    /// It has sent a request that is to be worked out.
    Request,
}

impl Connection {
    /// When its time is up.
    fn end(&self, limits: Limits) -> Option<Instant> {
        match self.state {
            State::Asking(_) => Some(self.since + limits.asking),
            State::Taking(_) => Some(self.since + limits.taking),
            State::Awaiting(..) | State::Over => None,
        }
    }

    /// Reads or writes what can be without waiting.
    fn go_on(&mut self, site: &Site) -> Step {
        match &mut self.state {
            State::Asking(head) => match head.read(&mut self.stream) {
                Ok(None) => {}
                Ok(Some(Ok(request))) => match site.admit(&request) {
                    Ok(_) => {
                        self.enter(State::Awaiting(request, Arc::default()));
                        return Step::Request;
                    }
                    Err(refusal) => self.answer(refusal),
                },
                Ok(Some(Err(refusal))) => self.answer(Answer::refusal(refusal)),
                Err(_) => self.enter(State::Over),
            },
            State::Awaiting(_, gone) => {
                let mut more = [0; 4096];
                // No more data is expected; if some comes, it is ignored.
                match self.stream.read(&mut more) {
                    Ok(1..) => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Ok(0) | Err(_) => {
                        // Relaxed: a hint; no other data depends on it.
                        gone.store(true, Ordering::Relaxed);
                        self.enter(State::Over);
                    }
                }
            }
            State::Taking(_) => self.take(),
            State::Over => {}
        }
        Step::Same
    }

    /// Begins to write an answer.
    fn answer(&mut self, answer: Answer) {
        self.enter(State::Taking(Outgoing::new(answer)));
        // Most answers fit into what the system keeps for a client.
        self.take();
    }

    /// Writes what the client takes now.
    fn take(&mut self) {
        let State::Taking(outgoing) = &mut self.state else { return };
        match outgoing.write(&mut self.stream) {
            Ok(false) => {}
            // Closed either way.
            Ok(true) | Err(_) => self.enter(State::Over),
        }
    }

    fn enter(&mut self, state: State) {
        (self.state, self.since) = (state, Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::Report;
    use super::*;
    use engine::Naming;
    use std::net::{Ipv4Addr, SocketAddr};
    use web::PageOptions;

    /// A server with these limits; it serves as long as the test's process runs.
    fn server(limits: Limits) -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let report = Report::new("none.memprof".into(), None, None, Naming::Stored, PageOptions::default());
        let site = Arc::new(Site::new(report, "s3cret".to_owned(), address.port()));
        listener.set_nonblocking(true).unwrap();
        let mut server = Server::new(site, limits).unwrap();
        thread::spawn(move || while server.turn(&listener).is_ok() {});
        address
    }

    fn ask(address: SocketAddr) -> TcpStream {
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(format!("GET /s3cret/ HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes()).unwrap();
        client
    }

    fn page(address: SocketAddr) -> Vec<u8> {
        let mut page = Vec::new();
        ask(address).read_to_end(&mut page).unwrap();
        page
    }

    /// True once the server has closed the connection.
    fn is_closed(client: &mut TcpStream) -> bool {
        loop {
            match client.read(&mut [0; 4096]) {
                Ok(0) | Err(_) => return true,
                Ok(_) => {}
            }
        }
    }

    /// Check that a client that sends a byte now and then, or takes none, is closed when its time is up.
    #[test]
    fn slow_clients_are_closed() {
        let short = Duration::from_millis(200);
        let address = server(Limits { asking: short, taking: short, ..LIMITS });
        let mut slow = TcpStream::connect(address).unwrap();
        while slow.write_all(b"x").is_ok() {
            thread::sleep(Duration::from_millis(20));
        }
        let mut silent = TcpStream::connect(address).unwrap();
        assert!(is_closed(&mut silent));
    }

    /// Check that a new client is served while as many as there may be say nothing, or take nothing, and that those
    /// who came first make room.
    #[test]
    fn newest_client_is_served() {
        let limits = Limits { connections: 8, answers: 3, ..LIMITS };
        let hour = Duration::from_secs(3600);
        let address = server(Limits { asking: hour, taking: hour, ..limits });
        let whole = page(address);
        assert!(whole.starts_with(b"HTTP/1.1 200 OK") && whole.len() > 100_000);
        let mut silent: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(address).unwrap()).collect();
        assert_eq!(page(address), whole);
        assert!(is_closed(&mut silent[0]));
        // All are answered before the next one asks: the newest answer is kept, not the newest request's.
        let mut greedy: Vec<TcpStream> = (0..20).map(|_| ask(address)).collect();
        greedy.iter_mut().for_each(|client| drop(client.read(&mut [0])));
        assert_eq!(page(address), whole);
    }
}
