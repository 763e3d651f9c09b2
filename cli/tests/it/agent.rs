//! The agent inside of the command: private copies, installation, and the way back.

use crate::support::{TOOL, World, chmod, copy_program, ran};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Check that `agent path` makes a private copy and prints nothing but its path; and that it warns of what private
/// means on a terminal alone.
#[test]
fn agent_path_makes_a_private_copy() {
    let world = World::new();
    let shown = world.run(["agent", "path"]);
    assert_eq!(shown.code, Some(0));
    let path = PathBuf::from(shown.stdout.strip_suffix('\n').unwrap());
    assert!(path.starts_with(world.path("run/sysprof-memprof")), "{}", path.display());
    assert!(fs::read(&path).unwrap().starts_with(b"\x7fELF"));
    assert_eq!(shown.stderr, "");
    assert_eq!(world.run(["agent", "path"]).stdout, shown.stdout, "the same again");
    match world.command("script").args(["-qec", &format!("{TOOL} agent path"), "/dev/null"]).output() {
        Ok(output) => {
            let told = ran(output).stdout;
            assert!(told.contains("private") && told.contains("agent install"), "{told}");
        }
        Err(_) => println!("script(1) is not there: the warning on a terminal was not looked at"),
    }
}

/// Check that the agent loads into an ordinary program by the printed path, and says nothing there.
#[test]
fn printed_path_can_be_preloaded() {
    let world = World::new();
    let path = world.run(["agent", "path"]).stdout.trim().to_string();
    let cat = ran(world.command("cat").arg("/proc/self/maps").env("LD_PRELOAD", &path).output().unwrap());
    assert_eq!((cat.code, cat.stderr.as_str()), (Some(0), ""));
    assert!(cat.stdout.contains(&path));
}

/// Check that an installed agent is readable by all, found again, and leaves nothing when it is removed.
#[test]
fn installed_agent_is_found_and_removed() {
    let world = World::new();
    let prefix = world.path("prefix");
    let at = prefix.join("lib/sysprof-memprof/libsysprof_memprof_preload.so");
    let install = world.run(["agent".as_ref(), "install".as_ref(), "--prefix".as_ref(), prefix.as_os_str()]);
    assert_eq!((install.code, install.stdout.trim()), (Some(0), at.to_str().unwrap()), "{}", install.stderr);
    for path in [at.as_path(), at.parent().unwrap(), prefix.as_path()] {
        assert_eq!(fs::metadata(path).unwrap().mode() & 0o7777, 0o755, "{}", path.display());
    }

    let shown = world.run(["agent", "path"]);
    assert_eq!((shown.stdout.trim(), shown.stderr.as_str()), (at.to_str().unwrap(), ""));
    let uninstall =
        world.run(["agent".as_ref(), "uninstall".as_ref(), "--prefix".as_ref(), prefix.as_os_str()]);
    assert_eq!(uninstall.code, Some(0), "{}", uninstall.stderr);
    assert_eq!(fs::read_dir(&prefix).unwrap().count(), 0);
    assert!(world.run(["agent", "path"]).stdout.contains("/run/sysprof-memprof/"));
    assert_eq!(fs::read_dir(world.path("home/.local/state")).unwrap().count(), 0, "nothing is remembered");
    let again = world.run(["agent".as_ref(), "uninstall".as_ref(), "--prefix".as_ref(), prefix.as_os_str()]);
    assert_eq!(again.code, Some(2));
}

/// Check that private copies go on demand, and that nothing is left then.
#[test]
fn private_copies_are_removed_on_demand() {
    let world = World::new();
    let path = world.run(["agent", "path"]).stdout;
    let uninstall = world.run(["agent", "uninstall", "--private", "--prefix", "/no/such/prefix"]);
    assert_eq!(
        (uninstall.code, uninstall.stdout),
        (Some(0), format!("removed {path}")),
        "{}",
        uninstall.stderr
    );
    assert_eq!(fs::read_dir(world.path("run")).unwrap().count(), 0);
}

/// Check that installing twice, or over an older version, works, and that an older version is never used.
#[test]
fn older_agents_are_replaced_and_not_used() {
    let world = World::new();
    let prefix = world.path("prefix");
    let install =
        || world.run(["agent".as_ref(), "install".as_ref(), "--prefix".as_ref(), prefix.as_os_str()]);
    let at = PathBuf::from(install().stdout.trim());
    let agent = fs::read(&at).unwrap();
    fs::write(&at, b"of last year").unwrap();
    let shown = world.run(["agent", "path"]);
    assert!(shown.stdout.contains("/run/sysprof-memprof/"), "{}", shown.stdout);
    assert!(shown.stderr.contains("another version"), "{}", shown.stderr);
    assert_eq!(install().code, Some(0));
    assert_eq!(fs::read(&at).unwrap(), agent);
    assert_eq!(world.run(["agent", "path"]).stderr, "");
}

/// Check that a whole tree can be moved: the agent is found beside the command.
#[test]
fn moved_tree_finds_its_agent() {
    let world = World::new();
    fs::create_dir_all(world.path("one/bin")).unwrap();
    copy_program(TOOL.as_ref(), &world.path("one/bin/sysprof-memprof"));
    let tool = |place: &str, command: &str| {
        let program = world.path(place).join("bin/sysprof-memprof");
        // Nothing is remembered: only the tree itself can tell.
        ran(world.command(program).args(command.split(' ')).env_remove("HOME").output().unwrap())
    };
    assert_eq!(tool("one", "agent install").code, Some(0));
    fs::rename(world.path("one"), world.path("two")).unwrap();
    let shown = tool("two", "agent path");
    assert!(shown.stdout.starts_with(world.path("two/lib").to_str().unwrap()), "{shown:?}");
    assert_eq!(tool("two", "agent uninstall").code, Some(0));
}

/// Check that an output or prefix which cannot hold the agent is refused with the reason.
#[test]
fn prefixes_that_cannot_hold_the_agent_are_refused() {
    let world = World::new();
    let odd =
        world.run(["agent".as_ref(), "install".as_ref(), "--prefix".as_ref(), world.path("a b").as_os_str()]);
    assert_eq!(odd.code, Some(2));
    assert!(odd.stderr.contains("LD_PRELOAD cannot hold"), "{}", odd.stderr);
    fs::write(world.path("file"), "").unwrap();
    let file = world.run([
        "agent".as_ref(),
        "install".as_ref(),
        "--prefix".as_ref(),
        world.path("file").as_os_str(),
    ]);
    assert_eq!(file.code, Some(1));
    assert!(file.stderr.contains("cannot write"), "{}", file.stderr);
}

/// Check that a private folder which is not safe, or mounted noexec, is named and the next one taken.
#[test]
fn unusable_private_folders_are_named() {
    let world = World::new();
    let folder = world.path("run/sysprof-memprof");
    fs::create_dir(&folder).unwrap();
    chmod(&folder, 0o777);
    let shown = world.run(["agent", "path"]);
    assert!(shown.stdout.starts_with(world.path("tmp").to_str().unwrap()), "{shown:?}");
    assert!(shown.stderr.contains("run/sysprof-memprof cannot hold the agent: not safe"), "{}", shown.stderr);

    let script = format!(
        "mount -t tmpfs -o noexec,mode=700 tmpfs '{}' && exec {TOOL} agent path",
        world.path("run").display()
    );
    let unshare = ["--mount", "--map-root-user", "sh", "-c", &script];
    let shown = ran(world.command("unshare").args(unshare).output().unwrap());
    if shown.code == Some(0) {
        assert!(shown.stderr.contains("noexec") && shown.stderr.contains("Taking"), "{}", shown.stderr);
        assert!(!shown.stdout.starts_with(world.path("run").to_str().unwrap()), "{}", shown.stdout);
    } else {
        println!("mounting is not allowed here: noexec was not tried");
    }
}

/// Check that a folder of the user's choice is taken alone, and refused with a reason that says what to do.
#[test]
fn chosen_folder_is_taken_alone() {
    let world = World::new();
    let shown = |folder: &Path| {
        ran(world.tool(["agent", "path"]).env("SYSPROF_MEMPROF_DIR", folder).output().unwrap())
    };
    let chosen = world.path("chosen");
    assert!(shown(&chosen).stdout.starts_with(chosen.to_str().unwrap()));
    let refused = shown(Path::new("/no/such/place/chosen"));
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""));
    let expected = "SYSPROF_MEMPROF_DIR is /no/such/place/chosen, which cannot hold the agent: no such folder. Set it \
                    to a folder whose parent is there, or unset it.";
    assert!(refused.stderr.contains(expected), "{}", refused.stderr);

    let folder = world.path("mounted").display().to_string();
    fs::create_dir(&folder).unwrap();
    let script =
        format!("mount -t tmpfs -o noexec,mode=700 tmpfs '{folder}' || exit 9; exec {TOOL} agent path");
    let unshare = ["--mount", "--map-root-user", "sh", "-c", &script];
    let mounted =
        ran(world.command("unshare").args(unshare).env("SYSPROF_MEMPROF_DIR", &folder).output().unwrap());
    let expected = format!(
        "SYSPROF_MEMPROF_DIR is {folder}, which cannot hold the agent: mounted noexec. Set it to a folder on another \
         file system, or unset it."
    );
    match mounted.code {
        Some(2) => assert!(mounted.stderr.contains(&expected), "{}", mounted.stderr),
        Some(0) => panic!("an agent was found: {mounted:?}"),
        _ => println!("mounting is not allowed here: noexec was not tried"),
    }
}
