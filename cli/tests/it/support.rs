//! A user's world of their own: home, runtime folder and working folder, gone after the test.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// The built command.
pub(crate) const TOOL: &str = env!("CARGO_BIN_EXE_sysprof-memprof");

/// A world.
pub(crate) struct World {
    folder: TempDir,
}

/// What a finished command left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl World {
    pub(crate) fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "run", "tmp", "work"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        World { folder }
    }

    /// A path in this world.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Where captures go.
    pub(crate) fn work(&self) -> PathBuf {
        self.path("work")
    }

    /// The command with these arguments, in this world.
    pub(crate) fn tool<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.command(TOOL);
        command.args(arguments);
        command
    }

    /// Any command in this world.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.work())
            .env("HOME", self.path("home"))
            .env("XDG_RUNTIME_DIR", self.path("run"));
        command.env("TMPDIR", self.path("tmp"));
        for name in
            ["XDG_CACHE_HOME", "XDG_STATE_HOME", "LD_PRELOAD", "NO_COLOR", "CLICOLOR_FORCE", "COLUMNS"]
        {
            command.env_remove(name);
        }
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("SYSPROF_MEMPROF_"))
        {
            command.env_remove(name);
        }
        command
    }

    /// Runs the command to its end.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Ran {
        ran(self.tool(arguments).output().unwrap())
    }

    /// Makes an executable file and gives its path. As with [`copy_program`], another process writes it.
    pub(crate) fn executable(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        let mut cp = Command::new("cp").arg("/dev/stdin").arg(&path).stdin(Stdio::piped()).spawn().unwrap();
        // Dropped at the end of the statement, which is the end of the file.
        cp.stdin.take().unwrap().write_all(bytes.as_ref()).unwrap();
        assert!(cp.wait().unwrap().success(), "{}", path.display());
        chmod(&path, 0o755);
        path
    }

    /// Compiles a C program and gives its path.
    pub(crate) fn compile(&self, name: &str, source: &str, flags: &[&str]) -> PathBuf {
        let (file, output) = (self.path(&format!("{name}.c")), self.path(name));
        fs::write(&file, source).unwrap();
        let status = Command::new("cc").args(flags).arg("-o").arg(&output).arg(&file).status().unwrap();
        assert!(status.success(), "cc {flags:?}");
        output
    }

    /// Names of the captures that were written.
    pub(crate) fn captures(&self) -> Vec<String> {
        let entries = fs::read_dir(self.work()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
        names.retain(|name| name.ends_with(".memprof"));
        names.sort();
        names
    }
}

pub(crate) fn ran(output: Output) -> Ran {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Copies a program that is to be executed. Another process writes it: a child that another test starts just then would
/// hold our descriptor for a moment, and a file that somebody can write is not executed.
pub(crate) fn copy_program(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg(from).arg(to).status().unwrap().success());
}

pub(crate) fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Waits for something to become true; a machine under load gets its time.
pub(crate) fn eventually(what: &str, mut is_true: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !is_true() {
        assert!(std::time::Instant::now() < deadline, "waited too long for: {what}");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}
