//! A stand-in for servers that accept profiles, such as Pyroscope.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};

/// A request as it arrived.
pub(crate) struct Request {
    pub(crate) line: String,
    pub(crate) headers: String,
    pub(crate) body: Vec<u8>,
    /// The status code of the answer.
    pub(crate) code: u16,
}

/// Answers each request with the next of these codes; the last one is repeated forever.
pub(crate) struct Server {
    /// Its address, `http://…`.
    pub(crate) address: String,
    requests: Receiver<Request>,
}

impl Server {
    pub(crate) fn start(codes: &'static [u16]) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a loopback interface");
        let address = format!("http://{}", listener.local_addr().expect("it listens"));
        let (send, requests) = channel();
        std::thread::spawn(move || {
            let mut codes = codes.iter().copied();
            let mut code = 200;
            for stream in listener.incoming() {
                let stream = stream.expect("connections are taken");
                code = codes.next().unwrap_or(code);
                // Sent first: a client that has its answer may be gone before this thread continues. When nobody
                // receives, the test has seen enough.
                if send.send(request(&stream, code)).is_err() {
                    return;
                }
                answer(&stream, code);
            }
        });
        Server { address, requests }
    }

    /// All requests so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.try_iter().collect()
    }
}

fn request(stream: &TcpStream, code: u16) -> Request {
    let mut input = BufReader::new(stream);
    let mut line = String::new();
    input.read_line(&mut line).expect("a request begins with a line");
    let (mut headers, mut length) = (String::new(), 0);
    loop {
        let mut header = String::new();
        input.read_line(&mut header).expect("headers are lines");
        if header.trim().is_empty() {
            break;
        }
        if let Some(number) = header.to_ascii_lowercase().strip_prefix("content-length:") {
            length = number.trim().parse().expect("a length is a number");
        }
        headers += &header;
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body).expect("the body is as long as it says");
    Request { line, headers, body, code }
}

fn answer(mut stream: &TcpStream, code: u16) {
    let text = format!("HTTP/1.1 {code} X\r\nContent-Length: 4\r\nConnection: close\r\n\r\nwell");
    stream.write_all(text.as_bytes()).expect("the client listens");
}
