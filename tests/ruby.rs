//! Functions of Ruby on stacks, as the interpreter's own memory has them, beside what the script says of itself.

use crate::harness::{
    Capture, Recording, World, found_blocks, installed, library, only_row, record, said_blocks, skip,
};
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Sizes of the blocks whose stacks scripts print.
const SIZES: &str = "20001..22999";

/// A version of Ruby that is installed here.
#[derive(Clone, Debug)]
struct Ruby {
    path: PathBuf,
    version: (u32, u32),
}

/// Every version that is installed: on the path, and by rbenv. Those that are not there are reported.
fn rubies() -> Vec<Ruby> {
    let known = [(2, 7), (3, 0), (3, 1), (3, 2), (3, 3), (3, 4)];
    let names = known.iter().map(|(major, minor)| format!("ruby{major}.{minor}")).chain(["ruby".to_owned()]);
    let mut paths: Vec<PathBuf> = names.filter_map(|name| installed(&name)).collect();
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let versions = home.and_then(|home| home.join(".rbenv/versions").read_dir().ok());
    for version in versions.into_iter().flatten().flatten() {
        paths.push(version.path().join("bin/ruby"));
    }
    let mut found: HashMap<(u32, u32), Ruby> = HashMap::new();
    for path in paths {
        let asks = "print RUBY_ENGINE, ' ', RUBY_VERSION";
        let Ok(ran) = Command::new(&path).args(["--disable-gems", "-e", asks]).output() else { continue };
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        let Some(version) = said.strip_prefix("ruby ") else { continue };
        let mut numbers = version.split('.').filter_map(|number| number.parse().ok());
        let (Some(major), Some(minor)) = (numbers.next(), numbers.next()) else { continue };
        let version = (major, minor);
        if known.contains(&version) {
            found.entry(version).or_insert(Ruby { path, version });
        }
    }
    for (major, minor) in known.iter().filter(|version| !found.contains_key(version)) {
        skip(&format!("Ruby {major}.{minor}"), "not installed");
    }
    let mut found: Vec<Ruby> = found.into_values().collect();
    found.sort_by_key(|ruby| ruby.version);
    found
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/ruby").join(name)
}

fn recording(ruby: &Ruby) -> Recording {
    record(&ruby.path).env("RUBYOPT", "--disable-gems").with_names()
}

/// True for a file of a script's code.
fn is_script(module: &str) -> bool {
    module.ends_with(".rb") || module.starts_with("(eval")
}

/// The name of a function without the class of its method, which Ruby itself says from 3.4 on.
fn unqualified(ruby: &Ruby, name: &str) -> String {
    if ruby.version >= (3, 4) {
        return name.to_owned();
    }
    let (kind, method) = name.rsplit_once(" in ").map_or(("", name), |(kind, method)| (kind, method));
    let is_qualified = method.starts_with(|letter: char| letter.is_ascii_uppercase());
    let method = method.rsplit_once(['#', '.']).filter(|_| is_qualified).map_or(method, |(_, method)| method);
    if kind.is_empty() { method.to_owned() } else { format!("{kind} in {method}") }
}

/// The frames of a script in a row's stack, from the innermost outwards, each as NAME:LINE.
fn scripted(ruby: &Ruby, row: &Value) -> String {
    let frames = row["stack"].as_array().into_iter().flatten();
    let name = |frame: &Value| {
        let function = unqualified(ruby, frame["function"].as_str().unwrap_or("?"));
        format!("{}:{}", function.replace(' ', "_"), frame["line"].as_u64().unwrap_or(0))
    };
    let of_script = frames.filter(|frame| is_script(frame["module"].as_str().unwrap_or_default()));
    of_script.map(name).collect::<Vec<_>>().join(" ")
}

/// Compares the stacks of the blocks in a recording with what the script has said, a line for each block: for each
/// stack of the script's, how many blocks there are, and their bytes.
fn compare(ruby: &Ruby, said: &str, capture: &Capture) {
    let (expected, found) = (said_blocks(said), found_blocks(capture, SIZES, |row| scripted(ruby, row)));
    for stack in expected.keys().chain(found.keys().filter(|stack| stack.contains("main:"))) {
        assert_eq!(found.get(stack), expected.get(stack), "{ruby:?}: {stack}");
    }
}

/// Check that each block has the functions and lines that the interpreter itself names, in every kind of frame:
/// methods, blocks, exceptions, fibers, threads, functions that C calls, code that is made at run time, code whose
/// memory other code gets, and objects that are moved.
#[test]
fn stacks_are_those_that_the_interpreter_names() {
    for ruby in rubies() {
        let (ran, capture) = recording(&ruby).arg(script("allocates_everywhere.rb")).run();
        assert_eq!(ran.code, 0, "{ruby:?}: {}", ran.stderr);
        assert!(ran.text().lines().count() > 100, "{ruby:?}");
        compare(&ruby, ran.text(), &capture);
        let info = capture.info();
        assert_eq!(info["lost"]["events"], 0, "{ruby:?}: {}", info["lost"]);
        assert_eq!(info["remarks"].as_array().map(Vec::len), Some(0), "{ruby:?}: {}", info["remarks"]);
    }
}

/// Check the same for a thousand blocks each in functions that call each other in random ways, in four threads.
#[test]
fn random_stacks_are_those_that_the_interpreter_names() {
    for ruby in rubies() {
        for seed in ["1", "2"] {
            let (ran, capture) = recording(&ruby).arg(script("allocates_randomly.rb")).arg(seed).run();
            assert_eq!(ran.code, 0, "{ruby:?}: {}", ran.stderr);
            assert!(ran.text().lines().count() >= 1000, "{ruby:?}");
            compare(&ruby, ran.text(), &capture);
        }
    }
}

/// Check that methods have the class that has them: the module if that is where they are from, and for those of one
/// object the object's name.
#[test]
fn methods_have_their_class() {
    for ruby in rubies() {
        let world = World::new();
        let path = world.write(
            "classes.rb",
            "KEPT = []\n\
             module Outer\n  module Shared\n    def shared = KEPT << 'x' * 70_000\n  end\n\
               class Row\n    include Shared\n    def filled = [1].each { KEPT << 'x' * 70_100 }\n\
                 def self.made = KEPT << 'x' * 70_200\n  end\n\
               class Other < Row; end\nend\n\
             row = Outer::Other.new\nrow.shared\nrow.filled\nOuter::Other.made\n\
             Class.new { def anonymous = KEPT << 'x' * 70_300 }.new.anonymous\n",
        );
        if ruby.version < (3, 0) {
            continue;
        }
        let (ran, capture) = recording(&ruby).world(world).arg(path).run();
        assert_eq!(ran.code, 0, "{ruby:?}: {}", ran.stderr);
        let cases = [
            ("70001", "Outer::Shared#shared"),
            ("70101", "block in Outer::Row#filled"),
            ("70201", "Outer::Row.made"),
            ("70301", "anonymous"),
        ];
        for (size, expected) in cases {
            let row = only_row(&capture, size);
            let of_script = row.frames.iter().find(|frame| is_script(&frame.module));
            assert_eq!(of_script.map(|frame| frame.function.as_str()), Some(expected), "{ruby:?}: {row:?}");
        }
    }
}

/// Check that functions of the script stand behind the evaluation that runs them, and before what they call.
#[test]
fn functions_stand_between_native_frames() {
    for ruby in rubies() {
        let world = World::new();
        let path = world.write(
            "sorts.rb",
            "def key(one)\n  KEPT << 'x' * 77_000\n  one\nend\n\
             def outer\n  [2, 1].each { |_| [1].sort_by { |one| key(one) } if KEPT.empty? }\nend\nKEPT = []\nouter\n",
        );
        let (ran, capture) = recording(&ruby).world(world).arg(path).run();
        assert_eq!(ran.code, 0, "{ruby:?}: {}", ran.stderr);
        let row = only_row(&capture, "77001");
        let names: Vec<&str> = row.frames.iter().map(|frame| frame.function.as_str()).collect();
        let place = |is_it: &dyn Fn(&str) -> bool| {
            names.iter().position(|name| is_it(name)).unwrap_or_else(|| panic!("{ruby:?}: {names:?}"))
        };
        let (key, outer) = (place(&|name| name.ends_with("key")), place(&|name| name == "Object#outer"));
        let main = place(&|name| name == "<main>");
        assert!(key < outer && outer < main, "{ruby:?}: {names:?}");
        // `sort_by` itself has a name only where Ruby has its symbols; this is what it calls.
        let sorts = place(&|name| name == "rb_block_call");
        let block = place(&|name| name.starts_with("block in Object#outer"));
        assert!(key < sorts && sorts < block && block < outer, "{ruby:?}: {names:?}");
        let main_of_ruby = place(&|name| name == "ruby_run_node");
        assert!(main < main_of_ruby, "{ruby:?}: {names:?}");
    }
}

/// Check that memory of the interpreter's that holds anything costs frames, and never the process.
#[test]
fn scribbles_cost_frames_only() {
    let scribbles = library("scribbles").build();
    for ruby in rubies().into_iter().filter(|ruby| ruby.version >= (3, 0)) {
        for seed in ["1", "2"] {
            let arguments = [script("scribbled.rb"), scribbles.clone(), seed.into()];
            let (ran, capture) = recording(&ruby).args(arguments).run();
            assert_eq!((ran.code, ran.text()), (0, "survived\n"), "{ruby:?}: {}", ran.stderr);
            let row = only_row(&capture, "30003");
            assert_eq!(scripted(&ruby, &row.value), "<main>:44", "{ruby:?}");
            let remarks = capture.info()["remarks"].to_string();
            assert!(remarks.contains("functions of the script"), "{ruby:?}: {remarks}");
        }
    }
}
