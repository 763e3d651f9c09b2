//! The server for a capture: what it serves, to whom, and how a browser shows it.

use crate::harness::{Capture, Running, Service, World, c, installed, record, skip, start, wait, wait_for};
use crate::web;
use rustix::process::Signal;
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

/// A server of a capture.
struct Server {
    running: Running,
    /// `http://127.0.0.1:PORT/TOKEN/`.
    address: String,
}

/// The parts of an answer.
struct Answer {
    status: String,
    head: String,
    body: Vec<u8>,
}

impl Server {
    fn of(capture: &Capture) -> Server {
        Server::start(
            capture.world(),
            &[capture.file().to_str().expect("temporary folders have plain names")],
        )
    }

    fn start(world: &World, files: &[&str]) -> Server {
        Server::started(start(world, world.tool([&["serve", "--no-browser"], files].concat())))
    }

    fn started(running: Running) -> Server {
        wait_for("the server's address", || running.stderr().contains("Ctrl-C"));
        let text = running.stderr();
        let address = text.split_whitespace().find(|word| word.starts_with("http://"));
        let address = address.unwrap_or_else(|| panic!("no address: {text}")).to_owned();
        Server { running, address }
    }

    fn host(&self) -> &str {
        self.address.trim_start_matches("http://").split('/').next().expect("an address has a host")
    }

    fn path(&self, name: &str) -> String {
        let token = self.address.trim_end_matches('/').rsplit('/').next().expect("an address has a token");
        format!("/{token}/{name}")
    }

    /// Sends these bytes, and reads the answer to its end.
    fn send(&self, request: &str) -> Answer {
        let mut stream = TcpStream::connect(self.host()).expect("the server listens");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("it answers");
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("an answer has a head");
        let head = String::from_utf8_lossy(&answer[..end]).into_owned();
        let status = head.split(' ').nth(1).unwrap_or_default().to_owned();
        Answer { status, body: answer.split_off(end + 4), head }
    }

    fn get(&self, path: &str) -> Answer {
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.host()))
    }

    fn stop(self) {
        self.running.signal(Signal::TERM);
        self.running.wait();
    }
}

/// Check that the page and its data are served to whoever knows the address, in parts and as a whole, and to nobody
/// else.
#[test]
fn server_answers_those_who_know_the_address() {
    let (_, capture) = record(c("known_allocations").build()).succeed();
    let server = Server::of(&capture);
    let page = server.get(&server.path(""));
    assert_eq!(page.status, "200", "{}", page.head);
    assert!(page.head.contains("connect-src 'self'") && page.head.contains("no-store"), "{}", page.head);
    assert!(page.body.starts_with(b"<!DOCTYPE html>"));
    let whole = server.get(&server.path("data"));
    assert!(whole.status == "200" && whole.body.len() > 100, "{}", whole.head);
    let part = server.get(&server.path("data?from=1000&to=2000000"));
    assert!(part.status == "200" && part.body != whole.body, "{}", part.head);

    let target = server.path("");
    let host = server.host();
    for (request, status) in [
        (format!("GET /wrong/ HTTP/1.1\r\nHost: {host}\r\n\r\n"), "404"),
        (format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"), "404"),
        (format!("GET {target}../../etc/passwd HTTP/1.1\r\nHost: {host}\r\n\r\n"), "404"),
        (format!("GET {target} HTTP/1.1\r\nHost: evil.example\r\n\r\n"), "421"),
        (format!("POST {target} HTTP/1.1\r\nHost: {host}\r\n\r\n"), "405"),
        (format!("GET {target}data?from=x HTTP/1.1\r\nHost: {host}\r\n\r\n"), "400"),
    ] {
        let answer = server.send(&request);
        assert_eq!(answer.status, status, "{request:?}: {}", answer.head);
        assert!(!answer.body.starts_with(b"<!DOCTYPE"), "{request:?}");
    }
    server.stop();
}

/// True if the server has not closed the connection, and has not answered.
fn is_waiting(stream: &mut TcpStream) -> bool {
    stream.set_nonblocking(true).expect("it is a socket");
    stream.read(&mut [0]).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
}

/// Check that clients who say nothing, send a request byte by byte, or take nothing of their answers, make nobody wait, and
/// cost no threads.
#[test]
fn slow_clients_make_nobody_wait() {
    let (_, capture) = record(c("known_allocations").build()).succeed();
    let server = Server::of(&capture);
    let connect = || TcpStream::connect(server.host()).expect("the server listens");
    let mut slow: Vec<TcpStream> = (0..120).map(|_| connect()).collect();
    for (stream, text) in slow.iter_mut().zip(["", "G", "GET / HTTP/1.1\r\nHost:"].iter().cycle()) {
        stream.write_all(text.as_bytes()).expect("it reads");
    }
    let request = format!("GET {} HTTP/1.1\r\nHost: {}\r\n\r\n", server.path(""), server.host());
    let _greedy: Vec<TcpStream> = (0..60)
        .map(|_| {
            let mut stream = connect();
            stream.write_all(request.as_bytes()).expect("it reads");
            stream
        })
        .collect();
    for _ in 0..3 {
        let page = server.get(&server.path(""));
        assert!(page.status == "200" && page.body.starts_with(b"<!DOCTYPE html>"), "{}", page.head);
    }
    // We have not waited until their time was up.
    assert!(slow.iter_mut().all(is_waiting));
    let threads = format!("/proc/{}/task", server.running.pid().as_raw_nonzero());
    let threads = std::fs::read_dir(threads).expect("it runs").count();
    assert!(threads < 40, "{threads} threads");
    // More than there may be: those who came first make room.
    let _more: Vec<TcpStream> = (0..500).map(|_| connect()).collect();
    assert_eq!(server.get(&server.path("")).status, "200");
    assert!(!slow.iter_mut().all(is_waiting));
    server.stop();
}

/// Check that the browser is led to the address by a file that only its user can read, which is removed when the page
/// was asked for, and that no command line has the address.
#[test]
fn address_is_in_no_command_line() {
    let (_, capture) = record(c("known_allocations").build()).succeed();
    let world = capture.world();
    let opener =
        "#!/bin/sh\nprintf '%s\\n' \"$@\" >words\nstat -c %a \"$1\" >mode\ncp \"$1\" copy && mv copy page\n";
    std::fs::create_dir(world.path("bin")).expect("the folder is ours");
    let opener = world.write("bin/xdg-open", opener);
    std::fs::set_permissions(opener, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("it is ours");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut tool = world.tool(["serve", capture.file().to_str().expect("a plain name")]);
    tool.env("DISPLAY", ":9").env("PATH", format!("{}:{path}", world.path("bin").display()));
    tool.env("XDG_RUNTIME_DIR", world.folder());
    let server = Server::started(start(world, tool));
    wait_for("the browser", || world.path("page").exists());
    let read = |name: &str| std::fs::read_to_string(world.path(name)).expect("it was written");
    let words = read("words");
    let token = server.path("").trim_matches('/').to_owned();
    assert!(!words.contains(&token) && !words.contains("http"), "{words}");
    assert_eq!(read("mode"), "600\n");
    assert!(read("page").contains(&format!("url={}\"", server.address)), "{}", read("page"));
    assert!(Path::new(words.trim_end()).exists());
    assert_eq!(server.get(&server.path("")).status, "200");
    wait_for("the file to be removed", || !Path::new(words.trim_end()).exists());
    server.stop();
}

/// Check that a browser shows the server's page with the numbers of other views, and enters and leaves a range.
#[test]
fn browser_goes_into_a_range() {
    let browser = ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(installed);
    let Some((node, browser)) = installed("node").zip(browser) else {
        return skip("the server's page in a browser", "node or Chromium is not installed");
    };
    let (_, capture) = record(c("known_allocations").flags(["-O1"]).build()).with_names().succeed();
    let server = Server::of(&capture);
    let world: &World = capture.world();
    let expected = world.write("expected.json", json!({ "info": capture.info() }).to_string());
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = world.command(node);
    command.arg(tests.join("web/served.mjs")).arg(tests.join("../viewer/web/src/assets"));
    command.arg(browser).arg(&server.address).arg(expected);
    let ran = wait(world, command);
    assert_eq!(ran.code, 0, "{}{}", String::from_utf8_lossy(&ran.stdout), ran.stderr);
    server.stop();
}

/// Check that the registered views are served on request, of the whole and of a range, with the rows of the command line.
#[test]
fn views_are_served() {
    let (_, capture) = record(c("known_allocations").flags(["-O1"]).build()).with_names().succeed();
    let server = Server::of(&capture);
    let half = capture.info()["duration_ns"].as_u64().expect("it took some time") / 2;
    let range = format!("&from=1&to={half}");
    for (view, by) in [("sizes", "size"), ("modules", "module")] {
        for (question, part) in [
            ("", vec![]),
            (&*range, vec!["--from".to_owned(), "1ns".to_owned(), "--to".to_owned(), format!("{half}ns")]),
        ] {
            let answer = server.get(&server.path(&format!("view?view={view}{question}")));
            assert!(answer.status == "200" && answer.head.contains("application/json"), "{}", answer.head);
            let tables: serde_json::Value = serde_json::from_slice(&answer.body).expect("it is JSON");
            let options: Vec<&str> = part.iter().map(String::as_str).collect();
            let shown =
                capture.show(&[&["blocks", "--by", by, "--format", "markdown"], &options[..]].concat());
            let title = shown.text().lines().next().unwrap_or_default();
            assert_eq!(tables[0]["title"][0], title, "{view}{question}");
            let rows = tables[0]["rows"].as_array().map_or(0, Vec::len);
            let lines = shown.text().lines().filter(|line| line.starts_with("| ")).count();
            assert_eq!(rows + 1, lines, "{view}{question}: {}", shown.text());
        }
    }
    for wrong in ["view=nothing", "view=sizes&from=x", ""] {
        assert_eq!(server.get(&server.path(&format!("view?{wrong}"))).status, "400", "{wrong}");
    }
    server.stop();
}

/// Check that the call graph is drawn as the page requests it, with the numbers of the report, and that requests for
/// what does not exist are told so.
#[test]
fn call_graph_is_drawn_for_the_page() {
    if installed("dot").is_none() {
        return skip("the server's drawings", "Graphviz is not installed");
    }
    let (_, capture) = record(c("known_allocations").flags(["-O1"]).build()).with_names().succeed();
    let server = Server::of(&capture);
    let drawing = server.get(&server.path("graph.svg"));
    assert!(drawing.status == "200" && drawing.head.contains("image/svg+xml"), "{}", drawing.head);
    assert!(drawing.head.contains("default-src 'none'"), "{}", drawing.head);
    assert!(String::from_utf8_lossy(&drawing.body).contains(">main<"));
    assert!(server.get(&server.path("graph.svg")).body == drawing.body, "it is the same each time");
    for (question, status) in [
        ("metric=leaked&unit=blocks&least=5&most=3", "200"),
        ("metric=nothing", "409"),
        ("metric=during&mark=7", "409"),
        ("metric=live&b=100000", "409"),
        ("slices=100000", "409"),
        ("least=1000", "400"),
    ] {
        let answer = server.get(&server.path(&format!("graph.svg?{question}")));
        assert_eq!(answer.status, status, "{question}: {}", String::from_utf8_lossy(&answer.body));
    }
    web::browse_drawing(&capture, &server.address, true, false);
    server.stop();
}

/// Check that a server without Graphviz says how to get it, and does everything else.
#[test]
fn call_graph_is_missed_where_graphviz_is() {
    let (_, capture) = record(c("known_allocations").flags(["-O1"]).build()).with_names().succeed();
    let world: &World = capture.world();
    let file = capture.file().to_str().expect("temporary folders have plain names");
    let mut without = world.tool(["serve", "--no-browser", file]);
    without.env("PATH", world.folder());
    let server = Server::started(start(world, without));
    let answer = server.get(&server.path("graph.svg"));
    let said = String::from_utf8_lossy(&answer.body).into_owned();
    assert!(answer.status == "501" && said.contains("Graphviz"), "{}: {said}", answer.status);
    assert_eq!(server.get(&server.path("data")).status, "200");
    web::browse_drawing(&capture, &server.address, false, false);
    server.stop();
}

/// Check that a drawing is given up when nobody waits for it any more, and that data is served while one is drawn.
#[test]
fn drawing_keeps_nobody_waiting() {
    let (_, capture) = record(c("known_allocations").build()).succeed();
    let world: &World = capture.world();
    // A Graphviz that draws until it is killed, and tells its pid.
    let slow = world.write("dot", "#!/bin/sh\necho $$ > \"${0%/*}/drawing.pid\"\nexec sleep 600\n");
    std::fs::set_permissions(&slow, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it is ours");
    let file = capture.file().to_str().expect("temporary folders have plain names");
    let mut with_it = world.tool(["serve", "--no-browser", file]);
    with_it.env("PATH", format!("{}:/usr/bin:/bin", world.folder().display()));
    let server = Server::started(start(world, with_it));
    let mut waits = TcpStream::connect(server.host()).expect("the server listens");
    let request = format!("GET {} HTTP/1.1\r\nHost: {}\r\n\r\n", server.path("graph.svg"), server.host());
    waits.write_all(request.as_bytes()).expect("it reads");
    let drawing = || std::fs::read_to_string(world.path("drawing.pid")).ok()?.trim().parse::<u32>().ok();
    wait_for("a drawing", || drawing().is_some());
    let process = format!("/proc/{}", drawing().expect("it has begun"));
    assert_eq!(server.get(&server.path("data")).status, "200");
    assert!(Path::new(&process).exists(), "it goes on while somebody waits");
    drop(waits);
    wait_for("its end", || !Path::new(&process).exists());
    server.stop();
}

/// Check that the results of scans are served on request, the same each time, with the numbers of `retained` in a
/// browser, and that nobody gets the scan of another recording.
#[test]
fn scans_are_served() {
    let capture = web::scanned();
    let server = Server::of(&capture);
    let times: Vec<u64> = capture.info()["scans"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|scan| scan["time_ns"].as_u64())
        .collect();
    let [first, second] = times[..] else { panic!("two processes were scanned: {times:?}") };
    let ask = |scan: &str, time: u64| server.get(&server.path(&format!("retained?scan={scan}&time={time}")));
    for (scan, time) in [("2", second), ("1", first)] {
        let answer = ask(scan, time);
        assert!(answer.status == "200" && answer.head.contains("default-src 'none'"), "{}", answer.head);
        assert_eq!(head_of(&answer.body)["scan"]["number"].to_string(), scan);
        assert!(ask(scan, time).body == answer.body);
    }
    for (scan, time, status) in
        [("1", second, "409"), ("3", first, "409"), ("0", first, "409"), ("x", first, "400")]
    {
        assert_eq!(ask(scan, time).status, status, "{scan} at {time}");
    }
    web::browse_retained(&capture, Path::new(&server.address));
    server.stop();
}

/// Check that of many scans of one process a page has only a few, and says which are missing and who shows them, and
/// that a server has all.
#[test]
fn scans_that_a_page_has_no_room_for_are_served() {
    let scans = 6;
    let service = Service::new(1);
    let collector = service.attach("it.memprof");
    for _ in 0..scans {
        assert_eq!(service.run("scan", &[]).code, 0);
        service.work();
    }
    assert_eq!(wait(&service.world, service.tool("detach", &[])).code, 0);
    assert_eq!(collector.wait().code, 0);
    let world = service.stop();
    let file = world.path("it.memprof");
    let capture = Capture::new(world, file);
    let server = Server::of(&capture);
    web::browse_many_scans(&capture, scans, &server.address);
    server.stop();
}

/// Check that with two captures the server's page shows what has changed, with the numbers of `diff`.
#[test]
fn changes_since_another_capture_are_served() {
    let (older, newer) = web::two_versions();
    let files =
        [&older, &newer].map(|capture| capture.file().to_str().expect("temporary folders have plain names"));
    let server = Server::start(newer.world(), &files);
    web::browse_difference(&older, &newer, Some(&server.address));
    server.stop();
}

/// Check that the recording of a process is shown while it goes on: the page asks again, and has what came since.
#[test]
fn recording_is_served_while_it_goes_on() {
    let server = Service::new(1);
    let collector = server.attach("growing.memprof");
    let pid = server.pid();
    let served = Server::start(&server.world, &[&pid]);
    let first = served.get(&served.path("data")).body;
    server.work();
    wait_for("what was recorded since", || served.get(&served.path("data")).body != first);
    served.stop();
    assert_eq!(wait(&server.world, server.tool("detach", &[])).code, 0);
    assert_eq!(collector.wait().code, 0);
    let ran = wait(&server.world, server.world.tool(["serve", &pid, "--no-browser"]));
    assert!(ran.code == 2 && ran.stderr.contains("is not recorded"), "{}", ran.stderr);
    server.stop();
}

/// The head of the page's data, decompressed.
fn head_of(data: &[u8]) -> serde_json::Value {
    let mut plain = Vec::new();
    flate2::read::DeflateDecoder::new(data).read_to_end(&mut plain).expect("it was deflated");
    let length = u32::from_le_bytes(plain[..4].try_into().expect("it has a length")) as usize;
    serde_json::from_slice(&plain[4..4 + length]).expect("it is JSON")
}

/// Check that the next recording of a process replaces the previous one completely, for new pages and for one that is
/// open; and so does a capture that is written anew.
#[test]
fn next_recording_takes_the_place_of_the_one_before() {
    let server = Service::new(1);
    let first = server.attach("first.memprof");
    let pid = server.pid();
    let served = Server::start(&server.world, &[&pid]);
    let file = |served: &Server| {
        let info = head_of(&served.get(&served.path("data")).body)["info"].take();
        let name = info["file"].as_str().and_then(|file| file.rsplit('/').next()).map(str::to_owned);
        (name.unwrap_or_default(), info["events"].as_u64().unwrap_or_default())
    };
    wait_for("some events", || file(&served).1 > 0);
    let known = served.get(&served.path("graph.svg?slices=1000000"));
    assert_eq!(known.status, "409", "a page of other data gets no drawing");
    assert_eq!(wait(&server.world, server.tool("detach", &[])).code, 0);
    assert_eq!(first.wait().code, 0);
    assert_eq!(file(&served).0, "first.memprof", "the last one stays as long as there is no other");
    let all_of_first = file(&served).1;
    let second = server.attach("second.memprof");
    let (name, events) = file(&served);
    assert_eq!(name, "second.memprof");
    assert!(events < all_of_first, "{events} of the second, {all_of_first} of the first");
    served.stop();
    assert_eq!(wait(&server.world, server.tool("detach", &[])).code, 0);
    assert_eq!(second.wait().code, 0);
    let shown =
        Server::start(&server.world, &[server.world.path("first.memprof").to_str().expect("a plain name")]);
    assert_eq!(file(&shown), ("first.memprof".to_owned(), all_of_first));
    std::fs::rename(server.world.path("second.memprof"), server.world.path("first.memprof"))
        .expect("they are ours");
    assert!(file(&shown).1 != all_of_first);
    shown.stop();
    server.stop();
}

/// Check that whatever cannot be served is reported before anything listens.
#[test]
fn what_cannot_be_served_is_said() {
    let world = World::new();
    world.write("text.memprof", "no capture");
    let ran = wait(&world, world.tool(["serve", "text.memprof", "--no-browser"]));
    assert!(ran.code == 2 && ran.stderr.contains("not a capture"), "{}", ran.stderr);
}
