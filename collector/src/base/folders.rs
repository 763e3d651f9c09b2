//! Folders of a user through which programs of ours find each other.

use std::path::PathBuf;

/// Folders where agents of this user look for the doorbell, best first: the same list as in the agent.
pub(crate) fn folders() -> Vec<PathBuf> {
    folders_of(rustix::process::geteuid().as_raw(), |name| std::env::var_os(name).map(PathBuf::from))
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
