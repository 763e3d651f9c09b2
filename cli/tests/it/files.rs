//! A file without a command: its content decides what is done with it.

use crate::support::World;
use capture::{Action, Create, Event, Metadata, NodeId, Process, Summary, Thread, Writer};
use std::fs;
use std::path::Path;

/// Writes a capture of this many allocations.
pub(crate) fn capture_of(allocations: u64, file: &Path) {
    let mut writer = Writer::create(file, Create::New, &Metadata::default()).unwrap();
    let process = writer.process(Process { pid: 7, ..Process::default() }).unwrap();
    let thread = writer.thread(Thread { process, tid: 7, name: "main".into() }).unwrap();
    writer.event(Event { time: 0, thread, action: Action::ProcessStart { process, fork: 0 } }).unwrap();
    for number in 0..allocations {
        let action =
            Action::Alloc { address: 0x1000 + 16 * number, size: 8, alignment: 0, stack: NodeId::ROOT };
        writer.event(Event { time: 1000 * number, thread, action }).unwrap();
    }
    writer.finish(&Summary::default()).unwrap();
}

/// Check that a program is recorded, wherever it lies and whatever it is called.
#[test]
fn programs_are_recorded() {
    let world = World::new();
    let script = world.executable("work/app.memprof.old", "#!/bin/sh\necho \"$@\"; exit 5\n");
    let ran = world.run([script.as_os_str(), "--flag".as_ref(), "x".as_ref()]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(5), "--flag x\n"), "{}", ran.stderr);
    let ran = world.run(["app.memprof.old", "run"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(5), "run\n"),
        "a bare name that is a file here: {}",
        ran.stderr
    );
    assert!(world.captures().len() == 2, "{:?}", world.captures());
}

/// Check that a capture is shown, whatever it is called, and by the same rules as `report` does.
#[test]
fn captures_are_shown() {
    let world = World::new();
    capture_of(3, &world.path("work/no-extension"));
    let (opened, reported) = (world.run(["no-extension"]), world.run(["report", "no-extension"]));
    assert_eq!((opened.code, opened.stderr.as_str()), (Some(0), ""));
    assert_eq!(opened.stdout, reported.stdout);
    assert!(opened.stdout.contains("24 B in 3 blocks"), "{}", opened.stdout);
    assert_eq!(
        world
            .run(["export", "--format", "events", "no-extension"])
            .stdout
            .lines()
            .filter(|line| line.contains("malloc"))
            .count(),
        3
    );
    for command in ["leaks", "info", "export --format events"] {
        let ran = world.run(command.split(' ').chain(["no-extension"]));
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{command}");
    }
    for command in ["report", "info"] {
        let json = world.run([command, "no-extension", "--json"]).stdout;
        assert!(json.trim_start().starts_with('{') && json.contains("\"schema\": 1"), "{command}: {json}");
    }
}

/// Check that `-` is standard output for every command that writes a document, and no file of that name; and that what
/// must be a file is not written there.
#[test]
fn dash_is_standard_output() {
    let world = World::new();
    capture_of(3, &world.path("work/app.memprof"));
    let plain = world.run(["export", "--format", "csv", "app.memprof"]);
    for command in
        [&["export", "--format", "csv", "-o", "-", "app.memprof"][..], &["html", "-o", "-", "app.memprof"]]
    {
        let ran = world.run(command);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{command:?}");
        assert!(command[0] == "html" || ran.stdout == plain.stdout, "{}", ran.stdout);
    }
    let ran = world.run(["export", "--format", "memprof", "-o", "-", "app.memprof"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("is a file"), "{}", ran.stderr);
    assert!(!world.path("work/-").exists());
}

/// Check that what is neither is named, with both commands to choose from.
#[test]
fn unclear_files_get_both_commands() {
    let world = World::new();
    let cases: &[(&str, &[u8], &str)] = &[
        ("text", b"hello\n", "unknown kind"),
        ("empty", b"", "empty"),
        ("zipped", &[0x1f, 0x8b, 8, 0], "gzip"),
        ("syscap", &[0x5e, 0x97, 0xca, 0xfd], "Sysprof"),
    ];
    for (name, content, what) in cases {
        fs::write(world.path("work").join(name), content).unwrap();
        let ran = world.run([name]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{name}");
        let expected = [
            what.to_string(),
            format!("sysprof-memprof run -- {name}"),
            format!("sysprof-memprof report {name}"),
        ];
        assert!(expected.iter().all(|text| ran.stderr.contains(text.as_str())), "{name}: {}", ran.stderr);
    }
    let ran = world.run(["ls"]);
    assert_eq!(ran.code, Some(2), "a name that is no file here is not looked up in PATH");
}

/// Check that views of what is no capture exit with 2 and say what it is.
#[test]
fn views_of_other_files_exit_2() {
    let world = World::new();
    fs::write(world.path("work/text"), "hello\n").unwrap();
    for command in ["report", "leaks", "info", "export --format events", "export -o out --format events-json"]
    {
        let of = |file| world.run(command.split(' ').chain([file]));
        let ran = of("text");
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{command}");
        assert!(ran.stderr.contains("text: this is not a capture"), "{command}: {}", ran.stderr);
        let ran = of("nothing");
        assert_eq!(ran.code, Some(2), "{command}");
        assert!(ran.stderr.contains("nothing"), "{command}: {}", ran.stderr);
    }
}
