//! Functions of Python on stacks, as the interpreter's own memory has them, beside what the script says of itself.

use crate::harness::{
    Capture, Recording, Row, World, found_blocks, installed, library, only_row, record, said_blocks, skip,
    validator,
};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Sizes of the blocks whose stacks scripts print.
const SIZES: &str = "20001..22999";

/// A version of Python that is installed here.
#[derive(Clone, Debug)]
struct Python {
    path: PathBuf,
    minor: u32,
}

/// Every version that is installed: on the path, and by pyenv. Those that are never there are reported.
fn pythons() -> Vec<Python> {
    let names = (8..=15).map(|minor| format!("python3.{minor}")).chain(["python3".to_owned()]);
    let mut paths: Vec<PathBuf> = names.filter_map(|name| installed(&name)).collect();
    paths.push("/usr/bin/python3".into());
    let pyenv = std::env::var_os("PYENV_ROOT").map(PathBuf::from);
    let pyenv = pyenv.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".pyenv")));
    let versions = pyenv.and_then(|folder| folder.join("versions").read_dir().ok());
    for version in versions.into_iter().flatten().flatten() {
        paths.push(version.path().join("bin/python3"));
    }
    let mut found: HashMap<String, Python> = HashMap::new();
    for path in paths {
        // A command of pyenv's only starts another program, if there is one.
        let asks = "import sys; print(sys.implementation.name, sys.version_info[1], sys.base_prefix)";
        let Ok(ran) = Command::new(&path).args(["-c", asks]).output() else { continue };
        let said = String::from_utf8_lossy(&ran.stdout).trim().to_owned();
        let mut words = said.split(' ');
        let (Some("cpython"), Some(minor)) = (words.next(), words.next()) else { continue };
        let minor = minor.parse().unwrap_or(0);
        let executable = Command::new(&path).args(["-c", "import sys; print(sys.executable)"]).output();
        let executable = executable
            .map_or_else(|_| path.clone(), |ran| PathBuf::from(String::from_utf8_lossy(&ran.stdout).trim()));
        if (8..=14).contains(&minor) {
            found.entry(said.clone()).or_insert(Python { path: executable, minor });
        }
    }
    let mut found: Vec<Python> = found.into_values().collect();
    found.sort_by(|one, other| (one.minor, &one.path).cmp(&(other.minor, &other.path)));
    for minor in 8..=14 {
        if !found.iter().any(|python| python.minor == minor) {
            skip(&format!("Python 3.{minor}"), "not installed");
        }
    }
    found
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/python").join(name)
}

/// A recording in which all memory of the interpreter's comes from `malloc`.
fn recording(python: &Python) -> Recording {
    record(&python.path).env("PYTHONMALLOC", "malloc").env("PYTHONDONTWRITEBYTECODE", "1").with_names()
}

/// The frames of a script in a row's stack, from the innermost outwards, each as NAME:LINE.
fn scripted(row: &Value) -> String {
    let is_script = |frame: &&Value| {
        let module = frame["module"].as_str().unwrap_or_default();
        module.ends_with(".py") || module == "<string>" || module.starts_with("<frozen")
    };
    let name = |frame: &Value| {
        format!("{}:{}", frame["function"].as_str().unwrap_or("?"), frame["line"].as_u64().unwrap_or(0))
    };
    let frames: Vec<String> =
        row["stack"].as_array().into_iter().flatten().filter(is_script).map(name).collect();
    frames.join(" ")
}

/// Compares the stacks of the blocks in a recording with what the script has said, a line for each block: for each stack
/// of the script's, how many blocks there are, and their bytes.
fn compare(python: &Python, said: &str, capture: &Capture) {
    let (expected, found) = (said_blocks(said), found_blocks(capture, SIZES, scripted));
    // Modules that are imported may have blocks of such sizes, too.
    let of_script = found.keys().filter(|stack| stack.contains("main:"));
    for stack in expected.keys().chain(of_script) {
        assert_eq!(found.get(stack), expected.get(stack), "{python:?}: {stack}");
    }
}

/// Check that each block has the functions and lines that the interpreter itself names, in every kind of frame:
/// methods, recursion, exceptions, generators, coroutines, threads, functions that C calls, code that is made at run
/// time, and code whose memory other code gets.
#[test]
fn stacks_are_those_that_the_interpreter_names() {
    for python in pythons() {
        let (ran, capture) = recording(&python).arg(script("allocates_everywhere.py")).run();
        assert_eq!(ran.code, 0, "{python:?}: {}", ran.stderr);
        assert!(ran.text().lines().count() > 100, "{python:?}");
        compare(&python, ran.text(), &capture);
        let info = capture.info();
        assert_eq!(info["lost"]["events"], 0, "{python:?}: {}", info["lost"]);
        assert_eq!(info["remarks"].as_array().map(Vec::len), Some(0), "{python:?}: {}", info["remarks"]);
    }
}

/// Check the same for a thousand blocks each in functions that call each other in random ways, in four threads.
#[test]
fn random_stacks_are_those_that_the_interpreter_names() {
    for python in pythons() {
        for seed in ["1", "2"] {
            let (ran, capture) = recording(&python).arg(script("allocates_randomly.py")).arg(seed).run();
            assert_eq!(ran.code, 0, "{python:?}: {}", ran.stderr);
            assert!(ran.text().lines().count() >= 1000, "{python:?}");
            compare(&python, ran.text(), &capture);
        }
    }
}

/// Check that stacks are right, too, where most are not looked at: Python has its own allocator, and allocations are
/// sampled.
#[test]
fn stacks_of_a_sample_are_right() {
    for python in pythons() {
        for script_name in ["allocates_everywhere.py", "allocates_randomly.py"] {
            let recording = record(&python.path).env("PYTHONDONTWRITEBYTECODE", "1").with_names();
            let (ran, capture) =
                recording.options(["--sample", "64K"]).arg(script(script_name)).arg("3").run();
            assert_eq!(ran.code, 0, "{python:?}: {}", ran.stderr);
            let stacks: HashSet<&str> =
                ran.text().lines().filter_map(|line| line.split_once(' ')).map(|(_, stack)| stack).collect();
            let report = capture.report(&["--by", "allocations", "--size", SIZES]);
            let rows = report["rows"].as_array().expect("a report has rows");
            let found: Vec<String> = rows
                .iter()
                .map(scripted)
                .filter(|stack| stack.contains("main:") || stack.contains("work:"))
                .collect();
            let all = || (rows.len(), capture.info()["remarks"].clone(), rows.first().cloned());
            assert!(found.len() > 5, "{python:?}, {script_name}: {} of {:#?}", found.len(), all());
            for stack in found {
                assert!(stacks.contains(stack.as_str()), "{python:?}: {stack}");
            }
        }
    }
}

/// Check that functions of the script stand behind the evaluation that runs them, and before what they call.
#[test]
fn functions_stand_between_native_frames() {
    for python in pythons() {
        let world = World::new();
        let path = world.write(
            "sorts.py",
            "def key(one):\n    kept.append(bytearray(77000))\n    return one\n\
             def outer():\n    sorted([1], key=key)\nkept = []\nouter()\n",
        );
        let (ran, capture) = recording(&python).world(world).arg(path).run();
        assert_eq!(ran.code, 0, "{python:?}: {}", ran.stderr);
        let row = only_row(&capture, "77001");
        let names: Vec<&str> = row.frames.iter().map(|frame| frame.function.as_str()).collect();
        let place = |name: &str| {
            names
                .iter()
                .position(|other| *other == name)
                .unwrap_or_else(|| panic!("{python:?}: {name}: {names:?}"))
        };
        let (key, outer, module) = (place("key"), place("outer"), place("<module>"));
        assert!(key < outer && outer < module, "{python:?}: {names:?}");
        assert_eq!(names[key + 1], "_PyEval_EvalFrameDefault", "{python:?}: {names:?}");
        // A stripped interpreter has names of what it exports only.
        let sorts = |name: &&str| name.contains("sort") || name.is_empty();
        assert!(names[key + 2..outer].iter().any(sorts), "{python:?}: {names:?}");
    }
}

/// Check that a greenlet has the frames of its own and no others, wherever it goes on: blocks and samples of the CPU.
#[test]
fn greenlets_have_only_frames_of_their_own() {
    let packages = validator("python").filter(|folder| folder.join("greenlet").exists());
    let (Some(packages), Some(python)) = (packages, installed("python3")) else {
        return skip("greenlets", "greenlet is not there: scripts/validators");
    };
    let recording = record(python).env("PYTHONPATH", packages).arg(script("greenlets.py")).with_names();
    let (_, capture) = recording.options(["--frequency", "999"]).succeed();
    let names = |size: &str| -> Vec<String> {
        only_row(&capture, size).frames.into_iter().map(|frame| frame.function).collect()
    };
    for size in ["20001", "20101", "20201"] {
        let names = names(size);
        assert!(names.last().is_some_and(|name| name.contains("inner_bootstrap")), "{names:?}");
        assert!(names.iter().any(|name| name == "first"), "{names:?}");
        assert!(!names.iter().any(|name| name == "deep" || name == "<module>"), "{names:?}");
    }
    let names = names("20301");
    assert!(names.iter().any(|name| name == "<module>"), "{names:?}");
    assert_eq!(names.last().map(String::as_str), Some("_start"), "{names:?}");
    let report = capture.report(&["--cpu"]);
    let (mut of_greenlet, mut total) = (0, 0);
    for row in report["rows"].as_array().expect("a report has rows") {
        let row = Row::from_json(row);
        let begins = row.frames.iter().position(|frame| frame.function.contains("inner_bootstrap"));
        total += 1;
        if let Some(place) = begins {
            assert_eq!(place + 1, row.frames.len(), "{:?}", row.frames);
            of_greenlet += 1;
        }
    }
    assert!(total == 0 || of_greenlet > 0, "{total}");
}

/// Check that nothing of the interpreter is read when that is not wanted.
#[test]
fn frames_can_be_left_out() {
    for python in pythons() {
        let recording =
            recording(&python).options(["--no-interpreters"]).arg(script("allocates_everywhere.py"));
        let (ran, capture) = recording.run();
        assert_eq!(ran.code, 0, "{python:?}: {}", ran.stderr);
        let report = capture.report(&["--by", "allocations", "--size", SIZES]);
        let rows = report["rows"].as_array().expect("a report has rows");
        assert!(!rows.is_empty() && rows.iter().all(|row| scripted(row).is_empty()), "{python:?}");
        assert_eq!(capture.info()["options"]["interpreters"], "false");
    }
}

/// Check that memory of the interpreter's that holds anything costs frames, and never the process.
#[test]
fn scribbles_cost_frames_only() {
    let scribbles = library("scribbles").build();
    for python in pythons() {
        for seed in ["1", "2"] {
            let arguments = [script("scribbled.py"), scribbles.clone(), seed.into()];
            let (ran, capture) = recording(&python).args(arguments).run();
            assert_eq!((ran.code, ran.text()), (0, "survived\n"), "{python:?}: {}", ran.stderr);
            assert_eq!(scripted(&only_row(&capture, "30003").value), "<module>:45", "{python:?}");
            let remarks = capture.info()["remarks"].to_string();
            assert!(remarks.contains("functions of the script"), "{python:?}: {remarks}");
        }
    }
}

/// Check that what an extension leaks is one stack with both sides: the line of the extension that allocates, the
/// function of the script that called it, the extension that called that, and the script around it all; and that this
/// is what lists and exports say.
#[test]
fn leaks_of_an_extension_have_both_sides() {
    for python in pythons() {
        let asks = "import sysconfig; print(sysconfig.get_paths()['include'])";
        let ran = Command::new(&python.path).args(["-c", asks]).output().expect("it runs");
        let headers = PathBuf::from(String::from_utf8_lossy(&ran.stdout).trim());
        if !headers.join("Python.h").exists() {
            skip(&format!("an extension of {}", python.path.display()), "its headers are not installed");
            continue;
        }
        let extension =
            library("kept_rows").flags(["-I".as_ref(), headers.as_os_str()]).named("kept_rows.so").build();
        let folder = extension.parent().expect("it is in a folder");
        let (ran, capture) = recording(&python).arg(script("keeps_rows.py")).arg(folder).run();
        assert_eq!((ran.code, ran.text()), (0, "5\n"), "{python:?}: {}", ran.stderr);
        let line = |text: &str, file: &str| {
            let lines = std::fs::read_to_string(file).expect("a source");
            1 + lines.lines().position(|line| line.contains(text)).expect("it is there")
        };
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/c/kept_rows.c");
        let source = source.to_str().expect("text");
        let load = if python.minor >= 11 { "Table.load" } else { "load" };
        let script = script("keeps_rows.py");
        let script = script.to_str().expect("text");
        let expected = [
            ("copy_of", line("malloc(", source)),
            ("keep", line("last = ", source)),
            (load, line("kept_rows.keep", script)),
            ("each", line("PyObject_CallFunction", source)),
            ("main", line("kept_rows.each", script)),
            ("<module>", line("print(main())", script)),
        ];
        let is_ours = |frame: &&Value| {
            let module = frame["module"].as_str().unwrap_or_default();
            module.ends_with("kept_rows.so") || module.ends_with("keeps_rows.py")
        };
        let place = |frame: &Value| {
            let line = frame["line"].as_u64().unwrap_or_default();
            (frame["function"].as_str().unwrap_or_default().to_owned(), line as usize)
        };
        let expected = expected.map(|(name, line)| (name.to_owned(), line));
        let report = capture.report(&["--by", "leaked", "--size", "40000"]);
        let mut blocks = 0;
        // From 3.11, the interpreter calls a function in another way once it was called a few times.
        for row in report["rows"].as_array().expect("a report has rows") {
            let frames = row["stack"].as_array().expect("a stack");
            let ours: Vec<(String, usize)> = frames.iter().filter(is_ours).map(place).collect();
            assert_eq!(ours, expected, "{python:?}");
            blocks += row["leaked_blocks"].as_u64().expect("a number");
        }
        assert_eq!(blocks, 5, "{python:?}: {report}");
        let text = capture.show(&["report", "--by", "leaked", "--size", "40000"]);
        let position =
            |word: &str| text.text().find(word).unwrap_or_else(|| panic!("{word}: {}", text.text()));
        assert!(position("copy_of") < position(load), "{}", text.text());
        let folded = capture.show(&["export", "--format", "folded", "--metric", "leaked"]);
        let leak = folded.text().lines().find(|line| line.contains("copy_of")).expect("the leak is there");
        let places: Vec<Option<usize>> =
            expected.iter().rev().map(|(name, _)| leak.find(&format!(";{name}"))).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{leak}");
    }
}
