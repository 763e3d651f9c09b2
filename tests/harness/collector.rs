//! Collectors that run until told to end: `attach`, or a daemon.

use super::{Running, World, start, wait_for};
use std::process::Command;

/// A collector that has attached to a process and loses nothing, however slow it is.
pub(crate) fn attach(world: &World, pid: &str, options: &[&str]) -> Running {
    let mut tool = world.tool(["attach", pid, "--on-full", "block", "--max-wait", "100s"]);
    tool.args(options);
    start_collector(world, tool)
}

/// Starts a collector, and waits until it says that it records, or will when asked.
pub(crate) fn start_collector(world: &World, command: Command) -> Running {
    let collector = start(world, command);
    wait_for("the collector", || {
        let said = collector.stderr();
        assert!(!said.contains("error:"), "{said}");
        said.contains("until ^C")
    });
    collector
}
