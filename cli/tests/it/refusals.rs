//! Programs that cannot be recorded: told apart before they start.

use crate::support::{World, chmod};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A program that leaves a mark when it runs.
const MARKING: &str =
    "#include <fcntl.h>\nint main(int c, char **v) { return open(v[1], O_CREAT | O_WRONLY, 0600) < 0; }";

struct Refusals {
    world: World,
}

impl Refusals {
    /// Checks exit code and message of `run` on this program, and that it did not run.
    fn check(&self, program: &Path, code: i32, expected: &str) {
        let mark = self.world.path("mark");
        let ran = self.world.run(["run".as_ref(), "--".as_ref(), program, &mark]);
        assert_eq!(ran.code, Some(code), "{}: {}", program.display(), ran.stderr);
        assert!(ran.stderr.contains(expected), "{expected:?} is not in: {}", ran.stderr);
        assert_eq!(ran.stdout, "");
        assert!(!mark.exists(), "{} was started", program.display());
        assert_eq!(self.world.captures(), [""; 0], "{}", program.display());
    }

    /// A copy of `program` with one byte changed.
    fn with_byte(&self, program: &Path, name: &str, offset: usize, byte: u8) -> std::path::PathBuf {
        let mut bytes = fs::read(program).unwrap();
        bytes[offset] = byte;
        self.world.executable(name, bytes)
    }
}

/// Check that each kind of program into which no agent can be loaded is named, and exits with 2.
#[test]
fn programs_without_a_loader_for_the_agent_exit_2() {
    let refusals = Refusals { world: World::new() };
    let world = &refusals.world;
    let program = world.compile("app", MARKING, &[]);
    refusals.check(&world.compile("static", MARKING, &["-static"]), 2, "statically linked");
    refusals.check(&world.compile("static-pie", MARKING, &["-static-pie"]), 2, "statically linked");
    refusals.check(&refusals.with_byte(&program, "bits32", 4, 1), 2, "32-bit");
    refusals.check(&refusals.with_byte(&program, "arm", 18, 183), 2, "aarch64");
    refusals.check(&world.compile("lib.so", "int x;", &["-shared", "-fPIC"]), 2, "a library");

    let mut other = fs::read(&program).unwrap();
    let glibc = b"/lib64/ld-linux-x86-64.so.2\0";
    let at = other.windows(glibc.len()).position(|window| window == glibc).unwrap();
    other[at..at + glibc.len()].copy_from_slice(b"/lib/ld64-uClibc.so.0\0\0\0\0\0\0\0");
    refusals.check(&world.executable("other", other), 2, "uClibc");
}

/// Check that programs which the loader starts without preloading are named, and exit with 2.
#[test]
fn privileged_programs_exit_2() {
    let refusals = Refusals { world: World::new() };
    let program = refusals.world.compile("app", MARKING, &[]);
    chmod(&program, 0o4755);
    refusals.check(&program, 2, "setuid");
    chmod(&program, 0o2755);
    refusals.check(&program, 2, "setgid");
    chmod(&program, 0o755);
    let setcap = Command::new("setcap").arg("cap_net_raw=ep").arg(&program).output();
    if setcap.is_ok_and(|output| output.status.success()) {
        refusals.check(&program, 2, "file capabilities");
    } else {
        println!("setcap is not there or not allowed: file capabilities were not tried");
    }
}

/// Check that files which are no programs get the codes that shells give, or 2.
#[test]
fn files_that_are_no_programs_are_refused() {
    let refusals = Refusals { world: World::new() };
    let world = &refusals.world;
    refusals.check(&world.executable("data", b"\x89PNG\0\n"), 2, "not a program");
    refusals.check(&world.executable("empty", ""), 2, "is empty");
    refusals.check(Path::new("/no/such/program"), 127, "not found");
    refusals.check(Path::new("no-such-program"), 127, "not found");
    refusals.check(Path::new("/tmp"), 126, "is a directory");
    refusals.check(&world.executable("lost", "#!/no/such/interpreter\n"), 126, "/no/such/interpreter");
    let plain = world.executable("plain", "#!/bin/sh\n");
    chmod(&plain, 0o644);
    refusals.check(&plain, 126, "chmod +x");
}

/// Check that a script whose interpreter cannot be recorded is refused for the interpreter's reason.
#[test]
fn scripts_are_refused_with_their_interpreter() {
    let refusals = Refusals { world: World::new() };
    let interpreter = refusals.world.compile("static", MARKING, &["-static"]);
    let script = refusals.world.executable("script", format!("#!{}\n", interpreter.display()));
    refusals.check(&script, 2, "statically linked");
}
