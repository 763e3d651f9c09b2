//! Profiles arrive at a server, byte for byte, while a recording goes on, and nothing is counted twice.

use crate::harness::{Burst, Capture, Request, Server, World, c, record, start, wait};
use flate2::read::GzDecoder;
use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::thread;
use std::time::Duration;

/// The parts of a form, by name.
fn parts(request: &Request) -> Vec<(String, Vec<u8>)> {
    let (_, boundary) = request.headers.split_once("boundary=").expect("a form has a boundary");
    let mark = format!("--{}", boundary.lines().next().unwrap_or_default().trim()).into_bytes();
    let mut places: Vec<usize> = Vec::new();
    let body = &request.body;
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

/// Seconds since the Unix epoch.
fn now() -> u64 {
    std::time::UNIX_EPOCH.elapsed().expect("it is later than 1970").as_secs()
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

fn push(world: &World, server: &Server, file: &std::path::Path, options: &[&str]) -> std::process::Command {
    let mut tool = world.tool(["push", "--no-symbolize", "--to", &server.address, "--name", "app"]);
    tool.args(options).arg(file);
    tool
}

fn recorded() -> Capture {
    record(c("mixed_calls").flags(["-O2"]).build()).succeed().1
}

/// Check that a finished capture is sent as two forms with name, labels, span and headers, and that its numbers and
/// times are those of `export`.
#[test]
fn finished_capture_arrives_as_exported() {
    let before = now();
    let (capture, server) = (recorded(), Server::start(&[200]));
    let after = now();
    let tool = push(
        capture.world(),
        &server,
        capture.file(),
        &["--label", "env=test", "--header", "X-Scope-OrgID:team"],
    );
    let ran = wait(capture.world(), tool);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    let spans = [["--at", "end"].as_slice(), &["--from", "start", "--to", "end"]];
    let kinds = [("inuse_space", 2), ("alloc_space", 0)];
    for ((request, span), (kind, place)) in requests.iter().zip(spans).zip(kinds) {
        assert!(request.line.starts_with("POST /ingest?name=app%7Benv%3Dtest%7D&from="), "{}", request.line);
        assert!(request.line.contains("&format=pprof&"), "{}", request.line);
        assert!(request.headers.contains("X-Scope-OrgID: team"), "{}", request.headers);
        let (from, until) = (parameter(request, "from"), parameter(request, "until"));
        assert!(before <= from && from < until && until <= after + 1, "{before} {} {after}", request.line);
        let parts = parts(request);
        assert_eq!((&*parts[0].0, &*parts[1].0), ("profile", "sample_type_config"));
        assert!(String::from_utf8_lossy(&parts[1].1).contains(kind));
        let options = ["export", "--no-symbolize", "--format", "pprof", "--force", "-o", "exported"];
        let ran = capture.show(&[&options, span].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let exported = std::fs::read(capture.world().path("exported")).expect("it was written");
        let (pushed, exported) = (Profile::decode(&parts[0].1), Profile::decode(&exported));
        assert_eq!(pushed.sums(place), exported.sums(place), "{kind}");
        assert_eq!(pushed.time / 1_000_000_000, from, "the profile says when it begins, too");
        assert_eq!(pushed.duration, capture.number("/duration_ns"));
    }
    let sent = Profile::decode(&parts(&requests[1])[0].1).sums(0);
    assert_eq!(sent[0], capture.number("/totals/allocations"));
}

/// Check that the intervals of an ongoing recording add up to all of it, though the server refuses some, that each
/// begins where the previous one ended, and that the last one is sent when the recording ends.
#[test]
fn intervals_add_up_to_the_recording() {
    let server = Server::start(&[503, 200, 503, 429, 200]);
    let burst = Burst::of(200_000, &[]);
    let world = World::new();
    let pushing = start(&world, push(&world, &server, &burst.file(), &["--every", "50ms"]));
    let capture = burst.happen();
    let ran = pushing.wait();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let all = server.requests();
    let taken = all.iter().filter(|request| request.code == 200);
    let of_allocations =
        taken.filter(|request| String::from_utf8_lossy(&parts(request)[1].1).contains("alloc_space"));
    let sent: Vec<Profile> = of_allocations.map(|request| Profile::decode(&parts(request)[0].1)).collect();
    let sum: u64 = sent.iter().map(|profile| profile.sums(0)[0]).sum();
    assert!(sum >= 200_000, "{sum}");
    assert_eq!(sum, capture.number("/totals/allocations"));
    assert!(
        sent.windows(2).all(|pair| pair[0].time + pair[0].duration == pair[1].time),
        "no time is left out"
    );
    let duration: u64 = sent.iter().map(|profile| profile.duration).sum();
    assert_eq!(duration, capture.number("/duration_ns"));
    assert!(all.iter().any(|request| request.code != 200), "the server refused some");
}

/// Check that a recording which has only just begun, and has no time yet, is waited for.
#[test]
fn capture_without_a_time_is_waited_for() {
    let (capture, server) = (recorded(), Server::start(&[200]));
    let whole = fs::read(capture.file()).expect("it was recorded");
    let (header, rest) = whole.split_at(64);
    let begun = capture.world().path("begun.memprof");
    fs::write(&begun, header).expect("it is ours");
    let pushing = start(capture.world(), push(capture.world(), &server, &begun, &["--every", "50ms"]));
    thread::sleep(Duration::from_millis(500));
    assert_eq!(server.requests().len(), 0, "there is nothing to send yet");
    let mut file = OpenOptions::new().append(true).open(&begun).expect("it is there");
    file.write_all(rest).expect("there is room");
    let ran = pushing.wait();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let of_allocations: Vec<Profile> = server
        .requests()
        .iter()
        .filter(|request| String::from_utf8_lossy(&parts(request)[1].1).contains("alloc_space"))
        .map(|request| Profile::decode(&parts(request)[0].1))
        .collect();
    let sums = |place: usize| of_allocations.iter().map(|profile| profile.sums(0)[place]).sum::<u64>();
    assert_eq!(sums(0), capture.number("/totals/allocations"));
    assert_eq!(sums(1), capture.number("/totals/allocated_bytes"));
    let duration: u64 = of_allocations.iter().map(|profile| profile.duration).sum();
    assert_eq!(duration, capture.number("/duration_ns"));
}

/// Check that a server that refuses for good, or does not exist, is reported as such.
#[test]
fn refusals_have_reasons() {
    let (capture, server) = (recorded(), Server::start(&[401]));
    let ran = wait(capture.world(), push(capture.world(), &server, capture.file(), &[]));
    assert!(ran.code == 1 && ran.stderr.contains("answers 401: well"), "{} {}", ran.code, ran.stderr);
    for (to, reason) in [
        ("http://127.0.0.1:1", "cannot send"),
        ("https://localhost", "only plain HTTP"),
        ("localhost", "expected a server"),
    ] {
        let mut tool = capture.world().tool(["push", "--name", "app", "--to", to]);
        tool.arg(capture.file());
        let ran = wait(capture.world(), tool);
        assert!(ran.code != 0 && ran.stderr.contains(reason), "{to}: {} {}", ran.code, ran.stderr);
    }
}
