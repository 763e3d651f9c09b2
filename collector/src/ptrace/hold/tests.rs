use super::*;
use crate::attach::launch::reap;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

fn sleeper() -> Child {
    let mut child =
        Command::new("sh").args(["-c", "echo here; exec sleep 1000"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    child
}

/// Runs tracing code in a thread of its own.
fn traced<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let work = || {
            let result = work();
            late::settle();
            result
        };
        scope.spawn(work).join().unwrap()
    })
}

fn state(pid: u32) -> char {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()).unwrap()
}

/// Check that a process is stopped while it is held, that its registers are known, and that it resumes.
#[test]
fn threads_stand_still_and_go_on() {
    let mut child = sleeper();
    let pid = child.id();
    traced(|| {
        let hold = Hold::on(pid).unwrap();
        assert_eq!(state(pid), 't');
        let [thread] = &hold.threads()[..] else { panic!("it has one thread") };
        assert_eq!(thread.tid, pid);
        assert!(thread.words.contains(&thread.pointer));
        assert!(hold.let_go() > Duration::ZERO);
    });
    assert_ne!(state(pid), 't');
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
}

/// Check that the exit status of a child of ours that was killed while it was held stays for whoever waits for it,
/// and that nobody who waits for children meanwhile takes a stop for an end.
#[test]
fn end_of_a_held_child_stays_for_who_waits() {
    for kills in [false, true] {
        let mut child = sleeper();
        let pid = Pid::from_child(&child);
        let ended = std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                for _ in 0..50 {
                    drop(Hold::on(child.id()).unwrap());
                }
                let hold = Hold::on(child.id()).unwrap();
                if kills {
                    kill_process(pid, Signal::KILL).unwrap();
                }
                drop(hold);
                late::settle();
            });
            let mut ended = Vec::new();
            while !thread.is_finished() {
                ended.extend(reap());
            }
            if !kills {
                assert!(ended.is_empty(), "{ended:?}");
                kill_process(pid, Signal::KILL).unwrap();
            }
            let deadline = Instant::now() + Duration::from_secs(60);
            while ended.is_empty() && Instant::now() < deadline {
                ended.extend(reap());
            }
            ended
        });
        let [end] = &ended[..] else { panic!("it has ended once: {ended:?}") };
        assert_eq!((end.pid, end.status.signal()), (child.id(), Some(libc::SIGKILL)));
        assert!(child.wait().is_err(), "it was waited for");
    }
}

/// Check that another tracer is named, and that a process that does not exist is reported as such.
#[test]
fn others_who_trace_are_named() {
    let mut child = sleeper();
    let pid = child.id();
    let (held, go) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let (told, tells) = std::sync::mpsc::channel();
        scope.spawn(move || {
            let hold = Hold::on(pid).unwrap();
            told.send(rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned()).unwrap();
            let _ = go.recv();
            drop(hold);
        });
        let by = tells.recv().unwrap();
        let refused = traced(|| Hold::try_on(pid).map(drop));
        assert!(matches!(refused, Err(Refusal::Traced { by: who }) if who == by), "{refused:?}");
        drop(held);
        // The tracer is one of our threads, so this waits for it.
        traced(|| drop(Hold::on(pid).unwrap()));
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let gone = traced(|| Hold::on(pid).map(drop));
    assert!(matches!(gone, Err(Refusal::NoProcess { .. })), "{gone:?}");
}
