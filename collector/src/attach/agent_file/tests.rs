use super::*;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

const BYTES: &[u8] = b"not quite a library";

/// A library with these bytes, whose hash is their sum.
fn provide(bytes: &[u8], candidates: &[PathBuf]) -> Result<AgentFile, NoPlace> {
    let hash = hash(bytes);
    AgentFile::provide(Library { bytes, hash: &hash }, candidates)
}

fn hash(bytes: &[u8]) -> String {
    format!("{:016x}", bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>())
}

fn provide_in(folder: &Path) -> Result<AgentFile, NoPlace> {
    provide(BYTES, &[folder.to_path_buf()])
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// The only reason why `folder` was rejected.
fn reason(folder: &Path) -> Reason {
    provide_in(folder).expect_err("no place").tried.remove(0).reason
}

/// Check that the library has its content, is readable and executable by its user alone, and lies in a closed folder.
#[test]
fn agent_is_written_privately() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("run");
    let agent = provide_in(&folder).unwrap();
    assert_eq!(fs::read(&agent.path).unwrap(), BYTES);
    assert_eq!(fs::metadata(&agent.path).unwrap().mode() & 0o7777, 0o500);
    assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o7777, 0o700);
    assert_eq!(agent.passed_over, []);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "no temporary file stays");
}

/// Check that the same bytes are not written twice, and that other bytes get another name.
#[test]
fn agent_is_named_after_its_content() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("run");
    let first = provide_in(&folder).unwrap().path;
    let inode = fs::metadata(&first).unwrap().ino();
    let second = provide_in(&folder).unwrap().path;
    assert_eq!((&second, fs::metadata(&second).unwrap().ino()), (&first, inode));
    let other = provide(b"another library", std::slice::from_ref(&folder)).unwrap().path;
    assert_ne!(other, first);
}

/// Check that a file of that name is replaced if it was not made here, be it cut short, open to changes, or a link to
/// elsewhere.
#[test]
fn wrong_content_is_replaced() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("run");
    let path = provide_in(&folder).unwrap().path;
    let elsewhere = root.path().join("elsewhere");
    fs::write(&elsewhere, "other").unwrap();
    let damage: [&dyn Fn(); 4] = [
        &|| fs::write(&path, &BYTES[..3]).unwrap(),
        &|| {
            fs::write(&path, &BYTES[..3]).unwrap();
            chmod(&path, 0o500);
        },
        &|| fs::write(&path, BYTES.to_ascii_uppercase()).unwrap(),
        &|| symlink(&elsewhere, &path).unwrap(),
    ];
    for damage in damage {
        fs::remove_file(&path).unwrap();
        damage();
        assert_eq!(provide_in(&folder).unwrap().path, path);
        assert_eq!(fs::read(&path).unwrap(), BYTES);
    }
    assert_eq!(fs::read(&elsewhere).unwrap(), b"other", "nothing is written through a link");
}

/// Check that folders that others could change are rejected.
#[test]
fn unsafe_folders_are_passed_over() {
    let root = tempfile::tempdir().unwrap();
    let own = root.path().join("own");
    fs::create_dir(&own).unwrap();
    chmod(&own, 0o755);
    assert_eq!(reason(&own), Reason::Unsafe("others have access to it (chmod 700 closes it)"));
    chmod(&own, 0o700);
    let link = root.path().join("link");
    symlink(&own, &link).unwrap();
    assert_eq!(reason(&link), Reason::Unsafe("it is a link or a file, not a folder"));
    let file = root.path().join("file");
    fs::write(&file, "").unwrap();
    assert_eq!(reason(&file), Reason::Unsafe("it is a link or a file, not a folder"));
    let open = root.path().join("open");
    fs::create_dir(&open).unwrap();
    chmod(&open, 0o777);
    assert!(matches!(reason(&open.join("run")), Reason::Unsafe(text) if text.contains("rename")));
    chmod(&open, 0o1777);
    assert!(provide_in(&open.join("run")).is_ok(), "sticky, as /tmp");
    assert_eq!(reason(&root.path().join("no/run")), Reason::Absent);
    assert_eq!(reason(&root.path().join("a:b")), Reason::Unspeakable);
}

/// Check that the next folder is used when the first cannot be, and that the first is reported.
#[test]
fn next_candidate_is_taken_and_the_first_named() {
    let root = tempfile::tempdir().unwrap();
    let absent = root.path().join("no/run");
    let good = root.path().join("run");
    let agent = provide(BYTES, &[absent.clone(), good.clone()]).unwrap();
    assert!(agent.path.starts_with(&good));
    assert_eq!(agent.passed_over, [Unusable { folder: absent.clone(), reason: Reason::Absent }]);
    let text = provide(BYTES, &[absent]).unwrap_err().to_string();
    assert!(text.contains("no/run: no such folder") && text.contains("SYSPROF_MEMPROF_DIR"), "{text}");
}

/// Check that a file on a noexec file system, which /proc always is, counts as not loadable, and a program as
/// loadable.
#[test]
fn noexec_is_seen_by_mapping() {
    let map = fs::File::open("/proc/self/maps").unwrap();
    assert_eq!(executable::check(&map), Err(Reason::Noexec));
    let program = fs::File::open("/proc/self/exe").unwrap();
    assert_eq!(executable::check(&program), Ok(()));
}

/// Check that all private copies are removed, and nothing else.
#[test]
fn private_copies_are_removed() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("run");
    let one = provide_in(&folder).unwrap().path;
    let two = provide(b"another library", std::slice::from_ref(&folder)).unwrap().path;
    fs::write(folder.join("socket"), "").unwrap();
    fs::write(folder.join("libsysprof_memprof_preload.so"), "").unwrap();
    let candidates = [root.path().join("no"), folder.clone()];
    let mut removed = remove_private(&candidates).unwrap();
    removed.sort();
    let mut expected = [one, two];
    expected.sort();
    assert_eq!(removed, expected);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
    fs::remove_file(folder.join("socket")).unwrap();
    fs::remove_file(folder.join("libsysprof_memprof_preload.so")).unwrap();
    assert_eq!(remove_private(&candidates).unwrap(), [""; 0].map(PathBuf::from));
    assert!(!folder.exists());
}

/// Check that a copy of another version is removed after a day without use, along with a killed process's
/// half-written file, and that it stays while it is new, mapped, or not an agent's.
#[test]
fn unused_copies_of_other_versions_go() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("run");
    let days_ago = |path: &Path, days: u64| {
        let time = SystemTime::now() - std::time::Duration::from_secs(days * 25 * 3600);
        fs::File::open(path).unwrap().set_modified(time).unwrap();
    };
    let provide = |bytes: &[u8]| provide(bytes, std::slice::from_ref(&folder)).unwrap().path;
    let (old, new, mapped) = (provide(b"old"), provide(b"new"), provide(b"mapped"));
    let half_written = folder.join(format!(".{}.77", private_name(&hash(b"half"))));
    let other = folder.join("socket");
    fs::write(&half_written, "ha").unwrap();
    fs::write(&other, "").unwrap();
    for path in [&old, &mapped, &half_written, &other] {
        days_ago(path, 1);
    }
    let file = fs::File::open(&mapped).unwrap();
    let mapping = executable::Mapped::new(&file).unwrap();

    let ours = provide_in(&folder).unwrap().path;
    drop(mapping);
    assert_eq!([&old, &half_written].map(|path| path.exists()), [false; 2]);
    assert_eq!([&new, &mapped, &other, &ours].map(|path| path.exists()), [true; 4]);

    days_ago(&ours, 3);
    provide_in(&folder).unwrap();
    provide(b"new");
    assert!(ours.exists(), "being handed out counts as use");
    let status =
        || fs::metadata(&ours).map(|file| (file.ctime(), file.ctime_nsec(), file.modified().ok())).unwrap();
    let before = status();
    provide_in(&folder).unwrap();
    assert_eq!(status(), before, "it has just been used");
}

/// Check that nothing is swept while a copy is being handed out.
#[test]
fn nothing_is_swept_while_a_copy_is_handed_out() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("run");
    // No other test maps a copy with this name.
    let old = provide(b"held while it is swept", std::slice::from_ref(&path)).unwrap().path;
    let folder = PrivateFolder::open(&path).unwrap();
    let later = SystemTime::now() + std::time::Duration::from_secs(48 * 3600);
    let lock = folder.lock_to_use().expect("nobody sweeps");
    sweep::sweep(&folder, "another", later);
    assert!(old.exists());
    drop(lock);
    sweep::sweep(&folder, "another", later);
    assert!(!old.exists());
}

/// Check that folders come in the documented order, and that relative paths count as unset.
#[test]
fn candidates_come_best_first() {
    type Case<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str]);
    let cases: &[Case] = &[
        (&[], &["/run/user/7/sysprof-memprof", "/tmp/sysprof-memprof-7"]),
        (
            &[("XDG_RUNTIME_DIR", "/run/user/7"), ("TMPDIR", "/var/tmp"), ("HOME", "/home/me")],
            &["/run/user/7/sysprof-memprof", "/var/tmp/sysprof-memprof-7", "/home/me/.cache/sysprof-memprof"],
        ),
        (
            &[("XDG_RUNTIME_DIR", "/x"), ("XDG_CACHE_HOME", "/c"), ("TMPDIR", "relative")],
            &[
                "/x/sysprof-memprof",
                "/run/user/7/sysprof-memprof",
                "/tmp/sysprof-memprof-7",
                "/c/sysprof-memprof",
            ],
        ),
        (&[("SYSPROF_MEMPROF_DIR", "/mine"), ("XDG_RUNTIME_DIR", "/x")], &["/mine"]),
    ];
    for (variables, expected) in cases {
        let variable =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
        let found = candidates_in(variable, 7);
        assert_eq!(found, expected.iter().map(PathBuf::from).collect::<Vec<_>>(), "{variables:?}");
    }
}
