//! Creating capture files.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use capture::{Create, Metadata, Reader, Summary, Writer};

/// Check that a new capture is readable by its owner only, never replaces a file and never follows a link.
#[test]
fn new_captures_are_private_and_take_no_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.memprof");
    Writer::create(&path, Create::New, &Metadata::default()).unwrap().finish(&Summary::default()).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let before = fs::read(&path).unwrap();
    let link = folder.path().join("link.memprof");
    symlink(folder.path().join("elsewhere"), &link).unwrap();
    for taken in [&path, &link] {
        let error = Writer::create(taken, Create::New, &Metadata::default()).err().unwrap().to_string();
        assert!(error.starts_with(&format!("cannot create {}", taken.display())), "{error}");
    }
    assert_eq!(fs::read(&path).unwrap(), before);
    assert!(!folder.path().join("elsewhere").exists());
}

/// Check that a capture that replaces another is a new file at once: readers of the old one keep it.
#[test]
fn replacing_leaves_open_readers_their_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.memprof");
    let metadata = |boot_id: &str| Metadata { boot_id: boot_id.into(), ..Metadata::default() };
    Writer::create(&path, Create::New, &metadata("old")).unwrap().finish(&Summary::default()).unwrap();
    let mut old = Reader::open(&path).unwrap();
    let mut writer = Writer::create(&path, Create::Replace, &metadata("new")).unwrap();
    writer.string("the new file grows under the name").unwrap();
    writer.flush().unwrap();
    old.refresh().unwrap();
    assert_eq!(old.tables().metadata.boot_id, "old");
    let live = Reader::open(&path).unwrap();
    assert_eq!((live.tables().metadata.boot_id.as_str(), live.tables().strings.len()), ("new", 1));
    writer.finish(&Summary::default()).unwrap();
    assert_eq!(Reader::open(&path).unwrap().cut(), None);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// Check that a failed replacement leaves everything as it was.
#[test]
fn failed_replacement_leaves_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("folder.memprof");
    fs::create_dir(&target).unwrap();
    let error = Writer::create(&target, Create::Replace, &Metadata::default()).err().unwrap().to_string();
    assert!(error.starts_with(&format!("cannot replace {}", target.display())), "{error}");
    assert!(target.is_dir());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
