//! Names that come from the capture, and those that views look up.

use crate::support::World;
use std::fs;

const PROGRAM: &str = "
    #include <stdlib.h>
    __attribute__((noinline)) void *keep_some(void) { return malloc(4321); }
    int main(void) { void *volatile kept = keep_some(); return kept == NULL; }
";

/// Check that views name what the recording did not, as long as the recorded file is there unchanged, that they say
/// so in one line, and that they leave it when told to.
#[test]
fn views_look_up_what_the_recording_did_not() {
    let world = World::new();
    let program = world.compile("keeper", PROGRAM, &["-O1", "-fno-optimize-sibling-calls"]);
    let record = ["run", "-q", "--no-symbolize", "-o", "x.memprof", "--"].map(str::to_owned);
    let recorded = world.run(record.into_iter().chain([program.display().to_string()]));
    assert_eq!((recorded.code, recorded.stderr.as_str()), (Some(0), ""));

    for view in [
        &["report"][..],
        &["report", "--json"],
        &["leaks"],
        &["export", "--format", "events"],
        &["export", "--format", "events-json"],
    ] {
        let named = world.run(view.iter().chain(&["x.memprof"]));
        assert_eq!(named.code, Some(0), "{view:?}: {}", named.stderr);
        assert!(named.stdout.contains("keep_some"), "{view:?}: {}", named.stdout);
        assert!(named.stderr.contains("that the capture lacks"), "{view:?}: {}", named.stderr);
        assert_eq!(named.stderr.lines().count(), 1, "{view:?}: {}", named.stderr);
        let bare = world.run(view.iter().chain(&["--no-symbolize", "x.memprof"]));
        assert!(!bare.stdout.contains("keep_some"), "{view:?}: {}", bare.stdout);
        assert_eq!(bare.stderr, "", "{view:?}");
    }

    fs::remove_file(&program).unwrap();
    world.compile("keeper", PROGRAM, &["-O0", "-DOTHER"]);
    let replaced = world.run(["report", "x.memprof"]).stdout;
    assert!(!replaced.contains("keep_some"), "{replaced}");
    assert!(replaced.contains("Binary file was replaced or changed: keeper"), "{replaced}");
}

/// Check that names that the capture has are not looked for: there is nothing to say.
#[test]
fn stored_names_are_taken() {
    let world = World::new();
    let program = world.compile("keeper", PROGRAM, &["-O1", "-fno-optimize-sibling-calls"]);
    let record = ["run", "-q", "-o", "x.memprof", "--"].map(str::to_owned);
    world.run(record.into_iter().chain([program.display().to_string()]));
    fs::remove_file(&program).unwrap();
    let report = world.run(["report", "x.memprof"]);
    assert!(report.stdout.contains("keep_some"), "{}", report.stdout);
    assert_eq!(report.stderr, "");
}

/// Check that lines are cut to the width that the user says, and not at all where no terminal is.
#[test]
fn lines_are_cut_for_terminals_alone() {
    let world = World::new();
    let long = "a_function_with_a_name_that_no_terminal_of_eighty_columns_has_room_for_in_any_table_at_all";
    let source = PROGRAM.replace("keep_some", long);
    let program = world.compile("keeper", &source, &["-O1", "-fno-optimize-sibling-calls"]);
    let record = ["run", "-q", "-o", "x.memprof", "--"].map(str::to_owned);
    world.run(record.into_iter().chain([program.display().to_string()]));
    let report = |columns: Option<&str>| {
        let mut command = world.tool(["report", "--tree", "x.memprof"]);
        command.envs(columns.map(|columns| ("COLUMNS", columns)));
        crate::support::ran(command.output().unwrap()).stdout
    };
    assert!(report(None).contains(long));
    assert!(report(Some("0")).contains(long), "no width at all");
    let cut = report(Some("80"));
    assert!(!cut.contains(long) && cut.contains("a_function_with_a_name"), "{cut}");
}
