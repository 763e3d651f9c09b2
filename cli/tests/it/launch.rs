//! The target under `run`: as it would be alone.

use crate::support::{World, ran};
use std::fs;
use std::io::Write;
use std::process::Stdio;

/// Check that exit codes and deaths by signals are passed on as shells do.
#[test]
fn exit_code_is_the_targets() {
    let world = World::new();
    for (script, expected) in
        [("exit 0", 0), ("exit 7", 7), ("exit 255", 255), ("kill -9 $$", 137), ("kill -TERM $$", 143)]
    {
        let ran = world.run(["run", "--", "sh", "-c", script]);
        assert_eq!(ran.code, Some(expected), "{script}: {}", ran.stderr);
    }
}

/// Check that the target's standard streams are its own: nothing of ours on its output, all of its input for it.
#[test]
fn standard_streams_are_the_targets() {
    let world = World::new();
    let mut run = world.tool(["run", "--", "sh", "-c", "cat; echo error >&2"]);
    let mut child = run.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"input\n").unwrap();
    let ran = ran(child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "input\n"));
    assert!(ran.stderr.lines().any(|line| line == "error"), "{}", ran.stderr);
}

/// Check that the capture is named after program and pid, in the current folder.
#[test]
fn capture_is_named_after_the_process() {
    let world = World::new();
    let pid = world.run(["run", "--", "sh", "-c", "echo $$"]).stdout;
    assert_eq!(world.captures(), [format!("sh.{}.memprof", pid.trim())]);
}

/// Check what the target finds in its environment: the agent first, then what was preloaded before, and the socket.
#[test]
fn environment_has_agent_and_socket() {
    let world = World::new();
    let show = "echo \"$LD_PRELOAD|$SYSPROF_MEMPROF_SOCKET|$MARK\"";
    let mut tool = world.tool(["run", "--", "sh", "-c", show]);
    // A library that every system has, preloaded already.
    tool.env("LD_PRELOAD", "libm.so.6")
        .env("MARK", "kept")
        .env("SYSPROF_MEMPROF_SOCKET", "/of/another/recording");
    let shown = ran(tool.output().unwrap()).stdout;
    let agent = world.run(["agent", "path"]).stdout.trim().to_string();
    let [preloaded, socket, mark] = shown.trim().split('|').collect::<Vec<_>>().try_into().unwrap();
    assert_eq!((preloaded, mark), (format!("{agent}:libm.so.6").as_str(), "kept"));
    assert!(!socket.is_empty() && socket != "/of/another/recording", "{socket}");
}

/// Check that signals which were ignored when `run` was called are ignored in the target, and SIGPIPE is not otherwise.
#[test]
fn ignored_signals_stay_ignored() {
    let world = World::new();
    let ignored = |signals: &[&str]| {
        let grep = [crate::support::TOOL, "run", "-q", "--", "grep", "SigIgn", "/proc/self/status"];
        let output = ran(world.command("env").args(signals).args(grep).output().unwrap()).stdout;
        let mask = output.trim().strip_prefix("SigIgn:").unwrap_or_else(|| panic!("{output:?}")).trim();
        u64::from_str_radix(mask, 16).unwrap()
    };
    let bit = |number: u32| 1_u64 << (number - 1);
    let (hup, int, pipe, child) = (bit(1), bit(2), bit(13), bit(17));
    assert_eq!(ignored(&["--default-signal=HUP,INT,PIPE,CHLD"]) & (hup | int | pipe | child), 0);
    assert_eq!(
        ignored(&["--ignore-signal=HUP,INT,PIPE,CHLD"]) & (hup | int | pipe | child),
        hup | int | pipe | child
    );
}

/// Check that descriptors that the caller hands on reach the target, and closed standard streams stay closed.
#[test]
fn descriptors_are_handed_on() {
    let world = World::new();
    let script = format!("exec 7</dev/null; exec {} run -q -- ls /proc/self/fd 0<&-", crate::support::TOOL);
    let output = ran(world.command("sh").args(["-c", &script]).output().unwrap());
    let open: Vec<_> = output.stdout.split_whitespace().collect();
    assert!(open.contains(&"7"), "{output:?}");
    // ls reads the folder through the lowest free number, which shows that 0 was free.
    assert_eq!(open.iter().filter(|number| ["0", "1", "2", "7"].contains(number)).count(), 4, "{output:?}");
    assert!(!open.contains(&"3"), "{output:?}");
}

/// Check that a program which passes every check and still cannot be executed gives 126 and leaves no capture.
#[test]
fn target_that_cannot_be_executed_leaves_no_capture() {
    let world = World::new();
    let program = world.path("busy");
    fs::copy("/bin/true", &program).unwrap();
    // The kernel refuses to execute a file that is open for writing.
    let _writer = fs::OpenOptions::new().append(true).open(&program).unwrap();
    let ran = world.run(["run".as_ref(), "--".as_ref(), program.as_os_str()]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(126), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("cannot execute") && ran.stderr.contains("busy"), "{}", ran.stderr);
    assert_eq!(world.captures(), [""; 0]);
}

/// Check that texts without `#!` run by the shell, as they do from a shell.
#[test]
fn texts_without_interpreter_run_by_the_shell() {
    let world = World::new();
    let script = world.executable("script", "echo \"ran with $1\"\n");
    let ran = world.run(["run".as_ref(), "--".as_ref(), script.as_os_str(), "one".as_ref()]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "ran with one\n"), "{}", ran.stderr);
}

/// Check that an allocator inside the program that the agent does not know is remarked on before it starts.
#[test]
fn own_allocator_is_remarked_on() {
    let world = World::new();
    let source =
        "void *rpmalloc(unsigned long n) { return (void *)n; } int main(void) { return rpmalloc(0) != 0; }";
    let program = world.compile("app", source, &[]);
    let ran = world.run(["run".as_ref(), "--".as_ref(), program.as_os_str()]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.stderr.contains("its own rpmalloc (rpmalloc)"), "{}", ran.stderr);
}

/// Check that the log says what happens when it is asked to, and nothing otherwise.
#[test]
fn log_is_written_on_demand() {
    let world = World::new();
    let log = |value: &str| {
        let mut tool = world.tool(["run", "-q", "--", "true"]);
        ran(tool.env("SYSPROF_MEMPROF_LOG", value).output().unwrap()).stderr
    };
    assert!(log("debug").contains("target: "), "{}", log("debug"));
    assert!(!log("off").contains("target: "));
    assert!(log("loud").contains("SYSPROF_MEMPROF_LOG=loud is unknown"));
}
