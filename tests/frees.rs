//! Who frees: stacks of frees on request, and frees of blocks that no longer exist.

use crate::harness::{World, c, cpp, record, wait};
use serde_json::Value;

/// Check that each free has its stack if requested, whichever call it comes from, and none otherwise; and that
/// nothing else changes.
#[test]
fn frees_have_stacks_if_wanted() {
    for program in [c("every_call").build(), cpp("every_new").build()] {
        let frees = |options: &[&str], has_stack: bool| {
            let (_, capture) = record(&program).options(options).with_names().succeed();
            let frees: Vec<_> = capture.events().into_iter().filter(|event| event.kind == "free").collect();
            for free in &frees {
                assert_eq!(free.stack.iter().any(|name| name == "main"), has_stack, "{free:?}");
                assert_eq!(free.stack.is_empty(), !has_stack, "{free:?}");
            }
            frees.len()
        };
        let count = frees(&["--free-stacks"], true);
        assert_eq!((count, count > 10), (frees(&[], false), true), "{}", program.display());
    }
}

/// Check that children of fork record them, too, and that with samples each free has its stack.
#[test]
fn frees_of_children_and_of_samples_have_stacks() {
    for (program, arguments, options) in [
        (c("forks_and_frees_first").build(), [].as_slice(), ["--free-stacks"].as_slice()),
        (cpp("frees_everything").build(), &["2", "200"], &["--free-stacks", "--sample", "4K"]),
    ] {
        let (_, capture) = record(&program).args(arguments).options(options).with_names().succeed();
        let events = capture.events();
        let frees: Vec<_> = events.iter().filter(|event| event.kind == "free").collect();
        let without: Vec<_> = frees.iter().filter(|free| free.stack.is_empty()).collect();
        assert!(!frees.is_empty() && without.is_empty(), "{options:?}: {without:?} of {}", frees.len());
    }
}

/// Check that a block which one thread allocates and another frees has both stacks.
#[test]
fn blocks_that_pass_between_threads_are_told_by_both_stacks() {
    let (_, capture) = record(c("passes_blocks").build()).options(["--free-stacks"]).with_names().succeed();
    let threads = capture.json(&["blocks", "--by", "thread"]);
    let rows = threads["crossing"].as_array().unwrap();
    let rows: Vec<_> = rows.iter().filter(|row| row["allocated_by"][0]["function"] == "make").collect();
    let told: Vec<_> = rows
        .iter()
        .map(|row| (&row["freed_by"][0]["function"], row["blocks"].as_u64(), row["bytes"].as_u64()))
        .collect();
    assert_eq!(told, [(&Value::from("take"), Some(100), Some(4000))], "{threads:#}");
}

/// Check that a report weighs stacks by what they free, in every form, that the sums are those of all frees, and that
/// blocks are selected by who allocated them; and that a recording without these stacks says how to get them.
#[test]
fn reports_tell_who_frees() {
    let (_, capture) = record(c("passes_blocks").build()).options(["--free-stacks"]).with_names().succeed();
    let report = capture.report(&["--by", "frees"]);
    let top = &report["rows"][0];
    assert_eq!(top["stack"][0]["function"], "take", "{report:#}");
    assert_eq!((&top["frees_here"], &top["freed_here_bytes"]), (&100.into(), &4000.into()), "{top:#}");
    let total = &report["total"];
    assert_eq!(total["frees_here"], total["frees"], "{total:#}");
    assert_eq!(total["freed_here_bytes"], total["freed_bytes"], "{total:#}");
    let functions = capture.report(&["--by", "frees", "--functions"]);
    let take = functions["functions"].as_array().unwrap().iter().find(|row| row["name"] == "take").unwrap();
    assert_eq!((&take["self_blocks"], &take["self_bytes"]), (&100.into(), &4000.into()), "{take:#}");
    assert!(take["file"].as_str().unwrap().ends_with("passes_blocks.c"), "{take:#}");
    assert_eq!(take["line"], 16, "the call of free: {take:#}");
    let of_size = capture.report(&["--by", "frees", "--size", "40"]);
    assert_eq!(of_size["total"]["frees_here"], 100, "{of_size:#}");
    let folded = capture.show(&["export", "--format", "folded", "--by", "frees"]);
    assert!(folded.text().lines().any(|line| line.ends_with(";take 100")), "{}", folded.text());
    let text = capture.show(&["report", "--by", "frees", "--tree"]);
    assert!(text.text().contains("take") && !text.text().contains("make"), "{}", text.text());
}

/// Check that commands that need stacks of frees are refused without them, with advice on how to get them.
#[test]
fn recordings_without_stacks_of_frees_say_how_to_get_them() {
    let (_, capture) = record(c("passes_blocks").build()).succeed();
    let by: [&[&str]; 4] =
        [&["report"], &["report", "--lines"], &["diff"], &["export", "--format", "folded"]];
    let commands = by.iter().map(|command| [command, &["--by", "frees"][..]].concat());
    for command in commands.chain([vec!["frees"]]) {
        let refused = capture.show(&command);
        assert_eq!(refused.code, 2, "{}", refused.stderr);
        assert!(refused.stderr.contains("run --free-stacks"), "{}", refused.stderr);
    }
    assert!(capture.report(&[])["total"].get("frees_here").is_none());
}

/// Check who frees whose blocks, from both sides: blocks of a thread that another one frees, blocks of an error path
/// that are forgotten, and blocks that `realloc` frees; and that selections work by who allocated and by who freed.
#[test]
fn owners_are_told_by_both_sides() {
    let (_, capture) = record(c("hands_over").build()).options(["--free-stacks"]).with_names().succeed();
    let rows = |arguments: &[&str]| {
        let document = capture.json(&[&["frees"], arguments].concat());
        document["rows"].as_array().unwrap().clone()
    };
    // Functions and numbers: of the row, then of those below it.
    let told = |rows: &[Value], name: &str| {
        let row = rows.iter().find(|row| row["stack"][0]["function"] == name);
        let row = row.unwrap_or_else(|| panic!("{name}: {rows:#?}"));
        let said = |one: &Value| {
            let stack = one["stack"][0]["function"].as_str().unwrap_or("nobody").to_owned();
            let numbers = [&one["blocks"], &one["bytes"], &one["by_others"]["blocks"]];
            (one["party"].as_str().unwrap().to_owned(), stack, numbers.map(|number| number.as_i64().unwrap()))
        };
        row["with"].as_array().unwrap().iter().map(said).collect::<Vec<_>>()
    };
    let party = |party: &str, stack: &str, numbers| (party.to_owned(), stack.to_owned(), numbers);
    let all = rows(&[]);
    let expected = [
        party("freed", "consume", [70, 4480, 70]),
        party("freed", "refuse", [20, 1280, 0]),
        party("left", "nobody", [10, 640, 0]),
    ];
    assert_eq!(told(&all, "make_message"), expected);
    assert_eq!(told(&all, "make_list"), [party("resized", "grow_list", [1, 100, 0])]);
    assert_eq!(told(&all, "grow_list"), [party("freed", "main", [1, 1000, 0])]);
    let turned = rows(&["--inverted", "--freed-by", "consume or refuse", "--by", "blocks"]);
    assert_eq!(turned.len(), 2, "{turned:#?}");
    assert_eq!(told(&turned, "refuse"), [party("allocated", "make_message", [20, 1280, 0])]);
    let functions = rows(&["--functions", "--inverted"]);
    let of = |name: &str| {
        functions.iter().find(|row| row["function"] == name).unwrap()["with"][0]["function"].clone()
    };
    assert_eq!(
        [of("consume"), of("refuse"), of("grow_list")],
        ["make_message", "make_message", "make_list"],
        "{functions:#?}"
    );
    assert_eq!(rows(&["--filter", "make_list"]).len(), 1);
    assert_eq!(rows(&["--size", "64", "--freed-by", "consume"])[0]["blocks"], 70);
    let unmatched = &capture.json(&["frees", "--freed-by", "consum"])["unmatched"];
    assert_eq!((&unmatched[0]["name"], &unmatched[0]["nearest"][0]), (&"consum".into(), &"consume".into()));
    let text = capture.show(&["frees", "--inverted"]);
    assert!(text.text().contains("allocated by make_message (hands_over.c:"), "{}", text.text());
    // The first thread of a process has the process' number.
    let main = capture.info()["processes"][0]["pid"].as_u64().unwrap();
    let freeing = |expression: String| {
        let rows = rows(&["--inverted", "--freed-by", &expression]);
        rows.iter().map(|row| row["stack"][0]["function"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let of_others = freeing(format!("not thread:{main} and (consume or refuse or main)"));
    assert_eq!(of_others, ["consume"]);
    let of_main = freeing(format!("thread:{main} and (consume or refuse or grow_list)"));
    assert_eq!(of_main, ["refuse", "grow_list"]);
}

/// Check that a block which is freed twice, for which the program is ended, is shown with both frees and its
/// allocation; and that `info` says where to look.
#[test]
fn a_block_that_is_freed_twice_is_told() {
    for with_stacks in [true, false] {
        let options: &[&str] = if with_stacks { &["--free-stacks"] } else { &[] };
        let (ran, capture) = record(c("frees_twice").build()).options(options).with_names().run();
        assert_eq!(ran.code, 128 + 6, "{}", ran.stderr);
        let info = capture.show(&["info"]);
        assert!(info.text().contains("1 (see: errors)"), "{}", info.text());
        let invalid = capture.json(&["errors"]);
        let frees = invalid["invalid_frees"].as_array().unwrap();
        let free = frees.first().expect("a free");
        assert_eq!((frees.len(), &free["cause"], &free["block"]["size"]), (1, &"twice".into(), &4321.into()));
        assert_eq!(free["block"]["stack"][0]["function"], "make_buffer", "{free:#}");
        assert_ne!(free["thread"]["tid"], free["before"]["thread"]["tid"]);
        let by = |place: &Value| place["stack"][0]["function"].as_str().map(str::to_owned);
        let expected = [Some("last_owner"), Some("first_owner")].map(|name| name.map(str::to_owned));
        let told = [by(free), by(&free["before"])];
        assert_eq!(told, if with_stacks { expected } else { [None, None] }, "{free:#}");
        let text = capture.show(&["errors"]);
        assert_eq!(text.text().contains("run --free-stacks"), !with_stacks, "{}", text.text());
        for (part, number) in
            [(["--at", "start"], 0), (["--at", "end"], 1), (["--from", "start"], 1), (["--to", "1ns"], 0)]
        {
            let invalid = capture.json(&["errors", part[0], part[1]]);
            assert_eq!(invalid["invalid_frees"].as_array().map(Vec::len), Some(number), "{part:?}");
        }
    }
    let (_, aggregated) = record(c("frees_twice").build()).options(["--aggregate"]).run();
    let text = aggregated.show(&["errors"]);
    assert!(text.text().contains("and invalid ones not listed"), "{}", text.text());
}

/// Check that a free of what is no block, and which the program dies of, is told with its stack, whatever the address;
/// and that the program dies where it dies alone, with samples, too.
#[test]
fn a_free_that_kills_the_program_is_told() {
    let program = c("dies_in_free").build();
    for which in ["twice", "far", "low", "odd", "high", "noncanonical"] {
        let world = World::new();
        let mut alone = world.command(&program);
        alone.arg(which);
        let alone = wait(&world, alone);
        assert_eq!((alone.code, alone.text()), (128 + 11, "libc.so.6"), "{which}: {}", alone.stderr);
        for (options, resizes) in
            [(&["--free-stacks"][..], &[][..]), (&[], &["resizes"]), (&["--sample", "1M"], &[])]
        {
            let recording = record(&program).options(options).arg(which).args(resizes).with_names();
            let (ran, capture) = recording.run();
            let what = format!("{which} {options:?} {resizes:?}");
            assert_eq!((ran.code, ran.text()), (alone.code, alone.text()), "{what}: {}", ran.stderr);
            let info = capture.info();
            assert_eq!(info["lost"]["events"], 0, "{what}");
            if options.is_empty() || options[0] == "--sample" {
                continue;
            }
            let invalid = capture.json(&["errors"]);
            let frees = invalid["invalid_frees"].as_array().unwrap();
            assert_eq!(frees.len(), 1, "{what}: {invalid:#}");
            assert_eq!(frees[0]["stack"][0]["function"], "guilty", "{what}: {invalid:#}");
        }
    }
}
