//! Connections: one request each, a few at a time, none for long.
//!
//! This much of HTTP is a page of code, and what it must refuse is most of it; a server for everything else that HTTP has
//! would be more to trust, not less.

use super::request::Request;
use super::site::{Answer, Site};
use std::io::{self, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Connections that are served at once: a browser opens six.
const MOST: usize = 16;

/// How long a browser may take to say what it wants, or to take what it asked for.
const PATIENCE: Duration = Duration::from_secs(10);

/// Serves whoever connects, for ever.
pub(super) fn serve(listener: &TcpListener, site: &Arc<Site>) {
    let open = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            // Out of descriptors, as a rule: some come back when connections end.
            thread::sleep(Duration::from_millis(20));
            continue;
        };
        // Relaxed: a count alone; nothing is read because of it.
        if open.fetch_add(1, Ordering::Relaxed) >= MOST {
            open.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let (site, open) = (site.clone(), open.clone());
        thread::spawn(move || {
            // A browser that has gone does not need to be told.
            let _ = talk(stream, &site);
            open.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

fn talk(stream: TcpStream, site: &Site) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let answer = match Request::read(BufReader::new(&stream))? {
        Ok(request) => site.answer(&request),
        Err(refusal) => Answer::refusal(refusal),
    };
    write(&stream, &answer)?;
    stream.shutdown(Shutdown::Write)
}

fn write(mut stream: impl Write, answer: &Answer) -> io::Result<()> {
    let Answer { status, kind, policy, body } = answer;
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nContent-Security-Policy: {policy}\r\n\
         X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCache-Control: no-store\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    stream.write_all(body)?;
    stream.flush()
}
