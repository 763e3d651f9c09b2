//! Connections: one request each, a few at a time, each for a limited time.
//!
//! The HTTP needed here is a page of code, most of which refuses requests. A library that supports the rest of HTTP
//! would be more code to trust, not less.

use super::request::Request;
use super::site::{Answer, Site};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Connections served at once; a browser opens six. Others wait, but not for long, since every connection is limited
/// in time.
const MOST: usize = 16;

/// Total time for a browser to send its request, and again to receive the answer.
const PATIENCE: Duration = Duration::from_secs(10);
const LONG_PATIENCE: Duration = Duration::from_secs(120);

/// Serves connections for ever.
pub(super) fn serve(listener: &TcpListener, site: &Arc<Site>) {
    let places = Arc::new(Places::default());
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            // Usually out of descriptors; some are freed when connections end.
            thread::sleep(Duration::from_millis(20));
            continue;
        };
        let (site, place) = (site.clone(), Place::new(&places));
        thread::spawn(move || {
            // A browser that has gone needs no answer.
            if talk(stream, &site).is_ok() {
                drop(place);
                site.prepare();
            }
        });
    }
}

/// Counts the connections being served.
#[derive(Debug, Default)]
struct Places {
    taken: Mutex<usize>,
    one_left: Condvar,
}

/// The place of one connection.
#[derive(Debug)]
struct Place(Arc<Places>);

impl Place {
    /// Waits until a place is free.
    fn new(places: &Arc<Places>) -> Place {
        let taken = places.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = places.one_left.wait_while(taken, |taken| *taken >= MOST);
        *taken.unwrap_or_else(PoisonError::into_inner) += 1;
        Place(places.clone())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        *self.0.taken.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.one_left.notify_one();
    }
}

fn talk(stream: TcpStream, site: &Site) -> io::Result<()> {
    let answer = match Request::read(Impatient::new(&stream, PATIENCE))? {
        Ok(request) => site.answer(&request, &departure_of(&stream)?),
        Err(refusal) => Answer::refusal(refusal),
    };
    write(Impatient::new(&stream, LONG_PATIENCE), &answer)?;
    // This ends reading, too, and so the thread that watches for the departure.
    stream.shutdown(Shutdown::Both)
}

/// Becomes true when the other side closes the connection: a browser closes it when its user wants something else.
fn departure_of(stream: &TcpStream) -> io::Result<Arc<AtomicBool>> {
    let gone = Arc::new(AtomicBool::new(false));
    let (mut stream, told) = (stream.try_clone()?, gone.clone());
    stream.set_read_timeout(None)?;
    thread::spawn(move || {
        let mut more = [0; 64];
        // No more data is expected; if some comes, it is ignored.
        while stream.read(&mut more).is_ok_and(|length| length > 0) {}
        // Relaxed: a hint; no other data depends on it.
        told.store(true, Ordering::Relaxed);
    });
    Ok(gone)
}

/// A connection with a time limit: without it, a client that sends or takes a byte now and then would keep its place
/// for ever.
struct Impatient<'s> {
    stream: &'s TcpStream,
    end: Instant,
}

impl<'s> Impatient<'s> {
    fn new(stream: &'s TcpStream, time: Duration) -> Self {
        Self { stream, end: Instant::now() + time }
    }

    fn left(&self) -> io::Result<Duration> {
        match self.end.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
            left => Ok(left),
        }
    }
}

impl Read for Impatient<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        self.stream.read(buffer)
    }
}

impl Write for Impatient<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

fn write(mut stream: impl Write, answer: &Answer) -> io::Result<()> {
    let Answer { status, kind, policy, body } = answer;
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nContent-Security-Policy: {policy}\r\n\
         X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCache-Control: no-store\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    stream.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    /// Check that a client that sends a byte now and then, or accepts none, loses its place.
    #[test]
    fn slow_clients_lose_their_place() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        let time = Duration::from_millis(200);
        let sender = thread::spawn(move || {
            // Until the server closes the connection.
            while client.write_all(b"x").is_ok() {
                thread::sleep(Duration::from_millis(20));
            }
        });
        let all = Impatient::new(&stream, time).read_to_end(&mut Vec::new());
        assert!(matches!(all.unwrap_err().kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock));
        let all = Impatient::new(&stream, time).write_all(&vec![0; 64 << 20]);
        assert!(matches!(all.unwrap_err().kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock));
        drop(stream);
        sender.join().unwrap();
    }
}
