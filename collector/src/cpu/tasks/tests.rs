use super::*;
use crate::cpu::record::{self, Payload, made};
use perf_event_open_sys::bindings;

/// `Tasks` that are fed records.
struct Heard {
    tasks: Tasks,
    files: Files,
    batch: Batch,
}

impl Heard {
    fn new(only: &[&str]) -> Heard {
        let tasks =
            Tasks::new(only.iter().map(|name| (*name).to_owned()).collect(), Vec::new(), Clock::start());
        Heard { tasks, files: Files::default(), batch: Batch::default() }
    }

    fn hear(&mut self, bytes: &[u8]) -> &mut Heard {
        let record = record::parse(bytes, record::Layout::CpuSamples).unwrap();
        let Heard { tasks, files, batch } = self;
        match record.payload {
            Payload::Fork { pid, parent, tid, parent_tid } => {
                tasks.fork((pid, parent, tid), parent_tid, record.time, files, batch);
            }
            Payload::Comm { pid, tid, name, is_exec } => {
                tasks.comm(pid, tid, name, is_exec.then_some(record.time), batch);
            }
            Payload::Map(map) => tasks.map(&map, record.time, files, batch),
            Payload::Exit { pid, tid } => tasks.exit(pid, tid, record.time, batch),
            other => panic!("{other:?}"),
        }
        self
    }

    /// The last reported image of a task.
    fn image_of_task(&self, task: usize) -> Image {
        let id = self.batch.tasks[task].1.image;
        self.batch.images.iter().rev().find(|(image, _)| *image == id).unwrap().1.clone()
    }

    /// The path that a sample of this process would find at an address.
    fn path(&mut self, pid: u32, address: u64) -> Option<String> {
        let (_, space) = self.tasks.sampled(pid, pid, &mut self.files, &mut self.batch)?;
        let (_, mapping) = space.find(address)?;
        self.files.key(mapping.file?).map(|key| key.path.clone())
    }
}

/// A pid that no process on this machine has.
const PID: u32 = 1 << 30;

/// Check that a fork has its parent's mappings, that an exec has none of them, and that a change of name alone
/// changes nothing else.
#[test]
fn fork_copies_and_exec_clears() {
    let mut heard = Heard::new(&[]);
    heard.hear(&made::comm(1, 1)).hear(&made::map_of(1, 2, 0x1000, b"/bin/parent"));
    heard.hear(&made::fork(PID, 3));
    assert_eq!(heard.path(PID, 0x1001).as_deref(), Some("/bin/parent"));
    heard.hear(&made::map_of(PID, 4, 0x9000, b"/lib/own.so"));
    assert_eq!(heard.path(PID, 0x9001).as_deref(), Some("/lib/own.so"));
    assert_eq!(heard.path(1, 0x9001), None);
    let name = record::made::Made::new(bindings::PERF_RECORD_COMM);
    heard.hear(&name.u32(PID).u32(PID).text(b"other").end(5));
    assert_eq!(heard.path(PID, 0x1001).as_deref(), Some("/bin/parent"));
    heard.hear(&made::comm(PID, 6));
    assert_eq!(heard.path(PID, 0x1001), None);
    let names: Vec<&str> = heard.batch.images.iter().map(|(_, image)| image.name.as_str()).collect();
    assert!(names.contains(&"other") && names.contains(&"name"), "{names:?}");
}

/// Check that a thread has its maker's name until it takes another, and that its name is reported when it ends, or
/// takes another after a sample: nobody could look it up later.
#[test]
fn names_of_threads_are_told_at_their_ends() {
    let mut heard = Heard::new(&[]);
    let of_thread = |kind, tid: u32, parent_tid: u32, time: u64| {
        record::made::Made::new(kind).u32(PID).u32(PID).u32(tid).u32(parent_tid).u64(time).end(time)
    };
    let fork = |tid, parent_tid, time| of_thread(bindings::PERF_RECORD_FORK, tid, parent_tid, time);
    let exit = |tid, time| of_thread(bindings::PERF_RECORD_EXIT, tid, PID, time);
    let called = |tid: u32, name: &[u8], time| {
        record::made::Made::new(bindings::PERF_RECORD_COMM).u32(PID).u32(tid).text(name).end(time)
    };
    heard.hear(&made::comm(PID, 1));
    heard.hear(&fork(PID + 1, PID, 2)).hear(&called(PID + 1, b"pool", 3));
    heard.hear(&fork(PID + 2, PID + 1, 4)).hear(&fork(PID + 3, PID, 5));
    heard.hear(&called(PID + 3, b"early", 6));
    let Heard { tasks, files, batch } = &mut heard;
    assert!(tasks.sampled(PID, PID + 3, files, batch).is_some());
    heard.hear(&called(PID + 3, b"late", 7));
    for (tid, time) in [(PID + 2, 8), (PID + 3, 9), (PID + 1, 10), (PID + 9, 11)] {
        heard.hear(&exit(tid, time));
    }
    let names: Vec<_> = heard.batch.names.iter().map(|row| (row.tid - PID, row.name.as_str())).collect();
    assert_eq!(names, [(3, "late"), (2, "pool"), (3, "late"), (1, "pool")]);
    assert!(heard.batch.names.iter().all(|row| row.pid == PID));
}

/// Check that a reused pid is another image with mappings of its own.
#[test]
fn pid_used_again_is_another_process() {
    let mut heard = Heard::new(&[]);
    heard.hear(&made::comm(1, 1)).hear(&made::map_of(1, 2, 0x1000, b"/bin/parent"));
    let mut ids = Vec::new();
    for round in 0..2 {
        heard.hear(&made::fork(PID, 10 * round + 3)).hear(&made::comm(PID, 10 * round + 4));
        let path = format!("/bin/child{round}");
        heard.hear(&made::map_of(PID, 10 * round + 5, 0x5000, path.as_bytes()));
        assert_eq!(heard.path(PID, 0x5001), Some(path));
        ids.push(heard.batch.tasks.last().unwrap().1.image);
        heard.hear(&made::exit(PID, 10 * round + 6));
    }
    assert_ne!(ids[0], ids[1]);
}

/// Check that samples right after the end of a process are still its own, and that it is forgotten later, unless
/// another process has its pid by then.
#[test]
fn ended_processes_are_known_for_a_moment() {
    let mut heard = Heard::new(&[]);
    heard.hear(&made::comm(PID, 1)).hear(&made::map_of(PID, 2, 0x1000, b"/bin/short"));
    heard.hear(&made::comm(PID + 1, 1)).hear(&made::exit(PID + 1, 2)).hear(&made::comm(PID + 1, 3));
    assert!(heard.path(PID, 0x1001).is_some());
    heard.hear(&made::exit(PID, 3));
    assert_eq!(heard.path(PID, 0x1001).as_deref(), Some("/bin/short"));
    assert_eq!(heard.batch.tasks.len(), 1);
    heard.hear(&made::comm(PID + 2, 4)).hear(&made::exit(PID + 2, 5 + LINGERS));
    let known = [PID, PID + 1, PID + 2].map(|pid| heard.tasks.processes.contains_key(&pid));
    assert_eq!(known, [false, true, true]);
    assert!(!heard.tasks.threads.contains_key(&PID));
}

/// Check that an unannounced process that is already gone is kept with its pid, and looked up only once.
#[test]
fn unknown_process_is_kept_by_its_number() {
    let mut heard = Heard::new(&[]);
    for _ in 0..3 {
        assert_eq!(heard.path(PID, 0x1000), None);
    }
    assert_eq!(heard.batch.tasks.len(), 1);
    assert_eq!(heard.batch.images.iter().filter(|(_, image)| image.pid == PID).count(), 2);
}

/// Check that a process that runs already is found with its mappings, name and program.
#[test]
fn running_process_is_found() {
    let mut heard = Heard::new(&[]);
    let here = running_process_is_found as *const () as u64;
    let own = std::env::current_exe().unwrap().to_string_lossy().into_owned();
    assert_eq!(heard.path(std::process::id(), here), Some(own.clone()));
    assert_eq!(heard.batch.images[0].1.executable, own);
}

/// Check that programs that the user does not want have no samples.
#[test]
fn unwanted_programs_are_left_out() {
    let mut heard = Heard::new(&["wanted"]);
    for (path, expected) in [("/bin/wanted", true), ("/bin/other", false)] {
        heard.hear(&made::comm(PID, 1)).hear(&made::map_of(PID, 2, 0x1000, path.as_bytes()));
        assert_eq!(heard.path(PID, 0x1000).is_some(), expected, "{path}");
    }
}

/// A program that has begun and waits.
struct Waits(std::process::Child);

impl Waits {
    fn new() -> Waits {
        use std::io::Read;
        use std::process::{Command, Stdio};
        let mut command = Command::new("sh");
        command.args(["-c", "echo here; read line"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0; 5]).unwrap();
        Waits(child)
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// A fork of a process that maps `/bin/parent`, with records possibly missing since the given time.
fn doubted(pid: u32, since: u64) -> Heard {
    let mut heard = Heard::new(&[]);
    heard.hear(&made::comm(1, 1)).hear(&made::map_of(1, 2, 0x1000, b"/bin/parent")).hear(&made::fork(pid, 3));
    assert_eq!(heard.path(pid, 0x1001).as_deref(), Some("/bin/parent"));
    heard.tasks.doubt(since);
    heard
}

/// Check that a process whose exec was missed has the program that it is found to run, from the gap on, and keeps it
/// when it executes another one later.
#[test]
fn missed_exec_is_found() {
    let waits = Waits::new();
    let pid = waits.0.id();
    let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap().to_string_lossy().into_owned();
    let mut heard = doubted(pid, 10);
    assert_eq!(heard.path(pid, 0x1001), None);
    let (of_parent, found) = (heard.image_of_task(0), heard.image_of_task(1));
    assert_eq!((of_parent.executable.as_str(), of_parent.ended), ("/bin/parent", Some(10)));
    assert_eq!(
        (found.executable.as_str(), found.started, found.is_unannounced),
        (program.as_str(), 10, true)
    );
    heard.hear(&made::comm(pid, u64::MAX / 2));
    assert_eq!(heard.image_of_task(1).executable, program);
    // Nothing is missing any more, so nothing is looked up again.
    let images = heard.batch.images.len();
    heard.path(pid, 0x1001);
    assert_eq!(heard.batch.images.len(), images + 1, "only that the new image is sampled");
}

/// Check that what a process ran between a gap and an exec is unknown if it was looked up only after that exec: what
/// was found is not what ran before.
#[test]
fn what_was_found_later_is_not_taken_back() {
    let waits = Waits::new();
    let pid = waits.0.id();
    let mut heard = doubted(pid, 10);
    heard.path(pid, 0x1001);
    heard.hear(&made::comm(pid, 20));
    let between = heard.image_of_task(1);
    assert_eq!(between.program(), format!("[pid = {pid}]"));
    assert_eq!((between.started, between.ended), (10, Some(20)));
}

/// Check that a process with missing records that is gone is not taken for its parent's program; nor are its
/// children, nor a program whose first known mapping was the loader.
#[test]
fn who_is_gone_is_unknown() {
    let mut heard = doubted(PID, 10);
    heard.hear(
        &record::made::Made::new(bindings::PERF_RECORD_FORK)
            .u32(PID + 1)
            .u32(PID)
            .u32(PID + 1)
            .u32(PID)
            .u64(11)
            .end(11),
    );
    for pid in [PID, PID + 1] {
        assert_eq!(heard.path(pid, 0x1001), None);
        let last = heard.batch.tasks.len() - 1;
        let image = heard.image_of_task(last);
        assert!(image.is_unknown() && image.program() == format!("[pid = {pid}]"), "{image:?}");
    }
    heard.hear(&made::comm(PID + 2, 12));
    heard.tasks.doubt(13);
    heard.hear(&made::map_of(PID + 2, 14, 0x1000, b"/lib/loader.so"));
    heard.path(PID + 2, 0x1001);
    let named = |name: &str| heard.batch.images.iter().any(|(_, image)| image.executable == name);
    assert!(!named("/lib/loader.so"));
}

/// Check that a process found unchanged stays the same image, with what it has mapped meanwhile.
#[test]
fn unchanged_process_stays_what_it_is() {
    let mut heard = Heard::new(&[]);
    let pid = std::process::id();
    let here = unchanged_process_stays_what_it_is as *const () as u64;
    let own = heard.path(pid, here);
    assert!(own.is_some());
    // Drops its code, as if the record of the mapping had been missed.
    heard.tasks.processes.get_mut(&pid).unwrap().space = Space::default();
    assert_eq!(heard.path(pid, here), None);
    heard.tasks.doubt(10);
    assert_eq!(heard.path(pid, here), own);
    assert_eq!((heard.batch.tasks.len(), heard.tasks.images), (1, 1));
}

/// Check that what a child of the collector does before it executes its program counts as the collector's, however
/// late it is looked up.
#[test]
fn children_of_ours_are_ours_until_they_execute() {
    let mut heard = Heard::new(&[]);
    let Heard { tasks, files, batch } = &mut heard;
    tasks.fork((PID, std::process::id(), PID), std::process::id(), 3, files, batch);
    assert!(tasks.sampled(PID, PID, files, batch).is_some());
    tasks.comm(PID, PID, b"program", Some(5), batch);
    assert!(tasks.sampled(PID, PID, files, batch).is_some());
    let (before, after) = (heard.image_of_task(0), heard.image_of_task(1));
    let own = std::env::current_exe().unwrap();
    assert_eq!((before.executable, before.started, before.ended), (own.display().to_string(), 3, Some(5)));
    assert_eq!((after.name.as_str(), after.is_exec), ("program", true));
}

/// Check that each image is reported gone once, when no further record can refer to it and not before, and that
/// nothing is kept of processes that no other record mentions.
#[test]
fn images_are_gone_once() {
    let mut heard = Heard::new(&[]);
    heard.hear(&made::comm(1, 1)).hear(&made::fork(PID, 2));
    assert_eq!(heard.batch.gone, []);
    heard.hear(&made::comm(PID, 3));
    let id = |heard: &Heard| heard.tasks.processes[&PID].id;
    let (exec, gone) = (id(&heard), heard.batch.gone.clone());
    assert_eq!(gone, [exec - 1], "the fork has become another program");
    heard.hear(&made::exit(PID, 4));
    assert_eq!(heard.batch.gone, gone, "the kernel may have work for it still");
    heard.tasks.exit(PID + 1, PID + 1, 5 + LINGERS, &mut heard.batch);
    assert_eq!(heard.batch.gone, [exec - 1, exec]);
    let strangers = heard.tasks.threads.len();
    heard.tasks.fork((PID + 2, PID + 3, PID + 2), PID + 3, 6, &mut heard.files, &mut heard.batch);
    heard.tasks.exit(PID + 2, PID + 2, 7, &mut heard.batch);
    assert_eq!(heard.tasks.threads.len(), strangers);
}
