//! A capture in a dataset: its numbers, where they lie, and ids that mean the same elsewhere.

use crate::support::Made;
use crate::support::fixtures::{rich, small};
use export::dataset::add;
use parquet::file::reader::SerializedFileReader;
use parquet::record::{Field, Row};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// The rows of a table.
fn rows(dataset: &Path, table: &str) -> Vec<Row> {
    let open = |path| SerializedFileReader::new(fs::File::open(path).unwrap()).unwrap();
    files(&dataset.join(table)).into_iter().flat_map(open).map(Result::unwrap).collect()
}

fn field<'r>(row: &'r Row, name: &str) -> &'r Field {
    row.get_column_iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("no {name} in {row}")).1
}

fn sum(rows: &[Row], name: &str) -> i64 {
    let number = |row| match field(row, name) {
        Field::Long(number) => *number,
        other => panic!("{name} is {other}"),
    };
    rows.iter().map(number).sum()
}

/// The text of each stack by its id.
fn stacks(dataset: &Path) -> BTreeMap<String, String> {
    let text = |row: &Row, name| field(row, name).to_string();
    rows(dataset, "stacks").iter().map(|row| (text(row, "stack_id"), text(row, "stack"))).collect()
}

/// Check that both tables have the sums of the profile, whatever a capture holds, however often it is added.
#[test]
fn sums_are_those_of_the_profile() {
    for (name, made) in [("small", small as fn() -> Made), ("rich", rich)] {
        let folder = tempfile::tempdir().unwrap();
        let total = made().profile().total;
        for _ in 0..2 {
            add(folder.path(), &made().loaded("app.memprof")).unwrap();
            for table in ["stacks", "captures"] {
                let rows = rows(folder.path(), table);
                for (column, expected) in [
                    ("allocations", total.allocated.blocks),
                    ("allocated_bytes", total.allocated.bytes),
                    ("freed_bytes", total.freed.bytes),
                    ("peak_bytes", total.peak.bytes),
                    ("live_bytes", total.live().bytes),
                ] {
                    assert_eq!(sum(&rows, column), expected, "{name}: {table}, {column}");
                }
            }
        }
    }
}

/// Check that processes of each service have files of their own, one in each table, with the labels of the recording,
/// and that the day is that of the end.
#[test]
fn services_have_folders_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let added = add(folder.path(), &rich().loaded("app.memprof")).unwrap();
    let place = |service: &str| format!("service={service}/version=unknown/day=2023-11-14");
    assert_eq!(added, [place("sh"), place("shop")]);
    for table in ["stacks", "captures"] {
        let files = files(&folder.path().join(table));
        let folders = files.iter().map(|file| file.parent().unwrap().to_owned());
        let mut folders: Vec<_> = folders.collect();
        folders.sort();
        assert_eq!(
            folders,
            added.iter().map(|place| folder.path().join(table).join(place)).collect::<Vec<_>>()
        );
    }
    for row in rows(folder.path(), "captures") {
        assert_eq!(field(&row, "host").to_string(), "\"db-7\"");
        assert!(field(&row, "labels").to_string().contains("team"), "{row}");
        assert!(matches!(field(&row, "started"), Field::TimestampMicros(1_700_000_000_000_000)), "{row}");
    }
}

/// Check that a stack has the same id beside other stacks, in other folders and versions of libraries, and that a
/// stack through another file has another one.
#[test]
fn ids_are_the_same_elsewhere() {
    let recorded = |others: bool, library: &str| {
        let folder = tempfile::tempdir().unwrap();
        let (mut made, _, thread) = Made::app();
        if others {
            let other = made.stack("main > other > parse");
            made.alloc(thread, 0x10, 8, other);
        }
        let caller = made.stack("main > parse.isra.0");
        let frame = made.frame(Some(library), &["inlined", "read"]);
        let stack = made.node(caller, frame);
        made.alloc(thread, 0x20, 8, stack);
        add(folder.path(), &made.loaded("app.memprof")).unwrap();
        stacks(folder.path())
    };
    let (first, second) = (recorded(false, "/usr/lib/libx.so.1"), recorded(true, "/opt/other/libx.so.1.2.3"));
    assert_eq!((first.len(), second.len()), (1, 2));
    let (id, text) = first.first_key_value().unwrap();
    assert_eq!((second.get(id), &**text), (Some(text), "\"app;main;parse;read;inlined\""));
    assert!(!recorded(false, "/usr/lib/liby.so.1").contains_key(id), "a function of another file is another");
}
