//! Metrics and profiles of recordings over HTTP, while they go on.

use crate::harness::{
    Page, Running, Service, World, agent, attach, c, copy_program, installed, number, skip, start, wait,
    wait_for,
};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// An answer.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("it is text")
    }

    /// The value of a series whose name and labels begin and go on like this.
    fn value(&self, name: &str, labels: &[&str]) -> Option<f64> {
        let series = self.text().lines().filter(|line| line.split(['{', ' ']).next() == Some(name));
        let mut values = series.filter(|line| labels.iter().all(|label| line.contains(label)));
        values.next()?.rsplit(' ').next()?.parse().ok()
    }
}

/// Where a collector says that it serves.
fn address(collector: &Running) -> String {
    let said = collector.stderr();
    let place = said.lines().find_map(|line| line.strip_prefix("Serving metrics and profiles at "));
    place.unwrap_or_else(|| panic!("no address: {said}")).to_owned()
}

fn answer(stream: &mut (impl Read + Write), target: &str, headers: &str) -> Answer {
    let request = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut all = Vec::new();
    stream.read_to_end(&mut all).expect("it answers");
    let end = all.windows(4).position(|four| four == b"\r\n\r\n").expect("an answer has a head");
    let head = String::from_utf8_lossy(&all[..end]).to_lowercase();
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("it has a code");
    Answer { status, body: all.split_off(end + 4), head }
}

fn get_with(address: &str, target: &str, headers: &str) -> Answer {
    match address.strip_prefix("unix:") {
        Some(path) => answer(&mut UnixStream::connect(path).expect("it listens"), target, headers),
        None => {
            let host = address.strip_prefix("http://").expect("it is an address");
            answer(&mut TcpStream::connect(host).expect("it listens"), target, headers)
        }
    }
}

fn get(address: &str, target: &str) -> Answer {
    get_with(address, target, "")
}

fn serving(service: &Service, more: &[&str]) -> (Running, String) {
    let options = [&["--output", "it.memprof", "--http", "127.0.0.1:0"], more].concat();
    let collector = attach(&service.world, &service.pid(), &options);
    wait_for("the address", || collector.stderr().contains("Serving metrics"));
    let address = address(&collector);
    (collector, address)
}

fn end(collector: Running, service: Service) -> World {
    collector.signal(Signal::INT);
    let ran = collector.wait();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    service.stop()
}

/// The lines of `go tool pprof -top`, without those that say when and of what.
fn top(world: &World, file: &str, index: &str) -> Vec<String> {
    let mut go = world.command("go");
    go.args([
        "tool",
        "pprof",
        "-top",
        "-nodecount=1000",
        "-nodefraction=0",
        "-unit=B",
        "-sample_index",
        index,
        file,
    ]);
    let ran = wait(world, go);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran.text().lines().skip_while(|line| !line.contains("flat%")).map(str::to_owned).collect()
}

/// Check that a heap profile has what a snapshot of the same moment reports, function by function, whatever was freed
/// before; and that metrics have the same numbers.
#[test]
fn profiles_are_of_this_moment() {
    let service = Service::that_grows();
    let (collector, address) = serving(&service, &[]);
    service.work();
    // Nothing happens any more, so that both are of the same moment.
    service.signal(Signal::STOP);
    let heap = get(&address, "/debug/pprof/heap");
    assert_eq!(heap.status, 200, "{}", heap.text());
    assert!(
        heap.head.contains("application/octet-stream") && heap.body.starts_with(b"\x1f\x8b"),
        "{}",
        heap.head
    );
    let allocs = get(&address, &format!("/debug/pprof/allocs?pid={}", service.pid()));
    let ran = service.run("snapshot", &["now"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let live = |unit: &str| {
        let ran =
            wait(&service.world, service.world.tool(["report", "--by", "live", "--json", "now.memprof"]));
        let document: Value = serde_json::from_str(ran.text()).expect("it is JSON");
        number(&document, &format!("/total/live_{unit}"))
    };
    // Those of half a second ago may be given out.
    std::thread::sleep(Duration::from_millis(600));
    let metrics = get(&address, "/metrics");
    let pid = format!("pid=\"{}\"", service.pid());
    assert_eq!(
        metrics.value("memprof_live_bytes", &[&pid]),
        Some(live("bytes") as f64),
        "{}",
        metrics.text()
    );
    assert_eq!(metrics.value("memprof_live_blocks", &[&pid]), Some(live("blocks") as f64));
    if installed("go").is_some() {
        let path = |name: &str| service.world.path(name).to_str().expect("a plain name").to_owned();
        fs::write(path("heap.pb.gz"), &heap.body).unwrap();
        fs::write(path("allocs.pb.gz"), &allocs.body).unwrap();
        let ran = wait(
            &service.world,
            service.world.tool(["export", "now.memprof", "--format", "pprof", "--output", "now.pb.gz"]),
        );
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        for (file, index) in
            [("heap.pb.gz", "inuse_space"), ("heap.pb.gz", "inuse_objects"), ("allocs.pb.gz", "alloc_space")]
        {
            let expected = top(&service.world, &path("now.pb.gz"), index);
            assert!(
                expected.iter().any(|line| line.ends_with(" hold") || line.ends_with(" churn")),
                "{expected:?}"
            );
            assert_eq!(top(&service.world, &path(file), index), expected, "{index}");
        }
    } else {
        skip("go", "not installed, so profiles were not opened");
    }
    service.signal(Signal::CONT);
    end(collector, service);
}

/// Check that a change over some seconds has what was allocated in them, and no more.
#[test]
fn changes_are_of_their_time() {
    let service = Service::that_grows();
    let (collector, address) = serving(&service, &[]);
    service.work();
    let before = service.page.calls(0).mallocs_done;
    let change = get(&address, "/debug/pprof/heap?seconds=2");
    let calls = service.page.calls(0).mallocs_done - before;
    assert_eq!(change.status, 200, "{}", change.text());
    if installed("go").is_some() {
        fs::write(service.world.path("change.pb.gz"), &change.body).unwrap();
        let file = service.world.path("change.pb.gz").to_str().expect("a plain name").to_owned();
        let lines = top(&service.world, &file, "alloc_objects");
        let of = |function: &str| {
            let line = lines.iter().find(|line| line.split_whitespace().last() == Some(function));
            let line = line.unwrap_or_else(|| panic!("no {function} in {lines:?}"));
            let flat = line.split_whitespace().next().expect("it is no empty line").trim_end_matches('B');
            flat.parse::<u64>().expect("it is a number")
        };
        // Requests take their time, too, and a lap of a thousand calls counts when it is over.
        let most = calls + 1000;
        assert!(
            (1..=most).contains(&of("churn")) && (1..=most / 1000).contains(&of("hold")),
            "{calls}: {lines:?}"
        );
    }
    end(collector, service);
}

/// Has Prometheus' own checker read metrics.
fn check_by_promtool(world: &World, metrics: &Answer) {
    if installed("promtool").is_none() {
        return skip("promtool", "not installed, so metrics were not checked by it (scripts/validators)");
    }
    world.write("metrics", &metrics.body);
    let mut promtool = world.command("sh");
    promtool.args(["-c", "promtool check metrics < metrics"]);
    let ran = wait(world, promtool);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{}", metrics.text());
}

/// Check that metrics are what Prometheus takes, in both formats, and have what is known of the process.
#[test]
fn metrics_are_prometheus() {
    let service = Service::that_grows();
    let (collector, address) = serving(&service, &["--label", "version=1.2\"3", "--label", "pid=none"]);
    service.work();
    // The kernel counts a process' CPU time in hundredths of a second: it may be none yet.
    wait_for("names and CPU time", || {
        let page = get(&address, "/metrics");
        let cpu = page.value("memprof_process_cpu_seconds_total", &[]);
        cpu > Some(0.0) && page.text().contains("function=\"hold\"")
    });
    let older = get(&address, "/metrics");
    let open = get_with(&address, "/metrics", "Accept: application/openmetrics-text;version=1.0.0\r\n");
    assert!(older.head.contains("text/plain; version=0.0.4"), "{}", older.head);
    assert!(open.head.contains("application/openmetrics-text; version=1.0.0"), "{}", open.head);
    assert!(open.text().ends_with("\n# EOF\n") && !older.text().contains("# EOF"));
    let pid = format!("pid=\"{}\"", service.pid());
    let labels = [pid.as_str(), "comm=\"holds_and_churns\"", "version=\"1.2\\\"3\""];
    for name in [
        "memprof_live_bytes",
        "memprof_live_blocks",
        "memprof_allocated_bytes_total",
        "memprof_allocations_total",
        "memprof_frees_total",
        "memprof_resident_bytes",
        "memprof_process_cpu_seconds_total",
    ] {
        for answer in [&older, &open] {
            assert!(
                answer.value(name, &labels).is_some_and(|value| value > 0.0),
                "{name}: {}",
                answer.text()
            );
        }
    }
    assert_eq!(older.value("memprof_lost_events_total", &labels), Some(0.0));
    assert!(older.value("memprof_collector_cpu_seconds_total", &[]).is_some_and(|value| value > 0.0));
    let hold = older.value("memprof_function_live_bytes", &[&pid, "function=\"hold\""]);
    assert!(hold.is_some_and(|bytes| bytes >= 1024.0), "{}", older.text());
    let functions =
        older.text().lines().filter(|line| line.starts_with("memprof_function_live_bytes{")).count();
    assert!((1..=10).contains(&functions), "{}", older.text());
    check_by_promtool(&service.world, &older);
    end(collector, service);
}

/// Check that a real Prometheus takes the metrics, with a token, and that our rules have it raise an alert on a service
/// that leaks, which names the function that holds most.
#[test]
fn prometheus_raises_an_alert() {
    if installed("prometheus").is_none() || installed("promtool").is_none() {
        return skip("prometheus", "not installed, so our rules were not tried (scripts/validators)");
    }
    let service = Service::that_grows();
    let world = &service.world;
    let token = world.write("token", TOKEN);
    fs::set_permissions(&token, PermissionsExt::from_mode(0o600)).unwrap();
    let (collector, address) = serving(&service, &["--http-token-file", "token"]);
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/prometheus/memprof.rules.yml");
    let mut promtool = world.command("promtool");
    promtool.args(["check", "rules", "--lint=all", "--lint-fatal"]).arg(&rules);
    let ran = wait(world, promtool);
    assert_eq!(ran.code, 0, "{}{}", ran.text(), ran.stderr);
    // A leak of hours, in seconds.
    let shorter = [("30m", "2s"), ("3h", "6s"), ("for: 1h", "for: 1s")];
    let rules = fs::read_to_string(rules).unwrap();
    world.write("rules.yml", shorter.iter().fold(rules, |rules, (from, to)| rules.replace(from, to)));
    let target = address.trim_start_matches("http://");
    let config = format!(
        "global: {{ scrape_interval: 250ms, scrape_timeout: 250ms, evaluation_interval: 500ms }}\n\
         rule_files: [ rules.yml ]\nscrape_configs:\n  - job_name: memprof\n    static_configs: [ {{ targets: \
         [ \"{target}\" ] }} ]\n    authorization: {{ credentials_file: token }}\n"
    );
    world.write("prometheus.yml", config);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut prometheus = world.command("prometheus");
    prometheus.args(["--config.file=prometheus.yml", "--storage.tsdb.path=series"]);
    prometheus.arg(format!("--web.listen-address=127.0.0.1:{port}"));
    let prometheus = start(world, prometheus);
    let alert = || -> Option<Value> {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
        stream.write_all(b"GET /api/v1/alerts HTTP/1.0\r\n\r\n").ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        let document: Value = serde_json::from_str(text.split_once("\r\n\r\n")?.1).ok()?;
        let mut alerts = document["data"]["alerts"].as_array()?.iter();
        let is_leak =
            |alert: &&Value| alert["labels"]["alertname"] == "MemoryLeak" && alert["state"] == "firing";
        alerts.find(is_leak).cloned()
    };
    wait_for("the alert", || alert().is_some());
    let alert = alert().expect("it grows and grows");
    assert_eq!(alert["labels"]["pid"], service.pid(), "{alert}");
    let summary = alert["annotations"]["summary"].as_str().unwrap();
    assert!(summary.starts_with("holds_and_churns (") && summary.contains(" most of it by hold"), "{alert}");
    prometheus.signal(Signal::TERM);
    assert_eq!(prometheus.wait().code, 0);
    end(collector, service);
}

/// Check that functions of a script are named, not those of its interpreter that allocate for it.
#[test]
fn functions_of_scripts_are_named() {
    if installed("python3").is_none() {
        return skip("functions of scripts", "python3 is not installed");
    }
    let world = World::new();
    let script = "import time\nkept = []\nopen('ready', 'w')\ndef handle():\n    kept.append(bytearray(20000))\nwhile True:\n    \
                  handle()\n    time.sleep(0.01)\n";
    let mut python = world.command("python3");
    python.args(["-c", script]).env("LD_PRELOAD", agent(&world)).env("PYTHONMALLOC", "malloc");
    let python = start(&world, python);
    wait_for("the script", || world.path("ready").exists());
    let options = ["--output", "it.memprof", "--http", "127.0.0.1:0"];
    let collector = attach(&world, &python.pid().as_raw_nonzero().to_string(), &options);
    wait_for("the address", || collector.stderr().contains("Serving metrics"));
    let address = address(&collector);
    wait_for("names", || get(&address, "/metrics").text().contains("memprof_function_live_bytes{"));
    let metrics = get(&address, "/metrics");
    let held = metrics.value("memprof_function_live_bytes", &["function=\"handle\""]);
    assert!(held.is_some_and(|bytes| bytes >= 20000.0), "{}", metrics.text());
    collector.signal(Signal::INT);
    assert_eq!(collector.wait().code, 0);
    python.signal(Signal::KILL);
    assert_eq!(python.wait().code, 128 + 9);
}

/// Check that what a process calls itself and says of itself, whatever that is, makes metrics neither long nor wrong.
#[test]
fn labels_of_hostile_processes_are_bounded() {
    let world = World::new();
    let program = world.path("a\"},{\n# \\ \u{1b}[2J");
    copy_program(c("counts_its_calls").flags(["-O1"]).build(), &program);
    let page = Page::new(&world);
    let mut command = world.command(&program);
    let bomb: Vec<String> = (0..3000).map(|number| format!("k{number}\"=}}\n{}", "v".repeat(20))).collect();
    command.arg(&page.path).args(["1", "5000"]).env("LD_PRELOAD", agent(&world));
    command.env("OTEL_RESOURCE_ATTRIBUTES", bomb.join(",")).env("POD_NAME", "p".repeat(100_000));
    let service = start(&world, command);
    page.wait_for_calls(1, 1000);
    let options = ["--output", "it.memprof", "--http", "127.0.0.1:0"];
    let collector = attach(&world, &service.pid().as_raw_nonzero().to_string(), &options);
    wait_for("the address", || collector.stderr().contains("Serving metrics"));
    let address = address(&collector);
    wait_for("numbers", || get(&address, "/metrics").value("memprof_live_bytes", &[]).is_some());
    let metrics = get(&address, "/metrics");
    for line in metrics.text().lines().filter(|line| !line.starts_with('#')) {
        assert!(line.len() < 16 * 300 && line.matches("=\"").count() <= 20, "{line}");
        let (_, number) = line.rsplit_once(' ').expect("a name and a number");
        assert!(line.starts_with("memprof_") && number.parse::<f64>().is_ok(), "{line}");
    }
    check_by_promtool(&world, &metrics);
    collector.signal(Signal::INT);
    assert_eq!(collector.wait().code, 0);
    page.stop();
    assert_eq!(service.wait().code, 5);
}

/// Check that only those with the token are answered, that a token must be a secret, that other machines need one, and
/// that a web page of another name gets nothing.
#[test]
fn strangers_get_nothing() {
    let service = Service::new(1);
    let token = service.world.path("token");
    fs::write(&token, TOKEN).unwrap();
    let refused = |options: &[&str], what: &str| {
        let ran = service.run("attach", options);
        assert!(ran.code == 2 && ran.stderr.contains(what), "{options:?}: {}", ran.stderr);
    };
    fs::set_permissions(&token, PermissionsExt::from_mode(0o644)).unwrap();
    refused(&["--http", "127.0.0.1:0", "--http-token-file", "token"], "no secret");
    refused(&["--http", "0.0.0.0:0"], "--http-token-file");
    refused(&["--http", "nowhere"], "no address");
    fs::set_permissions(&token, PermissionsExt::from_mode(0o600)).unwrap();
    let (collector, address) = serving(&service, &["--http-token-file", "token"]);
    for target in ["/healthz", "/metrics", "/debug/pprof/heap"] {
        for headers in ["", "Authorization: Bearer wrong\r\n", "Authorization: Basic eDp5\r\n"] {
            assert_eq!(get_with(&address, target, headers).status, 401, "{target} {headers}");
        }
        assert_eq!(
            get_with(&address, target, &format!("Authorization: Bearer {TOKEN}\r\n")).status,
            200,
            "{target}"
        );
    }
    end(collector, service);
    let service = Service::new(1);
    let (collector, address) = serving(&service, &[]);
    let mut stream = TcpStream::connect(address.trim_start_matches("http://")).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 421"), "{text}");
    end(collector, service);
}

/// Check that thousands of scrapes, slow clients and long requests cost the collector little memory and few threads, and
/// the recording nothing.
#[test]
fn clients_cost_the_recording_nothing() {
    let service = Service::new(2);
    let (collector, address) = serving(&service, &[]);
    let host = address.trim_start_matches("http://").to_owned();
    service.work();
    assert_eq!(get(&address, "/metrics").status, 200);
    let status = || fs::read_to_string(format!("/proc/{}/status", collector.pid().as_raw_nonzero())).unwrap();
    let field = |name: &str| -> u64 {
        let status = status();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("it is there");
        line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("it is a number")
    };
    let (memory, threads) = (field("VmRSS:"), field("Threads:"));
    let connect = || TcpStream::connect(&host).expect("it listens");
    let slow: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream = connect();
            // The oldest may be closed already.
            let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\nHost:");
            stream
        })
        .collect();
    for _ in 0..20 {
        let mut stream = connect();
        let _ = stream.write_all(format!("GET /{} HTTP/1.1\r\n", "x".repeat(1 << 20)).as_bytes());
    }
    let mut scraper = connect();
    let request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for _ in 0..10_000 {
        scraper.write_all(request).unwrap();
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            scraper.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        let head = String::from_utf8_lossy(&head).to_lowercase();
        assert!(head.starts_with("http/1.1 200"), "{head}");
        let length =
            head.lines().find_map(|line| line.strip_prefix("content-length: ")).expect("it has a length");
        scraper.read_exact(&mut vec![0; length.trim().parse().unwrap()]).unwrap();
    }
    assert!(field("Threads:") <= threads + 10, "{} of {threads}", field("Threads:"));
    assert!(field("VmRSS:") < memory + (64 << 10), "{} KiB of {memory}", field("VmRSS:"));
    drop(slow);
    service.work();
    let world = end(collector, service);
    let info = crate::harness::info(&world, "it.memprof");
    crate::harness::assert_exact(&info, 2);
}

/// Check that a daemon serves all of its recordings at a socket that is its user's alone, that a profile is of one, and
/// that one which is over has none.
#[test]
fn daemon_serves_all_recordings() {
    let service = Service::that_grows();
    let other = Service::that_grows();
    let socket = service.world.path("http");
    let place = format!("unix:{}", socket.display());
    let daemon = start(&service.world, service.world.tool(["daemon", "--folder", ".", "--http", &place]));
    wait_for("the daemon", || daemon.stderr().contains("until ^C"));
    assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(get(&place, "/healthz").text(), "ok\n");
    assert_eq!(get(&place, "/debug/pprof/heap").status, 404);
    assert_eq!(get(&place, "/metrics").value("memprof_recorded_processes", &[]), Some(0.0));
    for started in [&service, &other] {
        let ran = wait(&service.world, service.world.tool(["daemon", "start", &started.pid()]));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        started.work();
    }
    std::thread::sleep(Duration::from_millis(600));
    let metrics = get(&place, "/metrics");
    for service in [&service, &other] {
        let pid = format!("pid=\"{}\"", service.pid());
        assert!(
            metrics.value("memprof_live_bytes", &[&pid]).is_some_and(|bytes| bytes > 0.0),
            "{}",
            metrics.text()
        );
        assert_eq!(get(&place, &format!("/debug/pprof/heap?pid={}", service.pid())).status, 200);
    }
    let several = get(&place, "/debug/pprof/heap");
    assert!(several.status == 400 && several.text().contains(&other.pid()), "{}", several.text());
    let ran = wait(&service.world, service.world.tool(["daemon", "stop", &other.pid()]));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(get(&place, &format!("/debug/pprof/heap?pid={}", other.pid())).status, 404);
    assert_eq!(get(&place, "/debug/pprof/heap").status, 200);
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.wait().code, 0);
    assert!(!socket.exists());
    other.stop();
    service.stop();
}

/// Check that an aggregated recording has metrics of processes, and says why it has no profiles.
#[test]
fn aggregated_recordings_have_metrics() {
    let service = Service::of(&c("holds_and_churns").flags(["-O1"]));
    let (collector, address) = serving(&service, &["--aggregate"]);
    service.work();
    std::thread::sleep(Duration::from_millis(600));
    let metrics = get(&address, "/metrics");
    assert!(metrics.value("memprof_live_bytes", &[]).is_some_and(|bytes| bytes > 0.0), "{}", metrics.text());
    let heap = get(&address, "/debug/pprof/heap");
    assert!(heap.status == 501 && heap.text().contains("aggregated"), "{}", heap.text());
    end(collector, service);
}
