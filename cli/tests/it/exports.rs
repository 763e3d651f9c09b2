//! What `export` takes: each option changes what is written, or is refused with what to do.

use crate::support::World;
use capture::{Action, Create, Event, Metadata, NodeId, Process, Summary, Thread, Writer};
use std::io::Read;
use std::path::Path;

/// Writes a capture of a block of 8 bytes, and one of 100 in a heap of the program's own.
fn capture_with_heap(file: &Path) {
    let mut writer = Writer::create(file, Create::New, &Metadata::default()).unwrap();
    let process = writer.process(Process { pid: 7, ..Process::default() }).unwrap();
    let thread = writer.thread(Thread { process, tid: 7, name: "main".into() }).unwrap();
    let (pool, stack) = (writer.string("arena").unwrap(), NodeId::ROOT);
    for action in [
        Action::ProcessStart { process, fork: 0 },
        Action::Alloc { address: 0x1000, size: 8, alignment: 0, stack },
        Action::PoolAlloc { pool, address: 0x2000, size: 100, stack },
    ] {
        writer.event(Event { time: 1000, thread, action }).unwrap();
    }
    writer.finish(&Summary::default()).unwrap();
}

/// Check that an option which would change nothing is refused before anything is written, with the reason and what to do.
#[test]
fn options_without_effect_are_refused() {
    let world = World::new();
    capture_with_heap(&world.path("work/app.memprof"));
    for (options, expected) in [
        ("--format csv --redact", "--format memprof"),
        ("--format csv --limit 3", "for drawings"),
        ("--format memprof --limit 3", "for drawings"),
        ("--format sqlite --min 1%", "for drawings"),
        ("--format massif --at 50%", "every event"),
        ("--format memprof --process 7", "every event"),
        ("--format heaptrack --filter f", "options that select or change stacks"),
        ("--format sqlite --group-by module", "options that select or change stacks"),
        ("--format memprof --my-code", "options that select or change stacks"),
        ("--format callgrind --by leaked", "use one of folded, flamegraph, speedscope, pprof, dot"),
        ("--format heaptrack --by leaked", "leave it out"),
        ("--format sqlite --by leaked", "leave it out"),
        ("--format memprof --by leaked", "leave it out"),
        ("--format memprof --heap arena", "all heaps"),
        ("--format memprof --short-names", "whole names"),
        ("--format events --from 1s", "every event"),
        ("--format events-json --filter f", "options that select or change stacks"),
        ("--format events --heap arena", "all heaps"),
        ("--format events --by leaked", "leave it out"),
        ("--format csv --frames 3", "--format events and events-json only"),
        ("--format sqlite --samples", "--format events and events-json only"),
        ("--format events-json --unwind", "--format events only"),
    ] {
        let ran = world.run(format!("export app.memprof -o out {options}").split(' '));
        assert!(ran.code == Some(2) && ran.stderr.contains(expected), "{options}: {}", ran.stderr);
        assert!(!world.path("work/out").exists(), "{options}");
    }
}

/// Check that a capture is added to a dataset only as Parquet, and Parquet only to a dataset, which must be a folder.
#[test]
fn datasets_are_folders_of_parquet() {
    let world = World::new();
    capture_with_heap(&world.path("work/app.memprof"));
    for (options, code, expected) in [
        ("--format parquet", 2, "--dataset"),
        ("--format csv --dataset set", 2, "--format parquet only"),
        ("--format parquet --label version=1", 2, "--dataset"),
        ("--format parquet --dataset app.memprof", 1, "cannot create app.memprof/stacks"),
        (
            "--format parquet --dataset set --at peak",
            0,
            "service=%5Bpid%20%3D%207%5D/version=unknown/day=1970-01-01",
        ),
        (
            "--format parquet --dataset set --label service=a/b",
            0,
            "Added to set: service=a%2Fb/version=unknown",
        ),
    ] {
        let ran = world.run(format!("export app.memprof {options}").split(' '));
        assert!(ran.code == Some(code) && ran.stderr.contains(expected), "{options}: {}", ran.stderr);
        assert_eq!(world.path("work/set").exists(), code == 0, "{options}");
    }
}

/// Check that every format which does not refuse a heap of the program's own has its blocks, and that one which is not
/// there is named.
#[test]
fn heaps_are_exported_or_missed() {
    let world = World::new();
    capture_with_heap(&world.path("work/app.memprof"));
    let export = |options: &str| world.run(format!("export app.memprof {options}").split(' '));
    for (options, expected) in [
        ("--format csv", ",100,"),
        ("--format folded", " 100\n"),
        ("--format heaptrack", "\na 64 "),
        ("--format massif", "mem_heap_B=100\n"),
    ] {
        let ran = export(&format!("{options} --heap arena"));
        assert!(
            ran.code == Some(0) && ran.stdout.contains(expected),
            "{options}: {}{}",
            ran.stdout,
            ran.stderr
        );
        assert!(!export(options).stdout.contains(expected), "{options}");
    }
    for (options, expected) in [
        ("--format pprof --heap nursery", "no heap `nursery`; it has arena"),
        ("--format sqlite --heap nursery", "no heap `nursery`; it has arena"),
    ] {
        let ran = export(&format!("{options} -o out"));
        assert!(ran.code == Some(2) && ran.stderr.contains(expected), "{options}: {}", ran.stderr);
        assert!(!world.path("work/out").exists(), "{options}");
    }
    let ran = export("--format sqlite --heap arena -o out");
    assert!(ran.code == Some(0) && world.path("work/out").exists(), "{}", ran.stderr);
}

/// Check that formats by stack have the stacks that are chosen, and no others, and that a name which nothing has is told.
#[test]
fn chosen_stacks_are_exported() {
    let world = World::new();
    capture_with_heap(&world.path("work/app.memprof"));
    for (filter, expected) in [("process:7", " 8\n"), ("process:8", "")] {
        let ran = world.run(["export", "app.memprof", "--format", "folded", "--filter", filter]);
        assert!(
            ran.code == Some(0) && ran.stdout.ends_with(expected),
            "{filter}: {}{}",
            ran.stdout,
            ran.stderr
        );
        assert_eq!(ran.stdout.is_empty(), expected.is_empty(), "{filter}");
        let is_told = ran.stderr.contains("the capture has no process `8`");
        assert_eq!(is_told, expected.is_empty(), "{filter}: {}", ran.stderr);
    }
}

/// What a file that gzip or zstd packed holds.
fn unpacked(file: &Path) -> Vec<u8> {
    let (packed, mut bytes) = (std::fs::read(file).unwrap(), Vec::new());
    match file.extension().and_then(|end| end.to_str()) {
        Some("gz") => flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut bytes).map(drop).unwrap(),
        _ => bytes = zstd::decode_all(&packed[..]).unwrap(),
    }
    bytes
}

/// Check that a document whose name says that it is compressed is, with the same content as without.
#[test]
fn documents_are_compressed_as_their_names_say() {
    let world = World::new();
    capture_with_heap(&world.path("work/app.memprof"));
    let formats = "callgrind csv dot events events-json firefox flamegraph folded heaptrack massif perfetto speedscope syscap";
    for format in formats.split(' ') {
        let export = |out: &str| {
            let ran = world.run(["export", "app.memprof", "--format", format, "-o", out]);
            assert_eq!(ran.code, Some(0), "{format}: {}", ran.stderr);
            world.path(&format!("work/{out}"))
        };
        let plain = std::fs::read(export(&format!("{format}.out"))).unwrap();
        for ending in ["gz", "zst"] {
            assert!(unpacked(&export(&format!("{format}.{ending}"))) == plain, "{format}.{ending}");
        }
    }
    // That format is gzipped by itself: once is enough.
    let ran = world.run("export app.memprof --format pprof -o app.pb.gz".split(' '));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!unpacked(&world.path("work/app.pb.gz")).starts_with(&[0x1f, 0x8b]));
    let ran = world.run("html app.memprof -o app.html.zst".split(' '));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(unpacked(&world.path("work/app.html.zst")).starts_with(b"<!DOCTYPE html>"));
}

/// Check that a name which says that a file is compressed is refused, with what to do, where that would not be true.
#[test]
fn names_that_would_not_be_true_are_refused() {
    let world = World::new();
    capture_with_heap(&world.path("work/app.memprof"));
    for (command, expected) in [
        ("export app.memprof --format memprof -o out.memprof.zst", "Leave .zst out"),
        ("export app.memprof --format sqlite -o out.db.gz", "Leave .gz out"),
        ("export app.memprof --format pprof -o out.pb.zst", "Name it out.pb.gz"),
        ("export app.memprof --format csv -o out.csv.xz", ".gz or .zst"),
        ("html app.memprof -o out.html.br", ".gz or .zst"),
        ("run -o out.memprof.gz -- true", "Leave .gz out"),
        ("run --aggregate -o out.memprof.zst -- true", "Leave .zst out"),
        ("record -o out.zst --listen socket", "Leave .zst out"),
        ("attach 1 -o out.zst", "Leave .zst out"),
        ("import app.memprof -o out.zst", "Leave .zst out"),
    ] {
        let ran = world.run(command.split(' '));
        assert!(ran.code == Some(2) && ran.stderr.contains(expected), "{command}: {}", ran.stderr);
        assert_eq!(std::fs::read_dir(world.work()).unwrap().count(), 1, "{command}");
    }
}
