//! Imported recordings of heaptrack have the numbers that it prints.

use crate::harness::{Capture, World, c, cpp, installed, skip, wait};
use std::path::{Path, PathBuf};

/// heaptrack's recording of a program, with the output of `heaptrack_print`.
fn heaptracked(world: &World, program: &PathBuf) -> Option<(PathBuf, String)> {
    for tool in ["heaptrack", "heaptrack_print"] {
        if installed(tool).is_none() {
            skip(tool, "not installed, so none of its recordings was imported");
            return None;
        }
    }
    let mut command = world.command("heaptrack");
    let ran = wait(world, {
        command.arg("--output").arg(world.path("theirs")).arg(program);
        command
    });
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let file = ["zst", "gz"].map(|end| world.path(&format!("theirs.{end}")));
    let file = file.into_iter().find(|file| file.exists()).expect("heaptrack writes a file");
    let mut command = world.command("heaptrack_print");
    command.arg("--disable-embedded-suppressions").arg(&file);
    let ran = wait(world, command);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    Some((file, ran.text().to_string()))
}

/// The number after a text in the output of `heaptrack_print`.
fn number<'t>(printed: &'t str, name: &str) -> &'t str {
    let line = printed.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()).unwrap_or_else(|| panic!("{name} in {printed}"))
}

/// Bytes as heaptrack writes them.
fn decimal(bytes: u64) -> String {
    match bytes {
        ..1000 => format!("{bytes}B"),
        1000..1_000_000 => format!("{:.2}K", bytes as f64 / 1e3),
        _ => format!("{:.2}M", bytes as f64 / 1e6),
    }
}

/// Check that imported heaptrack recordings of programs in C and C++ have the number of allocations, the peak and the
/// leaks that heaptrack prints, and names of functions.
#[test]
fn heaptrack_recordings_keep_their_numbers() {
    let programs = [
        ("main", c("mixed_calls").flags(["-O1"]).build()),
        ("main", cpp("templates").flags(["-O1"]).build()),
    ];
    for (function, program) in programs {
        let world = World::new();
        let Some((file, printed)) = heaptracked(&world, &program) else { return };
        let capture = imported(world, &file);
        let info = capture.info();
        let total =
            |field: &str| info["totals"][field].as_u64().unwrap_or_else(|| panic!("{field} of {info}"));
        assert_eq!(number(&printed, "calls to allocation functions:"), total("allocations").to_string());
        assert_eq!(number(&printed, "peak heap memory consumption:"), decimal(total("peak_bytes")));
        assert_eq!(number(&printed, "total memory leaked:"), decimal(total("leaked_bytes")));
        assert_eq!((total("unmatched_frees"), total("conflicts")), (0, 0), "{info}");
        let named = |row: &crate::harness::Row| row.names().iter().any(|name| name == function);
        assert!(capture.rows().iter().any(named), "{function} is on a stack");
    }
}

/// The capture that `import` makes of a recording.
fn imported(world: World, file: &Path) -> Capture {
    let output = world.path("it.memprof");
    let mut tool = world.tool(["import", "--output"]);
    tool.arg(&output).arg(file);
    let ran = wait(&world, tool);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    Capture::new(world, output)
}

/// Check that a file that is no recording of another tool is refused with a reason, and leaves neither a file nor a
/// change.
#[test]
fn other_files_are_refused() {
    let world = World::new();
    let file = world.write("notes.txt", "v is for version\n");
    let there = world.write("there.memprof", "mine");
    for (arguments, reason) in [
        (&["import", "notes.txt"][..], "cannot be imported"),
        (&["import", "gone.zst"], "No such file"),
        (&["import", "notes.txt", "-o", "there.memprof"], "--force"),
        (&["import", "notes.txt", "-o", "there.memprof", "--force"], "cannot be imported"),
    ] {
        let ran = wait(&world, world.tool(arguments));
        assert!(ran.code == 2 && ran.stderr.contains(reason), "{arguments:?}: {} {}", ran.code, ran.stderr);
        assert_eq!(std::fs::read(&there).expect("it is there"), b"mine");
        assert!(!world.path("notes.txt.memprof").exists());
    }
    assert!(file.exists());
}

/// Check that an import of a file that is no recording ends as wrong usage, and one onto a full disk as a failure,
/// with nothing left of the capture.
#[test]
fn full_disks_are_no_wrong_usage() {
    let world = World::new();
    let (file, output) = (world.path("heaptrack.app.1"), world.path("it.memprof"));
    // With the signal for oversized files ignored, writing fails as on a full disk.
    let script = "trap '' XFSZ; ulimit -f \"$1\"; shift; exec \"$@\"";
    let import = |blocks: &str, text: &str| {
        std::fs::write(&file, text).expect("the folder is ours");
        let tool = world.tool(["import"]);
        let mut command = world.command("sh");
        command.args(["-c", script, "sh", blocks]).arg(tool.get_program()).args(tool.get_args());
        command.arg("--output").arg(&output).arg(&file);
        let ran = wait(&world, command);
        (ran.code, ran.stderr, output.exists())
    };
    let sizes: String = (0..2000).map(|size| format!("a {:x} 1\n", size * size)).collect();
    let blocks: String = (0..2000).map(|block| format!("+ {block:x}\n")).collect();
    let text = &format!("v 10400 3\nX /opt/app\ns 8 /opt/app\ni 1000 1\nt 1 0\n{sizes}{blocks}");
    // At least a kilobyte, so that the message can still be written.
    let (code, said, is_there) = import("1", text);
    assert!(code == 1 && !is_there && said.contains("it.memprof"), "{code}: {said}");
    let (code, said, is_there) = import("unlimited", "nothing that anybody knows\n");
    assert!(code == 2 && !is_there, "{code}: {said}");
    assert_eq!(import("unlimited", text).0, 0);
}
