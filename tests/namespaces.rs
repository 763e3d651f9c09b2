//! A service that another user has put into namespaces of its own, as container engines do: its uids, files and pids
//! differ from those of its recorder.

use crate::harness::{
    Fixture, Page, Running, World, attach, c, copy_program, info, installed, number, product, record, skip,
    start, wait, wait_for,
};
use rustix::process::{Signal, geteuid};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// Makes a root of its own out of the system's programs and libraries, leaves the old one, and becomes the service.
/// Its `/opt` and `/run` do not exist outside.
const ENTER: &str = r#"
set -e
world=$1
root=$world/root
mount -t tmpfs none "$root"
mkdir -p "$root/proc" "$root/tmp" "$root/run" "$root/opt/app" "$root/opt/agent" "$root/world" "$root/old"
for folder in usr lib lib64 bin; do
    if [ -L "/$folder" ]; then cp -P "/$folder" "$root/$folder"; elif [ -d "/$folder" ]; then
        mkdir "$root/$folder" && mount --rbind "/$folder" "$root/$folder"
    fi
done
mount --rbind "$world" "$root/world"
mount -t proc proc "$root/proc"
cp "$world/usr/lib/sysprof-memprof/libsysprof_memprof_preload.so" "$root/opt/agent/"
cp "$world/service" "$root/opt/app/service"
cp "$world/sysprof-memprof" "$root/opt/agent/sysprof-memprof"
cd "$root"
pivot_root . old
umount -l /old
mount -t tmpfs none /tmp
unset SYSPROF_MEMPROF_DIR
/opt/agent/sysprof-memprof ps
cd /
LD_PRELOAD=/opt/agent/libsysprof_memprof_preload.so exec /opt/app/service /world/page "$2" "$world"
"#;

/// The command that enters namespaces of another user; none if this machine lacks what it needs.
fn enter(world: &World) -> Result<Command, &'static str> {
    if !geteuid().is_root() {
        return Err("this needs root");
    }
    let [Some(setpriv), Some(unshare), Some(_), Some(_)] =
        ["setpriv", "unshare", "pivot_root", "mount"].map(installed)
    else {
        return Err("this needs setpriv, unshare, mount and pivot_root");
    };
    let command = |arguments: &[&str]| {
        let mut command = world.command(&setpriv);
        command.args(["--reuid=12345", "--regid=12345", "--clear-groups"]).arg(&unshare);
        command
            .args(["--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child"])
            .args(arguments);
        command
    };
    let test = "mount -t tmpfs none /mnt && mount -t proc proc /proc";
    if wait(world, command(&["sh", "-c", test])).code != 0 {
        return Err("this machine does not let users make namespaces");
    }
    let mut entering = command(&["sh", "-c", ENTER, "sh"]);
    entering.arg(world.folder());
    Ok(entering)
}

/// The row of `rows` with this function innermost.
fn row<'v>(rows: &'v Value, function: &str) -> &'v Value {
    let is_it = |row: &&Value| row["stack"][0]["function"] == function;
    rows.as_array().and_then(|rows| rows.iter().find(is_it)).unwrap_or_else(|| panic!("{function}: {rows:#}"))
}

/// A program as a service in namespaces of its own, in its way; none where this machine has not what it takes.
fn contained(world: &World, program: &Fixture, way: &str) -> Result<(Page, Running), &'static str> {
    let mut entering = enter(world)?;
    let mut install = world.tool(["agent", "install", "--prefix"]);
    install.arg(world.path("usr"));
    assert_eq!(wait(world, install).code, 0);
    copy_program(product(), &world.path("sysprof-memprof"));
    copy_program(program.build(), &world.path("service"));
    let page = Page::new(world);
    fs::create_dir(world.path("root")).expect("the folder is ours");
    for (path, mode) in [(world.folder().to_owned(), 0o755), (page.path.clone(), 0o666)] {
        fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("the file is ours");
    }
    std::os::unix::fs::chown(world.path("root"), Some(12345), Some(12345)).expect("we are root");
    entering.arg(way);
    Ok((page, start(world, entering)))
}

/// The row of `ps` for the service.
fn service_row(world: &World) -> Value {
    let ran = wait(world, world.tool(["ps", "--json"]));
    let all: Value = serde_json::from_str(ran.text()).expect("ps prints JSON");
    // Root sees the services of other tests, too.
    let own = world.folder().to_string_lossy();
    let is_it = |row: &&Value| {
        row["command"]
            .as_str()
            .is_some_and(|words| words.starts_with("/opt/app/service") && words.ends_with(&*own))
    };
    all["processes"].as_array().and_then(|rows| rows.iter().find(is_it)).expect("it is found").clone()
}

/// Check that root finds a service of another user in user, mount and pid namespaces of its own, records it, and
/// names and compares its functions using a file that exists only in the service's own root.
#[test]
fn service_in_its_own_namespaces_is_recorded() {
    let world = World::new();
    let (page, service) = match contained(&world, &c("holds_and_churns").flags(["-O1", "-g"]), "") {
        Ok(service) => service,
        Err(why) => return skip("a service in its own namespaces", why),
    };
    page.wait_for_calls(1, 1000);
    assert_eq!(page.pid(), 1, "it is the first process of its namespace");
    let found = service_row(&world);
    assert_eq!((&found["state"], &found["uid"]), (&"dormant".into(), &12345.into()), "{found:#}");
    let pid = number(&found, "/pid").to_string();
    let run = |arguments: &[&str]| {
        let ran = wait(&world, world.tool(arguments));
        assert_eq!(ran.code, 0, "{arguments:?}: {}\n{}", ran.stderr, service.stderr());
        ran
    };

    let ran = run(&["top", &pid, "--batch", "-n", "2", "--json", "--on-full", "block", "--max-wait", "100s"]);
    let last: Value = serde_json::from_str(ran.text().lines().last().unwrap_or("")).expect("top prints JSON");
    assert!(number(row(&last["rows"], "hold"), "/held_bytes") > 0);

    let collector = attach(&world, &pid, &["--output", "it.memprof"]);
    let work = || page.wait_for_calls(1, page.calls(0).mallocs_done + 20_000);
    work();
    run(&["snapshot", &pid, "before"]);
    work();
    run(&["snapshot", &pid, "after"]);
    collector.signal(Signal::INT);
    assert_eq!(collector.wait().code, 0);

    let whole = info(&world, "it.memprof");
    assert_eq!((number(&whole, "/lost/events"), number(&whole, "/totals/unmatched_frees")), (0, 0));
    let ran = run(&["diff", "it.memprof", "--from", "before", "--to", "after", "--json", "--no-symbolize"]);
    let diff: Value = serde_json::from_str(ran.text()).expect("diff prints JSON");
    let grown = row(&diff["rows"], "hold");
    assert!(grown["delta_bytes"].as_i64().is_some_and(|bytes| bytes > 0 && bytes % 1024 == 0), "{grown:#}");
    assert_eq!(grown["stack"][0]["module"], "/opt/app/service", "{grown:#}");

    page.stop();
    assert_eq!(service.wait().code, 5);
}

/// Check that one which calls no function of the allocator is made to answer, though its agent is a file in its own root alone.
#[test]
fn idle_service_in_its_own_namespaces_is_woken() {
    let world = World::new();
    let (page, service) = match contained(&world, &c("serves_in_its_way").flags(["-O1"]), "sleeps") {
        Ok(service) => service,
        Err(why) => return skip("a service in its own namespaces", why),
    };
    wait_for("the service", || page.pid() == 1);
    wait_for("its agent", || service_row(&world)["state"] == "dormant");
    let pid = number(&service_row(&world), "/pid").to_string();
    let collector = attach(&world, &pid, &["--timeout", "100s", "--output", "it.memprof"]);
    collector.signal(Signal::INT);
    assert_eq!(collector.wait().code, 0);
    assert_eq!(info(&world, "it.memprof")["processes"][0]["pid"].to_string(), pid);
    page.stop();
    service.wait();
}

/// Check that a process which was forked in a pid namespace has its own end and blocks, whichever process has its
/// number outside.
#[test]
fn children_in_a_pid_namespace_are_told_apart() {
    let world = World::new();
    let Some(unshare) = installed("unshare") else {
        return skip("a pid namespace", "this needs unshare");
    };
    let own = ["--user", "--map-root-user", "--pid", "--fork"];
    let mut test = world.command(&unshare);
    test.args(own).arg("true");
    if wait(&world, test).code != 0 {
        return skip("a pid namespace", "this machine does not let users make namespaces");
    }
    let program = c("forks_and_starts_threads").flags(["-O1"]).build();
    let (ran, capture) = record(unshare).args(own).arg(program).world(world).run();
    assert_eq!(ran.code, 7, "{}", ran.stderr);
    capture.assert_sound();
    let count = |size, what| capture.rows_of_size(size).iter().map(|row| row.number(what)).sum::<u64>();
    assert_eq!((count(2101, "allocations"), count(2101, "frees")), (2000, 0));
    assert_eq!((count(2102, "allocations"), count(2102, "frees")), (21_000, 21_000));
    let info = capture.info();
    let processes = info["processes"].as_array().expect("there are some");
    let child = processes.iter().find(|process| process["allocations"] == 2000);
    let child = child.unwrap_or_else(|| panic!("no process has just these blocks: {info:#}"));
    assert_eq!((&child["ended"], &child["exit"]), (&"exited".into(), &7.into()), "{child:#}");
}

/// Check that a process of a pid namespace has the pid that it has outside, before and after it executes another program,
/// though nobody has looked before it did.
#[test]
fn pid_in_a_namespace_is_known_after_an_exec() {
    let program = c("executes_in_a_namespace").flags(["-O1", "-D_GNU_SOURCE"]).build();
    let (ran, capture) = record(program).run();
    if ran.code == 77 {
        return skip("a pid namespace", "this machine does not let users make namespaces");
    }
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    capture.assert_sound();
    let info = capture.info();
    let processes = info["processes"].as_array().expect("there are some");
    let of = |bytes: u64| {
        let of = processes.iter().find(|process| process["peak_bytes"] == bytes);
        of.unwrap_or_else(|| panic!("no process has just this block: {info:#}"))
    };
    let (parent, before, after) = (of(2112), of(2113), of(2114));
    assert_eq!((&before["ended"], &after["ended"]), (&"exec".into(), &"exited".into()), "{info:#}");
    assert_eq!(before["pid"], after["pid"], "{info:#}");
    assert!(number(parent, "/pid") > 2, "{info:#}");
}
