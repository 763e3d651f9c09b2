//! A folder and an environment for one test, removed afterwards.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Variables of the caller that would change what is tested.
const UNWANTED: [&str; 6] =
    ["LD_PRELOAD", "MALLOC_ARENA_MAX", "GLIBC_TUNABLES", "NO_COLOR", "CLICOLOR_FORCE", "RUST_BACKTRACE"];

/// A world.
#[derive(Debug)]
pub(crate) struct World {
    folder: TempDir,
}

impl World {
    pub(crate) fn new() -> World {
        World { folder: tempfile::tempdir().expect("temporary folders can be made") }
    }

    /// The folder that commands run in.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file into the folder.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).expect("the folder is ours");
        path
    }

    /// A command that runs in this world. Home stays the user's, since programs have settings there; what the product
    /// keeps is in this world.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.folder()).env("LC_ALL", "C");
        let ours = |name: &str| name.starts_with("SYSPROF_MEMPROF_") || name.starts_with("CARGO_");
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if ours(&text) && text != "CARGO_HOME" || UNWANTED.contains(&&*text) {
                command.env_remove(&name);
            }
        }
        command.env("SYSPROF_MEMPROF_DIR", self.path("agent")).env("XDG_STATE_HOME", self.path("state"));
        command
    }

    /// The product with these arguments.
    pub(crate) fn tool<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.command(super::product());
        command.args(arguments).env("XDG_CACHE_HOME", self.path("cache"));
        command
    }
}
