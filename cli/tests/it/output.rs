//! Where captures go: checked before anything starts.

use crate::support::{World, ran};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Runs a program that leaves a mark with this output, and gives code and message. The mark must not be there.
fn refused(world: &World, output: &Path, more: &[&str]) -> String {
    let mark = world.path("mark");
    let mut arguments = vec!["run".as_ref(), "-o".as_ref(), output.as_os_str()];
    arguments.extend(more.iter().map(std::ffi::OsStr::new));
    arguments.extend(["--".as_ref(), "touch".as_ref(), mark.as_os_str()]);
    let ran = world.run(arguments);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
    assert!(!mark.exists(), "the target was started");
    ran.stderr
}

/// Check that an output that cannot be written ends `run` with 2 before the target starts, saying why.
#[test]
fn unwritable_output_exits_2_before_the_start() {
    let world = World::new();
    assert!(refused(&world, Path::new("/no/such/folder/x.memprof"), &[]).contains("No such file"));
    assert!(refused(&world, &world.work(), &["--force"]).contains("is a directory"));
    assert!(refused(&world, Path::new("/dev/null"), &["--force"]).contains("not a regular file"));
    assert!(
        Path::new("/dev/null").metadata().is_ok_and(|null| !null.is_file()),
        "/dev/null is still a device"
    );
}

/// Check that a folder which takes no file, whatever its rights, ends each command that writes one with 2 and what to do: /sys has no
/// room for files of anybody.
#[test]
fn folders_that_take_no_file_are_wrong_usage() {
    let world = World::new();
    assert!(refused(&world, Path::new("/sys/x.memprof"), &[]).contains("Choose another place with --output"));
    let recorded = world.run(["run", "-q", "-o", "app.memprof", "--", "true"]);
    assert_eq!(recorded.code, Some(0), "{}", recorded.stderr);
    let file = world.path("work/app.memprof").display().to_string();
    let commands: [&[&str]; 4] = [
        &["run", "--", "true"],
        &["run", "--aggregate", "--", "true"],
        &["export", &file, "--format", "pprof", "-o", "x"],
        &["export", &file, "--format", "memprof", "-o", "x"],
    ];
    let in_sys = |command: &[&str]| ran(world.tool(command).current_dir("/sys").output().unwrap());
    assert!(in_sys(&["doctor"]).stdout.contains("captures cannot be written here"));
    for command in commands {
        let ran = in_sys(command);
        let says_so = ran.stderr.contains("cannot write") && ran.stderr.contains("with --output");
        assert!(ran.code == Some(2) && says_so, "{command:?}: {:?} {}", ran.code, ran.stderr);
    }
}

/// Check that a pipe, a folder and a folder that can only be read are refused with what to do, --force or not.
#[test]
fn places_that_are_no_files_say_what_to_do() {
    let world = World::new();
    let pipe = world.path("work/pipe");
    let made = world.command("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    for more in [&[][..], &["--force"]] {
        let said = refused(&world, &pipe, more);
        assert!(said.contains("is a pipe") && said.contains("--output -"), "{said}");
        let said = refused(&world, &world.work(), more);
        assert!(said.contains("is a directory. Give the name of a file with --output."), "{said}");
        let said = refused(&world, Path::new("/dev/null"), more);
        assert!(
            said.contains("Choose another name with --output") && !said.contains("replace it with"),
            "{said}"
        );
    }
    let script = format!(
        "mount -t tmpfs -o ro tmpfs work && exec {} run -o work/x.memprof -- touch mark",
        crate::support::TOOL
    );
    let Some(ran) = with_a_mount(&world, &script) else { return };
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("Read-only file system"), "{}", ran.stderr);
    assert!(ran.stderr.contains("Choose another place with --output."), "{}", ran.stderr);
    assert!(!world.path("mark").exists(), "the target was started");
}

/// Check that whoever may write no large files is told that, and not to look for another place, whether it is the agent that does not fit
/// or the capture.
#[test]
fn limits_on_the_size_of_files_are_told_as_such() {
    let world = World::new();
    let limited = |command: &[&str]| {
        let mut shell = world.command("sh");
        shell.args(["-c", r#"ulimit -f 0; exec "$@""#, "sh", crate::support::TOOL]).args(command);
        ran(shell.output().unwrap())
    };
    let run = ["run", "-o", "x.memprof", "--", "touch", "mark"];
    for without in ["the agent", "the capture"] {
        let ran = limited(&run);
        assert!(ran.code.is_some_and(|code| code != 0), "{without}: {}", ran.stderr);
        assert!(ran.stderr.contains("Allow larger files (ulimit -f)."), "{without}: {}", ran.stderr);
        for wrong in ["noexec", "another place", "SYSPROF_MEMPROF_DIR"] {
            assert!(!ran.stderr.contains(wrong), "{without}: {}", ran.stderr);
        }
        assert!(!world.path("work/mark").exists(), "{without}: the target was started");
        // From now on the agent is there.
        assert_eq!(world.run(["agent", "path"]).code, Some(0));
    }
}

/// What a script has left in a world of mounts of its own; none where that is not allowed, which is told.
fn with_a_mount(world: &World, script: &str) -> Option<crate::support::Ran> {
    let mut unshare = world.command("unshare");
    unshare.current_dir(world.path("")).args(["--mount", "--map-root-user", "sh", "-c", script]);
    let Ok(output) = unshare.output() else {
        println!("unshare is not there: a mount was not tried");
        return None;
    };
    let ran = ran(output);
    if ran.stderr.contains("unshare") || ran.stderr.contains("mount:") {
        println!("mounting is not allowed here: a mount was not tried");
        return None;
    }
    Some(ran)
}

/// Check that an existing file is kept unless --force says otherwise, a link in any case.
#[test]
fn existing_output_needs_force() {
    let world = World::new();
    let file = world.path("work/old.memprof");
    fs::write(&file, "old").unwrap();
    assert!(refused(&world, &file, &[]).contains("--force"));
    assert_eq!(fs::read(&file).unwrap(), b"old");
    let link = world.path("work/link.memprof");
    symlink(&file, &link).unwrap();
    assert!(refused(&world, &link, &["--force"]).contains("not a regular file"));
    assert_eq!(fs::read(&file).unwrap(), b"old");
    let ran = world.run(["run", "-o", "old.memprof", "--force", "--", "true"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

/// Check that a folder without rights is refused beforehand, where rights count (root has them all).
#[test]
fn folder_without_rights_is_refused() {
    if rustix::process::geteuid().is_root() {
        println!("root may write everywhere: not tried");
        return;
    }
    let world = World::new();
    crate::support::chmod(&world.work(), 0o500);
    assert!(refused(&world, &world.path("work/x.memprof"), &[]).contains("ermission"));
    crate::support::chmod(&world.work(), 0o700);
}

/// Check that a recording that fails does not fail the target: it runs to its end, the failure is told, and the exit
/// code is 3 unless the target has one of its own.
#[test]
fn failed_recording_exits_3_after_the_target() {
    let world = World::new();
    // Random-like sizes from many places: more than the tiny file system can hold.
    let target =
        world.executable("target", "#!/bin/sh\nfor i in $(seq 300); do $(: $i); done; echo done; exit $1\n");
    for (code, expected) in [("0", 3), ("5", 5)] {
        let script = format!(
            "mount -t tmpfs -o size=8k tmpfs work && exec {} run -o work/x.memprof -- {} {code}",
            crate::support::TOOL,
            target.display()
        );
        let Some(ran) = with_a_mount(&world, &script) else { return };
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(expected), "done\n"), "{}", ran.stderr);
        assert!(ran.stderr.contains("No space left"), "{}", ran.stderr);
        assert!(ran.stderr.contains("Make room there, or choose another place"), "{}", ran.stderr);
        assert!(ran.stderr.contains("What was recorded until then is in work/x.memprof"), "{}", ran.stderr);
    }
}
