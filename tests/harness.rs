//! What the tests share: the product, the programs to record, and what a recording shows.
//!
//! Everything under test runs as a process, with a time limit, in a folder and an environment of its own. Only what a
//! user sees is examined: exit codes, streams, files, and the product's own documents.

mod product;
mod world;

mod fixture;
mod run;

mod capture;
mod collector;
mod event;
mod recording;

mod burst;
mod control_group;
mod page;
mod probe;
mod server;
mod service;

mod repeat;
mod scripts;

pub(crate) use burst::Burst;
pub(crate) use capture::{Capture, Row};
pub(crate) use collector::{attach, start_collector};
pub(crate) use control_group::Group;
pub(crate) use event::{Event, address};
pub(crate) use fixture::{Fixture, bench, c, command_library, cpp, cpp_library, for_musl, library, rust};
pub(crate) use page::Page;
pub(crate) use probe::{probe_library, record_probes};
pub(crate) use product::{can_sample, product, validator};
pub(crate) use recording::{Recording, record};
pub(crate) use repeat::repeat;
pub(crate) use run::{Ran, Running, start, wait};
pub(crate) use scripts::{found_blocks, only_row, said_blocks};
pub(crate) use server::{Request, Server};
pub(crate) use service::{Service, agent, assert_exact, assert_exact_so_far, info, number};
pub(crate) use world::World;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Reports on the terminal that a test cannot run here, and why: the test's own output is hidden when it passes.
pub(crate) fn skip(what: &str, why: &str) {
    // Without a terminal the report is lost, which is fine.
    let _ = writeln!(std::io::stderr(), "skipped: {what}: {why}");
}

/// The path of a program, if it is installed.
pub(crate) fn installed(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Copies a program for execution. Another process writes the copy: as long as this one, or a child that
/// another test starts just then, has a descriptor open for writing, nobody can execute the file.
pub(crate) fn copy_program(from: impl AsRef<Path>, to: &Path) {
    let copied = Command::new("cp").arg(from.as_ref()).arg(to).status();
    assert!(copied.is_ok_and(|status| status.success()), "{}", to.display());
}

/// Waits for something to become true, even on a loaded machine.
pub(crate) fn wait_for(what: &str, mut is_true: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !is_true() {
        assert!(Instant::now() < deadline, "waited too long for {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
