//! Finds the files that hold what was stripped from a binary.
//!
//! For a binary without debug information these places are tried, in this order; `DIR` are the directories of
//! [`crate::Options::debug_dirs`], `HERE` is the directory of the binary:
//!
//! ```text
//! DIR/.build-id/3f/a9…c4.debug          by build id
//! HERE/NAME                             NAME from .gnu_debuglink
//! HERE/.debug/NAME
//! DIR/HERE/NAME
//! DIR/NAME
//! DIR/BINARY, DIR/BINARY.debug          by the binary's own name, if it has a build id
//! ```
//!
//! So a folder may hold whole, unordered binaries of which the recorded ones are stripped copies. If the recorded
//! binary is gone or replaced, such a file takes its place ([`stand_ins`]).
//!
//! A binary reached through `/proc/PID/root` belongs to a container, and one in [`crate::Options::sysroot`] to
//! another machine: each `DIR` is then tried inside first, then ours. Files found nowhere are requested from servers,
//! if the user names some.
//!
//! A debug file may itself be stripped and name the next one, so the search goes on from it; a file is visited
//! once, so a cycle ends. It is taken if its build id is the binary's (then the CRC does not matter: distributions
//! ship debug files that were changed after the CRC was taken), or if either has no build id and the CRC matches.
//! Else it is refused, which is recorded, and the search goes on.

use crate::arena::Arena;
use crate::elf::Elf;
use crate::identity::FileIdentity;
use crate::identity::ModuleFile;
use crate::image::Image;
use crate::options::{Options, Places};
use crate::reason::Reason;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// The separate debug files of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DebugFiles {
    /// Used, in the order of the search.
    pub used: Vec<PathBuf>,
    /// Found but refused, and why.
    pub refused: Vec<(PathBuf, Refusal)>,
}

/// Why a debug file was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It was made from another build.
    #[error("its build id differs from the binary's")]
    OtherBuildId,
    /// It is not the file that `.gnu_debuglink` describes.
    #[error("its CRC differs from the one in the binary's .gnu_debuglink")]
    OtherChecksum,
    /// It could not be opened or is no ELF file.
    #[error("{0}")]
    Unreadable(Reason),
}

/// Longest chain of debug links; two are rare.
const LONGEST_CHAIN: usize = 8;

/// The search for one module.
pub(crate) struct Search<'a, 'd> {
    arena: &'a Arena,
    places: Places<'d>,
    visited: HashSet<(u64, u64)>,
    /// What was used and refused so far.
    pub(crate) outcome: DebugFiles,
}

/// A debug file that is used.
pub(crate) struct DebugFile<'a> {
    pub(crate) path: PathBuf,
    pub(crate) identity: FileIdentity,
    pub(crate) elf: Elf<'a>,
}

impl<'a, 'd> Search<'a, 'd> {
    /// Prepares a search that will not accept `module`, the binary itself.
    pub(crate) fn new(arena: &'a Arena, places: Places<'d>, module: Option<FileIdentity>) -> Self {
        let visited = module.iter().map(|identity| (identity.device, identity.inode)).collect();
        Search { arena, places, visited, outcome: DebugFiles::default() }
    }

    /// Follows links from `binary` until a file has debug information or names no other.
    pub(crate) fn chain(&mut self, binary: &Elf<'a>, path: &Path) -> Vec<DebugFile<'a>> {
        let mut chain: Vec<DebugFile<'a>> = Vec::new();
        while chain.len() < LONGEST_CHAIN {
            let (elf, path) = chain.last().map_or((binary, path), |last| (&last.elf, &last.path));
            if elf.has_debug_info() {
                break;
            }
            let Some(next) = self.next(elf, path) else { break };
            self.outcome.used.push(next.path.clone());
            chain.push(next);
        }
        chain
    }

    /// The file that `.gnu_debugaltlink` names. Only an equal build id proves that it belongs.
    pub(crate) fn alternate(&mut self, elf: &Elf<'a>, path: &Path) -> Option<DebugFile<'a>> {
        let (link, build_id) = elf.alternate_link()?;
        let link = Path::new(OsStr::from_bytes(link));
        let home = self.home(path);
        let mut candidates: Vec<PathBuf> = match link.strip_prefix("/") {
            Ok(relative) => vec![home.root.join(relative), link.into()],
            Err(_) => vec![path.parent().unwrap_or(Path::new("/")).join(link)],
        };
        candidates.extend(self.by_build_id(build_id, &home));
        let belongs = |found: &Elf<'a>, _: &[u8]| {
            if found.build_id() == build_id { Ok(()) } else { Err(Refusal::OtherBuildId) }
        };
        let found = candidates.into_iter().find_map(|path| self.open(path, belongs));
        let found = found.or_else(|| self.fetched(build_id, belongs))?;
        self.outcome.used.push(found.path.clone());
        Some(found)
    }

    fn next(&mut self, elf: &Elf<'a>, path: &Path) -> Option<DebugFile<'a>> {
        let homes = self.homes(path);
        let mut candidates: Vec<PathBuf> = Vec::new();
        for home in &homes {
            candidates.extend(self.by_build_id(elf.build_id(), home));
        }
        let link = elf.debug_link();
        let name = link.and_then(|(name, _)| file_name(name));
        for (home, name) in homes.iter().flat_map(|home| name.map(|name| (home, name))) {
            candidates.extend(self.by_name(name, home));
        }
        if let (Some(name), false) = (path.file_name(), elf.build_id().is_empty()) {
            candidates.extend(by_own_name(name, &self.home(path), &self.places.options.debug_dirs));
        }
        let checksum = link.map(|(_, checksum)| checksum);
        let belongs =
            |found: &Elf<'a>, bytes: &[u8]| belongs(elf.build_id(), checksum, found.build_id(), bytes);
        let found = candidates.into_iter().find_map(|path| self.open(path, belongs));
        found.or_else(|| self.fetched(elf.build_id(), belongs))
    }

    /// The file from a server. One that does not belong to the binary is not kept.
    fn fetched(
        &mut self,
        build_id: &[u8],
        belongs: impl FnOnce(&Elf<'a>, &[u8]) -> Result<(), Refusal>,
    ) -> Option<DebugFile<'a>> {
        let path = self.places.client?.debug_file(build_id)?;
        let found = self.open(path.clone(), belongs);
        if found.is_none() {
            let _ = std::fs::remove_file(path);
        }
        found
    }

    /// Where a file lives.
    pub(crate) fn home(&self, path: &Path) -> Home {
        let home = Home::of(path, self.places.options.sysroot.as_deref());
        let debug_dirs = home.inside_and_ours(&self.places.options.debug_dirs).collect();
        Home { debug_dirs, ..home }
    }

    /// The file's home, and the home of what it links to: `/lib` is a symbolic link to `/usr/lib`, and
    /// `/proc/PID/exe` leads to the binary.
    fn homes(&self, path: &Path) -> Vec<Home> {
        let mut homes = vec![self.home(path)];
        homes.extend(path.canonicalize().ok().map(|real| self.home(&real)));
        homes.dedup_by(|a, b| (&a.root, &a.directory) == (&b.root, &b.directory));
        homes
    }

    fn by_build_id(&self, build_id: &[u8], home: &Home) -> Vec<PathBuf> {
        by_build_id(build_id, ".debug", home, &self.places.options.debug_dirs)
    }

    fn by_name(&self, name: &OsStr, home: &Home) -> Vec<PathBuf> {
        let here = home.root.join(&home.directory);
        let mut candidates = vec![here.join(name), here.join(".debug").join(name)];
        let directories = home.inside_and_ours(&self.places.options.debug_dirs);
        candidates.extend(directories.map(|directory| directory.join(&home.directory).join(name)));
        let directories = home.inside_and_ours(&self.places.options.debug_dirs);
        candidates.extend(directories.map(|directory| directory.join(name)).filter(|path| path.is_file()));
        candidates
    }

    /// Opens a candidate that was not visited yet, and keeps it if it belongs; a missing candidate is no event.
    fn open(
        &mut self,
        path: PathBuf,
        belongs: impl FnOnce(&Elf<'a>, &[u8]) -> Result<(), Refusal>,
    ) -> Option<DebugFile<'a>> {
        let (image, identity) = match Image::open(&path) {
            Ok(opened) => opened,
            Err(Reason::FileMissing) => return None,
            Err(reason) => return self.refuse(path, Refusal::Unreadable(reason)),
        };
        if !self.visited.insert((identity.device, identity.inode)) {
            return None;
        }
        let bytes = self.arena.keep(image);
        let elf = match Elf::parse(bytes) {
            Ok(elf) => elf,
            Err(reason) => return self.refuse(path, Refusal::Unreadable(reason)),
        };
        match belongs(&elf, bytes) {
            Ok(()) => Some(DebugFile { path, identity, elf }),
            Err(refusal) => self.refuse(path, refusal),
        }
    }

    fn refuse(&mut self, path: PathBuf, refusal: Refusal) -> Option<DebugFile<'a>> {
        self.outcome.refused.push((path, refusal));
        None
    }
}

/// Files that may be of the same build as a module that is gone, whole ones first; none without a build id to
/// identify them.
pub(crate) fn stand_ins(module: &ModuleFile, options: &Options) -> Vec<PathBuf> {
    let Some(name) = module.path.file_name().filter(|_| !module.build_id.is_empty()) else {
        return Vec::new();
    };
    let inside = options.sysroot.as_ref().zip(module.path.strip_prefix("/").ok());
    let path = inside.map_or_else(|| module.path.clone(), |(root, path)| root.join(path));
    let (home, directories) = (Home::of(&path, options.sysroot.as_deref()), &options.debug_dirs);
    let mut candidates = by_build_id(&module.build_id, "", &home, directories);
    candidates.extend(by_build_id(&module.build_id, ".debug", &home, directories));
    candidates.extend(by_own_name(name, &home, directories));
    candidates
}

/// `.build-id/3f/a9…c4` and what distributions append to it for debug files.
fn by_build_id(build_id: &[u8], suffix: &str, home: &Home, directories: &[PathBuf]) -> Vec<PathBuf> {
    let [first, rest @ ..] = build_id else { return Vec::new() };
    let mut file = format!(".build-id/{first:02x}/");
    for byte in rest.iter().take(64) {
        // Writing to a String cannot fail.
        let _ = write!(file, "{byte:02x}");
    }
    file.push_str(suffix);
    home.inside_and_ours(directories).map(|directory| directory.join(&file)).collect()
}

/// A copy of a binary, or its debug file, by the binary's name. Only regular files match: the directory may well have
/// a folder of that name.
fn by_own_name(name: &OsStr, home: &Home, directories: &[PathBuf]) -> Vec<PathBuf> {
    let mut debug = name.to_owned();
    debug.push(".debug");
    let directories = home.inside_and_ours(directories);
    let paths = directories.flat_map(|directory| [directory.join(name), directory.join(&debug)]);
    paths.filter(|path| path.is_file()).collect()
}

/// Whether a found file was made from the binary that looks for it.
fn belongs(build_id: &[u8], checksum: Option<u32>, found_id: &[u8], found: &[u8]) -> Result<(), Refusal> {
    if !build_id.is_empty() && !found_id.is_empty() {
        return if build_id == found_id { Ok(()) } else { Err(Refusal::OtherBuildId) };
    }
    match checksum {
        Some(checksum) if checksum == crc32fast::hash(found) => Ok(()),
        Some(_) => Err(Refusal::OtherChecksum),
        None => Err(Refusal::OtherBuildId),
    }
}

/// A name that stays within its directory.
fn file_name(name: &[u8]) -> Option<&OsStr> {
    let name = OsStr::from_bytes(name);
    let mut components = Path::new(name).components();
    match (components.next(), components.next()) {
        (Some(Component::Normal(only)), None) if only == name => Some(name),
        _ => None,
    }
}

/// Where a file lives: `/proc/42/root/usr/lib/libx.so` lives in `usr/lib` below `/proc/42/root`.
#[derive(Clone)]
pub(crate) struct Home {
    pub(crate) path: PathBuf,
    pub(crate) root: PathBuf,
    /// Directories with debug files, for later searches in them.
    pub(crate) debug_dirs: Vec<PathBuf>,
    /// Relative to `root`.
    directory: PathBuf,
}

impl Home {
    fn of(path: &Path, sysroot: Option<&Path>) -> Home {
        let mut components = path.components();
        let head: PathBuf = components.by_ref().take(4).collect();
        let is_container =
            head.starts_with("/proc") && head.ends_with("root") && head.components().count() == 4;
        let root = match sysroot.filter(|sysroot| path.starts_with(sysroot)) {
            Some(sysroot) => sysroot.to_owned(),
            None if is_container => head,
            None => PathBuf::from("/"),
        };
        let directory =
            path.parent().and_then(|parent| parent.strip_prefix(&root).ok()).unwrap_or(Path::new(""));
        Home { path: path.into(), directory: directory.into(), root, debug_dirs: Vec::new() }
    }

    /// Debug directories within the container, then our own.
    fn inside_and_ours(&self, directories: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
        let inside = directories
            .iter()
            .filter(|_| self.root != Path::new("/"))
            .map(|directory| self.root.join(directory.strip_prefix("/").unwrap_or(directory)));
        inside.chain(directories.iter().cloned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check what a debug link may name: a file beside, never a path.
    #[test]
    fn link_names_stay_in_their_directory() {
        for (name, stays) in [
            (&b"app.debug"[..], true),
            (b"..app", true),
            (b"", false),
            (b".", false),
            (b"..", false),
            (b"/etc/passwd", false),
            (b"../app.debug", false),
            (b"sub/app.debug", false),
            (b"app.debug/", false),
        ] {
            assert_eq!(file_name(name).is_some(), stays, "{}", name.escape_ascii());
        }
    }

    /// Check the table of what proves that two files belong together.
    #[test]
    fn build_id_proves_before_checksum() {
        let found = b"contents";
        let right = Some(crc32fast::hash(found));
        let wrong = Some(crc32fast::hash(b"else"));
        for (build_id, checksum, found_id, expected) in [
            (&b"id"[..], None, &b"id"[..], Ok(())),
            (b"id", wrong, b"id", Ok(())),
            (b"id", right, b"other", Err(Refusal::OtherBuildId)),
            (b"id", right, b"", Ok(())),
            (b"", right, b"id", Ok(())),
            (b"", wrong, b"", Err(Refusal::OtherChecksum)),
            (b"id", wrong, b"", Err(Refusal::OtherChecksum)),
            (b"id", None, b"", Err(Refusal::OtherBuildId)),
        ] {
            assert_eq!(belongs(build_id, checksum, found_id, found), expected);
        }
    }

    /// Check that candidates come in the documented order, in a container and outside.
    #[test]
    fn candidates_come_in_order() {
        let arena = Arena::default();
        let options = Options {
            debug_dirs: vec!["/usr/lib/debug".into(), "/opt/debug".into()],
            sysroot: Some("/srv/copy".into()),
            ..Options::default()
        };
        let search = Search::new(&arena, Places { options: &options, client: None }, None);
        let list = |path: &str| -> Vec<String> {
            let home = search.home(Path::new(path));
            let mut paths = search.by_build_id(&[0x3f, 0xa9, 0xc4], &home);
            paths.extend(search.by_name(OsStr::new("x.debug"), &home));
            paths.iter().map(|path| path.display().to_string()).collect()
        };
        assert_eq!(
            list("/usr/lib/libx.so"),
            [
                "/usr/lib/debug/.build-id/3f/a9c4.debug",
                "/opt/debug/.build-id/3f/a9c4.debug",
                "/usr/lib/x.debug",
                "/usr/lib/.debug/x.debug",
                "/usr/lib/debug/usr/lib/x.debug",
                "/opt/debug/usr/lib/x.debug",
            ]
        );
        assert_eq!(
            list("/srv/copy/app/x")[..2],
            [
                "/srv/copy/usr/lib/debug/.build-id/3f/a9c4.debug",
                "/srv/copy/opt/debug/.build-id/3f/a9c4.debug"
            ]
        );
        assert_eq!(
            list("/proc/42/root/app/x"),
            [
                "/proc/42/root/usr/lib/debug/.build-id/3f/a9c4.debug",
                "/proc/42/root/opt/debug/.build-id/3f/a9c4.debug",
                "/usr/lib/debug/.build-id/3f/a9c4.debug",
                "/opt/debug/.build-id/3f/a9c4.debug",
                "/proc/42/root/app/x.debug",
                "/proc/42/root/app/.debug/x.debug",
                "/proc/42/root/usr/lib/debug/app/x.debug",
                "/proc/42/root/opt/debug/app/x.debug",
                "/usr/lib/debug/app/x.debug",
                "/opt/debug/app/x.debug",
            ]
        );
    }
}
