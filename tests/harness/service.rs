//! A program that behaves like a service: it allocates in all its threads until it is told to stop.

use super::{Fixture, Page, Ran, Running, World, attach, c, start, wait, wait_for};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// Microseconds that the server's threads sleep after a thousand calls: captures stay small, however slow the machine
/// is.
const REST: &str = "5000";
/// Blocks that each thread of the server keeps.
const KEPT: u64 = 64;

/// A program with the agent preloaded whose threads allocate until told to stop.
pub(crate) struct Service {
    pub(crate) world: World,
    pub(crate) page: Page,
    running: Running,
    threads: usize,
}

impl Service {
    /// A service that can be attached to.
    pub(crate) fn new(threads: usize) -> Service {
        let world = World::new();
        let agent = agent(&world);
        Service::with(world, &agent, threads)
    }

    /// A service that was started without the agent.
    pub(crate) fn without_agent(threads: usize) -> Service {
        Service::with(World::new(), "", threads)
    }

    /// A service with one thread that holds more and more in one function and churns in another.
    pub(crate) fn that_grows() -> Service {
        Service::of(&c("holds_and_churns").flags(["-O1", "-g"]))
    }

    /// A service with one thread, or one process at a time, that behaves in a special way.
    pub(crate) fn with_a_way(way: &str) -> Service {
        let world = World::new();
        let agent = agent(&world);
        // Some become other users, who must be able to read it.
        let everybody =
            |path: &Path, mode| fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        everybody(world.folder(), 0o755);
        everybody(&world.path("agent"), 0o755);
        Service::start(world, &agent, &c("serves_in_its_way").flags(["-O1", "-fno-builtin"]), &[way], 1)
    }

    /// A service with one thread.
    pub(crate) fn of(program: &Fixture) -> Service {
        let world = World::new();
        let agent = agent(&world);
        Service::start(world, &agent, program, &[], 1)
    }

    /// A service whose threads count their calls.
    pub(crate) fn with(world: World, agent: &str, threads: usize) -> Service {
        let program = c("counts_its_calls").flags(["-O1"]);
        Service::start(world, agent, &program, &[&threads.to_string(), REST], threads)
    }

    /// A service with a page of its own, which its first argument names.
    pub(crate) fn start(
        world: World,
        agent: &str,
        program: &Fixture,
        arguments: &[&str],
        threads: usize,
    ) -> Service {
        let page = Page::new(&world);
        let mut command = world.command(program.build());
        command.arg(&page.path).args(arguments).env("LD_PRELOAD", agent);
        let running = start(&world, command);
        page.wait_for_calls(threads, 1000);
        Service { world, page, running, threads }
    }

    /// A service that another program becomes, which gets an argument of its own, the agent's file and the command.
    pub(crate) fn under(launcher: &Fixture, argument: &str) -> Service {
        let world = World::new();
        let agent = agent(&world);
        let program = c("counts_its_calls").flags(["-O1"]).build();
        let page = Page::new(&world);
        let mut command = world.command(launcher.build());
        command.args([argument, &agent]).arg(program).arg(&page.path).args(["1", REST]);
        let running = start(&world, command);
        page.wait_for_calls(1, 1000);
        Service { world, page, running, threads: 1 }
    }

    pub(crate) fn pid(&self) -> String {
        self.running.pid().as_raw_nonzero().to_string()
    }

    /// The product with a command about this service.
    pub(crate) fn tool(&self, command: &str, more: &[&str]) -> Command {
        let mut tool = self.world.tool(command.split(' ').chain([self.pid().as_str()]));
        tool.args(more);
        tool
    }

    pub(crate) fn run(&self, command: &str, more: &[&str]) -> Ran {
        wait(&self.world, self.tool(command, more))
    }

    /// A collector that has attached and loses nothing, however slow it is.
    pub(crate) fn attach(&self, file: &str) -> Running {
        self.attach_with(&["--output", file])
    }

    /// A collector with options of its own, including where it writes.
    pub(crate) fn attach_with(&self, options: &[&str]) -> Running {
        attach(&self.world, &self.pid(), &[&["--no-symbolize"], options].concat())
    }

    /// Lets every thread continue for a while.
    pub(crate) fn work(&self) {
        self.page.wait_for_calls(self.threads, self.page.calls(0).mallocs_done + 20_000);
    }

    /// Its row of `ps`.
    pub(crate) fn row(&self) -> Value {
        let ran = wait(&self.world, self.world.tool(["ps", "--json"]));
        let document: Value = serde_json::from_str(ran.text()).expect("ps prints JSON");
        let rows = document["processes"].as_array().expect("there is a list").clone();
        let pid = self.running.pid().as_raw_nonzero().get();
        rows.into_iter().find(|row| row["pid"] == pid).expect("it has the agent preloaded")
    }

    pub(crate) fn maps(&self) -> String {
        fs::read_to_string(format!("/proc/{}/maps", self.pid())).expect("it runs")
    }

    /// Number of its open descriptors.
    pub(crate) fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.pid())).expect("it runs").count()
    }

    /// A number of kilobytes from its status.
    pub(crate) fn kilobytes(&self, name: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("the kernel tells");
        line.trim_matches(|letter: char| !letter.is_ascii_digit()).parse().expect("a number")
    }

    /// Waits until it has no memory of a recording any more.
    pub(crate) fn wait_until_it_has_left(&self) {
        wait_for("the process to leave its recording", || !self.maps().contains("memfd:sysprof"));
    }

    /// The letter for its state, as `ps` shows it.
    pub(crate) fn state(&self) -> char {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid())).expect("it runs");
        stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()).expect("the kernel tells")
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        self.running.signal(signal);
    }

    /// Makes it end, as it would have without us.
    pub(crate) fn stop(self) -> World {
        self.page.stop();
        assert_eq!(self.running.wait().code, 5);
        self.world
    }
}

/// The agent of a world, which then has a doorbell.
pub(crate) fn agent(world: &World) -> String {
    let ran = wait(world, world.tool(["agent", "path"]));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    ran.text().trim().to_string()
}

pub(crate) fn info(world: &World, file: &str) -> Value {
    let mut tool = world.tool(["info", "--json"]);
    tool.arg(world.path(file));
    let ran = wait(world, tool);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    serde_json::from_str(ran.text()).expect("info prints JSON")
}

pub(crate) fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("{pointer} of {value:#}"))
}

/// Checks a capture of a service that was attached to and has worked: it is exact and not empty.
pub(crate) fn assert_exact(info: &Value, threads: u64) {
    assert_exact_so_far(info, threads);
    assert!(number(info, "/totals/allocations") > 1000, "{:#}", info["totals"]);
}

/// Checks a capture of a service that was attached to, however little it has done since then: it is exact except for
/// blocks from before, of which there are few.
pub(crate) fn assert_exact_so_far(info: &Value, threads: u64) {
    for field in ["unmatched_frees", "lost_allocations", "lost_frees", "conflicts", "stray_events"] {
        assert_eq!(number(info, &format!("/totals/{field}")), 0, "{field}: {:#}", info["totals"]);
    }
    assert_eq!(number(info, "/lost/events"), 0, "{:#}", info["lost"]);
    assert_eq!(number(info, "/overhead/agent_allocations"), 0);
    let (before, live) = (number(info, "/totals/frees_from_before"), number(info, "/totals/running_blocks"));
    assert!(before <= KEPT * threads, "{before} frees of blocks from before");
    assert!(live <= KEPT * threads, "{live} blocks are left");
}
