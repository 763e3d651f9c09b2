//! Names are those of the files that were mapped, whatever has their paths by now.

use crate::harness::{Capture, World, c, can_sample, copy_program, library, record, skip};
use rustix::process::geteuid;
use std::fs;
use std::path::{Path, PathBuf};

/// With and without a build id.
const BUILD_IDS: [&str; 2] = ["-Wl,--build-id=sha1", "-Wl,--build-id=none"];

/// A library that lends memory by this function, in a place of its own.
fn lender(to: &Path, function: &str, size: u32, build_id: &str) {
    let flags = [format!("-DFUNCTION={function}"), format!("-DSIZE={size}"), "-O1".into(), build_id.into()];
    copy_program(library("lends_memory").flags(flags).build(), to);
}

/// The name of the function that allocated blocks of this size, or why it has none.
fn owner(capture: &Capture, size: u64) -> String {
    let frame = &capture.row_of_size(size).value["stack"][0];
    frame["function"].as_str().or(frame["reason"].as_str()).expect("a frame has either").to_owned()
}

/// Functions with CPU samples, of one program.
fn sampled(capture: &Capture) -> Vec<String> {
    let report = capture.report(&["--cpu", "--min", "0%"]);
    let rows = report["rows"].as_array().expect("a report has rows").iter();
    let names = rows.flat_map(|row| row["stack"].as_array().expect("a row has a stack"));
    // Where there is no name, why.
    let name = |frame: &serde_json::Value| {
        frame["function"].as_str().map_or_else(|| frame.to_string(), str::to_owned)
    };
    names.map(name).collect()
}

/// Check that a program which puts another build in its own place has the names of the build that runs, for
/// allocations and CPU samples, and also where the new file gets the number of the old one.
#[test]
fn program_that_replaces_itself_has_its_own_names() {
    for build_id in BUILD_IDS {
        for way in ["rename", "remove"] {
            let world = World::new();
            let program = c("replaces_itself").flags(["-O1", "-DFUNCTION=of_before", build_id]);
            let other = c("replaces_itself").flags(["-O1", "-DFUNCTION=of_after", "-DPADDED", build_id]);
            let (path, replacement) = (world.path("program"), world.path("other"));
            copy_program(program.build(), &path);
            copy_program(other.build(), &replacement);
            let recording = record(&path).arg(way).arg(&replacement).arg("200");
            let (ran, capture) = recording.world(world).with_names().run();
            assert_eq!(ran.code, 0, "{}", ran.stderr);
            assert_eq!(owner(&capture, 4568), "of_before", "{way} {build_id}");
            let sampled = sampled(&capture);
            let has = |name: &str| sampled.iter().any(|function| function == name);
            assert!(!has("of_after") && !has("padding"), "{way} {build_id}: {sampled:?}");
            let cpu = &capture.info()["cpu"];
            assert!(!can_sample() || has("of_before"), "{way} {build_id}: {sampled:?} of {cpu}");
        }
    }
}

/// Check that a library which was opened by a path relative to a folder that the program has left is named by its
/// own file, not by one that the path leads to from elsewhere.
#[test]
fn library_opened_in_another_folder_has_its_own_names() {
    for build_id in BUILD_IDS {
        let world = World::new();
        let folders = ["sub", "other"].map(|name| world.path(name));
        folders.iter().for_each(|folder| fs::create_dir(folder).expect("the folder is ours"));
        lender(&folders[0].join("lib.so"), "opened_there", 606, build_id);
        for namesake in [folders[1].join("lib.so"), world.path("lib.so")] {
            lender(&namesake, "namesake", 607, build_id);
        }
        let program = c("opens_in_another_folder").build();
        let (_, capture) = record(program).args(&folders).world(world).with_names().succeed();
        assert_eq!(owner(&capture, 606), "opened_there", "{build_id}");
        let row = capture.row_of_size(606);
        assert_eq!(Path::new(&row.frames[0].module), folders[0].join("lib.so"));
    }
}

/// Check that each version of a library that is opened again and again by one name has its own names, whether the
/// name was given to another file or to a link; and that versions which were written into one file have their own
/// names or none, with the reason.
#[test]
fn versions_of_a_library_have_their_own_names() {
    for build_id in BUILD_IDS {
        for way in ["rename", "link", "rewrite"] {
            let world = World::new();
            let versions: Vec<PathBuf> = (1..=4).map(|number| world.path(&format!("v{number}.so"))).collect();
            for (number, version) in (1..).zip(&versions) {
                lender(version, &format!("version_{number}"), 1000 + number, build_id);
            }
            let recording =
                record(c("reloads_versions").build()).arg(way).arg("./current.so").args(&versions);
            let (_, capture) = recording.world(world).with_names().succeed();
            for number in 1..=4 {
                let (found, own) = (owner(&capture, 1000 + number), format!("version_{number}"));
                // The recording copies files that were built a moment ago, if it comes in time.
                let is_lost =
                    way == "rewrite" && number != 4 && found == "Binary file was replaced or changed";
                assert!(found == own || is_lost, "{way} {build_id}, {number}: {found}");
            }
        }
    }
}

/// Check that a library which was opened before its program went into another root is not named by a file that has
/// its path there. Without a build id it may have no name: there is no `/proc` that would say which file is mapped.
#[test]
fn library_opened_before_chroot_has_its_own_names() {
    if !geteuid().is_root() {
        return skip("another root", "this needs root");
    }
    for build_id in BUILD_IDS {
        let world = World::new();
        let (path, root) = (world.path("lib.so"), world.path("root"));
        let namesake = root.join(path.strip_prefix("/").expect("it is absolute"));
        fs::create_dir_all(namesake.parent().expect("it is in a folder")).expect("the folder is ours");
        lender(&path, "opened_before", 609, build_id);
        lender(&namesake, "namesake", 610, build_id);
        let recording = record(c("opens_before_chroot").build()).args([&path, &root]);
        let (_, capture) = recording.world(world).with_names().succeed();
        let found = owner(&capture, 609);
        let is_unknown = build_id == BUILD_IDS[1] && found == "Which binary file was mapped is not known";
        assert!(found == "opened_before" || is_unknown, "{build_id}: {found}");
    }
}

/// Check that a program in a mount namespace of its own, which ends at once, is named by its own file and not by one
/// that has its path outside.
#[test]
fn program_in_a_mount_namespace_has_its_own_names() {
    let world = World::new();
    let place = world.path("place");
    fs::create_dir(&place).expect("the folder is ours");
    for build_id in BUILD_IDS {
        let program = |function: &str| {
            let flags = ["-O1", "-DPADDED", build_id];
            c("replaces_itself").flags(flags).flags([format!("-DFUNCTION={function}")]).build()
        };
        copy_program(program("outside"), &place.join("program"));
        copy_program(program("inside"), &world.path("inside"));
        let script = format!(
            "mount -t tmpfs none {0} && cp {1} {0}/program && cp {1} {0}/other && exec {0}/program rename {0}/other 0",
            place.display(),
            world.path("inside").display()
        );
        let ran = record("unshare").args(["--mount", "sh", "-c", &script]).with_names().run();
        let (ran, capture) = ran;
        if ran.code != 0 {
            return skip("a mount namespace", "this machine does not let us have one");
        }
        assert_eq!(owner(&capture, 4568), "inside", "{build_id}");
    }
}
