//! Debug files from servers, played by a thread of the test.

use crate::toolchain::{PROGRAM, Workshop, build_id, symbol};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, SystemTime};
use symbols::{ModuleFile, Notice, Options, Reason, Refusal, Servers, Symbolizer};

/// A server that answers each request with this status and body, and reports the requested paths.
fn serve(status: &'static str, body: Vec<u8>) -> (String, Receiver<String>) {
    serve_after(Duration::ZERO, status, body)
}

/// As [`serve`], after a delay.
fn serve_after(time: Duration, status: &'static str, body: Vec<u8>) -> (String, Receiver<String>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (asked, paths) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let request = lines.next().unwrap().unwrap();
            lines.by_ref().take_while(|line| line.as_ref().is_ok_and(|line| !line.is_empty())).for_each(drop);
            // Reported first: once the client has its answer it may be gone before this thread goes on. A test that
            // no longer listens has seen enough.
            if asked.send(request.split(' ').nth(1).unwrap_or_default().to_owned()).is_err() {
                return;
            }
            std::thread::sleep(time);
            let head =
                format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            // A client that has enough hangs up.
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
        }
    });
    (url, paths)
}

fn symbolizer(workshop: &Workshop, urls: &[&str]) -> Symbolizer {
    telling_symbolizer(workshop, urls, None)
}

fn telling_symbolizer(workshop: &Workshop, urls: &[&str], notice: Option<Notice>) -> Symbolizer {
    let servers = Servers {
        urls: urls.iter().map(|url| (*url).to_owned()).collect(),
        cache: workshop.path("cache"),
        timeout: Duration::from_secs(30),
        notice,
    };
    Symbolizer::new(Options { debug_dirs: Vec::new(), servers: Some(servers), ..Options::default() })
}

/// A stripped program, the address of a static function in it, its debug file, and that file's path on servers.
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

/// Check that a debug file is fetched by build id, requested once, and afterwards used from the cache.
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

/// Check that a server without the file, an unreachable one and one that sends the file of another build leave the
/// program without names, and leave behind only what was sent.
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

/// Check that a file that no server has is not requested again for ten minutes, or as long as the cache says, whoever
/// noted it; and that nothing is noted if a server was unreachable, refused to say, failed, or sent an empty file.
#[test]
fn what_no_server_has_is_noted() {
    if !has_curl() {
        return;
    }
    let workshop = Workshop::new();
    let (path, address, _, wanted) = stripped(&workshop);
    let (url, asked) = serve("404 Not Found", b"no such file".to_vec());
    let note = workshop.path("cache").join(&wanted["/buildid/".len()..]);
    let look = |urls: &[&str]| {
        let module = symbolizer(&workshop, urls).open(&ModuleFile::at(&path)).unwrap();
        assert_eq!(module.lookup(address).reason, Some(Reason::NoSymbols));
        asked.try_iter().count()
    };
    assert_eq!((look(&[&url, "http://127.0.0.1:1"]), note.exists()), (1, false));
    for (status, body) in [("503 Service Unavailable", "later"), ("403 Forbidden", "no"), ("200 OK", "")] {
        let (broken, _asked) = serve(status, body.into());
        assert_eq!((look(&[&url, &broken]), note.exists()), (1, false), "{status}");
    }
    assert_eq!((look(&[&url]), fs::read(&note).unwrap().len()), (1, 0));
    assert_eq!(look(&[&url]), 0);
    let noted = |age: u64| {
        let file = File::options().write(true).open(&note).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
    };
    let believed = workshop.path("cache").join("cache_miss_s");
    for (age, says, expected) in [
        (500, None, 0),
        (700, None, 1),
        (700, Some("1000\n"), 0),
        (500, Some("100"), 1),
        (500, Some("soon"), 0),
        (700, Some("soon"), 1),
    ] {
        noted(age);
        match says {
            Some(text) => fs::write(&believed, text).unwrap(),
            None => drop(fs::remove_file(&believed)),
        }
        assert_eq!(look(&[&url]), expected, "{age}, {says:?}");
    }
    assert_eq!(look(&[&url]), 0, "it was noted anew");
}

/// Check that the user is told once that servers are being asked, when that takes long.
#[test]
fn slow_servers_are_told_of() {
    static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());
    if !has_curl() {
        return;
    }
    let workshop = Workshop::new();
    let (path, address, debug, _) = stripped(&workshop);
    let notice = Notice(|url| TOLD.lock().unwrap().push(url.to_owned()));
    let (slow, _asked) = serve_after(Duration::from_millis(1500), "404 Not Found", Vec::new());
    let (slower, _asked) = serve_after(Duration::from_millis(1500), "404 Not Found", Vec::new());
    let (quick, _asked) = serve("200 OK", debug);
    let symbolizer = telling_symbolizer(&workshop, &[&slow, &slower, &quick], Some(notice));
    let module = symbolizer.open(&ModuleFile::at(&path)).unwrap();
    assert_eq!(module.lookup(address).function(), Some("local_function"));
    assert_eq!(*TOLD.lock().unwrap(), [slow]);
}

/// Check that no server is asked for a file on this machine.
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
