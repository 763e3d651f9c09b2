//! Imports inside each package go down: from a folder to floors below it, as the table in ARCHITECTURE.md has them, and
//! never in a large circle of files.
//!
//! What counts are paths that begin with `crate`, `self` or `super`, in `use`, in code and in the arguments of macros.
//! Tests do not count. A module and those around or inside it are one thing here: they may name each other.

mod circles;
mod imports;
mod table;

use imports::{Import, Package};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use table::Floors;

/// A circle of more files than this is one that nobody can read a part of.
const CIRCLE: usize = 4;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// What is wrong with a package, in words.
fn faults(package: &Package, floors: &Floors) -> Vec<String> {
    let mut faults = Vec::new();
    let tops: BTreeSet<&str> =
        package.modules.iter().filter_map(|module| module.first()).map(String::as_str).collect();
    for top in &tops {
        if floors.of(top).is_none() {
            faults.push(format!("{top} has no floor: put it into the table"));
        }
    }
    for name in floors.names().filter(|name| !tops.contains(name)) {
        faults.push(format!("{name} is in the table, and there is no such module"));
    }
    for Import { from, to, line, .. } in &package.imports {
        let Some(above) = from.first() else { continue };
        let Some(below) = to.first() else {
            faults.push(format!("{}:{line} imports what lib.rs defines: give it a module", from.join("/")));
            continue;
        };
        if above != below && floors.of(above) <= floors.of(below) {
            faults.push(format!(
                "{}:{line} imports {}, which is no floor below",
                from.join("/"),
                to.join("::")
            ));
        }
    }
    for circle in circles::find(package).into_iter().filter(|circle| circle.len() > CIRCLE) {
        let files: Vec<String> = circle.iter().map(|module| module.join("/")).collect();
        faults.push(format!("a circle of {} files: {}", files.len(), files.join(", ")));
    }
    faults
}

/// Check that imports of every package go down.
#[test]
fn imports_go_down() {
    let document = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md is there");
    let rows = table::rows(&document);
    assert!(rows.len() > 3, "the table of floors in ARCHITECTURE.md has {} rows", rows.len());
    let mut wrong = Vec::new();
    for (name, floors) in rows {
        let package = Package::read(&root().join(&name).join("src"));
        assert!(!package.modules.is_empty(), "there is no package {name}");
        let faults = faults(&package, &floors);
        wrong.extend(faults.iter().map(|fault| format!("{name}/src/{fault}")));
        println!("{name}: {} imports between {} files", package.imports.len(), package.modules.len());
    }
    assert!(wrong.is_empty(), "{} imports are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Check that every package with more than a few files has a row.
#[test]
fn every_package_has_floors() {
    let document = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md is there");
    let rows = table::rows(&document);
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).expect("Cargo.toml is there");
    let members =
        manifest.split_once("members = [").and_then(|(_, rest)| rest.split_once(']')).expect("members").0;
    for member in members.split('"').skip(1).step_by(2) {
        let package = Package::read(&root().join(member).join("src"));
        let is_in = rows.iter().any(|(name, _)| name == member);
        assert!(is_in || package.modules.len() < 10, "{member} has no row in the table of floors");
    }
}

/// Check that each kind of arrow back is found, in a package that has one of each, and that no other is.
#[test]
fn arrows_back_are_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
        std::fs::write(path, text).expect("it can be written");
    };
    write("lib.rs", "mod base; mod roof; mod tests_only; pub use roof::Roof; pub struct Lib;");
    write("roof.rs", "mod room; use crate::base::{Base, inner::{self, Inner}}; pub struct Roof;");
    write("roof/room.rs", "use super::Roof; use super::super::base::Base; fn f() { crate::base::f(); }");
    write(
        "base.rs",
        "pub mod inner; use self::inner::Inner;\n\
         fn f() { println!(\"{}\", crate::roof::NAME); }\n\
         #[cfg(test)] mod tests { use crate::roof::Roof; }",
    );
    write(
        "base/inner.rs",
        "use crate::{Lib, Roof};\nuse super::super::roof::{room::Room, Roof as R};\npub struct Inner;",
    );
    write("tests_only.rs", "#[cfg(test)] mod tests;");
    write("tests_only/tests.rs", "use crate::roof::Roof;");
    let package = Package::read(folder.path());
    let (_, floors) =
        table::rows("| crate | floors |\n|---|---|\n| `x` | roof > base · tests_only |\n").remove(0);
    let mut found = faults(&package, &floors);
    found.sort();
    assert_eq!(
        found,
        [
            "base/inner:1 imports roof, which is no floor below",
            "base/inner:1 imports what lib.rs defines: give it a module",
            "base/inner:2 imports roof, which is no floor below",
            "base/inner:2 imports roof::room, which is no floor below",
            "base:2 imports roof, which is no floor below",
        ]
    );
}

/// Check that a circle through siblings is found whole, and that what a module and its children share is none.
#[test]
fn circles_are_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let names = ["a", "b", "c", "d", "e"];
    let write =
        |name: &str, text: String| std::fs::write(folder.path().join(name), text).expect("it can be written");
    write("lib.rs", "mod x;".into());
    write("x.rs", "mod a; mod b; mod c; mod d; mod e; use a::A;".into());
    std::fs::create_dir(folder.path().join("x")).expect("it can be made");
    for (i, name) in names.iter().enumerate() {
        let next = names[(i + 1) % names.len()];
        write(&format!("x/{name}.rs"), format!("use super::{next}::Thing; use super::Parent;"));
    }
    let circles = circles::find(&Package::read(folder.path()));
    assert_eq!(circles.len(), 1);
    assert_eq!(circles[0].iter().map(|module| module[1].as_str()).collect::<Vec<_>>(), names);
}
