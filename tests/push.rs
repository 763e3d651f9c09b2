//! Profiles of recordings that go on arrive at a receiver, whatever that does, and nothing is counted twice.
//!
//! Receivers are Python's server of HTTP and TLS, with a private authority that OpenSSL makes; OTLP is read by
//! OpenTelemetry's own code (`scripts/validators`).

use crate::harness::{
    Capture, Recording, Request, Running, Server, Service, World, attach, c, info, installed, number, record,
    skip, start, start_collector, validator, wait, wait_for,
};
use flate2::read::GzDecoder;
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The parts of a form, by name.
fn parts(content_type: &str, body: &[u8]) -> Vec<(String, Vec<u8>)> {
    let (_, boundary) = content_type.split_once("boundary=").expect("a form has a boundary");
    let mark = format!("--{}", boundary.lines().next().unwrap_or_default().trim()).into_bytes();
    let mut places: Vec<usize> = Vec::new();
    places.extend((0..body.len().saturating_sub(mark.len())).filter(|&at| body[at..].starts_with(&mark)));
    let part = |pair: &[usize]| {
        let part = &body[pair[0] + mark.len() + 2..pair[1] - 2];
        let head = part.windows(4).position(|four| four == b"\r\n\r\n").expect("a part has a head");
        let name = String::from_utf8_lossy(&part[..head]).into_owned();
        let name =
            name.split("name=\"").nth(1).and_then(|rest| rest.split('"').next()).map(ToOwned::to_owned);
        (name.expect("a part has a name"), part[head + 4..].to_vec())
    };
    places.windows(2).map(part).collect()
}

/// The contents of a pprof profile.
struct Profile {
    /// Sums over all samples: allocated objects and bytes, objects and bytes in use, and so on.
    sums: Vec<u64>,
    /// Start in nanoseconds since the Unix epoch, and duration.
    time: u64,
    duration: u64,
}

impl Profile {
    fn decode(profile: &[u8]) -> Profile {
        let mut bytes = Vec::new();
        GzDecoder::new(profile).read_to_end(&mut bytes).expect("profiles are compressed with gzip");
        let fields = fields(&bytes);
        let mut sums = Vec::new();
        for (_, sample) in fields.iter().filter(|(number, _)| *number == 2) {
            let values = self::fields(sample.bytes()).into_iter().find(|(number, _)| *number == 2);
            let values = values.map(|(_, values)| values);
            let mut values = values.as_ref().map_or(&[][..], Field::bytes);
            for place in 0.. {
                if values.is_empty() {
                    break;
                }
                sums.resize(sums.len().max(place + 1), 0);
                sums[place] += varint(&mut values);
            }
        }
        let number = |wanted| {
            let found = fields.iter().find(|(number, _)| *number == wanted);
            found.map_or(0, |(_, field)| field.number())
        };
        Profile { sums, time: number(9), duration: number(10) }
    }

    fn sums(&self, from: usize) -> [u64; 2] {
        [from, from + 1].map(|place| self.sums.get(place).copied().unwrap_or_default())
    }
}

/// The value of a field.
enum Field {
    Number(u64),
    Bytes(Vec<u8>),
}

impl Field {
    fn bytes(&self) -> &[u8] {
        match self {
            Field::Bytes(bytes) => bytes,
            Field::Number(number) => panic!("{number} is no message"),
        }
    }

    fn number(&self) -> u64 {
        match self {
            Field::Number(number) => *number,
            Field::Bytes(bytes) => panic!("{bytes:?} is no number"),
        }
    }
}

/// The fields of a message.
fn fields(mut message: &[u8]) -> Vec<(u64, Field)> {
    let mut all = Vec::new();
    while !message.is_empty() {
        let tag = varint(&mut message);
        let value = varint(&mut message);
        let value = if tag & 7 == 2 {
            let (field, rest) = message.split_at(usize::try_from(value).expect("it is in the message"));
            message = rest;
            Field::Bytes(field.to_vec())
        } else {
            Field::Number(value)
        };
        all.push((tag >> 3, value));
    }
    all
}

/// The number after a key in the first line of a request.
fn parameter(request: &Request, key: &str) -> u64 {
    let (_, rest) = request.line.split_once(&format!("&{key}=")).expect("the parameter is there");
    let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().expect("it is a number")
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for place in 0.. {
        let Some((&byte, rest)) = bytes.split_first() else { return value };
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            break;
        }
    }
    value
}

/// The profile in a request to Pyroscope.
fn profile(content_type: &str, body: &[u8]) -> Profile {
    let parts = parts(content_type, body);
    assert_eq!((&*parts[0].0, &*parts[1].0), ("profile", "sample_type_config"));
    assert!(String::from_utf8_lossy(&parts[1].1).contains("inuse_space"));
    Profile::decode(&parts[0].1)
}

/// The value of a header.
fn header<'a>(request: &'a Request, name: &str) -> &'a str {
    let mut lines = request.headers.lines().filter_map(|line| line.split_once(':'));
    lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).expect("the header is there").1.trim()
}

/// Each interval begins where the one before has ended, and all together are the recording.
fn assert_whole(sent: &[Profile], capture: &Capture) {
    let sums = |place: usize| sent.iter().map(|profile| profile.sums(0)[place]).sum::<u64>();
    assert_eq!(sums(0), capture.number("/totals/allocations"));
    assert_eq!(sums(1), capture.number("/totals/allocated_bytes"));
    let held = sent.last().map(|profile| profile.sums(2)).unwrap_or_default();
    assert_eq!(held, [capture.number("/totals/leaked_blocks"), capture.number("/totals/leaked_bytes")]);
    assert!(
        sent.windows(2).all(|pair| pair[0].time + pair[0].duration == pair[1].time),
        "no time is left out"
    );
    let (first, last) = (&sent[0], &sent[sent.len() - 1]);
    let (time, duration) = (last.time + last.duration - first.time, capture.number("/duration_ns"));
    // A capture ends with its last event, an interval when it is cut.
    assert!((duration..duration + 1_000_000_000).contains(&time), "{time} {duration}");
}

/// A receiver in Python.
struct Receiver {
    folder: PathBuf,
    port: u16,
    /// Certificate and key.
    identity: Vec<PathBuf>,
    running: Option<Running>,
}

/// A request that it has accepted.
struct Accepted {
    path: String,
    headers: Value,
    body: PathBuf,
}

impl Receiver {
    /// Starts one that behaves like this; none if Python is not installed.
    fn start(
        world: &World,
        behaviours: &str,
        identity: &[PathBuf],
        secret: Option<&str>,
    ) -> Option<Receiver> {
        if installed("python3").is_none() {
            skip("a receiver", "python3 is not installed");
            return None;
        }
        let mut folders = (0..).map(|number| world.path(&format!("received.{number}")));
        let folder = folders.find(|folder| fs::create_dir(folder).is_ok()).expect("one is new");
        let mut receiver = Receiver { folder, port: 0, identity: identity.to_vec(), running: None };
        receiver.restart(world, behaviours, secret);
        Some(receiver)
    }

    /// Starts it, again at the same port.
    fn restart(&mut self, world: &World, behaviours: &str, secret: Option<&str>) {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/python/receives_profiles.py");
        let mut python = world.command("python3");
        python.arg(script).arg(&self.folder).arg(self.port.to_string()).arg(behaviours).args(&self.identity);
        python.envs(secret.map(|secret| ("AUTHORIZATION", secret)));
        self.running = Some(start(world, python));
        let place = self.folder.join("port");
        wait_for("the receiver", || place.exists());
        self.port = fs::read_to_string(&place).expect("it was written").parse().expect("it is a port");
        fs::remove_file(place).expect("it is ours");
    }

    fn url(&self) -> String {
        let scheme = if self.identity.is_empty() { "http" } else { "https" };
        format!("{scheme}://localhost:{}", self.port)
    }

    fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.signal(Signal::KILL);
            running.wait();
        }
    }

    /// What it has accepted so far, in order.
    fn accepted(&self) -> Vec<Accepted> {
        let mut files: Vec<PathBuf> = fs::read_dir(&self.folder)
            .expect("it is there")
            .map(|file| file.expect("it can be read").path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
            .collect();
        files.sort();
        let accepted = |file: PathBuf| {
            let head: Value =
                serde_json::from_slice(&fs::read(&file).expect("it is there")).expect("it is JSON");
            let path = head["path"].as_str().expect("there is a path").to_owned();
            Accepted { path, headers: head["headers"].clone(), body: file.with_extension("body") }
        };
        files.into_iter().map(accepted).collect()
    }

    /// The profiles of these, as Pyroscope gets them.
    fn profiles(&self) -> Vec<Profile> {
        let decode = |one: Accepted| {
            let content_type = one.headers["content-type"].as_str().expect("it is there").to_owned();
            profile(&content_type, &fs::read(one.body).expect("it is there"))
        };
        self.accepted().into_iter().map(decode).collect()
    }

    /// What it did with each request, and which that was.
    fn log(&self) -> Vec<(String, String)> {
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        let pair = |line: &str| line.split_once(' ').map(|(did, id)| (did.to_owned(), id.to_owned()));
        log.lines().filter_map(pair).collect()
    }

    /// The ids of accepted requests: none is there twice.
    fn assert_unique(&self) {
        let ids: Vec<String> = (self.accepted().iter())
            .map(|one| one.headers["idempotency-key"].as_str().expect("it has an id").to_owned())
            .collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{ids:?}");
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        // What a failed test leaves ends with it.
        if !std::thread::panicking() {
            self.stop();
        }
    }
}

/// A certificate for this machine, its key, and the authority that has signed it; none without OpenSSL.
fn identity(world: &World) -> Option<([PathBuf; 2], PathBuf)> {
    if installed("openssl").is_none() {
        skip("TLS", "openssl is not installed");
        return None;
    }
    let openssl = |arguments: &str| {
        let mut command = world.command("openssl");
        command.args(arguments.split(' '));
        let ran = wait(world, command);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    };
    let (ca, ca_key, key, certificate) = ("ca.pem", "ca.key", "server.key", "server.pem");
    openssl(&format!(
        "req -x509 -newkey rsa:2048 -nodes -keyout {ca_key} -out {ca} -days 2 -subj /CN=ours \
         -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign"
    ));
    openssl(&format!(
        "req -x509 -newkey rsa:2048 -nodes -keyout {key} -out {certificate} -days 2 -subj /CN=localhost -CA {ca} \
         -CAkey {ca_key} -addext basicConstraints=critical,CA:FALSE -addext subjectAltName=DNS:localhost"
    ));
    Some(([world.path(certificate), world.path(key)], world.path(ca)))
}

/// Where a recording keeps what was not accepted.
fn spool_of(capture: &Capture) -> PathBuf {
    capture.file().with_extension("memprof.push")
}

/// A program that allocates in three seconds, and what it leaves, recorded with these options.
fn slow_program(world: World, options: &[&str]) -> Recording {
    let program = c("allocates_for_seconds").flags(["-O1"]).build();
    record(program).arg("12").world(world).options(options)
}

/// Check that the intervals of a recording add up to what its capture reports, though the server refuses some, that each
/// says of whom and when it is, and that one which is sent again has the same id.
#[test]
fn intervals_add_up_to_the_recording() {
    let server = Server::start(&[503, 200, 503, 429, 200]);
    let options =
        ["--push", &server.address, "--push-every", "200ms", "--push-name", "app", "--label", "env=test"];
    let options = [&options[..], &["--push-header", "X-Scope-OrgID:team"]].concat();
    let (_, capture) = slow_program(World::new(), &options).succeed();
    let all = server.requests();
    let taken: Vec<&Request> = all.iter().filter(|request| request.code == 200).collect();
    let sent: Vec<Profile> =
        taken.iter().map(|request| profile(header(request, "content-type"), &request.body)).collect();
    assert_whole(&sent, &capture);
    for (request, profile) in taken.iter().zip(&sent) {
        assert!(request.line.starts_with("POST /ingest?name=app%7Benv%3Dtest%7D&from="), "{}", request.line);
        assert!(request.line.contains("&format=pprof&"), "{}", request.line);
        assert_eq!(header(request, "x-scope-orgid"), "team");
        let (from, until) = (parameter(request, "from"), parameter(request, "until"));
        assert!(from == profile.time / 1_000_000_000 && from < until, "{}", request.line);
    }
    let ids = |requests: &mut dyn Iterator<Item = &Request>| {
        requests.map(|request| header(request, "idempotency-key").to_owned()).collect::<Vec<_>>()
    };
    let (every, accepted) = (ids(&mut all.iter()), ids(&mut taken.iter().copied()));
    assert_eq!(accepted.iter().collect::<BTreeSet<_>>().len(), accepted.len(), "none is accepted twice");
    assert_eq!(
        (&every[0], &every[2], &every[2]),
        (&every[1], &every[3], &every[4]),
        "the same is sent again"
    );
    assert!(!spool_of(&capture).exists(), "nothing is left");
}

/// Check that OpenTelemetry's code reads what is sent over TLS, with the sums of the report, names and process; that a
/// private authority is trusted if it is named, and nobody else is; and that a token arrives.
#[test]
fn otlp_arrives_over_tls() {
    let world = World::new();
    let Some((identity, ca)) = identity(&world) else { return };
    let Some(receiver) = Receiver::start(&world, "503,503,503,200", &identity, Some("Bearer s3cret")) else {
        return;
    };
    let token = world.write("token", "s3cret\n");
    fs::set_permissions(&token, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let url = format!("{}/v1development/profiles", receiver.url());
    let of_token = ["--push", &url, "--push-auth-file", token.to_str().unwrap(), "--push-every", "300ms"];
    let untrusted = world.path("untrusted.memprof");
    let mut tool = world.tool(["run", "--push-spool", "untrusted.push"]);
    tool.args(of_token)
        .arg("-o")
        .arg(&untrusted)
        .arg("--")
        .arg(c("allocates_for_seconds").flags(["-O1"]).build());
    let ran = wait(&world, tool);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("certificate") && ran.stderr.contains("untrusted.push"), "{}", ran.stderr);
    assert!(receiver.log().is_empty(), "nothing was sent to it");
    let options = [&of_token[..], &["--push-ca", ca.to_str().unwrap(), "--label", "env=test"]].concat();
    let (_, capture) = slow_program(World::new(), &options).with_names().succeed();
    receiver.assert_unique();
    let log = receiver.log();
    assert_eq!(
        log.iter().map(|(did, _)| did.as_str()).take(4).collect::<Vec<_>>(),
        ["503", "503", "503", "200"]
    );
    assert!(
        log[..4].iter().all(|(_, id)| *id == log[0].1),
        "the first one is sent until it is accepted: {log:?}"
    );
    let accepted = receiver.accepted();
    assert!(accepted.len() > 3 && accepted.iter().all(|one| one.path == "/v1development/profiles"));
    let Some(packages) = installed("python3").and_then(|_| validator("python/opentelemetry")) else {
        return skip("profiles of OTLP", "python3 or scripts/validators is missing");
    };
    let mut decode = capture.world().command("python3");
    decode
        .env("PYTHONPATH", packages.with_file_name(""))
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/python/decodes_otlp.py"));
    decode.args(accepted.iter().map(|one| &one.body));
    let ran = wait(capture.world(), decode);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let profiles: Vec<Value> = serde_json::from_str(ran.text()).expect("it is JSON");
    assert_eq!(profiles.len(), 4 * accepted.len());
    let of = |kind: &str| profiles.iter().filter(|one| one["type"] == kind).cloned().collect::<Vec<_>>();
    let sum = |kind: &str| of(kind).iter().filter_map(|one| one["sum"].as_u64()).sum::<u64>();
    assert_eq!(sum("alloc_objects"), capture.number("/totals/allocations"));
    assert_eq!(sum("alloc_space"), capture.number("/totals/allocated_bytes"));
    let last = |kind: &str| of(kind).last().unwrap()["sum"].as_u64();
    assert_eq!(last("inuse_objects"), Some(capture.number("/totals/leaked_blocks")));
    assert_eq!(last("inuse_space"), Some(capture.number("/totals/leaked_bytes")));
    let ids: BTreeSet<&str> = profiles.iter().filter_map(|one| one["id"].as_str()).collect();
    assert!(ids.len() == profiles.len() && ids.iter().all(|id| id.len() == 32), "{ids:?}");
    for one in &profiles {
        let name = "allocates_for_seconds";
        assert_eq!(
            one["resource"]["service.name"].as_str().map(|found| found.starts_with(name)),
            Some(true),
            "{one}"
        );
        assert_eq!(one["resource"]["env"], "test");
        assert!(one["attributes"][0]["process.pid"].as_u64().is_none_or(|pid| pid > 0));
    }
    let stacks = of("alloc_space");
    let stacks = stacks.iter().filter_map(|one| one["stacks"].as_object()).flat_map(|stacks| stacks.keys());
    let is_named = |stack: &String| stack.starts_with("keep<main") || stack.starts_with("churn<main");
    assert!(stacks.clone().count() > 0 && stacks.clone().any(is_named), "{:?}", stacks.collect::<Vec<_>>());
    let of_objects = of("alloc_objects");
    let end = |one: &Value| one["time"].as_u64().unwrap() + one["duration"].as_u64().unwrap();
    assert!(of_objects.windows(2).all(|pair| end(&pair[0]) == pair[1]["time"].as_u64().unwrap()));
}

/// Check that neither a connection that is cut within a request, nor a receiver that is killed and started again, loses
/// or doubles an interval, and that they arrive in order.
#[test]
fn cuts_and_restarts_lose_nothing() {
    let world = World::new();
    let Some(mut receiver) = Receiver::start(&world, "200,cut,200", &[], None) else { return };
    let url = receiver.url();
    let recording = slow_program(World::new(), &["--push", &url, "--push-every", "200ms"]);
    let running = recording.start();
    wait_for("the first profiles", || receiver.accepted().len() > 2);
    receiver.stop();
    wait_for("a failure", || running.stderr().matches("cannot send").count() > 1);
    receiver.restart(&world, "503,200", None);
    let ran = running.wait();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let capture = recording.capture();
    receiver.assert_unique();
    let log = receiver.log();
    let cut = log.iter().position(|(did, _)| did == "cut").expect("one was cut");
    assert_eq!(log[cut].1, log[cut + 1].1, "it is sent again, before others");
    assert_whole(&receiver.profiles(), &capture);
    assert!(ran.stderr.contains("accepts profiles again"), "{}", ran.stderr);
}

/// Check that a wrong token is said once, with the first line of the answer, that a redirection is not followed, and that
/// secrets on a command line are refused before anything runs.
#[test]
fn refusals_are_said_once() {
    let world = World::new();
    let Some(receiver) = Receiver::start(&world, "200", &[], Some("Basic dTpwIHc=")) else { return };
    let url = receiver.url();
    let secret = world.write("secret", "u:wrong");
    fs::set_permissions(&secret, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let options = ["--push", &url, "--push-every", "200ms", "--push-auth-file", secret.to_str().unwrap()];
    let (ran, _) = slow_program(World::new(), &options).succeed();
    let said = "answers 401: wrong token. The profile is not sent again";
    assert_eq!(ran.stderr.matches(said).count(), 1, "{}", ran.stderr);
    assert!(!ran.stderr.contains("and more") && !ran.stderr.contains("u:wrong"), "{}", ran.stderr);
    let tries = receiver.log().len();
    assert!(ran.stderr.contains(&format!("{tries} profiles refused")), "each is tried once: {}", ran.stderr);
    // Whom a redirection leads to must not get the secret.
    fs::write(&secret, "u:p w").unwrap();
    let redirect = format!("redirect={url}/ingest");
    let redirecting = Receiver::start(&world, &redirect, &[], None).expect("there was one before");
    let there = redirecting.url();
    let options = ["--push", &there, "--push-every", "1m", "--push-auth-file", secret.to_str().unwrap()];
    let (ran, _) = slow_program(World::new(), &options).succeed();
    assert!(ran.stderr.contains("answers 307, a redirection to"), "{}", ran.stderr);
    assert_eq!(receiver.log().len(), tries, "nothing was sent on");
    let options = ["--push", &url, "--push-every", "1m", "--push-auth-file", secret.to_str().unwrap()];
    let (_, capture) = slow_program(World::new(), &options).succeed();
    assert_whole(&receiver.profiles(), &capture);
    fs::set_permissions(&secret, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    for (options, reason) in [
        (&["--push", "http://u:p@localhost"][..], "--push-auth-file"),
        (&["--push", &url, "--push-header", "Authorization: Bearer x"], "--push-auth-file"),
        (&["--push", &url, "--push-auth-file", secret.to_str().unwrap()], "everybody can read"),
        (&["--push", "localhost"], "expected https://"),
        (&["--push", &url, "--push-ca", "none"], "cannot read the certificates"),
        (&["--push", &url, "--aggregate"], "--push needs a capture"),
        (&["--push", &url, "-o", "-"], "--push needs a capture"),
        (&["--push-every", "1s"], "--push <URL>"),
    ] {
        let mut tool = world.tool(["run"]);
        tool.args(options).args(["--", "touch", "ran"]);
        let ran = wait(&world, tool);
        assert!(ran.code == 2 && ran.stderr.contains(reason), "{options:?}: {} {}", ran.code, ran.stderr);
        assert!(!world.path("ran").exists(), "{options:?}");
    }
}

/// Check that a recording ends in time though nobody listens, that what was not sent stays, and is sent by `export --push`;
/// and that a spool has no more than it may, with the newest profiles.
#[test]
fn what_is_left_stays_in_the_spool() {
    let world = World::new();
    let Some(mut receiver) = Receiver::start(&world, "200", &[], None) else { return };
    receiver.stop();
    let url = receiver.url();
    let begun = Instant::now();
    let (ran, capture) = slow_program(World::new(), &["--push", &url, "--push-every", "200ms"]).succeed();
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    let spool = spool_of(&capture);
    let left = fs::read_dir(&spool).expect("it is there").count();
    assert!(left > 3 && ran.stderr.contains(&format!("not sent yet: {left} profiles")), "{}", ran.stderr);
    let push = |to: &str| {
        let mut tool = capture.world().tool(["export", "--push", to]);
        tool.arg(&spool);
        wait(capture.world(), tool)
    };
    let other = push("http://localhost:1");
    assert!(other.code == 2 && other.stderr.contains("for another receiver"), "{}", other.stderr);
    receiver.restart(&world, "503,200", None);
    let ran = push(&url);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains(&format!("Pushed {left} profiles")), "{}", ran.stderr);
    assert!(!spool.exists());
    receiver.assert_unique();
    assert_whole(&receiver.profiles(), &capture);
    receiver.stop();
    let options = ["--push", &url, "--push-every", "200ms", "--push-spool-size", "5K"];
    let (ran, _) = slow_program(World::new(), &options).succeed();
    assert!(
        ran.stderr.contains("is full: the oldest profiles") && ran.stderr.contains("lost for want of room"),
        "{}",
        ran.stderr
    );
}

/// Check that a server which answers without end, or not at all, or with too much, delays neither the program nor the
/// end of its recording, and takes no memory.
#[test]
fn hostile_servers_are_left() {
    let world = World::new();
    for behaviour in ["endless", "huge", "slow", "silent"] {
        let Some(receiver) = Receiver::start(&world, behaviour, &[], None) else { return };
        let url = receiver.url();
        let recording = slow_program(World::new(), &["--push", &url, "--push-every", "200ms"]);
        let begun = Instant::now();
        let running = recording.start();
        let status = format!("/proc/{}/status", running.pid().as_raw_nonzero());
        let mut most = 0;
        while let Some(peak) = peak_of(&status) {
            most = most.max(peak);
            std::thread::sleep(Duration::from_millis(50));
            assert!(begun.elapsed() < Duration::from_secs(60), "{behaviour}");
        }
        let ran = running.wait();
        assert_eq!(ran.code, 0, "{behaviour}: {}", ran.stderr);
        assert!(most > 0 && most < 300 << 10, "{behaviour}: {most} KiB");
        assert!(ran.stderr.contains("not sent yet"), "{behaviour}: {}", ran.stderr);
        let capture = recording.capture();
        assert_eq!(capture.number("/lost/events"), 0, "{behaviour}");
    }
}

/// The most memory that a process had, in KiB; none once it has ended.
fn peak_of(status: &str) -> Option<u64> {
    let status = fs::read_to_string(status).ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok())
}

/// Check that `attach` pushes under the name of the program.
#[test]
fn attach_pushes() {
    let server = Server::start(&[200]);
    let service = Service::that_grows();
    let options = ["--output", "it.memprof", "--push", &server.address, "--push-every", "200ms"];
    let collector = attach(&service.world, &service.pid(), &options);
    service.work();
    service.work();
    collector.signal(Signal::INT);
    let ran = collector.wait();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let world = service.stop();
    let file = world.path("it.memprof");
    let capture = Capture::new(world, file);
    let all = server.requests();
    assert!(all.iter().all(|request| request.line.starts_with("POST /ingest?name=holds_and_churns")));
    let sent: Vec<Profile> =
        all.iter().map(|request| profile(header(request, "content-type"), &request.body)).collect();
    assert_whole(&sent, &capture);
    assert!(sent[sent.len() - 1].sums(2)[1] >= 10 << 10, "what is held is there");
}

/// Check that nothing is left out or sent twice where a recording goes on in another capture, whether full ones are kept
/// or not, and when it ends by itself.
#[test]
fn series_of_captures_are_pushed() {
    for limits in [&["--max-size", "64K"][..], &["--max-size", "64K", "--keep", "1"], &["--duration", "3s"]] {
        let server = Server::start(&[200]);
        let service = Service::new(2);
        let options = ["--output", "it.memprof", "--push", &server.address, "--push-every", "200ms"];
        let collector = attach(&service.world, &service.pid(), &[&options[..], limits].concat());
        let before = service.page.calls(0).mallocs_done;
        service.work();
        let calls = service.page.calls(0).mallocs_done - before;
        if limits.contains(&"--max-size") {
            wait_for("the third capture", || service.world.path("it.3.memprof").exists());
            collector.signal(Signal::INT);
        }
        let ran = collector.wait();
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let all = server.requests();
        let ids: BTreeSet<&str> = all.iter().map(|request| header(request, "idempotency-key")).collect();
        assert_eq!(ids.len(), all.len());
        let objects = |request: &Request| profile(header(request, "content-type"), &request.body).sums(0)[0];
        let pushed: u64 = all.iter().map(objects).sum();
        assert!(pushed >= calls, "{pushed} of {calls}");
        let files = fs::read_dir(service.world.folder()).unwrap().map(|file| file.unwrap().path());
        let captures: Vec<PathBuf> =
            files.filter(|path| path.extension().is_some_and(|ending| ending == "memprof")).collect();
        let recorded: u64 = (captures.iter())
            .map(|path| number(&info(&service.world, path.to_str().unwrap()), "/totals/allocations"))
            .sum();
        let is_kept = !limits.contains(&"--keep");
        let is_right = if is_kept { pushed == recorded } else { pushed > recorded };
        assert!(is_right, "{limits:?}: {pushed} of {recorded}: {captures:?} {}", ran.stderr);
        assert!(!service.world.path("it.memprof.push").exists(), "nothing is left");
        service.stop();
    }
}

/// Check that a daemon pushes what it records, also if it is told to stop before an interval has ended.
#[test]
fn daemon_pushes() {
    let server = Server::start(&[200]);
    let service = Service::that_grows();
    let mut tool = service.world.tool(["daemon", "--folder", "."]);
    tool.args(["--push", &server.address, "--push-every", "1m", "--push-name", "it"]);
    let daemon = start_collector(&service.world, tool);
    let ask = |what: &str| wait(&service.world, service.world.tool(["daemon", what, &service.pid()]));
    let ran = ask("start");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    service.work();
    let ran = ask("stop");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let mut all = Vec::new();
    wait_for("the last interval", || {
        all.extend(server.requests());
        !all.is_empty()
    });
    daemon.signal(Signal::TERM);
    let ran = daemon.wait();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(all.len() == 1 && all[0].line.starts_with("POST /ingest?name=it&"), "{}", all[0].line);
    let sent = profile(header(&all[0], "content-type"), &all[0].body);
    assert!(sent.sums(0)[0] >= 20_000, "{:?}", sent.sums);
    assert!(!service.world.path("daemon.push").exists());
    service.stop();
}
