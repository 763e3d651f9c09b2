//! Copies of captures are the captures, and redacted ones say nothing of people and machines.

use crate::shown::info;
use crate::support::Made;
use crate::support::fixtures::{reported, rich, sampled, small};
use capture::{Counter, CounterKind, Module, Process, Reader, Summary};
use engine::Naming;
use export::Redaction;
use report::text::Style;
use std::path::Path;

fn copied(made: &Made, redaction: Option<Redaction>) -> Vec<u8> {
    let path = made.saved("it.memprof");
    export::copy(&path, Naming::Stored, Vec::new(), redaction).unwrap().0
}

fn shown(file: &Path) -> String {
    let loaded = engine::open(file, Naming::Stored).unwrap();
    let mut out = info(&loaded, None, &Style::default()).into_bytes();
    report::json::report(&mut out, &loaded, &Default::default()).unwrap();
    report::events_json(file, Naming::Stored, &mut out, Default::default()).unwrap();
    String::from_utf8(out).unwrap()
}

/// Check that every view of a copy is that of the capture, event by event, and that a copy of a copy is the same bytes.
#[test]
fn copy_is_the_capture() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("it.memprof");
    for (name, made) in [
        ("empty", Made::new()),
        ("small", small()),
        ("sampled", sampled()),
        ("rich", rich()),
        ("told", reported()),
    ] {
        std::fs::remove_file(&path).ok();
        made.write(&path);
        let before = shown(&path);
        let (bytes, _) = export::copy(&path, Naming::Stored, Vec::new(), None).unwrap();
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(shown(&path), before, "{name}");
        let (again, _) = export::copy(&path, Naming::Stored, Vec::new(), None).unwrap();
        assert!(again == bytes, "{name}: a copy of a copy");
    }
}

/// Check that samples, counters, page faults and scans with their pointers are copied.
#[test]
fn readings_are_copied() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("it.memprof");
    let mut writer =
        capture::Writer::create(&path, capture::Create::New, &capture::Metadata::default()).unwrap();
    let task = writer.task(capture::Task { name: "t".into(), ..Default::default() }).unwrap();
    let frame = writer.frame(capture::Frame::Code { module: None, address: 7, exact: true }).unwrap();
    let stack = writer.node(capture::NodeId::ROOT, frame).unwrap();
    let sample = capture::Sample { time: 5000, task, cpu: 1, stack, weight: 9 };
    let counter = Counter { time: 7000, process: None, kind: CounterKind::CpuBusy, instance: 3, value: 4 };
    writer.sample(sample).unwrap();
    writer.counter(counter).unwrap();
    let fault =
        capture::Fault { time: 8000, task, address: 0x7000, stack, region: capture::Region::Anonymous };
    writer.fault(fault).unwrap();
    let (process, name) =
        (writer.process(capture::Process::default()).unwrap(), writer.string("/lib/a.so").unwrap());
    let area = capture::Area { start: 1, end: 9, name, ..Default::default() };
    let found = capture::Scan { process, time: 9000, areas: vec![area], ..Default::default() };
    let scans = [writer.scan(&found).unwrap(), writer.scan(&found).unwrap()];
    let pointer = |from| capture::Pointer { from, to: 0x7000 };
    writer.pointers(scans[1], &[pointer(8)]).unwrap();
    writer.pointers(scans[0], &[pointer(16), pointer(24)]).unwrap();
    writer.finish(&Summary::default()).unwrap();
    let reader =
        Reader::from_source(export::copy(&path, Naming::Stored, Vec::new(), None).unwrap().0).unwrap();
    let (mut samples, mut counters, mut faults) = (Vec::new(), Vec::new(), Vec::new());
    reader.for_each_faults(|some| faults.extend_from_slice(some)).unwrap();
    reader.for_each_samples(|some| samples.extend_from_slice(some)).unwrap();
    reader.for_each_counters(|some| counters.extend_from_slice(some)).unwrap();
    assert_eq!((samples, counters, faults), (vec![sample], vec![counter], vec![fault]));
    assert_eq!(reader.tables().scans, vec![found.clone(), found]);
    let mut pointers = Vec::new();
    for scan in scans {
        reader.for_each_pointers(scan, |some| pointers.extend_from_slice(some)).unwrap();
    }
    assert_eq!(pointers, [16, 24, 8].map(pointer));
}

/// Check that a copy of a file that was cut off at any byte opens, has the events before the cut, and says what it is.
#[test]
fn copies_of_cut_files_say_so() {
    let path = small().saved("cut.memprof");
    let bytes = std::fs::read(&*path).unwrap();
    let mut copies = 0;
    for length in (0..bytes.len()).step_by(3) {
        std::fs::write(&*path, &bytes[..length]).unwrap();
        let Ok((copy, _)) = export::copy(&path, Naming::Stored, Vec::new(), None) else { continue };
        let (copy, cut) = (Reader::from_source(copy).unwrap(), Reader::open(&*path).unwrap());
        assert_eq!(copy.event_count(), cut.event_count(), "{length}");
        let summary = copy.tables().summary.as_ref().unwrap();
        assert!(
            summary.remarks.iter().any(|remark| remark.contains("incomplete capture")),
            "{length}: {summary:?}"
        );
        copies += 1;
    }
    assert!(copies > 10);
}

/// A capture that says all it can of people and machines.
fn telling() -> Made {
    let mut made = rich();
    let tables = &mut made.tables;
    tables.metadata.command = vec!["/home/hedwig/app".into(), "--token=s3cret".into()];
    tables.metadata.boot_id = "b00t-1d".into();
    tables.metadata.labels = vec![("host.name".into(), "pine".into()), ("team".into(), "larks".into())];
    tables.metadata.options.push(("log".into(), "/home/hedwig/log".into()));
    for process in &mut tables.processes {
        *process = Process {
            name: "hedwig-server".into(),
            executable: "/mnt/office/home/hedwig/bin/hedwig-server".into(),
            command: vec!["server".into(), "--password".into(), "s3cret".into()],
            labels: vec![("k8s.pod.name".into(), "magpie-0".into())],
            ..process.clone()
        };
    }
    tables.threads.iter_mut().for_each(|thread| thread.name = "job of zoe".into());
    tables.modules.push(Module { path: "/home/zoe/lib/libx.so".into(), ..Module::default() });
    tables.strings.extend(["/home/zoe/src/x.c".into(), "box7::hedwig::run(Acme*)".into()]);
    let summary = tables.summary.get_or_insert_default();
    summary.remarks.push("cannot read /home/hedwig/.config of box7".into());
    summary.unrecorded.push("7 zoe on pine".into());
    summary.lost.iter_mut().for_each(|lost| lost.advice = "ask hedwig".into());
    summary.cpu.refused = "box7 refuses".into();
    made
}

/// The bytes of a capture with every chunk unpacked, as FORMAT.md has them.
fn unpacked(capture: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = capture;
    while let Some(at) = rest.windows(4).position(|marker| marker == b"CHNK") {
        let (before, chunk) = rest.split_at(at);
        out.extend_from_slice(before);
        let (header, payload) = chunk.split_at(40);
        let number = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().unwrap()) as usize;
        let (raw, stored) = (number(12), number(16));
        let payload = &payload[..stored];
        match header[6] {
            0 => out.extend_from_slice(payload),
            _ => out.extend(zstd::bulk::decompress(payload, raw).unwrap()),
        }
        rest = &chunk[40 + stored..];
    }
    out.extend_from_slice(rest);
    out
}

const SECRETS: [&str; 11] =
    ["hedwig", "zoe", "s3cret", "password", "box7", "Acme", "b00t", "/home/", "pine", "larks", "magpie"];

/// Check that no byte of a redacted copy tells what the capture told, in any chunk, while all its numbers stay; and that
/// the plain copy, read in the same way, has every secret.
#[test]
fn redacted_copies_tell_nothing() {
    let made = telling();
    let tells = |bytes: &[u8], secret: &str| {
        unpacked(bytes).windows(secret.len()).any(|window| window == secret.as_bytes())
    };
    let plain = copied(&made, None);
    let redaction = Redaction::new().name("box7").hide("Acme");
    let redacted = copied(&made, Some(redaction));
    for secret in SECRETS {
        assert!(tells(&plain, secret), "the capture has {secret}");
        assert!(!tells(&redacted, secret), "{secret} is left");
    }
    let (plain, redacted) = (Reader::from_source(plain).unwrap(), Reader::from_source(redacted).unwrap());
    assert_eq!(redacted.event_count(), plain.event_count());
    let events =
        |reader: &Reader<Vec<u8>>| reader.events().unwrap().map(|event| event.unwrap().time).sum::<u64>();
    assert_eq!(events(&redacted), events(&plain));
    assert!(redacted.tables().strings.iter().any(|text| text == "~/src/x.c"), "what is no secret stays");
}
