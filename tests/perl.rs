//! Functions of Perl on stacks, as the interpreter's own memory has them, beside what the script says of itself.

use crate::harness::{
    Capture, Recording, World, found_blocks, installed, only_row, record, said_blocks, skip,
};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Sizes of the blocks whose stacks scripts print.
const SIZES: &str = "40001..200000";

/// A version of Perl that is installed here.
#[derive(Clone, Debug)]
struct Perl {
    path: PathBuf,
    version: String,
}

/// Every version that is installed: on the path, and those that `PERL_INTERPRETERS` names, separated by colons. Those
/// that are not there are reported.
fn interpreters() -> Vec<Perl> {
    let mut paths: Vec<PathBuf> = installed("perl").into_iter().collect();
    paths.extend(std::env::var_os("PERL_INTERPRETERS").iter().flat_map(std::env::split_paths));
    let mut found: Vec<Perl> = Vec::new();
    for path in paths {
        let asks =
            "use Config; print \"5.$Config{PERL_VERSION}\", $Config{usethreads} ? ' with threads' : ''";
        let Ok(ran) = Command::new(&path).args(["-e", asks]).output() else { continue };
        let version = String::from_utf8_lossy(&ran.stdout).into_owned();
        if ran.status.success() && found.iter().all(|perl| perl.version != version) {
            found.push(Perl { path, version });
        }
    }
    for version in ["5.30", "5.32", "5.34", "5.36", "5.38", "5.40"] {
        if found.iter().all(|perl| perl.version.split(' ').next() != Some(version)) {
            skip(&format!("Perl {version}"), "not installed");
        }
    }
    found
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/perl").join(name)
}

fn recording(perl: &Perl) -> Recording {
    record(&perl.path).with_names()
}

/// True for a file of a script's code.
fn is_script(module: &str) -> bool {
    module.ends_with(".pl") || module.ends_with(".pm") || module.starts_with("(eval ") || module == "-e"
}

/// The frames of a script in a row's stack, from the innermost outwards, each as NAME:LINE.
fn scripted(row: &Value) -> String {
    let frames = row["stack"].as_array().into_iter().flatten();
    let name = |frame: &Value| {
        let function = frame["function"].as_str().unwrap_or("?");
        format!("{function}:{}", frame["line"].as_u64().unwrap_or(0))
    };
    let of_script = frames.filter(|frame| is_script(frame["module"].as_str().unwrap_or_default()));
    of_script.map(name).collect::<Vec<_>>().join(" ")
}

/// Compares the stacks of the blocks in a recording with what the script has said, a line for each block.
fn compare(perl: &Perl, said: &str, capture: &Capture) {
    let (expected, found) = (said_blocks(said), found_blocks(capture, SIZES, scripted));
    for stack in expected.keys() {
        assert_eq!(found.get(stack), expected.get(stack), "{perl:?}: {stack}");
    }
    assert_between_native_frames(perl, &capture.report(&["--by", "allocations", "--size", SIZES]));
}

/// Checks that no function of the script stands outside of the program's main function, as with an evaluation too many.
fn assert_between_native_frames(perl: &Perl, report: &Value) {
    for row in report["rows"].as_array().expect("a report has rows") {
        let outermost = row["stack"].as_array().and_then(|stack| stack.last()).expect("stacks have frames");
        assert!(!is_script(outermost["module"].as_str().unwrap_or_default()), "{perl:?}: {row}");
    }
}

/// Check that each block has the functions and lines that the interpreter itself names, in every kind of frame:
/// methods, closures, comparisons of sorts, overloaded operators, ties, destructors, signal handlers, exceptions, code
/// in patterns, modules, and code that is made at run time, whose memory other code gets.
#[test]
fn stacks_are_those_that_the_interpreter_names() {
    for perl in interpreters() {
        let (ran, capture) = recording(&perl).arg(script("allocates_everywhere.pl")).run();
        assert_eq!(ran.code, 0, "{perl:?}: {}", ran.stderr);
        assert!(ran.text().lines().count() > 130, "{perl:?}");
        compare(&perl, ran.text(), &capture);
        assert_between_native_frames(&perl, &capture.report(&["--by", "allocations"]));
        let info = capture.info();
        assert_eq!(info["lost"]["events"], 0, "{perl:?}: {}", info["lost"]);
    }
}

/// Check the same for a thousand blocks in functions that call each other in random ways.
#[test]
fn random_stacks_are_those_that_the_interpreter_names() {
    for perl in interpreters() {
        for seed in ["1", "2"] {
            let (ran, capture) = recording(&perl).arg(script("allocates_randomly.pl")).arg(seed).run();
            assert_eq!(ran.code, 0, "{perl:?}: {}", ran.stderr);
            assert_eq!(ran.text().lines().count(), 1000, "{perl:?}");
            compare(&perl, ran.text(), &capture);
        }
    }
}

/// Check that functions of the script stand behind the evaluation that runs them, and before what they call: also
/// where an `eval` in what C has called begins one of its own.
#[test]
fn functions_stand_between_native_frames() {
    for perl in interpreters() {
        let world = World::new();
        let path = world.write(
            "sorts.pl",
            "my $kept;\nsub key_of { eval { inner() }; $_[0] }\nsub inner { $kept = 'x' x 77000; return }\n\
             sub outer { my @two = sort { key_of($a) <=> $b } 2, 1 }\nouter();\n",
        );
        let (ran, capture) = recording(&perl).world(world).arg(path).run();
        assert_eq!(ran.code, 0, "{perl:?}: {}", ran.stderr);
        let row = only_row(&capture, "77001..77002");
        let names: Vec<&str> = row.frames.iter().map(|frame| frame.function.as_str()).collect();
        let place = |wanted: &str| {
            names.iter().position(|name| *name == wanted).unwrap_or_else(|| panic!("{perl:?}: {names:?}"))
        };
        let is_evaluation = |(_, name): &(usize, &&str)| **name == "Perl_runops_standard";
        let evaluations: Vec<usize> =
            names.iter().enumerate().filter(is_evaluation).map(|(at, _)| at).collect();
        let [of_eval, of_sort, of_main] = evaluations[..] else { panic!("{perl:?}: {names:?}") };
        // Operators themselves have names only where Perl has its symbols; these are what they call.
        let order = [
            place("Perl_sv_setsv_flags"),
            place("main::inner"),
            of_eval,
            place("main::key_of"),
            of_sort,
            place("Perl_sortsv_flags"),
            place("main::outer"),
            place("<main>"),
            of_main,
        ];
        assert!(order.is_sorted(), "{perl:?}: {order:?} of {names:?}");
    }
}
