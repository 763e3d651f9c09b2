//! The sources as they are given away: whole, buildable without a network, and with the agent inside of the command.

use crate::support::{World, copy_program};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A hook that no agent has.
const HOOK: &str = "
#[expect(unsafe_code, reason = \"a hook is an exported function\")]
mod added {
    #[unsafe(no_mangle)]
    extern \"C\" fn sysprof_memprof_added_hook() {}
}
";
const HOOK_NAME: &[u8] = b"sysprof_memprof_added_hook";

/// Check that the files which are tracked build without a network into one file that has the agent inside, and that
/// the agent is built anew when one of its hooks changes.
///
/// Both at once because it takes a whole build; the folder stays, so that only what changed is built the next time.
#[test]
fn tracked_files_build_and_a_changed_hook_gets_inside() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("package");
    let source = folder.join("source");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    copy(root, &source, &tracked(root));

    let before = embedded(&build(&source, &folder.join("target")));
    assert!(before.starts_with(b"\x7fELF") && !contains(&before, HOOK_NAME));

    let hooks = source.join("preload/src/lib.rs");
    let text = fs::read_to_string(&hooks).unwrap();
    fs::write(&hooks, format!("{text}{HOOK}")).unwrap();
    let after = embedded(&build(&source, &folder.join("target")));
    assert!(contains(&after, HOOK_NAME), "the embedded agent is an old one");
}

/// The files that git tracks; in a source package, which has no git, all of them.
fn tracked(root: &Path) -> Vec<PathBuf> {
    let git = Command::new("git").args(["ls-files", "-z"]).current_dir(root).output();
    match git {
        Ok(output) if output.status.success() && !output.stdout.is_empty() => {
            let names = String::from_utf8(output.stdout).unwrap();
            names.split_terminator('\0').map(PathBuf::from).filter(|name| root.join(name).is_file()).collect()
        }
        _ => all_files(root, Path::new("")),
    }
}

fn all_files(root: &Path, below: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(root.join(below)).unwrap().map(Result::unwrap) {
        let path = below.join(entry.file_name());
        let kind = entry.file_type().unwrap();
        // Sources may have folders of that name, too.
        let is_made = below == Path::new("") && entry.file_name() == "target";
        if kind.is_dir() && !is_made && entry.file_name() != ".git" {
            files.extend(all_files(root, &path));
        } else if kind.is_file() {
            files.push(path);
        }
    }
    files
}

/// Makes `to` a copy of these files, with their times, so that cargo builds only what changed since the last copy.
fn copy(from: &Path, to: &Path, files: &[PathBuf]) {
    for old in if to.exists() { all_files(to, Path::new("")) } else { Vec::new() } {
        if !files.contains(&old) {
            fs::remove_file(to.join(old)).unwrap();
        }
    }
    for file in files {
        let (from, to) = (from.join(file), to.join(file));
        let bytes = fs::read(&from).unwrap();
        if fs::read(&to).is_ok_and(|there| there == bytes) {
            continue;
        }
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::write(&to, bytes).unwrap();
        // Not the time of the original: what was changed back has to count as changed.
        File::options().append(true).open(&to).unwrap().set_modified(std::time::SystemTime::now()).unwrap();
    }
}

/// Builds the command, without a network, and gives its path. Crates of others are those that this test was built with.
fn build(source: &Path, target: &Path) -> PathBuf {
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["build", "--offline", "--locked", "--package", "sysprof-memprof", "--target-dir"])
        .arg(target);
    // What the cargo that runs this test sets is not for the one that it starts.
    let settings = ["CARGO_HOME", "CARGO_NET_OFFLINE", "CARGO_INCREMENTAL"];
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if (text.starts_with("CARGO") || text.starts_with("RUSTC") || text == "RUSTFLAGS")
            && !settings.contains(&&*text)
        {
            cargo.env_remove(&name);
        }
    }
    // What is optimized for the sake of other tests takes longest to compile.
    for package in ["analysis", "capture", "preload", "shared-ring", "symbols", "unwind"] {
        cargo.args(["--config", &format!("profile.dev.package.{package}.opt-level=0")]);
    }
    // Cargo tells packages apart by their place within a workspace, so those of the copy would be taken for those of the
    // workspace around this test, whose changes nobody would notice then. With a wrapper, even one that does nothing,
    // they have names of their own.
    cargo.env("RUSTC_WORKSPACE_WRAPPER", "/usr/bin/env");
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it lies in the target folder");
    cargo.env("CARGO_BUILD_BUILD_DIR", built);
    let output = cargo.current_dir(source).output().unwrap();
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !messages.contains("warning: "), "{messages}");
    target.join("debug/sysprof-memprof")
}

/// The agent that a command gives out, alone in a folder where nothing else of the build is.
fn embedded(command: &Path) -> Vec<u8> {
    let world = World::new();
    let alone = world.path("sysprof-memprof");
    copy_program(command, &alone);
    let output = world.command(&alone).args(["agent", "path"]).output().unwrap();
    let path = String::from_utf8(output.stdout).unwrap();
    fs::read(path.trim_end()).unwrap_or_else(|error| panic!("{path:?}: {error}"))
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
