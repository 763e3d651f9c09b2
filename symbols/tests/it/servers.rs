//! Debug files from servers, which are played by a thread of the test.

use crate::toolchain::{PROGRAM, Workshop, build_id, symbol};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use symbols::{ModuleFile, Options, Reason, Refusal, Servers, Symbolizer};

/// A server that answers each request with this status and body, and tells which paths were asked for.
fn serve(status: &'static str, body: Vec<u8>) -> (String, Receiver<String>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (asked, paths) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let request = lines.next().unwrap().unwrap();
            lines.by_ref().take_while(|line| line.as_ref().is_ok_and(|line| !line.is_empty())).for_each(drop);
            // Told first: a client with its answer may be gone before this thread goes on. The test has seen enough when
            // nobody listens.
            if asked.send(request.split(' ').nth(1).unwrap_or_default().to_owned()).is_err() {
                return;
            }
            let head =
                format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            // A client that has enough hangs up.
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
        }
    });
    (url, paths)
}

fn symbolizer(workshop: &Workshop, urls: &[&str]) -> Symbolizer {
    let servers = Servers {
        urls: urls.iter().map(|url| (*url).to_owned()).collect(),
        cache: workshop.path("cache"),
        patience: Duration::from_secs(30),
    };
    Symbolizer::new(Options { debug_dirs: Vec::new(), servers: Some(servers), ..Options::default() })
}

/// A stripped program, an address of a static function in it, its debug file, and where servers have it.
fn stripped(workshop: &Workshop) -> (PathBuf, u64, Vec<u8>, String) {
    let path = workshop.compile("program", PROGRAM, "-O1 -g -Wl,--build-id");
    let (address, _) = symbol(&path, "local_function");
    let id: String = build_id(&path).iter().map(|byte| format!("{byte:02x}")).collect();
    workshop.split("program");
    let debug = fs::read(workshop.path("program.debug")).unwrap();
    fs::remove_file(workshop.path("program.debug")).unwrap();
    (path, address, debug, format!("/buildid/{id}/debuginfo"))
}

fn has_curl() -> bool {
    let has = Command::new("curl").arg("--version").output().is_ok();
    if !has {
        println!("skipped: no curl");
    }
    has
}

/// Check that a debug file is fetched by build id, asked for once, and taken from where it is kept afterwards.
#[test]
fn debug_file_is_fetched_once() {
    if !has_curl() {
        return;
    }
    let workshop = Workshop::new();
    let (path, address, debug, wanted) = stripped(&workshop);
    let (url, asked) = serve("200 OK", debug);
    for symbolizer in [symbolizer(&workshop, &[&url]), symbolizer(&workshop, &["http://127.0.0.1:1"])] {
        let module = symbolizer.open(&ModuleFile::at(&path)).unwrap();
        let lookup = module.lookup(address);
        assert_eq!(lookup.function(), Some("local_function"), "{:?}", module.debug_files());
        assert_eq!(lookup.frames[0].line, Some(3));
    }
    assert_eq!(asked.try_iter().collect::<Vec<_>>(), [wanted]);
    let kept = fs::read_dir(workshop.path("cache")).unwrap().count();
    assert_eq!(kept, 1);
}

/// Check that a server which has nothing, one that is not there and one that sends the file of another build leave the
/// program without names, and nothing but what was sent behind.
#[test]
fn useless_servers_do_no_harm() {
    if !has_curl() {
        return;
    }
    let workshop = Workshop::new();
    let (path, address, _, _) = stripped(&workshop);
    let (nothing, asked) = serve("404 Not Found", b"no such file".to_vec());
    let module =
        symbolizer(&workshop, &["http://127.0.0.1:1", &nothing]).open(&ModuleFile::at(&path)).unwrap();
    assert_eq!(module.lookup(address).reason, Some(Reason::NoSymbols));
    assert_eq!(asked.try_iter().count(), 1);
    assert_eq!(fs::read_dir(workshop.path("cache")).unwrap().count(), 0);

    let other = workshop.compile("other", "int main(void) { return 7; }", "-g -Wl,--build-id");
    let (wrong, _asked) = serve("200 OK", fs::read(other).unwrap());
    let module = symbolizer(&workshop, &[&wrong]).open(&ModuleFile::at(&path)).unwrap();
    assert_eq!(module.lookup(address).reason, Some(Reason::DebugFileRefused));
    assert!(matches!(module.debug_files().refused[..], [(_, Refusal::OtherBuildId)]));
}

/// Check that nobody is asked for what is on this machine.
#[test]
fn nobody_is_asked_for_what_is_here() {
    let workshop = Workshop::new();
    let path = workshop.compile("program", PROGRAM, "-O1 -g -Wl,--build-id");
    let (address, _) = symbol(&path, "local_function");
    let (url, asked) = serve("200 OK", Vec::new());
    let module = symbolizer(&workshop, &[&url]).open(&ModuleFile::at(&path)).unwrap();
    assert_eq!(module.lookup(address).function(), Some("local_function"));
    assert_eq!(asked.try_iter().count(), 0);
}
