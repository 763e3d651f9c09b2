//! What clients may do, and what it costs the others.

use super::*;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// More than the system keeps for a client.
const SIZE: usize = 32 << 20;
const HOUR: Duration = Duration::from_secs(3600);

/// Serves one large document, and one that takes until its client has left.
#[derive(Default)]
struct Library {
    admitted: AtomicUsize,
    given_up: AtomicUsize,
}

impl Site for Library {
    fn admit(&self, request: &Request) -> Result<(), Answer> {
        self.admitted.fetch_add(1, Ordering::Relaxed);
        if request.path.starts_with("/book") { Ok(()) } else { Err(Answer::error(404, "not found")) }
    }

    fn answer(&self, request: &Request, gone: &Arc<AtomicBool>) -> Answer {
        if request.path == "/book/slow" {
            while !gone.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(5));
            }
            self.given_up.fetch_add(1, Ordering::Relaxed);
        }
        Answer::found("text/plain", vec![b'x'; SIZE])
    }
}

/// A server with these limits, and what it serves.
fn server(limits: Limits) -> (Server, SocketAddr, Arc<Library>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let library = Arc::new(Library::default());
    let server = Server::start(Listener::of(listener).unwrap(), library.clone(), limits).unwrap();
    (server, address, library)
}

fn ask(address: SocketAddr, path: &str) -> TcpStream {
    let mut client = TcpStream::connect(address).unwrap();
    client.write_all(format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes()).unwrap();
    client
}

/// The whole answer of a server that closes its connections.
fn book(address: SocketAddr) -> Vec<u8> {
    let mut book = Vec::new();
    ask(address, "/book").read_to_end(&mut book).unwrap();
    book
}

/// The status of the answer to these bytes.
fn status(address: SocketAddr, request: &[u8]) -> String {
    let mut client = TcpStream::connect(address).unwrap();
    // The server may close before it has read all of a request that is too long.
    let _ = client.write_all(request);
    let mut head = [0; 12];
    client
        .read_exact(&mut head)
        .map_or_else(|error| error.to_string(), |()| String::from_utf8_lossy(&head[9..]).into())
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

/// Check that a client that sends a byte now and then, says nothing, or takes nothing, is closed when its time is up.
#[test]
fn slow_clients_are_closed() {
    let short = Duration::from_millis(200);
    let (_server, address, _) = server(Limits { asking: short, taking: short, ..Limits::default() });
    let mut slow = TcpStream::connect(address).unwrap();
    while slow.write_all(b"x").is_ok() {
        thread::sleep(Duration::from_millis(20));
    }
    assert!(is_closed(&mut TcpStream::connect(address).unwrap()));
    let mut idle = ask(address, "/nothing");
    assert!(is_closed(&mut idle));
    let mut greedy = ask(address, "/book");
    thread::sleep(3 * short);
    let mut taken = Vec::new();
    // It may be reset, too.
    let _ = greedy.read_to_end(&mut taken);
    assert!(taken.len() < SIZE, "{}", taken.len());
}

/// Check that a new client is served while as many as there may be say nothing, or take nothing, and that those who
/// came first make room.
#[test]
fn newest_client_is_served() {
    let limits = Limits { connections: 8, answers: 3, keep_alive: false, ..Limits::default() };
    let (_server, address, _) = server(Limits { asking: HOUR, taking: HOUR, ..limits });
    let whole = book(address);
    assert!(whole.starts_with(b"HTTP/1.1 200 OK") && whole.len() > SIZE);
    let mut silent: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(address).unwrap()).collect();
    assert_eq!(book(address).len(), whole.len());
    assert!(is_closed(&mut silent[0]));
    let mut greedy: Vec<TcpStream> = (0..20).map(|_| ask(address, "/book")).collect();
    greedy.iter_mut().for_each(|client| drop(client.read(&mut [0])));
    assert_eq!(book(address).len(), whole.len());
}

/// Check that a connection has several answers where that is wanted, and one where it is not.
#[test]
fn connections_are_kept() {
    for (keep_alive, expected) in [(true, 3), (false, 1)] {
        let (_server, address, library) = server(Limits { keep_alive, ..Limits::default() });
        let mut client = TcpStream::connect(address).unwrap();
        let request = format!("GET /none HTTP/1.1\r\nHost: {address}\r\n\r\n");
        let last = format!("GET /none HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        client.write_all([request.as_str(), &request, &last].concat().as_bytes()).unwrap();
        let mut text = Vec::new();
        // What is not read of a connection resets it.
        let _ = client.read_to_end(&mut text);
        let answers = String::from_utf8_lossy(&text).matches("HTTP/1.1 404").count();
        assert_eq!((answers, library.admitted.load(Ordering::Relaxed)), (expected, expected));
    }
}

/// Check what is refused, and that it is in memory that is bounded.
#[test]
fn bad_requests_are_refused() {
    let (_server, address, library) = server(Limits::default());
    let long = "x".repeat(1 << 20);
    let many: String = (0..200).map(|number| format!("h{number}: 1\r\n")).collect();
    for (request, expected) in [
        ("POST /book HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), "405"),
        ("GET /book HTTP/1.1\r\n\r\n".to_owned(), "400"),
        ("GET /book HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n".to_owned(), "400"),
        ("GET /book HTTP/9\r\nHost: a\r\n\r\n".to_owned(), "400"),
        ("GET  /book HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), "400"),
        ("nonsense\r\n\r\n".to_owned(), "400"),
        (format!("GET /book HTTP/1.1\r\nHost: a\r\n{many}\r\n"), "431"),
        (format!("GET /book HTTP/1.1\r\nHost: a\r\nx: {}\r\n\r\n", &long[..20_000]), "431"),
    ] {
        let head = request.get(..60).unwrap_or(&request).to_owned();
        assert_eq!(status(address, request.as_bytes()), expected, "{head:?}");
    }
    // Whether the client sees more than that depends on how much of it was on its way.
    let status = status(address, format!("GET /{long} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
    assert!(status == "414" || status == "431" || status.contains("reset"), "{status}");
    assert_eq!(library.admitted.load(Ordering::Relaxed), 0);
}

/// Check that work is given up whose client has left, and that there are no more threads than there may be.
#[test]
fn nobody_works_for_those_who_left() {
    let (_server, address, library) = server(Limits { threads: 2, ..Limits::default() });
    let waiting: Vec<TcpStream> = (0..6).map(|_| ask(address, "/book/slow")).collect();
    let begun = Instant::now();
    while library.admitted.load(Ordering::Relaxed) < 6 {
        assert!(begun.elapsed() < Duration::from_secs(10));
        thread::sleep(Duration::from_millis(5));
    }
    drop(waiting);
    let mut client = ask(address, "/book");
    client.read_exact(&mut [0; 100]).unwrap();
    // Those that no thread had begun with are not begun at all.
    assert!(library.given_up.load(Ordering::Relaxed) <= 2);
}

/// Check that a socket in the file system is its user's alone, replaces one that was left behind, but no other file and
/// nobody who listens, and goes with its server.
#[test]
fn sockets_have_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("http");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let address: Address = format!("unix:{}", path.display()).parse().unwrap();
    let listener = Listener::bind(&address).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(Listener::bind(&address).is_err());
    let server = Server::start(listener, Arc::new(Library::default()), Limits::default()).unwrap();
    let mut client = UnixStream::connect(&path).unwrap();
    client.write_all(b"GET /none HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    client.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 404"), "{text}");
    drop(server);
    assert!(!path.exists());
    std::fs::write(&path, "mine").unwrap();
    assert!(Listener::bind(&address).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
}
