//! Programs as people run them: they behave as they do alone, and every event has a stack.

use crate::harness::{Capture, World, c, installed, probe_library, record, skip, wait};
use serde_json::Value;

/// Records a command, compares its results with those of the command alone, and checks its stacks.
fn check(program: &str, arguments: &[&str]) {
    check_in(program, arguments, |_| {});
}

/// The same in worlds that `prepare` has put files into, one for each of the two runs.
fn check_in(program: &str, arguments: &[&str], prepare: impl Fn(&World)) {
    if installed(program).is_none() {
        return skip(program, "not installed");
    }
    let world = World::new();
    prepare(&world);
    let mut command = world.command(program);
    command.args(arguments);
    let alone = wait(&world, command);

    let recording = record(program).args(arguments).with_names();
    prepare(&recording.world);
    let (ran, capture) = recording.run();
    assert_eq!(ran.code, alone.code, "{}", ran.stderr);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&alone.stdout), "{program}");
    capture.assert_sound();
    assert_stacks(&capture);
}

/// Checks that nearly all allocations have a complete stack, that complete ones begin where programs and threads do,
/// and that functions have names wherever a program has symbols.
fn assert_stacks(capture: &Capture) {
    let info = capture.info();
    let number = |path: &str| info.pointer(path).and_then(Value::as_u64).unwrap_or(0);
    let (allocations, complete) = (number("/totals/allocations"), number("/stacks/complete_allocations"));
    assert!(allocations > 10, "{allocations} allocations");
    // Compilers recurse deeper than the limit; apart from that only code without tables may end a stack.
    let share = if number("/stacks/truncated") > 0 { 0.95 } else { 0.999 };
    assert!(complete as f64 >= share * allocations as f64, "{:#}", info["stacks"]);

    let processes = info["processes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let executables: Vec<_> = processes.iter().filter_map(|process| process["executable"].as_str()).collect();
    let rows = capture.rows();
    for row in rows.iter().filter(|row| row.state == "complete") {
        let root = row.frames.last().expect("a complete stack has frames");
        let is_root = matches!(root.function.as_str(), "_start" | "clone" | "clone3")
            || executables.contains(&root.module.as_str())
            || root.module.contains("/ld-linux");
        assert!(is_root, "{:#}", row.value);
    }
    let named = rows.iter().filter(|row| row.names().iter().any(|name| name != "?")).count();
    assert!(named * 10 >= rows.len() * 9, "{named} of {} stacks have names", rows.len());
}

/// The folder of this package.
fn here() -> &'static str {
    env!("CARGO_MANIFEST_DIR")
}

/// Check that Python runs as it does alone.
#[test]
fn python() {
    let program = "import json, re; print(len(json.dumps([re.sub('a', 'b', str(i)) for i in range(3000)])))";
    check("python3", &["-c", program]);
}

/// Check that Perl runs as it does alone.
#[test]
fn perl() {
    check(
        "perl",
        &["-e", "my %h; $h{$_ % 97} .= $_ for 1..20000; print map { \"$_ $h{$_}\\n\" } sort keys %h"],
    );
}

/// Check that git runs as it does alone, reading a history and comparing a working tree with it.
#[test]
fn git() {
    let make = |world: &World| {
        let git = |arguments: &[&str]| {
            let mut command = world.command("git");
            for name in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
                command.env(name, "somebody");
            }
            command.args(arguments);
            let ran = wait(world, command);
            assert_eq!(ran.code, 0, "{}", ran.stderr);
        };
        std::fs::create_dir(world.path("tree")).expect("the folder is ours");
        git(&["init", "--quiet", "tree"]);
        for number in 0..5 {
            world.write("tree/file", format!("line {number}\n").repeat(100));
            git(&["-C", "tree", "add", "file"]);
            git(&["-C", "tree", "commit", "--quiet", "--date=2020-01-01T00:00:00Z", "-m", "a change"]);
        }
        world.write("tree/file", "changed\n");
        world.write("tree/new", "new\n");
    };
    check_in("git", &["-C", "tree", "log", "--stat", "--format=%s"], make);
    check_in("git", &["-C", "tree", "status", "--short"], make);
}

/// Check that a C++ compiler with its passes runs as it does alone.
#[test]
fn compiler_of_cpp() {
    let source = format!("{}/programs/cpp/every_new.cpp", here());
    check("g++", &["-S", "-O1", "-o", "-", &source]);
}

/// Check that `sqlite3` runs as it does alone.
#[test]
fn sqlite() {
    let query = "create table t(a); with recursive n(i) as (select 1 union all select i + 1 from n limit 5000) \
                 insert into t select i * 7 % 1001 from n; select count(distinct a), sum(a) from t;";
    check("sqlite3", &[":memory:", query]);
}

/// Check that xz and tar run as they do alone, in threads and pipes.
#[test]
fn archives() {
    let make = |world: &World| {
        world.write("data", "a line that repeats\n".repeat(200_000));
    };
    check_in("xz", &["--threads=2", "--block-size=500KiB", "--stdout", "data"], make);
    let reproducible = ["--sort=name", "--mtime=2020-01-01", "-cf", "-", "-C", here(), "programs"];
    check("tar", &reproducible);
    check_in("bash", &["-c", "tar --mtime=2020-01-01 -c data | xz -1 | xz -dc | tar -t"], make);
}

/// Check that node runs as it does alone: a JIT compiler, threads, an allocator of its own for most objects.
#[test]
fn node() {
    let program =
        "let a = []; for (let i = 0; i < 50000; i++) a.push({ i }); console.log(JSON.stringify(a).length)";
    check("node", &["-e", program]);
}

/// Check that Chromium, whose many processes use an allocator inside the program, shows a page as it does alone, and
/// that hardly any of their events is unexplained.
#[test]
fn chromium() {
    if installed("chromium").is_none() {
        return skip("chromium", "not installed");
    }
    let page = "<p id=here></p><script>here.textContent = [...Array(5000).keys()].map(n => n * n % 7).join('')</script>";
    let arguments = |world: &World| {
        let page = world.write("page.html", page);
        let switches = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"];
        let page = format!("file://{}", page.display());
        switches.into_iter().map(str::to_owned).chain([page]).collect::<Vec<_>>()
    };
    let world = World::new();
    let mut command = world.command("chromium");
    command.args(arguments(&world));
    let alone = wait(&world, command);
    let recording = record("chromium");
    let arguments = arguments(&recording.world);
    let (ran, capture) = recording.args(arguments).run();
    assert_eq!((ran.code, ran.text()), (alone.code, alone.text()), "{}", ran.stderr);
    let info = capture.info();
    let number = |path: &str| info.pointer(path).and_then(Value::as_u64).unwrap_or(u64::MAX);
    let allocations = number("/totals/allocations");
    assert!(allocations > 100_000, "{allocations} allocations");
    assert!(number("/stacks/complete_allocations") * 100 >= allocations * 99, "{:#}", info["stacks"]);
    assert_eq!(number("/totals/unmatched_frees"), 0);
    // What is freed along with a block is part of that free.
    assert!(number("/totals/conflicts") * 1000 <= allocations, "{:#}", info["totals"]);
}

/// Check that rustc and cargo run as they do alone, building a small crate.
#[test]
fn rust() {
    let make = |world: &World| {
        std::fs::create_dir_all(world.path("crate/src")).expect("the folder is ours");
        world.write("crate/Cargo.toml", "[package]\nname = \"small\"\nedition = \"2021\"\n[workspace]\n");
        world.write("crate/src/main.rs", "fn main() { println!(\"{}\", (1..=10).sum::<i32>()); }\n");
    };
    check_in("cargo", &["build", "--quiet", "--offline", "--manifest-path", "crate/Cargo.toml"], make);
    check_in(
        "rustc",
        &["--edition=2021", "--crate-name=small", "--emit=metadata", "crate/src/main.rs"],
        make,
    );
}

/// Check that make runs as it does alone, with compilers in parallel.
#[test]
fn make() {
    let prepare = |world: &World| {
        let rules = "all: a.o b.o c.o\n\t@echo made\n%.o: %.c\n\t@cc -c -o $@ $<\n";
        world.write("Makefile", rules);
        for name in ["a", "b", "c"] {
            world.write(&format!("{name}.c"), format!("int {name}(void) {{ return 1; }}\n"));
        }
    };
    check_in("make", &["-j2"], prepare);
}

/// Check that gdb runs as it does alone.
#[test]
fn gdb() {
    let program = c("nested_calls").with(&probe_library()).build();
    let program = program.to_string_lossy();
    check("gdb", &["--batch", "-nx", "-ex", "info line main", "-ex", "list main", &program]);
}

/// Check that shell scripts with subshells, pipes and background jobs run as they do alone.
#[test]
fn shell() {
    let script = "for i in 1 2 3; do (echo sub $i | cat); done; x=$(printf '%s\\n' c a b | sort); echo $x; \
                  sleep 0 & wait $!; echo $?; exit 9";
    check("bash", &["-c", script]);
}
