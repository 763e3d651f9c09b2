use super::*;
use crate::perf::record::{self, What, made};

/// Processes that hear records.
struct Heard {
    tasks: Tasks,
    files: Files,
    batch: Batch,
}

impl Heard {
    fn new(only: &[&str]) -> Heard {
        let tasks = Tasks::new(only.iter().map(|name| (*name).to_owned()).collect(), Vec::new());
        Heard { tasks, files: Files::default(), batch: Batch::default() }
    }

    fn hear(&mut self, bytes: &[u8]) -> &mut Heard {
        let record = record::parse(bytes, record::Layout::Work).unwrap();
        let Heard { tasks, files, batch } = self;
        match record.what {
            What::Fork { pid, parent, tid } => tasks.fork(pid, parent, tid, record.time, batch),
            What::Comm { pid, tid, name, is_exec } => {
                tasks.comm(pid, tid, name, is_exec.then_some(record.time), batch);
            }
            What::Map(map) => tasks.map(&map, files, batch),
            What::Exit { pid, tid } => tasks.exit(pid, tid, record.time, batch),
            other => panic!("{other:?}"),
        }
        self
    }

    /// The path that a sample of this process would find at an address.
    fn path(&mut self, pid: u32, address: u64) -> Option<String> {
        let (_, space) = self.tasks.sampled(pid, pid, &mut self.files, &mut self.batch)?;
        let (_, mapping) = space.find(address)?;
        self.files.key(mapping.file?).map(|key| key.path.clone())
    }
}

/// A pid that no process of this machine has.
const PID: u32 = 1 << 30;

/// Check that a fork has its parent's mappings, that an exec has none of them, and that another name changes nothing.
#[test]
fn fork_copies_and_exec_clears() {
    let mut heard = Heard::new(&[]);
    heard.hear(&made::comm(1, 1)).hear(&made::map_of(1, 2, 0x1000, b"/bin/parent"));
    heard.hear(&made::fork(PID, 3));
    assert_eq!(heard.path(PID, 0x1001).as_deref(), Some("/bin/parent"));
    heard.hear(&made::map_of(PID, 4, 0x9000, b"/lib/own.so"));
    assert_eq!(heard.path(PID, 0x9001).as_deref(), Some("/lib/own.so"));
    assert_eq!(heard.path(1, 0x9001), None);
    let name = record::made::Made::new(perf_event_open_sys::bindings::PERF_RECORD_COMM);
    heard.hear(&name.u32(PID).u32(PID).text(b"other").end(5));
    assert_eq!(heard.path(PID, 0x1001).as_deref(), Some("/bin/parent"));
    heard.hear(&made::comm(PID, 6));
    assert_eq!(heard.path(PID, 0x1001), None);
    let names: Vec<&str> = heard.batch.images.iter().map(|(_, image)| image.name.as_str()).collect();
    assert!(names.contains(&"other") && names.contains(&"name"), "{names:?}");
}

/// Check that a pid that is used again is another image with mappings of its own.
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
    assert!(!heard.tasks.processes.contains_key(&PID));
}

/// Check that a process that nobody announced and that is gone has its number, and is looked for once.
#[test]
fn unknown_process_is_kept_by_its_number() {
    let mut heard = Heard::new(&[]);
    for _ in 0..3 {
        assert_eq!(heard.path(PID, 0x1000), None);
    }
    assert_eq!(heard.batch.tasks.len(), 1);
    assert_eq!(heard.batch.images.iter().filter(|(_, image)| image.pid == PID).count(), 2);
}

/// Check that a process that runs already has its mappings, its name and its program.
#[test]
fn running_process_is_found() {
    let mut heard = Heard::new(&[]);
    let here = running_process_is_found as *const () as u64;
    let own = std::env::current_exe().unwrap().to_string_lossy().into_owned();
    assert_eq!(heard.path(std::process::id(), here), Some(own.clone()));
    assert_eq!(heard.batch.images[0].1.executable, own);
}

/// Check that programs which the user does not want have no samples.
#[test]
fn unwanted_programs_are_left_out() {
    let mut heard = Heard::new(&["wanted"]);
    for (path, expected) in [("/bin/wanted", true), ("/bin/other", false)] {
        heard.hear(&made::comm(PID, 1)).hear(&made::map_of(PID, 2, 0x1000, path.as_bytes()));
        assert_eq!(heard.path(PID, 0x1000).is_some(), expected, "{path}");
    }
}
