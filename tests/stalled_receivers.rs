//! Recordings whose receiver has stalled: what waits for it, and what is reported about what it never got.

use crate::harness::{Running, Service, World, c, info, number, product, start, start_collector, wait_for};
use capture::Reader;
use rustix::fs::{CWD, mkfifoat};
use rustix::process::Signal;
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// `O_NONBLOCK`: a pipe is opened for reading though nobody writes yet.
const NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
/// Capacity of the pipe in bytes: the beginning of a capture is longer.
const ROOM: usize = 4096;

/// The number of `write` on the processor where programs are recorded.
const WRITE: &str = "1";
/// The same for `futex`.
const FUTEX: &str = "202";

/// A receiver that reads nothing until the test tells it to.
struct Receiver {
    path: PathBuf,
    read: File,
}

impl Receiver {
    fn new(world: &World) -> Receiver {
        let path = world.path("receiver");
        mkfifoat(CWD, &path, 0o600.into()).expect("the folder is ours");
        let read = OpenOptions::new().read(true).custom_flags(NONBLOCK).open(&path).expect("it is there");
        rustix::pipe::fcntl_setpipe_size(&read, ROOM).expect("pipes may be small");
        Receiver { path, read }
    }

    /// The product, with its capture sent there.
    fn tool(&self, world: &World, words: &[&str]) -> std::process::Command {
        let mut command = world.command("sh");
        command.args(["-c", r#"pipe=$1; shift; exec "$0" "$@" >"$pipe""#]).arg(product()).arg(&self.path);
        command.args(words);
        command
    }

    /// Reads everything that comes.
    fn receive(mut self) -> Vec<u8> {
        rustix::io::ioctl_fionbio(&self.read, false).expect("it is open");
        let mut bytes = Vec::new();
        self.read.read_to_end(&mut bytes).expect("it can be read");
        bytes
    }
}

/// Names of a process' threads, with the system call that each waits in.
fn threads(pid: u32) -> Vec<(String, String)> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let read = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
    tasks
        .map(|task| {
            let call = read(task.path().join("syscall"));
            let number = call.split(' ').next().unwrap_or_default().to_owned();
            (read(task.path().join("comm")).trim().to_owned(), number)
        })
        .collect()
}

/// Waits until the thread that writes the capture waits for the receiver, for good.
fn wait_until_it_stands_still(collector: &Running) {
    let pid = collector.pid().as_raw_nonzero().get().cast_unsigned();
    let waits = ("writer".to_owned(), WRITE.to_owned());
    wait_for("the writer to stand still", || threads(pid).contains(&waits));
}

/// Check that a scan which was not written when its recording ended says so, and that the process goes on.
#[test]
fn scans_that_were_not_written_say_so() {
    let server = Service::new(1);
    let receiver = Receiver::new(&server.world);
    let pid = server.pid();
    let words = ["attach", &pid, "--no-symbolize", "--on-full", "drop", "--output", "-"];
    let collector = start_collector(&server.world, receiver.tool(&server.world, &words));
    wait_until_it_stands_still(&collector);
    let scan = start(&server.world, server.tool("scan", &[]));
    let its_threads = || threads(collector.pid().as_raw_nonzero().get().cast_unsigned());
    // Once it waits for the writer, it is answered, whatever happens.
    let waits = ("command".to_owned(), FUTEX.to_owned());
    wait_for("the scan to be obeyed", || its_threads().contains(&waits));
    drop(receiver);
    let ran = scan.wait();
    assert!(
        ran.code == 1 && ran.stderr.contains("the recording ended before the scan was written"),
        "{} {}",
        ran.code,
        ran.stderr
    );
    // Unlike a report of which a reader has seen enough, an incomplete capture is lost.
    assert_eq!(collector.wait().code, 1);
    server.work();
    server.wait_until_it_has_left();
    server.stop();
}

/// Check that processes which end one after another go on although nothing is written, and that each is scanned or
/// counted in the summary.
#[test]
fn ends_do_not_wait_for_a_receiver() {
    /// Number of processes that end.
    const ENDS: u64 = 20;
    let world = World::new();
    let receiver = Receiver::new(&world);
    let program = c("keeps_one_in_eight").build();
    let script = format!(
        r#"until [ -e go ]; do sleep 0.01; done; for i in $(seq {ENDS}); do {}; done; touch over"#,
        program.display()
    );
    let words = ["run", "--quiet", "--no-cpu", "--no-symbolize", "--scan-at-exit", "--only"];
    let words = [&words[..], &["keeps_one_in_eight", "--output", "-", "sh", "-c", &script]].concat();
    let running = start(&world, receiver.tool(&world, &words));
    wait_until_it_stands_still(&running);
    let started = Instant::now();
    world.write("go", "");
    wait_for("all processes to end", || world.path("over").exists());
    let took = started.elapsed();
    // A wait in vain takes a minute.
    assert!(took < Duration::from_secs(30), "{took:?}");
    let capture = world.write("sent.memprof", receiver.receive());
    let ran = running.wait();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let reader = Reader::open(&capture).expect("it is a capture");
    let scanned = reader.tables().scans.len() as u64;
    let info = info(&world, "sent.memprof");
    assert_eq!(number(&info, "/lost/events"), 0, "{info:#}");
    let remarks = info["remarks"].to_string();
    let lost = format!("{} processes were not scanned at the end: ", ENDS - scanned);
    assert!((1..ENDS).contains(&scanned) && remarks.contains(&lost), "{scanned} {remarks}");
    assert!(remarks.contains("nothing could be written"), "{remarks}");
}

/// Check that a collector whose receiver has stalled ends when asked again and again, with the program's code or one
/// that says that it was not recorded.
#[test]
fn collectors_need_not_wait_for_a_receiver() {
    let program = c("keeps_one_in_eight").build();
    for (end, expected) in [("exit 7", 7), ("exit 0", 3)] {
        let world = World::new();
        let receiver = Receiver::new(&world);
        // More than the pipe's capacity.
        let script = format!("for i in $(seq 20); do {}; done; {end}", program.display());
        let words = ["run", "--no-cpu", "--no-symbolize", "--output", "-", "sh", "-c", &script];
        let running = start(&world, receiver.tool(&world, &words));
        let pid = running.pid().as_raw_nonzero().get().cast_unsigned();
        // Earlier, the signal would also tell the program to end.
        let children = format!("/proc/{pid}/task/{pid}/children");
        wait_for("a thread to stand still", || threads(pid).iter().any(|(_, call)| call == WRITE));
        wait_for("the program to end", || fs::read_to_string(&children).is_ok_and(|pids| pids.is_empty()));
        wait_for("the collector to give up", || {
            running.signal(Signal::TERM);
            std::thread::sleep(Duration::from_millis(200));
            running.stderr().contains("stays as it is")
        });
        assert_eq!(running.wait().code, expected);
        drop(receiver);
    }
}
