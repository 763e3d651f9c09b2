//! Processes by name, as `/proc` tells.

use crate::proc::process::{is_kept_as, without_deletion};
use procfs::process::{Process, Stat};
use std::fs;
use std::path::Path;

/// `PF_KTHREAD`: a thread of the kernel's own.
const KERNEL_THREAD: u32 = 0x0020_0000;

/// The pids of all processes of this name, except the caller. A process matches by the name of its executable or by
/// its own, which for a script is the script's and which programs may set with `PR_SET_NAME`. Names must match in
/// full.
///
/// Executables of other users are not visible to everybody; their processes are found by the name they have.
pub fn named(name: &str) -> Vec<u32> {
    let own = std::process::id();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut found: Vec<u32> = pids.filter(|pid| *pid != own && is_called(*pid, name)).collect();
    found.sort_unstable();
    found
}

fn is_called(pid: u32, name: &str) -> bool {
    // A process that has gone meanwhile has no name.
    let Ok(process) = Process::new(pid.cast_signed()) else { return false };
    let Ok(Stat { comm, state, flags, .. }) = process.stat() else { return false };
    if matches!(state, 'Z' | 'X') || flags & KERNEL_THREAD != 0 {
        return false;
    }
    let is_name_of_file =
        |path: &Path| path.file_name().is_some_and(|file| without_deletion(&file.to_string_lossy()) == name);
    let has_begun_with_it =
        || process.cmdline().is_ok_and(|words| words.iter().any(|word| is_name_of_file(Path::new(word))));
    comm == name
        || process.exe().is_ok_and(|path| is_name_of_file(&path))
        // The kernel has cut the name: the command's words have all of it.
        || is_kept_as(name, &comm) && has_begun_with_it()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::process::{Child, Command, Stdio};

    struct Running(Child);

    impl Drop for Running {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// A process that waits until this is dropped.
    fn start(command: &mut Command) -> Running {
        Running(command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap())
    }

    /// Check that programs and scripts are found by their full names, short or long, even when the file is gone, and
    /// that nothing else is found.
    #[test]
    fn processes_are_found_by_whole_names() {
        let folder = tempfile::tempdir().unwrap();
        let long = "a-program-of-quite-a-long-name";
        let program = folder.path().join(long);
        fs::copy("/bin/cat", &program).unwrap();
        let script = folder.path().join("a-script-of-quite-a-long-name");
        fs::write(&script, "#!/bin/sh\nread line\n").unwrap();
        fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
        let short = folder.path().join("memprof-short");
        fs::copy(&script, &short).unwrap();
        let [one, two, three] = [&program, &script, &short].map(|file| start(&mut Command::new(file)));
        let found = |name: &str, running: &Running| {
            let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
            // A child has its parent's name until it has executed the program.
            while named(name) != [running.0.id()] && std::time::Instant::now() < deadline {
                std::thread::yield_now();
            }
            assert_eq!(named(name), [running.0.id()], "{name}");
        };
        found(long, &one);
        found("a-script-of-quite-a-long-name", &two);
        found("memprof-short", &three);
        fs::remove_file(&program).unwrap();
        found(long, &one);
        for part in ["a-program-of-qu", "a-program-of-quite-a-long-nam", "memprof-shor", "emprof-short", ""] {
            let all = named(part);
            assert!(part == "a-program-of-qu" || all.is_empty(), "{part}: {all:?}");
        }
    }

    /// Check that the caller, the dead and kernel threads are not found.
    #[test]
    fn only_others_that_live_are_found() {
        let own = Process::myself().unwrap().stat().unwrap().comm;
        assert!(!named(&own).contains(&std::process::id()));
        let mut dead = Command::new("/bin/true").spawn().unwrap();
        let state = || Process::new(dead.id().cast_signed()).unwrap().stat().unwrap().state;
        while state() != 'Z' {
            std::thread::yield_now();
        }
        assert!(!named("true").contains(&dead.id()));
        dead.wait().unwrap();
        assert_eq!(named("kthreadd"), []);
    }
}
