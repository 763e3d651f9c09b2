//! Folders of a user through which programs of ours find each other.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Folders where agents of this user look for the doorbell, best first: the same list as in the agent.
pub(crate) fn folders() -> Vec<PathBuf> {
    folders_of(rustix::process::geteuid().as_raw(), |name| std::env::var_os(name).map(PathBuf::from))
}

/// A hash of these folders, the same in all programs that have the same: FNV-1a
/// (<https://datatracker.ietf.org/doc/html/draft-eastlake-fnv>).
pub(crate) fn hash() -> u64 {
    hash_of(&folders())
}

fn hash_of(folders: &[PathBuf]) -> u64 {
    let bytes = folders.iter().flat_map(|folder| folder.as_os_str().as_bytes().iter().chain(&[0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

fn folders_of(uid: u32, variable: impl Fn(&str) -> Option<PathBuf>) -> Vec<PathBuf> {
    let variable = |name: &str| variable(name).filter(|path| path.is_absolute());
    if let Some(only) = variable("SYSPROF_MEMPROF_DIR") {
        return vec![only];
    }
    let system = PathBuf::from("/run/sysprof-memprof");
    if uid == 0 {
        return vec![system];
    }
    let runtime = variable("XDG_RUNTIME_DIR").map(|folder| folder.join("sysprof-memprof"));
    let login = PathBuf::from(format!("/run/user/{uid}/sysprof-memprof"));
    runtime.into_iter().chain([login, format!("/tmp/sysprof-memprof-{uid}").into()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that programs of other builds find each other: the hash is that of the published test vectors.
    #[test]
    fn hash_is_the_same_in_all_builds() {
        assert_eq!(hash_of(&[]), 0xcbf2_9ce4_8422_2325);
        // "a" and then a zero byte.
        assert_eq!(hash_of(&[PathBuf::from("a")]), 0x089b_e207_b544_f1e4);
        assert_ne!(hash_of(&["a".into(), "b".into()]), hash_of(&["ab".into()]));
    }

    /// Check that the folders are those that agents look in.
    #[test]
    fn folders_are_the_agents() {
        let set = |name: &'static str| move |asked: &str| (asked == name).then(|| PathBuf::from("/x"));
        let texts =
            |folders: Vec<PathBuf>| folders.iter().map(|x| x.display().to_string()).collect::<Vec<_>>();
        assert_eq!(texts(folders_of(7, set("SYSPROF_MEMPROF_DIR"))), ["/x"]);
        assert_eq!(texts(folders_of(0, set("XDG_RUNTIME_DIR"))), ["/run/sysprof-memprof"]);
        assert_eq!(
            texts(folders_of(7, set("XDG_RUNTIME_DIR"))),
            ["/x/sysprof-memprof", "/run/user/7/sysprof-memprof", "/tmp/sysprof-memprof-7"]
        );
    }
}
