use super::*;
use crate::attach::target::inspect;
use shared_ring::key::Key;
use std::fs;
use std::path::Path;
use std::process::Command;

fn environment() -> Environment {
    Environment::new(
        Path::new("/no/agent.so"),
        Path::new("/no/socket"),
        Some(Key::new([0x5a; Key::BYTES])),
        false,
    )
}

/// A launch of the shell with a script.
fn shell(script: &str) -> Launch {
    let command = ["sh", "-c", script].map(OsString::from);
    Launch::new(&inspect(Path::new("sh")).unwrap(), &command).unwrap()
}

/// The output of a shell script that `run` runs.
fn output(script: &str, run: impl FnOnce(&str)) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("output");
    run(&format!("exec > '{}'\n{script}", file.display()));
    fs::read_to_string(file).unwrap()
}

fn run_by_us(script: &str) {
    let child = shell(script).prepare(true).unwrap().go(&environment()).unwrap();
    assert!(child.wait().unwrap().success());
}

/// Runs it with the standard library, which adds nothing of ours.
fn run_by_std(script: &str) {
    assert!(Command::new("sh").arg("-c").arg(script).status().unwrap().success());
}

/// Check that the pid is known before the target runs, and that it is the target's.
#[test]
fn pid_is_known_before_the_target_runs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let prepared = shell(&format!("echo $$ > '{}'", file.display())).prepare(false).unwrap();
    let pid = prepared.pid();
    assert!(!file.exists());
    let child = prepared.go(&environment()).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(fs::read_to_string(&file).unwrap().trim(), pid.to_string());
}

/// Check that the exit status is the target's own.
#[test]
fn status_is_the_targets() {
    let run =
        |script: &str| shell(script).prepare(false).unwrap().go(&environment()).unwrap().wait().unwrap();
    assert_eq!(run("exit 7").code(), Some(7));
    assert_eq!(run("kill -9 $$").signal(), Some(9));
}

/// Check that only our variables differ in the target's environment.
#[test]
fn only_our_variables_are_added() {
    let sorted = |text: String| {
        // The shell sets these itself.
        let own = ["PWD=", "_=", "OLDPWD=", "SHLVL="];
        let mut lines: Vec<_> = text
            .lines()
            .filter(|line| !own.iter().any(|own| line.starts_with(own)))
            .map(str::to_string)
            .collect();
        lines.sort();
        lines
    };
    let (ours, others) = (sorted(output("env", run_by_us)), sorted(output("env", run_by_std)));
    let added: Vec<_> = ours.iter().filter(|line| !others.contains(line)).collect();
    let key = "SYSPROF_MEMPROF_KEY=5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a";
    let expected = ["LD_PRELOAD=/no/agent.so", key, "SYSPROF_MEMPROF_SOCKET=/no/socket"];
    assert_eq!(added, expected);
    assert!(others.iter().all(|line| ours.contains(line)));
}

/// Check that the target gets none of our descriptors: it has the same ones open as any child of ours.
#[test]
fn no_descriptor_leaks() {
    let script = "ls /proc/$$/fd";
    assert_eq!(output(script, run_by_us), output(script, run_by_std));
}

/// Check that the target finds signals as they were before the runtime started: none blocked, and those ignored that
/// are ignored here, except for SIGPIPE, which the runtime ignores.
#[test]
fn signals_are_as_they_were() {
    let masks = |status: String| {
        ["SigBlk:", "SigIgn:"].map(|name| {
            let mask = status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim();
            u64::from_str_radix(mask, 16).unwrap()
        })
    };
    let sigpipe = 1 << (libc::SIGPIPE - 1);
    let [_, ignored_here] = masks(fs::read_to_string("/proc/self/status").unwrap());
    assert_ne!(ignored_here & sigpipe, 0, "the runtime does so");
    let [blocked, ignored] = masks(output("exec cat /proc/self/status", run_by_us));
    assert_eq!((blocked, ignored), (0, ignored_here & !sigpipe));
}

/// Check that arguments reach the target unchanged, including spaces and odd bytes.
#[test]
fn arguments_are_passed_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("arguments");
    let script = format!("printf '%s|' \"$0\" \"$@\" > '{}'", file.display());
    let odd = OsString::from(std::ffi::OsStr::from_bytes(b"\xff*"));
    let mut command = vec![OsString::from("sh"), "-c".into(), script.into()];
    command.extend(["name".into(), "a b".into(), "".into(), odd]);
    let launch = Launch::new(&inspect(Path::new("sh")).unwrap(), &command).unwrap();
    assert!(launch.prepare(false).unwrap().go(&environment()).unwrap().wait().unwrap().success());
    assert_eq!(fs::read(&file).unwrap(), b"name|a b||\xff*|");
    let nul = [OsString::from("sh"), "a\0b".into()];
    assert!(Launch::new(&inspect(Path::new("sh")).unwrap(), &nul).is_err());
}

/// Check that a text without `#!` is run by the shell, with its own name and arguments.
#[test]
fn texts_are_run_by_the_shell() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let (script, output) = (folder.path().join("script"), folder.path().join("output"));
    fs::write(&script, format!("echo \"$0\" \"$@\" > '{}'\n", output.display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let command = [script.clone().into_os_string(), "one".into()];
    let launch = Launch::new(&inspect(&script).unwrap(), &command).unwrap();
    assert!(launch.prepare(false).unwrap().go(&environment()).unwrap().wait().unwrap().success());
    assert_eq!(fs::read_to_string(&output).unwrap(), format!("{} one\n", script.display()));
}

/// Check that the reason for a failed execve is returned, and no process stays behind.
#[test]
fn failed_execve_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gone");
    fs::copy("/bin/true", &file).unwrap();
    let target = inspect(&file).unwrap();
    fs::remove_file(&file).unwrap();
    let prepared = Launch::new(&target, &[file.into_os_string()]).unwrap().prepare(false).unwrap();
    let pid = prepared.pid();
    let NotExecuted(error) = prepared.go(&environment()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
}

/// Check that a prepared process that is never let go ends without running anything.
#[test]
fn abandoned_process_ends() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ran");
    let prepared = shell(&format!(": > '{}'", file.display())).prepare(false).unwrap();
    let pid = prepared.pid();
    drop(prepared);
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
    assert!(!file.exists());
}

/// Check that a process killed while waiting counts as a target killed by that signal.
#[test]
fn killed_while_waiting_is_a_killed_target() {
    let prepared = shell("exit 0").prepare(false).unwrap();
    let pid = Pid::from_raw(i32::try_from(prepared.pid()).unwrap()).unwrap();
    rustix::process::kill_process(pid, Number::TERM).unwrap();
    let child = prepared.go(&environment()).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
}
