//! Programs that were started without the agent, and get it when attached to.

use crate::harness::{
    Event, Fixture, Page, Running, Service, World, agent, assert_exact, attach, c, copy_program, info,
    library, number, product, skip, start, start_collector, wait, wait_for,
};
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// A program without the agent that shares a page.
struct Program {
    world: World,
    page: Page,
    running: Running,
}

impl Program {
    fn start(program: &Fixture, arguments: &[&Path]) -> Program {
        Program::start_with(program, arguments, |_| {})
    }

    fn start_with(program: &Fixture, arguments: &[&Path], prepare: impl FnOnce(&mut Command)) -> Program {
        let world = World::new();
        let page = Page::new(&world);
        let mut command = world.command(program.build());
        command.arg(&page.path).args(arguments);
        prepare(&mut command);
        let running = start(&world, command);
        page.wait_for_calls(1, 1000);
        Program { world, page, running }
    }

    fn pid(&self) -> String {
        self.running.pid().as_raw_nonzero().to_string()
    }

    /// A collector that records it.
    fn attach(&self, more: &[&str]) -> Running {
        let options = ["--timeout", "100s", "--output", "it.memprof"];
        attach(&self.world, &self.pid(), &[&options, more].concat())
    }

    /// True while one of its threads has a tracer.
    fn is_traced(&self) -> bool {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.pid())).expect("it runs");
        let is_traced = |thread: std::fs::DirEntry| {
            let status = std::fs::read_to_string(thread.path().join("status")).unwrap_or_default();
            status.lines().any(|line| line.strip_prefix("TracerPid:").is_some_and(|by| by.trim() != "0"))
        };
        threads.flatten().any(is_traced)
    }

    fn is_recorded(&self) -> bool {
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", self.pid())).expect("it runs");
        maps.contains("memfd:sysprof-memprof")
    }

    fn end(self) -> String {
        self.page.stop();
        let ran = self.running.wait();
        assert_eq!(ran.code, 5, "{}", ran.stderr);
        ran.text().trim().to_string()
    }
}

/// Functions that allocate, according to a report of a capture, finished or not.
fn allocating(world: &World) -> Vec<String> {
    let mut tool = world.tool(["report", "--json", "--by", "allocations"]);
    tool.arg(world.path("it.memprof"));
    let ran = wait(world, tool);
    // A capture that has only just begun cannot be read yet.
    let document: Value = serde_json::from_str(ran.text()).unwrap_or_default();
    let rows = document["rows"].as_array().cloned().unwrap_or_default();
    rows.iter().filter_map(|row| Some(row["stack"][0]["function"].as_str()?.to_string())).collect()
}

/// Check that a process without the agent is recorded exactly, again and again, and that only the library is left in
/// it.
#[test]
fn process_without_the_agent_is_recorded() {
    let server = Service::without_agent(3);
    let (descriptors, files) = (server.descriptors(), server.maps().lines().count());
    assert!(!server.maps().contains("sysprof_memprof_preload"));
    let mut settled = None;
    for cycle in 0..4 {
        let collector = server.attach("it.memprof");
        assert_eq!(server.row()["state"], "recorded");
        server.work();
        collector.signal(Signal::INT);
        let ran = collector.wait();
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_exact(&info(&server.world, "it.memprof"), 3);
        std::fs::remove_file(server.world.path("it.memprof")).expect("it was made");
        // It has left by then, though nobody waited for it.
        assert!(
            !server.maps().contains("memfd:sysprof") && !server.maps().contains("doorbell"),
            "{}",
            server.maps()
        );
        assert_eq!(server.descriptors(), descriptors);
        assert_eq!(server.row()["state"], "bypassed");
        server.work();
        let now = (server.kilobytes("VmSize:"), server.maps().lines().count());
        let (size, maps) = *settled.get_or_insert(now);
        assert!(
            now.0 <= size + 4096 && now.1 <= maps + 8,
            "cycle {cycle}: {now:?} after {settled:?}, {files}"
        );
    }
    server.stop();
}

/// Check that `top` looks at such a process, too, and leaves it as it was.
#[test]
fn top_looks_at_it() {
    let server = Service::without_agent(2);
    let ran = server.run("top", &["--batch", "-n", "2", "--json", "--on-full", "block"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.text().contains("\"work\""), "{}", ran.text());
    assert!(
        !server.maps().contains("memfd:sysprof") && !server.maps().contains("doorbell"),
        "{}",
        server.maps()
    );
    server.stop();
}

/// Check that children which a process forks while it has the agent are recorded, and that their words are restored
/// together with its own.
#[test]
fn children_are_led_past_it() {
    let program = Program::start(&c("serves_by_children").flags(["-O1"]), &[]);
    let collector = program.attach(&["--no-symbolize"]);
    program.page.go();
    program.page.wait_for_calls(3, 1000);
    collector.signal(Signal::INT);
    assert_eq!(collector.wait().code, 0);
    let info = info(&program.world, "it.memprof");
    assert_eq!(info["processes"].as_array().map(Vec::len), Some(3), "{info:#}");
    assert_eq!(number(&info, "/totals/unmatched_frees"), 0, "{info:#}");
    // Pids of the children, as the children report them.
    for pid in [program.page.calls(1).frees_begun, program.page.calls(2).frees_begun] {
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("it runs");
        assert!(!maps.contains("memfd:sysprof") && !maps.contains("doorbell"), "{maps}");
    }
    program.end();
}

/// Check that a library is covered before its first call, its constructor's: what it copies and frees then is
/// recorded, and so is the first that the program has from it.
#[test]
fn libraries_are_bound_as_they_come() {
    let lender = library("works_when_loaded").flags(["-O1", "-Wl,-z,lazy"]).build();
    let program = Program::start(&c("opens_when_told").flags(["-O1"]), &[&lender]);
    // Twice: in between, the program finds libc first, as it did before.
    for is_first in [true, false] {
        let collector = program.attach(&["--force"]);
        program.page.wait_for_calls(1, program.page.calls(0).mallocs_done + 10);
        program.page.go();
        program.page.wait_for_calls(1, program.page.calls(0).mallocs_done + 20);
        collector.signal(Signal::INT);
        assert_eq!(collector.wait().code, 0);
        let info = info(&program.world, "it.memprof");
        for field in ["/totals/unmatched_frees", "/lost/events", "/overhead/agent_allocations"] {
            assert_eq!(number(&info, field), 0, "{field}: {info:#}");
        }
        // What the loader keeps of the library, and what is lent just now.
        assert!(number(&info, "/totals/running_blocks") < 20, "{info:#}");
        let mut events = program.world.tool(["export", "--format", "events-json"]);
        events.arg(program.world.path("it.memprof"));
        let ran = wait(&program.world, events);
        let events: Vec<Event> = ran.text().lines().skip(1).map(Event::from_json).collect();
        let made = |size: u64, function: &str| {
            let is_it = |event: &&Event| {
                event.call == "malloc"
                    && event.size == size
                    && event.stack.iter().any(|name| name == function)
            };
            events.iter().filter(is_it).count()
        };
        assert_eq!(made(24, "copy"), if is_first { 10 } else { 0 }, "those of its constructor");
        assert!(made(1405, "lend") > 0, "{:?}", events.last());
        if is_first {
            // The last call may not be over.
            let rest = made(40, "copy") - 10 * made(1405, "lend");
            assert!(rest <= 10, "{rest}");
        }
    }
    program.end();
}

/// Check that a program is neither ended nor disturbed when `attach` is killed while it injects the agent, and that it
/// can be attached to at once.
#[test]
fn killed_attach_disturbs_nobody() {
    for kill in 0..20 {
        let program = Program::start(&c("waits_in_every_way").flags(["-O1", "-pthread"]), &[]);
        let mut tool = program.world.tool(["attach", &program.pid(), "--force", "--no-symbolize"]);
        tool.arg("--output").arg(program.world.path("it.memprof"));
        let collector = start(&program.world, tool);
        wait_for("the tracer", || program.is_traced() || program.is_recorded());
        // At another moment each time.
        std::thread::sleep(Duration::from_millis(kill * 2));
        collector.signal(Signal::KILL);
        collector.wait();
        let collector = program.attach(&["--no-symbolize", "--force"]);
        program.page.wait_for_calls(1, program.page.calls(0).mallocs_done + 100);
        collector.signal(Signal::INT);
        assert_eq!(collector.wait().code, 0);
        assert_eq!(program.end(), "0 cut short, 0 too early");
    }
}

/// Check the same of a collector that is killed while it scans the program.
#[test]
fn killed_scan_disturbs_nobody() {
    let program = Program::start(&c("waits_in_every_way").flags(["-O1", "-pthread"]), &[]);
    for _ in 0..10 {
        let collector = program.attach(&["--no-symbolize", "--force"]);
        let scan = start(&program.world, program.world.tool(["scan", &program.pid()]));
        wait_for("the scan", || program.is_traced());
        collector.signal(Signal::KILL);
        collector.wait();
        scan.wait();
        wait_for("the end of the scan", || !program.is_traced());
        program.page.wait_for_calls(1, program.page.calls(0).mallocs_done + 100);
    }
    assert_eq!(program.end(), "0 cut short, 0 too early");
}

/// Check that threads which wait in system calls do not notice that they were stopped.
#[test]
fn waits_are_not_cut_short() {
    let program = Program::start(&c("waits_in_every_way").flags(["-O1"]), &[]);
    for _ in 0..5 {
        let collector = program.attach(&["--no-symbolize", "--force"]);
        program.page.wait_for_calls(1, program.page.calls(0).mallocs_done + 1000);
        collector.signal(Signal::INT);
        assert_eq!(collector.wait().code, 0);
    }
    assert_eq!(program.end(), "0 cut short, 0 too early");
}

/// Check that a process is attached to again as soon as all its threads have left the last recording, one of which takes
/// most of a second.
#[test]
fn threads_that_leave_late_are_waited_for() {
    let allocator = library("realloc_that_waits").build();
    let program = c("naps_within_realloc").with(&allocator).flags(["-O1", "-fno-builtin", "-pthread"]);
    let program = Program::start(&program, &[]);
    for _ in 0..3 {
        let collector = program.attach(&["--no-symbolize", "--force"]);
        program.page.wait_for_calls(1, program.page.calls(0).mallocs_done + 100);
        collector.signal(Signal::INT);
        let ran = collector.wait();
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    program.end();
}

/// Check that a program gets each SIGSEGV that is sent to it, though injected calls in its threads end by one, and
/// that a program that ignores them is refused.
#[test]
fn faults_that_are_sent_come() {
    let fixture = c("is_sent_faults").flags(["-O1", "-pthread"]);
    let program = Program::start(&fixture, &[]);
    for _ in 0..5 {
        let collector = program.attach(&["--no-symbolize", "--force"]);
        let before = program.page.calls(1).mallocs_done;
        wait_for("signals", || program.page.calls(1).mallocs_done > before + 100);
        collector.signal(Signal::INT);
        let ran = collector.wait();
        assert!(ran.code == 0 && !ran.stderr.contains("still calls"), "{}", ran.stderr);
    }
    program.end();
    let program = Program::start(&fixture, &[Path::new("ignores")]);
    let (pid, world) = (program.pid(), &program.world);
    let ran = wait(world, world.tool(["attach", &pid, "--timeout", "500ms", "-o", "no.memprof"]));
    assert!(ran.code == 2 && ran.stderr.contains("ignores SIGSEGV"), "{}", ran.stderr);
    program.end();
}

/// Check that a library which is loaded later is recorded, too, and so are calls through a function's address,
/// whether or not an executable has a stub that stands for it, and whatever lies between its segments.
#[test]
fn libraries_are_followed() {
    let lender = library("lends_memory").flags(["-DFUNCTION=lends_late", "-DSIZE=1405"]).build();
    let forms: [&[&str]; 3] = [
        &["-O1"],
        &["-O1", "-no-pie", "-fno-pie", "-Wl,-z,lazy"],
        &["-O1", "-no-pie", "-fno-pie", "-Wl,-z,now", "-Wl,--section-start=.text=0x700000"],
    ];
    for flags in forms {
        let program = Program::start(&c("loads_a_library_late").flags(flags), &[&lender]);
        let collector = program.attach(&[]);
        wait_for("calls of the program", || allocating(&program.world).iter().any(|name| name == "main"));
        program.page.go();
        wait_for("calls of the library", || {
            allocating(&program.world).iter().any(|name| name == "lends_late")
        });
        collector.signal(Signal::INT);
        assert_eq!(collector.wait().code, 0);
        let info = info(&program.world, "it.memprof");
        for field in ["/totals/unmatched_frees", "/lost/events", "/overhead/agent_allocations"] {
            assert_eq!(number(&info, field), 0, "{field}: {info:#}");
        }
        // One that is lent, and what the loader keeps of the library.
        assert!(number(&info, "/totals/running_blocks") < 20, "{info:#}");
        program.end();
    }
}

/// Check that while one thread waits for the child of its vfork, and may hold any lock, the others are not stopped again and again;
/// and that the process is recorded as soon as that is over.
#[test]
fn threads_are_not_stopped_for_nothing() {
    let flags = ["-O1", "-fno-builtin", "-D_GNU_SOURCE", "-pthread"];
    let program = Program::start(&c("joins_a_vforking_thread").flags(flags), &[]);
    wait_for("the child of vfork", || program.page.is_done());
    let stops = || {
        let status = format!("/proc/{pid}/task/{pid}/status", pid = program.pid());
        let status = std::fs::read_to_string(status).expect("it runs");
        let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        count.and_then(|count| count.trim().parse::<u64>().ok()).expect("the kernel counts them")
    };
    let before = stops();
    let mut tool = program.world.tool(["attach", &program.pid(), "--timeout", "100s", "--no-symbolize"]);
    tool.arg("--output").arg(program.world.path("it.memprof"));
    let collector = start(&program.world, tool);
    std::thread::sleep(Duration::from_secs(2));
    let stopped = stops() - before;
    assert!(stopped < 20, "the other thread was stopped {stopped} times");
    program.page.go();
    wait_for("calls of the program", || allocating(&program.world).iter().any(|name| name == "call"));
    collector.signal(Signal::INT);
    assert_eq!(collector.wait().code, 0);
    program.end();
}

/// Check that a thread which is in the kernel for long while it is examined continues as soon as it leaves the
/// kernel, while the recording goes on.
#[test]
fn thread_that_stops_late_goes_on() {
    let lender = library("lends_memory").flags(["-DFUNCTION=lends_late", "-DSIZE=1405"]).build();
    let fixture = c("vforks_at_length").flags(["-O1", "-fno-builtin", "-D_GNU_SOURCE", "-pthread"]);
    let program = Program::start(&fixture, &[&lender]);
    let collector = program.attach(&[]);
    wait_for("calls of the program", || allocating(&program.world).iter().any(|name| name == "main"));
    program.page.go();
    wait_for("the thread", || program.page.longest_ns() > 0);
    let pause = Duration::from_nanos(program.page.longest_ns());
    assert!(pause < Duration::from_secs(1), "it stood still for {pause:?}");
    wait_for("calls of the library", || allocating(&program.world).iter().any(|name| name == "lends_late"));
    collector.signal(Signal::INT);
    assert_eq!(collector.wait().code, 0);
    program.end();
}

/// Check that a program that has cleared its environment, as some servers do, is recorded: it cannot know where its
/// doorbell is.
#[test]
fn cleared_environment_does_not_matter() {
    let fixture = c("loads_a_library_late").flags(["-O1"]);
    let program = Program::start_with(&fixture, &[Path::new("/nonexistent")], |command| {
        command.env_clear();
    });
    let collector = program.attach(&[]);
    wait_for("calls of the program", || allocating(&program.world).iter().any(|name| name == "main"));
    collector.signal(Signal::INT);
    assert_eq!(collector.wait().code, 0);
    program.end();
}

/// Check that a sleeping process gets the agent and is waited for, that nothing is left in it if it does not answer
/// before it would be woken, and that it is woken and recorded if there is time for that.
#[test]
fn sleeper_is_waited_for_and_woken() {
    let program = Program::start(&c("serves_in_its_way").flags(["-O1"]), &[Path::new("sleeps")]);
    let pid = program.pid();
    let tool = program.world.tool(["attach", &pid, "--timeout", "500ms", "--quiet", "-o", "no.memprof"]);
    let ran = wait(&program.world, tool);
    assert!(ran.code == 2 && ran.stderr.contains("did not answer"), "{}", ran.stderr);
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("it runs");
    assert!(maps.contains("sysprof_memprof_preload") && !maps.contains("doorbell"), "{maps}");
    let collector = program.attach(&["--duration", "100ms", "--no-symbolize"]);
    let ran = collector.wait();
    assert_eq!((ran.code, ran.stderr.contains("did not answer")), (0, false), "{}", ran.stderr);
    assert_eq!(number(&info(&program.world, "it.memprof"), "/totals/allocations"), 0);
    program.end();
}

/// Check that nothing is loaded into a process while a thread of it is in the loader, and that it is once that thread
/// has left.
#[test]
fn loader_is_not_waited_for_in_a_thread_of_others() {
    let lender = library("lends_memory").flags(["-DFUNCTION=lends_late", "-DSIZE=1405"]).build();
    let program = Program::start(
        &c("loads_a_library_late").flags(["-O1", "-D_GNU_SOURCE", "-DHOLDS_LOCK"]),
        &[&lender],
    );
    let pid = program.pid();
    let tool = program.world.tool(["attach", &pid, "--timeout", "500ms", "--quiet", "-o", "no.memprof"]);
    let ran = wait(&program.world, tool);
    assert!(ran.code == 2 && ran.stderr.contains("none of its threads reached a point"), "{}", ran.stderr);
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("it runs");
    assert!(!maps.contains("sysprof_memprof_preload"), "{maps}");
    program.page.wait_for_calls(1, program.page.calls(0).mallocs_done + 1000);
    program.page.go();
    let collector = program.attach(&["--no-symbolize"]);
    collector.signal(Signal::INT);
    assert_eq!(collector.wait().code, 0);
    program.end();
}

/// Check that a program which has sealed its words is refused, and goes on.
#[test]
fn sealed_words_are_refused() {
    let fixture = c("seals_its_words").flags(["-O1", "-D_GNU_SOURCE", "-Wl,-z,now"]);
    let world = World::new();
    let page = Page::new(&world);
    page.stop();
    let mut command = world.command(fixture.build());
    command.arg(&page.path);
    if wait(&world, command).code == 77 {
        return skip("sealed memory", "the kernel has no mseal");
    }
    let program = Program::start(&fixture, &[]);
    let (pid, world) = (program.pid(), &program.world);
    let ran = wait(world, world.tool(["attach", &pid, "-o", "no.memprof"]));
    assert!(ran.code == 2 && ran.stderr.contains("memory sealing"), "{}", ran.stderr);
    program.page.wait_for_calls(1, program.page.calls(0).mallocs_done + 1000);
    program.end();
}

/// Check that it is reported when the words of a process cannot be restored, and that the process goes on.
#[test]
fn what_stays_is_said() {
    let fixture = c("stays_in_the_loader").flags(["-O1", "-D_GNU_SOURCE", "-pthread"]);
    let program = Program::start(&fixture, &[]);
    let collector = program.attach(&["--no-symbolize"]);
    program.page.go();
    program.page.wait_for_calls(2, 1);
    collector.signal(Signal::INT);
    let ran = collector.wait();
    assert!(ran.code == 0 && ran.stderr.contains("still calls the agent"), "{}", ran.stderr);
    program.page.wait_for_calls(1, program.page.calls(0).mallocs_done + 1000);
    program.end();
}

/// Check that a process which got the agent at its start, and found no doorbell, is not mistaken for one that got it
/// later.
#[test]
fn deaf_process_is_refused() {
    let world = World::new();
    let page = Page::new(&world);
    let mut command = world.command(c("serves_in_its_way").flags(["-O1"]).build());
    command.arg(&page.path).arg("allocates").env("LD_PRELOAD", agent(&world));
    command.env("SYSPROF_MEMPROF_DIR", "/nonexistent");
    let running = start(&world, command);
    let program = Program { world, page, running };
    program.page.wait_for_calls(1, 1000);
    let (pid, world) = (program.pid(), &program.world);
    let ran = wait(world, world.tool(["attach", &pid, "-o", "no.memprof"]));
    assert!(ran.code == 2 && ran.stderr.contains("cannot be called"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("cannot be injected"), "it has the agent: {}", ran.stderr);
    let ran = wait(world, world.tool(["ps", "--json", &pid]));
    assert!(ran.text().contains("\"not attachable\""), "{}", ran.text());
    program.end();
}

/// Check that a process whose threads offer no second opportunity, once the library is in it, has nothing else of it,
/// and gets it later.
#[test]
fn second_moment_may_come_later() {
    let fixture = c("is_interrupted_in_between").flags(["-O1", "-D_GNU_SOURCE", "-rdynamic"]);
    let program = Program::start(&fixture, &[]);
    let (pid, world) = (program.pid(), &program.world);
    let ran = wait(world, world.tool(["attach", &pid, "--timeout", "2s", "-o", "no.memprof"]));
    assert!(ran.code == 2 && ran.stderr.contains("none of its threads reached a point"), "{}", ran.stderr);
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).expect("it runs");
    assert!(maps.contains("sysprof_memprof_preload") && !maps.contains("doorbell"), "{maps}");
    program.page.go();
    let collector = program.attach(&["--no-symbolize"]);
    collector.signal(Signal::INT);
    assert_eq!(collector.wait().code, 0);
    program.end();
}

/// Check that for processes which cannot get the agent the reason is given, and that they go on.
#[test]
fn refusals_say_why() {
    let cases: [(&str, Fixture, &str); 2] = [
        ("static", c("loads_a_library_late").flags(["-O1", "-static"]), "statically linked"),
        ("its own", c("loads_a_library_late").flags(["-O1", "-DOWN_MALLOC"]), "part of its executable"),
    ];
    for (what, fixture, why) in cases {
        let program = Program::start(&fixture, &[Path::new("/nonexistent")]);
        let pid = program.pid();
        let ran = wait(&program.world, program.world.tool(["attach", &pid, "-o", "no.memprof"]));
        assert!(ran.code == 2 && ran.stderr.contains(why), "{what}: {}", ran.stderr);
        assert!(!program.world.path("no.memprof").exists());
        program.page.wait_for_calls(1, program.page.calls(0).mallocs_done + 1000);
        program.end();
    }
    let server = Service::without_agent(1);
    let ran = server.run("attach", &["--no-inject", "-o", "no.memprof"]);
    assert!(ran.code == 2 && ran.stderr.contains("does not have the agent preloaded"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("now"), "{}", ran.stderr);
    assert!(!server.maps().contains("sysprof_memprof_preload"));
    server.stop();
}

/// Check that a program with more keys than libc has room for in a thread is recorded without a call of the agent's
/// own.
#[test]
fn program_with_many_keys_is_recorded() {
    let program = Program::start(&c("has_many_keys").flags(["-O1", "-fno-builtin"]), &[]);
    let collector = program.attach(&[]);
    program.page.wait_for_calls(1, program.page.calls(0).mallocs_done + 100);
    collector.signal(Signal::INT);
    assert_eq!(collector.wait().code, 0);
    let info = info(&program.world, "it.memprof");
    assert!(number(&info, "/totals/allocations") > 50);
    assert_eq!(number(&info, "/overhead/agent_allocations"), 0);
    program.end();
}

/// Check that `attach` ends and says so if a thread does not return from loading the agent; that the thread then
/// continues where it was, with all its registers and signals, without any help; that meanwhile it receives signals
/// that end the program; and that the process can be attached to afterwards.
#[test]
fn a_thread_that_stays_in_the_loader_is_left_there() {
    let auditor = library("holds_loading_up").flags(["-nostdlib"]).build();
    let program = || {
        Program::start_with(&c("keeps_its_registers").flags(["-O1"]), &[], |command| {
            command.env("LD_AUDIT", &auditor);
        })
    };
    let attach_in_vain = |program: &Program| {
        program.world.write("closed", "");
        let ran = wait(&program.world, program.world.tool(["attach", &program.pid(), "--timeout", "2s"]));
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains("has not returned from loading the agent for 2 s"), "{}", ran.stderr);
    };
    let left = program();
    attach_in_vain(&left);
    let before = left.page.calls(0).mallocs_done;
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(left.page.calls(0).mallocs_done, before, "it is in the loader");
    let status = std::fs::read_to_string(format!("/proc/{}/status", left.pid())).expect("it runs");
    assert!(status.contains("TracerPid:\t0\n"), "{status}");
    // Nobody else can attach meanwhile.
    let again = wait(&left.world, left.world.tool(["attach", &left.pid(), "--timeout", "1s"]));
    assert!(again.code == 2 && again.stderr.contains("reached a point"), "{}", again.stderr);
    std::fs::remove_file(left.world.path("closed")).expect("it was made");
    left.page.wait_for_calls(1, before + 1000);
    // The agent arrived late, and nobody announces that it can be called.
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", left.pid())).expect("it runs");
    assert!(maps.contains("sysprof_memprof_preload") && !maps.contains("doorbell"), "{maps}");
    let collector = left.attach(&["--no-symbolize"]);
    left.page.wait_for_calls(1, left.page.calls(0).mallocs_done + 1000);
    collector.signal(Signal::INT);
    assert_eq!(collector.wait().code, 0);
    assert!(number(&info(&left.world, "it.memprof"), "/totals/allocations") > 0);
    left.end();

    let ended = program();
    attach_in_vain(&ended);
    ended.running.signal(Signal::TERM);
    assert_eq!(ended.running.wait().code, 128 + 15);
}

/// Check that a process is recorded whose program and C library were replaced on disk since it began, as by an
/// upgrade: by root, and without the rights to open what is mapped of files that are gone.
#[test]
fn upgraded_files_do_not_matter() {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("our own mappings can be read");
    let mut paths = maps.lines().filter_map(|line| line.split_ascii_whitespace().nth(5));
    let Some(libc) = paths.find(|path| path.ends_with("/libc.so.6")) else {
        return skip("an upgraded C library", "this test has none of that name");
    };
    let built = c("counts_its_calls").flags(["-O1", "-Wl,--build-id=none"]).build();
    for has_rights in [true, false] {
        let world = World::new();
        let limited = |program: &Path| {
            let mut command = world.command("setpriv");
            command.args(["--bounding-set", "-sys_admin,-checkpoint_restore", "--"]).arg(program);
            command
        };
        if !has_rights && wait(&world, limited(Path::new("true"))).code != 0 {
            return skip("fewer rights", "this needs root, and a setpriv that knows them");
        }
        let page = Page::new(&world);
        std::fs::create_dir(world.path("lib")).expect("the folder is ours");
        let (program, library) = (world.path("program"), world.path("lib/libc.so.6"));
        copy_program(&built, &program);
        copy_program(libc, &library);
        let mut command = world.command(&program);
        command.arg(&page.path).args(["1", "1000"]).env("LD_LIBRARY_PATH", world.path("lib"));
        let running = start(&world, command);
        page.wait_for_calls(1, 1000);
        for file in [&program, &library] {
            copy_program("/bin/true", &world.path("other"));
            std::fs::rename(world.path("other"), file).expect("it is ours");
        }
        let pid = running.pid().as_raw_nonzero().to_string();
        let options = ["--timeout", "100s", "--output", "it.memprof"];
        let collector = if has_rights {
            attach(&world, &pid, &options)
        } else {
            let mut tool = limited(product());
            tool.arg("attach").args(options).arg(&pid);
            start_collector(&world, tool)
        };
        page.wait_for_calls(1, page.calls(0).mallocs_done + 1000);
        collector.signal(Signal::INT);
        let ran = collector.wait();
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(allocating(&world).iter().any(|name| name == "work"), "{:?}", allocating(&world));
        page.stop();
        assert_eq!(running.wait().code, 5);
    }
}
