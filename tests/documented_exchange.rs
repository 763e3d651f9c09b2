//! The commands on the pages about other programs' files do what the pages say, each block in a world of its own.

use crate::documents::{blocks, execute};
use crate::harness::{Server, World, installed, skip};

/// Programs that open a window or wait for a browser.
const WINDOWS: [&str; 4] = ["kcachegrind ", "heaptrack_gui ", "sysprof ", "go tool pprof -http"];

/// The program that pages record.
const PROGRAM: &str = "cc -g -O1 -o app example.c\n";

/// A capture of the program, for blocks that do not record it themselves.
fn capture(block: &str) -> Option<&'static str> {
    Some(if block.contains("run ") { "" } else { "sysprof-memprof run -o app.memprof -- ./app\n" })
}

/// heaptrack's recording of the program, if it can be made here.
fn recording(_block: &str) -> Option<&'static str> {
    let can = installed("heaptrack").is_some();
    if !can {
        skip("an import", "heaptrack is not installed");
    }
    can.then_some("heaptrack -o heaptrack.app.4711 ./app\n")
}

/// The lines of a block that can be executed here; the others are reported as skipped.
fn possible(block: &str) -> Vec<&str> {
    let is_possible = |line: &&str| {
        let commands = line.split('|').filter_map(|command| command.split_whitespace().next());
        let within = [("--format dot --by peak", "dot")];
        let within = within.into_iter().filter(|(part, _)| line.contains(part)).map(|(_, program)| program);
        let missing = commands.chain(within).find(|program| {
            *program != "sysprof-memprof" && *program != "./app" && installed(program).is_none()
        });
        if let Some(program) = missing {
            skip(line, &format!("{program} is not installed"));
        }
        missing.is_none()
    };
    let is_command =
        |line: &&str| !line.contains(" FORMAT ") && !WINDOWS.iter().any(|window| line.starts_with(window));
    block.lines().filter(is_command).filter(is_possible).collect()
}

/// Runs a page, each block after what it needs; returns what was executed, and what that printed.
fn follow(page: &str, before: fn(&str) -> Option<&'static str>, server: &Server) -> String {
    let mut printed = String::new();
    for block in blocks(page) {
        let lines = possible(block);
        let Some(before) = before(block).filter(|_| !lines.is_empty()) else { continue };
        let commands = lines.join("\n").replace("http://localhost:4040", &server.address);
        let world = World::new();
        let ran = execute(&world, &format!("{PROGRAM}{before}{commands}\nwait\n"));
        assert_eq!(ran.code, 0, "{block}\n{}\n{}", ran.text(), ran.stderr);
        printed += &format!("{}{}", ran.text(), ran.stderr);
    }
    printed
}

/// Check that each command on the page about exports works as written, including the programs that open the files,
/// and that profiles arrive at a server.
#[test]
fn exports_are_made_as_described() {
    let server = Server::start(&[200]);
    let page = include_str!("../docs/export.md");
    let printed = follow(page, capture, &server);
    // Some of the outputs are read by the program that is shown next; these are the ones that were made.
    let formats = ["pprof", "flamegraph", "folded", "speedscope", "firefox", "callgrind", "dot", "massif"];
    for format in formats.into_iter().chain(["heaptrack", "syscap", "perfetto", "memprof"]) {
        assert!(printed.contains(&format!("--format {format} ")), "{format} is made:\n{printed}");
    }
    let requests = server.requests();
    assert!(!requests.is_empty() && requests.iter().all(|request| request.line.contains("/ingest?name=app")));
    if installed("go").is_some() {
        assert!(printed.contains("fill_cache"), "pprof names functions:\n{printed}");
    }
}

/// Check that each command on the page about questions works as written.
#[test]
fn questions_are_asked_as_described() {
    let printed = follow(include_str!("../docs/query.md"), capture, &Server::start(&[200]));
    assert!(printed.contains("count(*)"), "{printed}");
}

/// Check that a recording of heaptrack is imported as the page says, if there is heaptrack.
#[test]
fn recordings_are_imported_as_described() {
    let printed = follow(include_str!("../docs/import.md"), recording, &Server::start(&[200]));
    let has_imported = printed.contains("+ sysprof-memprof import heaptrack.app.4711.zst -o");
    assert_eq!(has_imported, installed("heaptrack").is_some(), "{printed}");
}
