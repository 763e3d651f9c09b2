//! Functions of PHP on stacks, as the interpreter's own memory has them, beside what the script says of itself.

use crate::harness::{
    Capture, Recording, World, found_blocks, installed, library, only_row, record, said_blocks, skip,
};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Sizes of the blocks whose stacks scripts print. Tables, whose sizes are near powers of two, have none of these.
const SIZES: &str = "40001..60000";

/// A version of PHP that is installed here.
#[derive(Clone, Debug)]
struct Php {
    path: PathBuf,
    version: String,
}

/// Every version that is installed: on the path, and those that `PHP_INTERPRETERS` names, separated by colons. Those that
/// are not there are reported.
fn interpreters() -> Vec<Php> {
    let known = ["7.4", "8.0", "8.1", "8.2", "8.3", "8.4"];
    let names = known.iter().map(|version| format!("php{version}")).chain(["php".to_owned()]);
    let mut paths: Vec<PathBuf> = names.filter_map(|name| installed(&name)).collect();
    paths.extend(std::env::var_os("PHP_INTERPRETERS").iter().flat_map(std::env::split_paths));
    let mut found: Vec<Php> = Vec::new();
    for path in paths {
        let asks = "echo PHP_MAJOR_VERSION, '.', PHP_MINOR_VERSION, PHP_ZTS ? ' with threads' : '';";
        let Ok(ran) = Command::new(&path).args(["-n", "-r", asks]).output() else { continue };
        let version = String::from_utf8_lossy(&ran.stdout).into_owned();
        if found.iter().all(|php| php.version != version) {
            found.push(Php { path, version });
        }
    }
    for version in known.iter().filter(|version| found.iter().all(|php| php.version != **version)) {
        skip(&format!("PHP {version}"), "not installed");
    }
    found
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/php").join(name)
}

/// A recording of PHP that allocates each value for itself.
fn recording(php: &Php) -> Recording {
    record(&php.path).env("USE_ZEND_ALLOC", "0").with_names()
}

/// True if scripts can call libraries; reported if they cannot.
fn calls_libraries(php: &Php) -> bool {
    let asks = "exit((int) !extension_loaded('ffi'));";
    let can = Command::new(&php.path).args(["-r", asks]).status().is_ok_and(|status| status.success());
    if !can {
        skip(&format!("libraries called by PHP {}", php.version), "it has no FFI");
    }
    can
}

/// True for a file of a script's code.
fn is_script(module: &str) -> bool {
    module.ends_with(".php") || module.ends_with(" : eval()'d code")
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

/// Compares the stacks of the blocks in a recording with what the script has said, a line for each block: for each
/// stack of the script's, how many blocks there are, and their bytes.
fn compare(php: &Php, said: &str, capture: &Capture) {
    let (expected, found) = (said_blocks(said), found_blocks(capture, SIZES, scripted));
    for stack in expected.keys() {
        assert_eq!(found.get(stack), expected.get(stack), "{php:?}: {stack}");
    }
}

/// Check that each block has the functions and lines that the interpreter itself names, in every kind of frame:
/// methods, closures, generators that wait for each other, exceptions, fibers, functions that C calls, destructors,
/// included files, and code that is made at run time, whose memory other code gets.
#[test]
fn stacks_are_those_that_the_interpreter_names() {
    for php in interpreters() {
        let (ran, capture) = recording(&php).arg(script("allocates_everywhere.php")).run();
        assert_eq!(ran.code, 0, "{php:?}: {}", ran.stderr);
        assert!(ran.text().lines().count() > 250, "{php:?}");
        compare(&php, ran.text(), &capture);
        let info = capture.info();
        assert_eq!(info["lost"]["events"], 0, "{php:?}: {}", info["lost"]);
        assert_eq!(info["remarks"].as_array().map(Vec::len), Some(0), "{php:?}: {}", info["remarks"]);
    }
}

/// Check the same where compiled scripts are in memory that processes share, and with the machine code of hot
/// functions, where what runs them may be missing, but not the functions.
#[test]
fn compiled_scripts_have_the_same_stacks() {
    for php in interpreters() {
        for options in
            [&["-dopcache.enable_cli=1"][..], &["-dopcache.enable_cli=1", "-dopcache.jit_buffer_size=8M"]]
        {
            let (ran, capture) = recording(&php).args(options).arg(script("allocates_everywhere.php")).run();
            assert_eq!(ran.code, 0, "{php:?}: {}", ran.stderr);
            compare(&php, ran.text(), &capture);
        }
    }
}

/// Check the same for a thousand blocks in functions that call each other in random ways.
#[test]
fn random_stacks_are_those_that_the_interpreter_names() {
    for php in interpreters() {
        for seed in ["1", "2", "3"] {
            let (ran, capture) = recording(&php).arg(script("allocates_randomly.php")).arg(seed).run();
            assert_eq!(ran.code, 0, "{php:?}: {}", ran.stderr);
            assert!(ran.text().lines().count() >= 1000, "{php:?}");
            compare(&php, ran.text(), &capture);
        }
    }
}

/// Check that functions of the script stand behind the evaluation that runs them, and before what they call.
#[test]
fn functions_stand_between_native_frames() {
    for php in interpreters() {
        let world = World::new();
        let path = world.write(
            "sorts.php",
            "<?php\nfunction key_of($one) {\n  global $kept;\n  $kept[] = str_repeat('x', 77000);\n  return $one;\n}\n\
             function outer() {\n  $two = [2, 1];\n  usort($two, fn ($one, $other) => key_of($one) <=> $other);\n}\n\
             outer();\n",
        );
        let (ran, capture) = recording(&php).world(world).arg(path).run();
        assert_eq!(ran.code, 0, "{php:?}: {}", ran.stderr);
        let row = only_row(&capture, "77000..77999");
        let names: Vec<&str> = row.frames.iter().map(|frame| frame.function.as_str()).collect();
        let place = |wanted: &str| {
            names.iter().position(|name| *name == wanted).unwrap_or_else(|| panic!("{php:?}: {names:?}"))
        };
        let evaluations: Vec<usize> =
            names.iter().enumerate().filter(|(_, name)| **name == "execute_ex").map(|(at, _)| at).collect();
        let [inner, outermost] = evaluations[..] else { panic!("{php:?}: {names:?}") };
        // From 8.4, a closure's name has where it is.
        let closure =
            if names.contains(&"{closure:outer():9}") { "{closure:outer():9}" } else { "{closure}" };
        let (key, closure) = (place("key_of"), place(closure));
        assert!(key < closure && closure < inner, "{php:?}: {names:?}");
        let calls = place("zend_call_function");
        let outer = place("outer");
        assert!(inner < calls && calls < outer && outer < place("{main}"), "{php:?}: {names:?}");
        assert!(place("{main}") < outermost, "{php:?}: {names:?}");
    }
}

/// Check that other threads of the process have no functions of the script.
#[test]
fn other_threads_have_native_frames() {
    let threads = library("allocates_in_a_thread").build();
    for php in interpreters() {
        let world = World::new();
        let path = world.write(
            "threads.php",
            "<?php\n$library = FFI::cdef('void allocate_in_a_thread(size_t size);', $argv[1]);\n\
             function calls($library) { $library->allocate_in_a_thread(77003); }\ncalls($library);\n",
        );
        if !calls_libraries(&php) {
            continue;
        }
        let (ran, capture) = recording(&php).world(world).arg(path).arg(&threads).run();
        assert_eq!(ran.code, 0, "{php:?}: {}", ran.stderr);
        let row = only_row(&capture, "77003");
        assert_eq!(scripted(&row.value), "", "{php:?}");
    }
}

/// Check that memory of the interpreter's that holds anything costs frames, and never the process.
#[test]
fn scribbles_cost_frames_only() {
    let scribbles = library("scribbles").build();
    for php in interpreters() {
        if !calls_libraries(&php) {
            continue;
        }
        for seed in ["1", "2"] {
            let arguments = [script("scribbled.php"), scribbles.clone(), seed.into()];
            let (ran, capture) = recording(&php).args(arguments).run();
            assert_eq!((ran.code, ran.text()), (0, "survived\n"), "{php:?}: {}", ran.stderr);
            let row = only_row(&capture, "30104");
            assert_eq!(scripted(&row.value).split(' ').next_back(), Some("{main}:72"), "{php:?}");
            let remarks = capture.info()["remarks"].to_string();
            assert!(remarks.contains("functions of the script"), "{php:?}: {remarks}");
        }
    }
}
