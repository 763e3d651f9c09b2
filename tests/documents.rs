//! The commands of the documents do what the documents say: each page runs as one script, in a world of its own.

use crate::harness::{Ran, World, installed, product, skip, wait};
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/tasks")
}

/// Runs the blocks of a page, showing each command before it is executed; stops at the first failure.
fn follow(page: &str) -> (World, Ran) {
    let world = World::new();
    let text = std::fs::read_to_string(folder().join(format!("{page}.md"))).expect("the page is there");
    let blocks: Vec<&str> = blocks(&text).collect();
    assert!(!blocks.is_empty(), "{page} has commands");
    let ran = execute(&world, &(blocks.join("\n") + "\nwait\n"));
    (world, ran)
}

/// The commands of a page.
pub(crate) fn blocks(text: &str) -> impl Iterator<Item = &str> {
    text.split("```sh\n").skip(1).filter_map(|part| Some(part.split_once("\n```")?.0))
}

/// Runs commands of a page beside the pages' example program, as for somebody who has installed the product.
pub(crate) fn execute(world: &World, commands: &str) -> Ran {
    std::fs::copy(folder().join("example.c"), world.path("example.c")).expect("the folder is ours");
    let bin = world.path("bin");
    std::fs::create_dir(&bin).expect("the folder is ours");
    std::os::unix::fs::symlink(product(), bin.join("sysprof-memprof")).expect("the folder is ours");
    let script = world.write("page.sh", commands);
    let mut command = world.command("bash");
    let path = std::env::var("PATH").unwrap_or_default();
    command.args(["-euxo", "pipefail"]).arg(script).env("PATH", format!("{}:{path}", bin.display()));
    wait(world, command)
}

/// What pages promise about their output, beyond every command succeeding.
fn promises(page: &str) -> &'static [&'static str] {
    match page {
        "find-a-leak" => &["remember", "12.5 KiB"],
        "find-a-double-free" => {
            &["it was ended: exit code 134", "freed twice", "first freed", "fill_cache", "drop_cache"]
        }
        "find-who-frees" => &["freed by drop_cache", "allocated by fill_cache", "never freed"],
        "find-who-ran-out-of-memory" => &[
            "it was ended: exit code 134",
            "malloc of 128 TiB failed",
            "out of memory (ENOMEM)",
            "make_table",
        ],
        "what-keeps-memory" => &["it leaks: exit code 1", "scanned ", "kept by history [example]"],
        "find-the-peak" => &["fill_cache"],
        "watch-a-service" => &["answer"],
        "resident-memory" => &["fill_cache", "resident at exit", "freed, kept by libc", "By touching stack"],
        "processor-time" => &["CPU samples", "fill_cache"],
        "gate-a-build" => &["it leaks: exit code 1", "worse than before"],
        "read-a-diff" => &["fill_cache", "the cache has grown"],
        "compare-many" => {
            &["web-1.memprof and 2 more: ", "version\n", "web-3\n", " to web-3.memprof: ", "remember"]
        }
        "watch-a-fleet" => {
            &["Added to fleet: service=shop/version=1/day=20", "fleet/captures/service=shop/version=2/day=20"]
        }
        "get-symbols" => &["fill_cache", "<in example>"],
        "containers" => &["libsysprof_memprof_preload.so"],
        "what-a-capture-contains" => &["--password=secret", "redacted"],
        "ask-with-scripts" => {
            &["12800\tremember\t", "/example.c:22\n", "1000000\tfill_cache\n", " bytes of thread "]
        }
        "itself" => &["clap_builder::"],
        "python" => &["Service.handle (service.py:8)", "service.py:8 via "],
        "ruby" => &["Service#handle (service.rb:9)", "service.rb:9 via "],
        "php" => &["Service::handle (service.php:8)", "service.php:8 via "],
        "perl" => &["Service::handle (service.pl:9)", "service.pl:9 via "],
        "node" => &["handle (service.js:3)", "by NODE_OPTIONS"],
        "java" => &["java.nio.DirectByteBuffer.<init>", "Service.handle", "by JAVA_TOOL_OPTIONS"],
        other => panic!("{other} has no promises"),
    }
}

/// Check that every command of a page succeeds, and that what the page says about the output is true.
fn check(page: &str) {
    let needed = match page {
        "ask-with-scripts" => "jq",
        "python" => "python3",
        "ruby" => "ruby",
        "php" => "php",
        "perl" => "perl",
        "node" => "node",
        "java" => "javac",
        _ => "sh",
    };
    if installed(needed).is_none() {
        return skip(page, &format!("{needed} is not installed"));
    }
    let (world, ran) = follow(page);
    assert_eq!(ran.code, 0, "{page}:\n{}\n{}", ran.text(), ran.stderr);
    let output = format!("{}{}", ran.text(), ran.stderr);
    for promise in promises(page) {
        assert!(output.contains(promise), "{page} shows {promise}:\n{output}");
    }
    drop(world);
}

macro_rules! pages {
    ($($(#[$doc:meta])* $test:ident $page:literal),+ $(,)?) => {
        $($(#[$doc])* #[test] fn $test() { check($page) })+
        const TESTED: &[&str] = &[$($page),+];
    };
}

pages! {
    /// Check that the page leads to the leak.
    leak_is_found "find-a-leak",
    /// Check that the page leads to both frees and the allocation.
    double_free_is_found "find-a-double-free",
    /// Check that the page leads to the owners of the cache's blocks, from both sides.
    owners_are_found "find-who-frees",
    /// Check that the page leads to the function that asked for more than there is.
    memory_that_is_not_there_is_found "find-who-ran-out-of-memory",
    /// Check that the page leads to the variables that keep memory, at the end and while a service runs.
    what_keeps_memory_is_found "what-keeps-memory",
    /// Check that the page leads to what holds the memory at the peak.
    peak_is_found "find-the-peak",
    /// Check that the page records a running service, and that the service goes on.
    service_is_watched "watch-a-service",
    /// Check that the page shows what is resident, at the end and at the peak.
    resident_memory_is_explained "resident-memory",
    /// Check that the page's commands work whether or not the CPU can be sampled.
    processor_time_is_explained "processor-time",
    /// Check that the page's limits pass the good build and stop the bad ones.
    build_is_gated "gate-a-build",
    /// Check that the page's diff names what grew.
    diff_is_read "read-a-diff",
    /// Check that the page's recordings are shown as one, and compared by their labels.
    many_are_compared "compare-many",
    /// Check that the page's recordings become one dataset; `fleet` asks the page's questions about another.
    fleet_is_made "watch-a-fleet",
    /// Check that the page's programs have the names that it mentions.
    symbols_are_there "get-symbols",
    /// Check that the page's questions are answered, if jq is installed.
    scripts_are_answered "ask-with-scripts",
    /// Check that everything on the page that happens outside of containers works.
    agent_goes_into_an_image "containers",
    /// Check that a capture and its redacted copy contain what the page says.
    capture_holds_what_is_said "what-a-capture-contains",
    /// Check that the command can record itself.
    command_records_itself "itself",
    /// Check that the page leads to the line of the script that keeps memory.
    python_is_explained "python",
    /// Check the same for Ruby.
    ruby_is_explained "ruby",
    /// Check the same for PHP.
    php_is_explained "php",
    /// Check that the page leads to the function of the script.
    perl_is_explained "perl",
    /// Check the same for JavaScript.
    node_is_explained "node",
    /// Check the same for Java.
    java_is_explained "java",
}

/// Check that every page is run, and that the table of pages lists each.
#[test]
fn all_pages_are_run() {
    let table = std::fs::read_to_string(folder().join("README.md")).expect("the table is there");
    for entry in std::fs::read_dir(folder()).expect("the folder is there") {
        let name = entry.expect("it can be read").file_name().into_string().expect("plain names");
        let Some(page) = name.strip_suffix(".md").filter(|page| *page != "README") else { continue };
        assert!(TESTED.contains(&page), "{page} is run");
        assert!(table.contains(&format!("({name})")), "{page} is in the table");
    }
}
