//! Which names there are, and what is shown when there is none.

use crate::harness::{
    Capture, Page, World, agent, c, copy_program, cpp, library, product, record, skip, start,
    start_collector, wait, wait_for,
};
use rustix::process::Signal;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A copy of a program in a world of its own, to be modified there.
fn copy(program: &Path, to: PathBuf) -> PathBuf {
    copy_program(program, &to);
    to
}

fn report(capture: &Capture) -> String {
    capture.show(&["report", "--by", "allocations", "--tree", "--min", "0%"]).text().to_owned()
}

/// Check that a program has its names although it has deleted its file, and that it has none when another file took
/// its place before it was recorded again: nothing of an earlier recording is remembered.
#[test]
fn deleted_programs_have_names() {
    let world = World::new();
    let program = copy(&c("deletes_itself").build(), world.path("program"));
    let (_, capture) = record(&program).world(world).with_names().succeed();
    assert!(!program.exists(), "it has deleted itself");
    let row = capture.row_of_size(4567);
    assert_eq!(row.names()[..2], ["allocates_afterwards", "main"], "{row:?}");
}

/// Check that a program which is stripped between two recordings has names in the first and none in the second, with
/// the reason, and that its main function is still shown as `main`.
#[test]
fn stripped_programs_lose_their_names() {
    let world = World::new();
    let program = copy(&c("allocates_once").build(), world.path("program"));
    let (_, first) = record(&program).world(world).with_names().succeed();
    assert!(report(&first).contains(" main"), "{}", report(&first));
    let stripped = Command::new("strip").arg(&program).status();
    assert!(stripped.is_ok_and(|status| status.success()));
    let (_, second) = record(&program).with_names().succeed();
    let text = report(&second);
    assert!(text.contains("<main of program>"), "{text}");
    assert!(text.contains("No symbols in binary file: program"), "{text}");
    assert!(report(&first).contains(" main"), "{}", report(&first));
}

/// Check that of a stripped program only what its entry passes to the C library is shown as main, not what the library
/// calls before and after it.
#[test]
fn initializers_of_a_stripped_program_are_not_main() {
    let world = World::new();
    let program = copy(&cpp("initializes_objects").flags(["-O1", "-s"]).build(), world.path("program"));
    let (_, capture) = record(&program).world(world).with_names().succeed();
    for (size, is_main) in [("1001", false), ("2002", false), ("3003", false), ("4004", true)] {
        let shown = capture.show(&["report", "--by", "allocations", "--size", size]);
        let text = shown.text();
        assert_eq!(text.contains("<main of program>"), is_main, "{size}: {text}");
        assert_eq!(text.contains("<in program+0x"), !is_main, "{size}: {text}");
    }
}

/// Check that a program which is stripped between two recordings of one daemon has names in the first and none in the
/// second, though names of programs this large are cached, and that the first one keeps them.
#[test]
fn daemon_forgets_names_of_stripped_programs() {
    let world = World::new();
    let many = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/c/many_functions.c");
    let built = c("counts_its_calls").flags(["-O1".into(), many.into_os_string()]).build();
    let program = copy(&built, world.path("a.out"));
    let captures = world.path("captures");
    std::fs::create_dir(&captures).expect("the folder is ours");
    let mut daemon = world.tool(["daemon", "--on-full", "block", "--max-wait", "100s"]);
    daemon.arg("--folder").arg(&captures);
    let daemon = start_collector(&world, daemon);
    let folder = format!("/proc/{}/fd", daemon.pid().as_raw_nonzero());
    let descriptors = || std::fs::read_dir(&folder).expect("it runs").count();
    let idle = descriptors();
    let mut known: Vec<PathBuf> = Vec::new();
    let mut recorded = || {
        let page = Page::new(&world);
        let mut command = world.command(&program);
        command.arg(&page.path).args(["1", "5000"]).env("LD_PRELOAD", agent(&world));
        let running = start(&world, command);
        page.wait_for_calls(1, 1000);
        let pid = running.pid().as_raw_nonzero().to_string();
        for order in ["start", "stop"] {
            let ran = wait(&world, world.tool(["daemon", order, &pid]));
            assert_eq!(ran.code, 0, "{}", ran.stderr);
            page.wait_for_calls(1, page.calls(0).mallocs_done + 5000);
        }
        wait_for("the recording's end", || descriptors() == idle);
        page.stop();
        assert_eq!(running.wait().code, 5);
        let files =
            std::fs::read_dir(&captures).expect("it is there").map(|entry| entry.expect("it is").path());
        let new = files.into_iter().find(|file| !known.contains(file)).expect("there is a new capture");
        known.push(new.clone());
        new
    };
    let shown = |file: &Path| {
        let mut tool =
            world.tool(["report", "--by", "allocations", "--tree", "--min", "0%", "--no-symbolize"]);
        tool.arg(file);
        wait(&world, tool).text().to_owned()
    };
    let first = recorded();
    assert!(shown(&first).contains(" work"), "{}", shown(&first));
    let stripped = Command::new("strip").arg(&program).status();
    assert!(stripped.is_ok_and(|status| status.success()));
    let second = recorded();
    let text = shown(&second);
    assert!(!text.contains(" work") && text.contains("No symbols in binary file: a.out"), "{text}");
    assert!(shown(&first).contains(" work"), "{}", shown(&first));
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.wait().code, 0);
}

/// Check that a recording of the whole machine by a user who is not root names that user's processes, and says of a
/// process of root that it may not be examined.
#[test]
fn processes_of_others_say_so() {
    if !rustix::process::geteuid().is_root() {
        return skip("processes of others", "only root can become another user");
    }
    let world = World::new();
    let user = 65534;
    let tool = copy(product(), world.path("tool"));
    let program = copy(&c("known_work").flags(["-O1"]).build(), world.path("theirs"));
    std::os::unix::fs::chown(world.folder(), Some(user), Some(user)).expect("we are root");
    // Busy until told to stop, for as long as the recording takes.
    let page = Page::new(&world);
    let ours = copy(&c("counts_its_calls").flags(["-O1"]).build(), world.path("ours"));
    std::fs::set_permissions(&ours, std::fs::Permissions::from_mode(0o700)).expect("it is ours");
    let mut busy = world.command(&ours);
    busy.arg(&page.path).arg("1");
    let busy = start(&world, busy);
    page.wait_for_calls(1, 1);
    let mut collector = world.command("setpriv");
    collector.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps", "-all,+perfmon"]);
    collector.args(["--ambient-caps", "-all,+perfmon", "--"]).arg(&tool);
    collector.args(["run", "--system", "--output", "capture", "--"]).arg(&program).arg("300");
    collector.env("HOME", world.folder()).env("XDG_RUNTIME_DIR", world.folder()).env_remove("XDG_CACHE_HOME");
    let ran = wait(&world, collector);
    page.stop();
    assert_eq!(busy.wait().code, 5);
    if ran.stderr.contains("CPU not sampled") {
        return skip("processes of others", "the kernel does not permit samples of them");
    }
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let frames = |process: &str| -> Vec<serde_json::Value> {
        let mut report = world.tool(["report", "--cpu", "--json", "--no-symbolize", "--min", "0%"]);
        report.args(["--process", process]).arg(world.path("capture"));
        let document: serde_json::Value =
            serde_json::from_str(wait(&world, report).text()).expect("a report is JSON");
        let rows = document["rows"].as_array().expect("a report has rows");
        rows.iter().flat_map(|row| row["stack"].as_array().expect("a row has a stack")).cloned().collect()
    };
    let (ours, theirs) = (frames("ours"), frames("theirs"));
    // Some kernels let those who may sample read mappings, too, but not the files.
    let withheld = |frame: &&serde_json::Value| {
        let module = frame["module"].as_str().unwrap_or_default();
        let is_of_ours = module.starts_with("[memory of another user of ") || module.ends_with("/ours");
        frame["reason"] == "Permission denied" && is_of_ours
    };
    assert!(ours.iter().any(|frame| withheld(&frame)), "{ours:#?}");
    let named = |name: &str| theirs.iter().any(|frame| frame["function"] == name);
    assert!(named("burn") && named("churn"), "{theirs:#?}");
    assert_eq!(theirs.iter().filter(withheld).count(), 0);
}

/// Check that each reason for having no name is shown separately, in the report at the frame without a name, and in
/// `info` with its share.
#[test]
fn each_reason_is_said() {
    let world = World::new();
    let lender = |name: &str, size: u32| {
        let flags = ["-DFUNCTION=inner".to_owned(), format!("-DSIZE={size}")];
        let built = library("lends_memory").flags(flags).named(&format!("lib{name}.so")).build();
        copy(&built, world.path(&format!("lib{name}.so")))
    };
    let changed = ["stripped", "replaced", "gone", "secret", "damaged"];
    let libraries: Vec<PathBuf> = changed.iter().zip(7000..).map(|(name, size)| lender(name, size)).collect();
    let program = copy(&c("borrows_from_all").build(), world.path("program"));
    let unnamed = library("lends_by_unnamed_code").build();
    let (_, capture) = record(&program).args(&libraries).args([&unnamed]).succeed();

    let [stripped, replaced, gone, secret, damaged] = &libraries[..] else { panic!("{libraries:?}") };
    for file in [&program, stripped] {
        assert!(Command::new("strip").arg(file).status().is_ok_and(|status| status.success()));
    }
    std::fs::remove_file(replaced).expect("it is ours");
    copy(&library("lends_memory").flags(["-DFUNCTION=other", "-DSIZE=1"]).build(), replaced.clone());
    std::fs::remove_file(gone).expect("it is ours");
    std::fs::write(damaged, b"\x7fELF and then nothing of the kind").expect("it is ours");
    let unreadable = std::fs::Permissions::from_mode(0o000);
    std::fs::set_permissions(secret, unreadable).expect("it is ours");

    let mut reasons = vec![
        ("No symbols in binary file", "program"),
        ("Binary file was replaced or changed", "libreplaced.so"),
        ("Binary file was deleted or moved", "libgone.so"),
        ("Unreadable ELF file", "libdamaged.so"),
        ("Address has no corresponding symbol in file", "liblends_by_unnamed_code.so"),
        ("Address has no corresponding symbol in file", "libstripped.so"),
        ("Code made at run time was not told of", "anonymous code"),
    ];
    match std::fs::File::open(secret) {
        Ok(_) => skip("a file that may not be read", "this user may read everything"),
        Err(_) => reasons.push(("Permission denied", "libsecret.so")),
    }
    for text in [report(&capture), capture.show(&["info"]).text().to_owned()] {
        for (reason, file) in &reasons {
            let is_it = |line: &str| line.contains(reason) && line.contains(file) && line.contains('%');
            assert!(text.lines().any(is_it), "{reason}, {file}: {text}");
        }
    }
}

/// Check that functions with the same name in two libraries are shown with their library's name, and others are not.
#[test]
fn namesakes_carry_their_library() {
    let lender = |name: &str, size: u32| {
        let flags = ["-DFUNCTION=same".to_owned(), format!("-DSIZE={size}")];
        library("lends_memory").flags(flags).named(&format!("lib{name}.so")).build()
    };
    let libraries = [lender("one", 1501), lender("two", 1502)];
    let (_, capture) = record(c("loads_libraries").build()).args(&libraries).with_names().succeed();
    let text = report(&capture);
    for name in ["same [libone.so]", "same [libtwo.so]", "lend [libone.so]", "lend_from\n"] {
        assert!(text.contains(name), "{name}: {text}");
    }
}

/// Check that the main functions of two programs are two, each with its own total.
#[test]
fn main_functions_are_told_apart() {
    let world = World::new();
    let program = |name: &str, size: u32| {
        let path = world.path(name);
        let source = format!("#include <stdlib.h>\nint main(void) {{ free(malloc({size})); return 0; }}");
        std::fs::write(world.path("source.c"), source).expect("a file can be written");
        let flags = ["-O0", "-o"];
        let built = Command::new("gcc").args(flags).arg(&path).arg(world.path("source.c")).status();
        assert!(built.is_ok_and(|status| status.success()));
        path
    };
    let (first, second) = (program("first", 3001), program("second", 3002));
    let script = format!("{}; {}", first.display(), second.display());
    let (_, capture) = record("sh").args(["-c", &script]).world(world).with_names().run();
    let functions = capture.report(&["--functions", "--by", "bytes"]);
    let functions = functions["functions"].as_array().expect("a list");
    for (name, bytes) in [("first", 3001), ("second", 3002)] {
        let is_it = |function: &&serde_json::Value| {
            let module = function["module"].as_str().unwrap_or_default();
            function["function"] == "main" && module.ends_with(&format!("/{name}"))
        };
        let found = functions.iter().find(is_it).unwrap_or_else(|| panic!("{name}: {functions:#?}"));
        assert_eq!(found["total_bytes"], bytes, "{name}");
    }
}

/// Check that names can be shown as they are in the files, and without template arguments.
#[test]
fn names_are_shown_as_asked_for() {
    let (_, capture) = record(cpp("keeps_in_templates").build()).succeed();
    let text = |options: &[&str]| {
        capture
            .show(&[&["report", "--tree", "--by", "allocations", "--min", "0%"], options].concat())
            .text()
            .to_owned()
    };
    let shown = [
        (&[][..], "keep<std::pair<int, std::pair<long, char> > >()"),
        (&["--short-names"], "std::pair* keep()"),
    ];
    for (options, expected) in [&shown[..], &[(&["--no-demangle"], "_Z4keepI")]].concat() {
        assert!(text(options).contains(expected), "{options:?}: {}", text(options));
    }
    assert!(!text(&[]).contains("_Z4keep"), "{}", text(&[]));
}
