//! The views in a real terminal: tmux draws, presses keys, and tells what is on the screen.

use crate::harness::{
    Capture, Service, World, c, copy_program, installed, product, record, skip, wait, wait_for,
};
use std::path::PathBuf;

/// A terminal of 80 by 24 that runs a command; closed when dropped.
struct Terminal<'a> {
    tmux: PathBuf,
    world: &'a World,
}

impl<'a> Terminal<'a> {
    /// None without tmux.
    fn new(world: &'a World, command: &str) -> Option<Terminal<'a>> {
        let Some(tmux) = installed("tmux") else {
            skip("the views in a terminal", "tmux is not installed");
            return None;
        };
        let terminal = Terminal { tmux, world };
        terminal.tmux(&["new-session", "-d", "-x", "80", "-y", "24", command]);
        Some(terminal)
    }

    /// A server of its own, which sees no settings of the user.
    fn tmux(&self, arguments: &[&str]) -> String {
        let mut command = self.world.command(&self.tmux);
        command.env_remove("TMUX").env("TERM", "xterm-256color").env("LC_ALL", "C.UTF-8");
        command.args(["-u", "-f", "/dev/null", "-S"]).arg(self.world.path("tmux")).args(arguments);
        let ran = wait(self.world, command);
        String::from_utf8_lossy(&ran.stdout).into_owned()
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    fn press(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    fn shows(&self, text: &str) {
        wait_for(&format!("`{text}` on the screen"), || self.screen().contains(text));
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// Check that a search for names which takes long shows its progress, and that the line disappears when it has ended:
/// names are requested from a server that never answers, until it is gone.
#[test]
fn long_searches_for_names_are_shown() {
    if installed("curl").is_none() {
        return skip("a search for names in a terminal", "curl is not installed");
    }
    let world = World::new();
    let server = std::net::TcpListener::bind("127.0.0.1:0").expect("the loopback interface is there");
    let address = server.local_addr().expect("it is bound");
    let program = world.path("program");
    copy_program(c("allocates_once").build(), &program);
    let stripped = std::process::Command::new("strip").arg(&program).status();
    assert!(stripped.is_ok_and(|status| status.success()));
    let command = format!(
        "DEBUGINFOD_URLS=http://{address} DEBUGINFOD_CACHE_PATH={} {} run --no-cache --output {} -- {}; echo status $?; cat",
        world.path("fetched").display(),
        product().display(),
        world.path("capture").display(),
        program.display(),
    );
    let Some(terminal) = Terminal::new(&world, &command) else { return };
    terminal.shows("[names] looking them up");
    drop(server);
    terminal.shows("status 0");
    assert!(!terminal.screen().contains("[names]"), "{}", terminal.screen());
}

fn file(capture: &Capture) -> &str {
    capture.file().to_str().expect("temporary folders have plain names")
}

/// Check that a capture as the only argument opens the views in a terminal, that keys turn the pages, and that the
/// terminal is restored: with what was on it before, and with the keys that a shell needs.
#[test]
fn views_take_a_terminal_and_give_it_back() {
    let (_, capture) = record(c("known_allocations").build()).with_names().succeed();
    let tool = product().display();
    let shell = format!("echo be''fore; {tool} {}; echo lef''t with $?; stty -a; sleep 600", file(&capture));
    let Some(terminal) = Terminal::new(capture.world(), &shell) else { return };
    terminal.shows("allocations");
    terminal.shows("1Info 2Func");
    let title = terminal.tmux(&["display-message", "-p", "#{pane_title}"]);
    assert_eq!(title.trim(), format!("{} - sysprof-memprof", file(&capture)));
    terminal.press("3");
    terminal.shows("[Everything]");
    terminal.shows("main");
    terminal.press("4");
    terminal.shows("Enter zoom");
    terminal.press("5");
    terminal.shows("heap");
    terminal.press("?");
    terminal.shows("any other key: back");
    terminal.press("Escape");
    // Read together, the two would be one key: Alt with q.
    wait_for("the help to be gone", || !terminal.screen().contains("any other key: back"));
    terminal.press("q");
    terminal.shows("left with 0");
    terminal.shows(" icanon");
    terminal.shows(" echo ");
    let screen = terminal.screen();
    assert!(screen.contains("before") && !screen.contains("2Func"), "{screen}");
}

/// Check that what a scan at the end of a program has found can be viewed: what a variable keeps, and what nobody can
/// reach.
#[test]
fn scans_are_looked_at_in_a_terminal() {
    let program = c("forgets_in_threads").flags(["-O1", "-pthread"]).build();
    let (_, capture) = record(program).options(["--scan-at-exit"]).succeed();
    let shell = format!("{} view {}", product().display(), file(&capture));
    let Some(terminal) = Terminal::new(capture.world(), &shell) else { return };
    terminal.shows("allocations");
    terminal.press("K");
    terminal.shows("list [forgets_in_threads]");
    terminal.shows("3.28 KiB");
    (0..4).for_each(|_| terminal.press("Tab"));
    terminal.shows("14.6 KiB");
    terminal.shows(", own ");
}

/// Views that run in a terminal, with their pid.
fn views(capture: &Capture) -> Option<(Terminal<'_>, String)> {
    let (tool, pid) = (product().display(), capture.world().path("pid"));
    // The inner shell's pid becomes that of the command.
    let shell = format!(
        "sh -c 'echo $$ > {}; exec {tool} view {}'; echo lef''t; stty -a; sleep 600",
        pid.display(),
        file(capture)
    );
    let terminal = Terminal::new(capture.world(), &shell)?;
    terminal.shows("2Func");
    let pid = std::fs::read_to_string(pid).expect("it was written before the views came");
    Some((terminal, pid.trim().to_owned()))
}

/// Check that the terminal is restored when a signal ends the views, too.
#[test]
fn a_signal_gives_the_terminal_back() {
    let (_, capture) = record(c("allocates_once").build()).succeed();
    let Some((terminal, pid)) = views(&capture) else { return };
    let mut kill = capture.world().command("kill");
    kill.args(["-TERM", &pid]);
    assert_eq!(wait(capture.world(), kill).code, 0);
    terminal.shows("left");
    terminal.shows(" icanon");
    assert!(!terminal.screen().contains("2Func"));
}

/// Check that the views end with their terminal.
#[test]
fn views_end_with_their_terminal() {
    let (_, capture) = record(c("allocates_once").build()).succeed();
    let Some((terminal, pid)) = views(&capture) else { return };
    drop(terminal);
    // The process that inherits it may not have waited for it.
    let is_over = |stat: String| stat.contains(") Z ");
    wait_for("the end of the views", || {
        std::fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, is_over)
    });
}

/// Check that without a terminal a capture as the only argument is reported, and that the views say what they need.
#[test]
fn without_a_terminal_there_is_a_report() {
    let (_, capture) = record(c("allocates_once").build()).succeed();
    let world = capture.world();
    let alone = wait(world, world.tool([file(&capture)]));
    assert!(alone.code == 0 && alone.text().contains("held at the peak"), "{}{}", alone.text(), alone.stderr);
    let views = wait(world, world.tool(["view", file(&capture)]));
    assert!(views.code == 2 && views.stderr.contains("sysprof-memprof report"), "{}", views.stderr);
}

/// Check that `top` ends when its terminal goes away, and leaves the process as it was.
#[test]
fn top_ends_with_its_terminal() {
    let server = Service::that_grows();
    let (tool, pid) = (product().display(), server.pid());
    let agent = server.world.path("agent");
    // Not the leader of the session: nobody else tells it that the terminal is gone.
    let shell =
        format!("export SYSPROF_MEMPROF_DIR={}; trap '' HUP; {tool} top {pid} -d 0.2", agent.display());
    let Some(terminal) = Terminal::new(&server.world, &shell) else { return };
    terminal.shows("holds_and_churns (");
    drop(terminal);
    wait_for("the process to leave its recording", || server.row()["state"] == "dormant");
    server.stop();
}

/// Check that `top` shows a process in a terminal, unfolds a stack, and restores both: the process goes on dormant.
#[test]
fn top_takes_a_terminal_and_gives_it_back() {
    let server = Service::that_grows();
    let (tool, pid) = (product().display(), server.pid());
    let agent = server.world.path("agent");
    let shell = format!(
        "export SYSPROF_MEMPROF_DIR={}; echo be''fore; {tool} top {pid} -d 0.2; echo lef''t with $?; stty -a; sleep 600",
        agent.display()
    );
    let Some(terminal) = Terminal::new(&server.world, &shell) else { return };
    terminal.shows("holds_and_churns (");
    terminal.shows("hold (holds_and_churns.c:");
    terminal.press("Enter");
    terminal.shows("  main  holds_and_churns.c:");
    terminal.press("s");
    terminal.shows("sorted by growth");
    terminal.press("f");
    terminal.shows("function, by total growth");
    terminal.press("f");
    terminal.shows("function, by self growth");
    terminal.shows("  hold\n");
    terminal.press("Space");
    terminal.shows("PAUSED");
    assert_eq!(server.row()["state"], "recorded");
    terminal.press("q");
    terminal.shows("left with 0");
    terminal.shows(" icanon");
    terminal.shows(" echo ");
    let screen = terminal.screen();
    assert!(screen.contains("before") && !screen.contains("by self"), "{screen}");
    wait_for("the process to leave its recording", || server.row()["state"] == "dormant");
    drop(terminal);
    server.stop();
}
