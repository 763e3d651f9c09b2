//! Where the agent library lies so that target processes can load it.
//!
//! The library is embedded in the tool's executable and written out on demand, into the first of these folders that
//! is private and can hold code:
//!
//! ```text
//!   $SYSPROF_MEMPROF_DIR                  when set, the only one
//!   $XDG_RUNTIME_DIR/sysprof-memprof
//!   /run/user/UID/sysprof-memprof
//!   $TMPDIR or /tmp, sysprof-memprof-UID
//!   $XDG_CACHE_HOME or ~/.cache, sysprof-memprof
//!       └── libsysprof_memprof_preload.5f3c09a1d2e48b76.so     mode 0500, named after its content
//! ```
//!
//! Nobody else may be able to replace a library that is loaded into every process of a user. So the folder must be a
//! real folder (no link), belong to us, and be closed to others (0700); its parent must belong to us or root, and be
//! sticky if others may write to it. A file gets the name of its content once all of that is on the disk, and nobody may
//! write to it (0500): so an existing one is used without comparing its megabytes, which would take a short recording
//! half its time. Copies of other versions are removed when they were not used for a day.

#[expect(unsafe_code, reason = "mapping a file as code is the only proof that it can be mapped as code")]
mod executable;
mod folder;
mod sweep;

use crate::base::error::{LARGER_FILES, MORE_FILES, is_too_many_files};
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use folder::PrivateFolder;

/// Name of an installed agent; the name of a private copy includes the hash of its content.
pub const FILE_NAME: &str = "libsysprof_memprof_preload.so";

/// An agent library that target processes can load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFile {
    /// The library.
    pub path: PathBuf,
    /// Folders earlier in the order that could not be used, and why.
    pub passed_over: Vec<Unusable>,
}

/// A folder that cannot hold the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unusable {
    /// The folder.
    pub folder: PathBuf,
    /// Why.
    pub reason: Reason,
}

/// Why a folder cannot hold the agent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// Its parent does not exist, like `/run/user/UID` without a login.
    #[error("no such folder")]
    Absent,
    /// Code cannot be mapped from there.
    #[error("mounted noexec")]
    Noexec,
    /// It belongs to somebody else, is open to others, or is a link.
    #[error("not safe: {0}")]
    Unsafe(&'static str),
    /// `LD_PRELOAD` is a list separated by colons and spaces, and `$` starts a variable in it.
    #[error("its name has a space, colon or $, which LD_PRELOAD does not allow")]
    Unspeakable,
    /// This process may not open more files.
    #[error("too many open files")]
    Files,
    /// Files of this process may not grow as large as the agent.
    #[error("the agent exceeds the limit on file sizes")]
    Large,
    /// No space is left, or none for this user.
    #[error("{0}")]
    Full(String),
    /// Any other error of the system.
    #[error("{0}")]
    System(String),
}

impl From<io::Error> for Reason {
    fn from(error: io::Error) -> Reason {
        match error.kind() {
            io::ErrorKind::NotFound => Reason::Absent,
            _ if is_too_many_files(&error) => Reason::Files,
            io::ErrorKind::FileTooLarge => Reason::Large,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Reason::Full(error.to_string()),
            _ => Reason::System(error.to_string()),
        }
    }
}

/// No folder can hold the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoPlace {
    /// What was tried.
    pub tried: Vec<Unusable>,
}

impl fmt::Display for NoPlace {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(text, "found no private folder to load the agent from:")?;
        for Unusable { folder, reason } in &self.tried {
            write!(text, "\n  {}: {reason}", folder.display())?;
        }
        let is_any = |test: fn(&Reason) -> bool| self.tried.iter().any(|unusable| test(&unusable.reason));
        let advice = match () {
            () if is_any(|reason| *reason == Reason::Files) => MORE_FILES,
            () if is_any(|reason| *reason == Reason::Large) => LARGER_FILES,
            () if is_any(|reason| matches!(reason, Reason::Full(_))) => {
                "Free space in one of them, or set SYSPROF_MEMPROF_DIR to another folder."
            }
            () => "Set SYSPROF_MEMPROF_DIR to a folder on a file system without noexec.",
        };
        write!(text, "\n{advice}")
    }
}

impl std::error::Error for NoPlace {}

/// The library that is to be provided.
#[derive(Clone, Copy, Debug)]
pub struct Library<'a> {
    /// Its content.
    pub bytes: &'a [u8],
    /// A hash of its content, as 16 hexadecimal digits, to keep versions apart. Whoever builds the library makes it: to
    /// hash some megabytes takes milliseconds.
    pub hash: &'a str,
}

impl AgentFile {
    /// Makes sure that the library exists, loadable, in the first usable folder of `candidates`.
    ///
    /// # Errors
    /// When no candidate can be used.
    pub fn provide(library: Library<'_>, candidates: &[PathBuf]) -> Result<AgentFile, NoPlace> {
        let name = private_name(library.hash);
        let mut passed_over = Vec::new();
        for candidate in candidates {
            match place(library.bytes, &name, candidate) {
                Ok(()) => return Ok(AgentFile { path: candidate.join(name), passed_over }),
                Err(reason) => passed_over.push(Unusable { folder: candidate.clone(), reason }),
            }
        }
        Err(NoPlace { tried: passed_over })
    }
}

/// Removes all private copies of agents, of any version, and the folders left empty. Returns what was removed.
///
/// # Errors
/// When one could not be removed.
pub fn remove_private(candidates: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let mut removed = Vec::new();
    for folder in candidates {
        // A link is not followed: we did not make its target.
        if !folder.symlink_metadata().is_ok_and(|folder| folder.is_dir()) {
            continue;
        }
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            if is_private_name(&entry.file_name().to_string_lossy()) {
                std::fs::remove_file(entry.path())?;
                removed.push(entry.path());
            }
        }
        // The folder stays if something else is in it, such as sockets of running recordings.
        let _ = std::fs::remove_dir(folder);
    }
    Ok(removed)
}

/// The private folders of this user, best first; see the [module's picture](self).
pub fn candidates() -> Vec<PathBuf> {
    candidates_in(|name| std::env::var_os(name), rustix::process::geteuid().as_raw())
}

fn candidates_in(variable: impl Fn(&str) -> Option<OsString>, uid: u32) -> Vec<PathBuf> {
    // The XDG base directory specification says to ignore relative paths.
    let folder = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(only) = folder("SYSPROF_MEMPROF_DIR") {
        return vec![only];
    }
    let mut found = Vec::new();
    found.extend(folder("XDG_RUNTIME_DIR").map(|runtime| runtime.join("sysprof-memprof")));
    found.push(PathBuf::from(format!("/run/user/{uid}/sysprof-memprof")));
    let temporary = folder("TMPDIR").unwrap_or_else(|| PathBuf::from("/tmp"));
    found.push(temporary.join(format!("sysprof-memprof-{uid}")));
    let cache = folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(".cache")));
    found.extend(cache.map(|cache| cache.join("sysprof-memprof")));
    let mut seen = Vec::new();
    found.retain(|path| {
        !seen.contains(path) && {
            seen.push(path.clone());
            true
        }
    });
    found
}

/// The name of a library with this hash, which keeps versions apart. Protection from a forged file comes from the folder.
fn private_name(hash: &str) -> String {
    FILE_NAME.replace(".so", &format!(".{hash}.so"))
}

/// True for names made by [`private_name`].
fn is_private_name(name: &str) -> bool {
    let (stem, end) = FILE_NAME.split_at(FILE_NAME.len() - ".so".len());
    let hash = name.strip_prefix(stem).and_then(|rest| rest.strip_prefix('.')?.strip_suffix(end));
    hash.is_some_and(|hash| hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Puts `bytes` into `candidate` unless they are there.
fn place(bytes: &[u8], name: &str, candidate: &Path) -> Result<(), Reason> {
    if candidate.as_os_str().as_bytes().iter().any(|byte| b" :$\t\n".contains(byte)) {
        return Err(Reason::Unspeakable);
    }
    let folder = PrivateFolder::open(candidate)?;
    folder.check_exec()?;
    let lock = folder.lock_to_use();
    let used = folder.last_use(name, bytes.len())?;
    if used.is_none() {
        folder.write(name, bytes)?;
    }
    let now = SystemTime::now();
    let is_noted = used.is_some_and(|used| now.duration_since(used).is_ok_and(|since| since < sweep::NOTED));
    if !is_noted {
        folder.mark_used(name)?;
    }
    drop(lock);
    executable::check(&folder.open_file(name)?)?;
    if !is_noted {
        sweep::sweep(&folder, name, now);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
