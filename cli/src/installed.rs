//! The agent as `agent install` installs it: readable by all users, at a permanent path.
//!
//! ```text
//!   PREFIX/bin/sysprof-memprof                                      this executable, or not
//!   PREFIX/lib/sysprof-memprof/libsysprof_memprof_preload.so        mode 0755
//! ```
//!
//! It is found in the prefix of this executable, wherever that was moved, in the prefixes that this user installed
//! to, which are remembered, and in the usual ones.

use crate::log::debug;
use crate::message;
use collector::attach::agent_file::FILE_NAME;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Folder of the agent below a prefix.
const FOLDER: &str = "lib/sysprof-memprof";
/// Prefixes that are always searched; the first is the default for installing.
const USUAL: [&str; 2] = ["/usr/local", "/usr"];

/// Bytes of a file that are compared at a time.
const PIECE: usize = 64 << 10;

/// The agent's path below `prefix`.
pub(crate) fn path_in(prefix: &Path) -> PathBuf {
    prefix.join(FOLDER).join(FILE_NAME)
}

/// The prefix if none is given.
pub(crate) fn default_prefix() -> PathBuf {
    own_prefix().unwrap_or_else(|| PathBuf::from(USUAL[0]))
}

/// Finds an installed agent that is exactly `bytes`: another version would speak another protocol.
pub(crate) fn find(bytes: &[u8]) -> Option<PathBuf> {
    let mut prefixes: Vec<PathBuf> = own_prefix().into_iter().chain(remembered()).collect();
    prefixes.extend(USUAL.map(PathBuf::from));
    prefixes.iter().map(|prefix| path_in(prefix)).find(|path| match is_exactly(path, bytes) {
        Ok(true) => true,
        Ok(false) => {
            let path = path.display();
            message::warning(&format!(
                "{path} is the agent of another version and is not used. Replace it with: sysprof-memprof agent install"
            ));
            false
        }
        Err(_) => false,
    })
}

/// Whether a file has these bytes. It is read piece by piece: memory for all of it takes longer than the comparison.
fn is_exactly(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let mut piece = vec![0; PIECE];
    if file.metadata()?.len() != bytes.len() as u64 {
        return Ok(false);
    }
    for expected in bytes.chunks(PIECE) {
        let found = &mut piece[..expected.len()];
        file.read_exact(found)?;
        if found != expected {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Installs `bytes` below `prefix` atomically, for all users; returns the path.
pub(crate) fn install(bytes: &[u8], prefix: &Path) -> io::Result<PathBuf> {
    let path = path_in(prefix);
    let folder = prefix.join(FOLDER);
    // Modes are set whatever the umask is, or other users could not read the file.
    make_folders(&folder)?;
    let temporary = folder.join(format!(".{FILE_NAME}.{}", std::process::id()));
    let written = write_new(&temporary, bytes).and_then(|()| fs::rename(&temporary, &path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written?;
    remember(|prefixes| {
        if !prefixes.iter().any(|known| known == prefix) {
            prefixes.push(prefix.to_path_buf());
        }
    });
    Ok(path)
}

/// Removes what [`install`] made. Folders with other contents stay, and so does `PREFIX` itself.
pub(crate) fn uninstall(prefix: &Path) -> io::Result<PathBuf> {
    let path = path_in(prefix);
    fs::remove_file(&path)?;
    let usual = USUAL.iter().any(|usual| prefix == Path::new(usual));
    for folder in [prefix.join(FOLDER), prefix.join("lib")].iter().take(if usual { 1 } else { 2 }) {
        let _ = fs::remove_dir(folder);
    }
    remember(|prefixes| prefixes.retain(|known| known != prefix));
    Ok(path)
}

fn make_folders(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(above) = folder.parent() {
        make_folders(above)?;
    }
    match fs::create_dir(folder) {
        Ok(()) => fs::set_permissions(folder, Permissions::from_mode(0o755)),
        Err(error) if error.kind() == ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    file.set_permissions(Permissions::from_mode(0o755))?;
    file.sync_all()
}

/// The `PREFIX` of an executable `PREFIX/bin/NAME`.
fn own_prefix() -> Option<PathBuf> {
    prefix_of(&std::env::current_exe().ok()?)
}

fn prefix_of(executable: &Path) -> Option<PathBuf> {
    let folder = executable.parent()?;
    if folder.file_name()? == "bin" { folder.parent().map(Path::to_path_buf) } else { None }
}

/// The file that lists the prefixes that this user installed to, one per line.
fn memory() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = folder("XDG_STATE_HOME").or_else(|| folder("HOME").map(|home| home.join(".local/state")))?;
    Some(state.join("sysprof-memprof").join("prefixes"))
}

fn remembered() -> Vec<PathBuf> {
    let text = memory().and_then(|file| fs::read_to_string(file).ok()).unwrap_or_default();
    text.lines().map(PathBuf::from).collect()
}

/// Changes the remembered prefixes. They are a convenience: if this fails, only the usual prefixes are searched.
fn remember(change: impl FnOnce(&mut Vec<PathBuf>)) {
    let Some(file) = memory() else { return };
    let mut prefixes = remembered();
    change(&mut prefixes);
    let written = if prefixes.is_empty() { forget(&file) } else { write_memory(&file, &prefixes) };
    if let Err(error) = written {
        debug!("cannot remember prefixes in {}: {error}", file.display());
    }
}

fn write_memory(file: &Path, prefixes: &[PathBuf]) -> io::Result<()> {
    let lines = prefixes.iter().filter_map(|prefix| prefix.to_str()).filter(|text| !text.contains('\n'));
    if let Some(folder) = file.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    fs::write(file, lines.map(|line| format!("{line}\n")).collect::<String>())
}

fn forget(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        result => result?,
    }
    match file.parent() {
        Some(folder) => fs::remove_dir(folder),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that a prefix is recognised by its bin folder.
    #[test]
    fn prefix_is_above_bin() {
        let cases =
            [("/opt/x/bin/tool", Some("/opt/x")), ("/src/target/debug/tool", None), ("/bin/tool", Some("/"))];
        for (executable, prefix) in cases {
            assert_eq!(prefix_of(Path::new(executable)), prefix.map(PathBuf::from), "{executable}");
        }
    }
}
