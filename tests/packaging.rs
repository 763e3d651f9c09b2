//! What is installed is complete, works wherever it is moved to, and is removed without a trace.

use crate::harness::{Page, Ran, World, c, installed, product, skip, start, wait};
use std::path::{Path, PathBuf};

/// A script of the repository, run in this world.
fn script(world: &World, name: &str, arguments: &[&str]) -> Ran {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts").join(name);
    let mut command = world.command(path);
    // Home is this world, since uninstalling removes what is kept there.
    command.args(arguments).env("HOME", world.folder()).env_remove("XDG_CACHE_HOME");
    wait(world, command)
}

fn files(below: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(below).into_iter().flatten() {
        let entry = entry.expect("a folder of ours");
        let path = entry.path();
        all.extend(if entry.file_type().expect("it has a type").is_dir() {
            files(&path)
        } else {
            vec![path]
        });
    }
    all
}

/// Links between documents in a folder that lead nowhere.
fn broken_links(folder: &Path) -> Vec<String> {
    let documents = files(folder).into_iter().filter(|path| path.extension().is_some_and(|end| end == "md"));
    let mut broken = Vec::new();
    for document in documents {
        let text = std::fs::read_to_string(&document).expect("a text");
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        let near = targets.filter(|target| !target.is_empty() && !target.contains([':', ' ', '\n']));
        let above = document.parent().expect("it is in a folder");
        let lost = near.filter(|target| !above.join(target).exists());
        broken.extend(lost.map(|target| format!("{}: {target}", document.display())));
    }
    broken
}

/// Installs the product below a prefix that already has a file of somebody else.
fn install(world: &World) -> PathBuf {
    let prefix = world.path("opt/memprof");
    std::fs::create_dir_all(prefix.join("share/man")).expect("the folder is ours");
    std::fs::write(prefix.join("share/man/other"), "mine").expect("the folder is ours");
    install_into(world, &prefix);
    prefix
}

fn install_into(world: &World, prefix: &Path) {
    let (program, place) = (product(), prefix.to_str().expect("a plain name"));
    let program = program.to_str().expect("a plain name");
    let ran = script(world, "install", &["--prefix", place, "--program", program]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

/// Check that everything that belongs to the command is installed, that an installed tree which was moved records
/// with the agent beside it, and that uninstalling leaves exactly what was there before.
#[test]
fn installed_tree_can_be_moved_and_removed() {
    let world = World::new();
    let prefix = install(&world);
    for path in [
        "bin/sysprof-memprof",
        "lib/sysprof-memprof/libsysprof_memprof_preload.so",
        "include/sysprof_memprof.h",
        "share/man/man1/sysprof-memprof.1.gz",
        "share/man/man1/sysprof-memprof-run.1.gz",
        "share/bash-completion/completions/sysprof-memprof",
        "share/zsh/site-functions/_sysprof-memprof",
        "share/fish/vendor_completions.d/sysprof-memprof.fish",
        "lib/systemd/system/sysprof-memprof.service",
        "share/doc/sysprof-memprof/README.md",
    ] {
        assert!(prefix.join(path).is_file(), "{path} is installed");
    }
    let broken = broken_links(&prefix.join("share/doc/sysprof-memprof"));
    assert_eq!(broken, [] as [String; 0], "links of documents lead somewhere");
    let moved = world.path("elsewhere");
    std::fs::rename(&prefix, &moved).expect("it can be moved");
    let mut command = world.command(moved.join("bin/sysprof-memprof"));
    command.args(["agent", "path"]);
    let path = wait(&world, command);
    assert_eq!(
        Path::new(path.text().trim_end()),
        moved.join("lib/sysprof-memprof/libsysprof_memprof_preload.so")
    );
    let mut command = world.command(moved.join("bin/sysprof-memprof"));
    command.args(["run", "--quiet", "--no-symbolize", "-o", "it.memprof", "--"]);
    command.arg(c("keeps_some").flags(["-O1"]).build());
    wait(&world, command);
    assert!(world.path("it.memprof").exists(), "it records");
    let ran = script(&world, "install", &["--uninstall", "--prefix", moved.to_str().expect("a plain name")]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(files(&moved), [moved.join("share/man/other")], "what is not ours stays");
    assert!(!moved.join("bin").exists() && !moved.join("share/doc").exists(), "folders are gone, too");
}

/// Check that only `--purge` removes what recordings left, that it refuses while a program uses a private agent, and
/// that a program which is recorded with the installed agent works on when that is removed.
#[test]
fn recordings_leave_what_only_purging_removes() {
    let world = World::new();
    let prefix = install(&world);
    let place = prefix.to_str().expect("a plain name");
    let kept = |folder: &str, name: &str| {
        std::fs::create_dir_all(world.path(folder)).expect("the folder is ours");
        // The agent is written only where nobody else may write.
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(world.path(folder), mode).expect("the folder is ours");
        world.write(&format!("{folder}/{name}"), "kept")
    };
    let cache = kept(".cache/sysprof-memprof", "names");
    let doorbell = kept("agent", "doorbell");
    let uninstall =
        |more: &[&str]| script(&world, "install", &[&["--uninstall", "--prefix", place], more].concat());

    let page = Page::new(&world);
    let program = c("counts_its_calls").flags(["-O1"]).build();
    let record = |tool: &Path| {
        let mut command = world.command(tool);
        command.args(["run", "--quiet", "--no-symbolize", "--force", "-o", "it.memprof", "--"]);
        command.arg(&program).arg(&page.path).arg("1");
        let running = start(&world, command);
        page.wait_for_calls(1, 1000);
        running
    };
    let running = record(&prefix.join("bin/sysprof-memprof"));
    let ran = uninstall(&[]);
    assert!(ran.code == 0 && ran.stderr.contains("not recorded any more"), "{}", ran.stderr);
    assert!(cache.exists() && doorbell.exists(), "what recordings left stays");
    page.stop();
    let ran = running.wait();
    assert_eq!((ran.code, ran.stderr.as_str()), (5, ""), "it is recorded to its end");
    assert!(world.path("it.memprof").exists());

    install(&world);
    // A private copy, as programs have it that are recorded without an installation.
    let copy = wait(&world, world.tool(["agent", "path"])).text().trim_end().to_owned();
    assert!(Path::new(&copy).starts_with(world.path("agent")), "{copy}");
    let elsewhere = World::new();
    let page = Page::new(&elsewhere);
    let mut user = world.command(&program);
    user.arg(&page.path).arg("1").env("LD_PRELOAD", &copy);
    let user = start(&world, user);
    page.wait_for_calls(1, 1);
    let ran = uninstall(&["--purge"]);
    assert!(ran.code == 1 && ran.stderr.contains("private agent"), "{}", ran.stderr);
    assert!(prefix.join("bin/sysprof-memprof").exists() && Path::new(&copy).exists() && doorbell.exists());
    page.stop();
    user.wait();
    let ran = uninstall(&["--purge"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!cache.exists() && !doorbell.exists() && !Path::new(&copy).exists());
    assert_eq!(files(&prefix), [prefix.join("share/man/other")]);
}

/// Check that what somebody else has put in the place of an installed file stays, and that a second installation
/// neither forgets what the first one made nor leaves what it does not have any more.
#[test]
fn uninstalling_removes_only_what_was_installed() {
    let world = World::new();
    let prefix = install(&world);
    let place = prefix.to_str().expect("a plain name");
    let list = prefix.join("share/sysprof-memprof/installed");
    let old = prefix.join("share/doc/sysprof-memprof/OLD.md");
    std::fs::write(&old, "").expect("the folder is ours");
    let of_nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let listed = std::fs::read_to_string(&list).expect("it is there");
    std::fs::write(&list, format!("{listed}{of_nothing} share/doc/sysprof-memprof/OLD.md\n")).expect("ours");
    install_into(&world, &prefix);
    assert!(!old.exists(), "what the new version does not have is gone");

    let [replaced, linked] =
        ["include/sysprof_memprof.h", "share/doc/sysprof-memprof/README.md"].map(|name| prefix.join(name));
    std::fs::write(&replaced, "another package's").expect("the folder is ours");
    std::fs::rename(&linked, world.path("README.md")).expect("it is there");
    std::os::unix::fs::symlink(world.path("README.md"), &linked).expect("the folder is ours");
    let ran = script(&world, "install", &["--uninstall", "--prefix", place]);
    assert!(
        ran.code == 0 && ran.stderr.contains("sysprof_memprof.h, which is not what was installed"),
        "{}",
        ran.stderr
    );
    let mut left = files(&prefix);
    left.sort();
    assert_eq!(left, [replaced, linked, prefix.join("share/man/other")]);
    assert!(
        !prefix.join("bin").exists() && !prefix.join("lib").exists(),
        "folders of both installations are gone"
    );
}

/// Check that uninstalling removes nothing outside of the prefix, even if its list names it, and says so if nothing
/// is installed.
#[test]
fn uninstalling_stays_below_its_prefix() {
    let world = World::new();
    let other = world.write("other", "mine");
    let prefix = world.path("prefix");
    let place = prefix.to_str().expect("a plain name");
    let ran = script(&world, "install", &["--uninstall", "--prefix", place]);
    assert!(ran.code == 1 && ran.stderr.contains("nothing is installed"), "{}", ran.stderr);
    std::fs::create_dir_all(prefix.join("share/sysprof-memprof")).expect("the folder is ours");
    for line in ["../other".to_string(), other.display().to_string(), "share/../../other".to_string()] {
        let hash = "1e3cd57a83bb1fb5a4ee8a5ac0b9f79cc0f6bd2f96ffa5d4a9c3a3e2c8a6a8b1";
        std::fs::write(prefix.join("share/sysprof-memprof/installed"), format!("{hash} {line}\n"))
            .expect("ours");
        let ran = script(&world, "install", &["--uninstall", "--prefix", place]);
        assert!(ran.code == 1 && other.exists(), "{line}: {}", ran.stderr);
    }
}

/// Check that man shows each page without a warning.
#[test]
fn manual_pages_are_readable() {
    let world = World::new();
    let ran = wait(&world, world.tool(["generate", "man-pages", "man"]));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let pages: Vec<&str> = ran.text().lines().collect();
    assert!(pages.len() > 30, "{pages:?}");
    if installed("man").is_none() {
        return skip("man", "not installed, so the manual pages were not shown");
    }
    for page in pages {
        let mut command = world.command("man");
        command
            .args(["--warnings", "--local-file"])
            .arg(world.path(page))
            .env("MANWIDTH", "100")
            .env("LC_ALL", "C.UTF-8");
        let shown = wait(&world, command);
        assert_eq!((shown.code, shown.stderr.as_str()), (0, ""), "{page}");
        assert!(shown.text().contains("SYNOPSIS"), "{page}: {}", shown.text());
    }
}
