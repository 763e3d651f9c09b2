//! The output of a recording: untouched until the recording has begun, and never lost in silence.

use crate::harness::{
    Page, Ran, Service, World, c, info, installed, skip, start, start_collector, wait, wait_for,
};
use rustix::process::Signal;
use std::fs;
use std::path::{Path, PathBuf};

/// What stands for a good capture.
const BEFORE: &str = "what was recorded before";

/// A program that the kernel or its loader refuses, although its header is in order.
fn cut_program(world: &World) -> PathBuf {
    let whole = fs::read(c("dies_at_once").build().as_ref() as &Path).expect("it is built");
    let cut = world.write("cut", &whole[..3000]);
    fs::set_permissions(&cut, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("it is ours");
    cut
}

/// Everything in the folder of recordings, hidden files too.
fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).expect("it is ours").map(|entry| entry.expect("it is ours").file_name());
    names.map(|name| name.into_string().expect("a plain name")).collect()
}

/// Check that a recording that does not begin, whatever the reason, leaves a capture that it was to replace as it
/// was, and nothing where there was none.
#[test]
fn failed_starts_leave_the_output_as_it_was() {
    let world = World::new();
    let cut = cut_program(&world);
    let cut = cut.to_str().expect("a plain name");
    let folder = world.path("captures");
    fs::create_dir(&folder).expect("the folder is ours");
    for (code, words) in [
        (127, &["run", "--", "./no-such-program"][..]),
        (139, &["run", "-q", "--", cut]),
        (139, &["run", "--aggregate", "--", cut]),
        (2, &["attach", "999999999"]),
        (2, &["record", "--listen", "/no-such-folder/socket"]),
        (2, &["import", "/dev/null"]),
    ] {
        for replaced in [false, true] {
            let output = folder.join("it.memprof");
            if replaced {
                fs::write(&output, BEFORE).expect("the folder is ours");
            }
            let mut tool = world.tool(&words[..1]);
            tool.arg("-o").arg(&output).args(replaced.then_some("--force")).args(&words[1..]);
            let ran = wait(&world, tool);
            assert_eq!(ran.code, code, "{words:?}: {}", ran.stderr);
            assert!(ran.stderr.contains("error: "), "{words:?}: {}", ran.stderr);
            assert_eq!(names(&folder), if replaced { vec!["it.memprof"] } else { vec![] }, "{words:?}");
            if replaced {
                assert_eq!(fs::read_to_string(&output).expect("it is there"), BEFORE, "{words:?}");
                fs::remove_file(&output).expect("it is ours");
            }
        }
    }
}

/// Check that attaching which the user interrupts before any process has answered replaces nothing.
#[test]
fn interrupted_attach_leaves_the_output_as_it_was() {
    let service = Service::new(1);
    let output = service.world.write("it.memprof", BEFORE);
    service.signal(Signal::STOP);
    let mut tool = service.tool("attach", &["--force", "--timeout", "100s", "--no-inject", "-o"]);
    tool.arg(&output);
    let attach = start(&service.world, tool);
    wait_for("attach to wait", || attach.stderr().contains("Waiting"));
    attach.signal(Signal::INT);
    let ran = attach.wait();
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    service.signal(Signal::CONT);
    assert_eq!(fs::read_to_string(&output).expect("it is there"), BEFORE);
    assert!(names(service.world.folder()).iter().all(|name| !name.ends_with(".tmp")));
    service.stop();
}

/// A recording whose folder something happens to while its program works.
fn disturbed(options: &[&str], disturb: impl FnOnce(&Path)) -> (World, Ran) {
    let world = World::new();
    let page = Page::new(&world);
    let folder = world.path("captures");
    fs::create_dir(&folder).expect("the folder is ours");
    let mut tool = world.tool(["run", "--no-symbolize", "-o", "captures/it.memprof"]);
    tool.args(options).arg("--").arg(c("counts_its_calls").flags(["-O1"]).build()).arg(&page.path).arg("1");
    let running = start(&world, tool);
    page.wait_for_calls(1, 1000);
    wait_for("the capture", || folder.join("it.memprof").exists());
    disturb(&folder);
    page.stop();
    (world, running.wait())
}

/// Check that a capture which is removed while it is written, alone or with its folder, is an error that says so,
/// even where nothing else is said.
#[test]
fn removed_captures_are_errors() {
    for options in [&["-q"][..], &[], &["-q", "--aggregate"]] {
        let (_, ran) = disturbed(options, |folder| fs::remove_dir_all(folder).expect("it is ours"));
        // The program's own code, which is not 0.
        assert_eq!(ran.code, 5, "{}", ran.stderr);
        assert!(
            ran.stderr.contains("error: ") && ran.stderr.contains("removed while it was written"),
            "{}",
            ran.stderr
        );
    }
    let world = World::new();
    let mut tool = world.tool(["run", "-q", "-o", "it.memprof", "--", "sh", "-c"]);
    // The shell has connected, so the file has its name soon.
    tool.arg("until rm it.memprof 2>/dev/null; do sleep 0.01; done");
    let ran = wait(&world, tool);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
}

/// Check that a capture whose folder is moved is found where it is then.
#[test]
fn moved_captures_are_found() {
    let (world, ran) = disturbed(&[], |folder| {
        fs::rename(folder, folder.with_file_name("moved")).expect("it is ours");
    });
    assert!(ran.stderr.contains("moved/it.memprof\n"), "{}", ran.stderr);
    assert_eq!(info(&world, "moved/it.memprof")["cut"], serde_json::Value::Null);
}

/// Check that a program that never allocates counts as recorded, even if it is killed.
#[test]
fn program_that_never_allocates_is_recorded() {
    let world = World::new();
    let mut tool = world.tool(["run", "-o", "it.memprof", "--"]);
    tool.arg(c("dies_at_once").build());
    let ran = wait(&world, tool);
    assert_eq!(ran.code, 128 + 9, "{}", ran.stderr);
    assert!(ran.stderr.contains("in 1 process\n"), "{}", ran.stderr);
    let info = info(&world, "it.memprof");
    assert_eq!(info["remarks"], serde_json::json!([]), "{info:#}");
    let process = &info["processes"][0];
    assert_eq!((&process["ended"], &process["signal"]), (&"signaled".into(), &9.into()), "{info:#}");
}

/// Check that a recording that the system gives no means for fails, and says why, although its program succeeds.
#[test]
fn nothing_recorded_is_a_failure() {
    let world = World::new();
    let Some(unshare) = installed("unshare") else { return skip("no /proc", "this needs unshare") };
    let mut tool = world.tool(["run", "-q", "-o", "it.memprof", "--", "true"]);
    let arguments: Vec<_> = tool.get_args().map(ToOwned::to_owned).collect();
    let program = tool.get_program().to_owned();
    let variables: Vec<_> =
        tool.get_envs().map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned))).collect();
    tool = world.command(unshare);
    for (name, value) in variables {
        match value {
            Some(value) => tool.env(name, value),
            None => tool.env_remove(name),
        };
    }
    tool.args([
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        "umount -l /proc || exit 99; exec \"$@\"",
        "sh",
    ]);
    let ran = wait(&world, {
        tool.arg(program).args(arguments);
        tool
    });
    if ran.code == 99 || ran.stderr.contains("unshare") {
        return skip("no /proc", "this machine does not let users unmount it");
    }
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("/proc is not mounted"), "{}", ran.stderr);
    assert!(
        !names(world.folder()).iter().any(|name| name.contains("memprof")),
        "{:?}",
        names(world.folder())
    );
}

/// Check that a recording for which the user has chosen no process that came is none that has failed.
#[test]
fn nobody_chosen_is_no_failure() {
    let world = World::new();
    let ran = wait(&world, world.tool(["run", "-q", "--skip", "*", "-o", "it.memprof", "--", "true"]));
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert_eq!(info(&world, "it.memprof")["cut"], serde_json::Value::Null);
}

/// Check that a recording of programs that are started by hand has its file from the beginning, and that it is no
/// failure if none comes.
#[test]
fn waiting_recordings_have_their_file() {
    let world = World::new();
    let record = start_collector(&world, world.tool(["record", "--listen", "socket", "-o", "it.memprof"]));
    assert!(world.path("it.memprof").exists());
    record.signal(Signal::INT);
    assert_eq!(record.wait().code, 0);
}
