use super::super::batch::{Batch, Sample, Task, ThreadName};
use super::*;
use crate::cpu::sample_writer::SampleWriter;
use crate::drain::message::Arrival;
use crate::image::exit_scan::Place;
use crate::image::liveness::Liveness;
use crate::image::memory::{Memory, Policy};
use crate::image::slot_process::SlotProcess;
use crate::image::{self, ImageId};
use crate::proc::pid_map::ProcScan;
use crate::proc::process::Info;
use crate::tables::addresses::Addresses;
use crate::tables::processes::Rules;
use capture::{Reader, Summary, Tables};
use proptest::prelude::*;
use shared_ring::Geometry;
use std::sync::Arc;

/// A recording, with the test in the role of the sampler.
struct Played {
    sample_writer: SampleWriter,
    processes: Processes,
    clock: Clock,
    writer: Writer,
    folder: tempfile::TempDir,
    batch: Batch,
    images: Vec<Image>,
    tasks: u32,
}

impl Played {
    fn new() -> Played {
        let folder = tempfile::tempdir().unwrap();
        let writer = crate::base::capture_writer::create(&folder.path().join("x.memprof")).unwrap();
        let clock = Clock::start();
        let rules = Rules { awaits_samples: true, ..Rules::default() };
        Played {
            sample_writer: SampleWriter::default(),
            processes: Processes::new(rules, ProcScan::new(clock)),
            clock,
            writer,
            folder,
            batch: Batch::default(),
            images: Vec::new(),
            tasks: 0,
        }
    }

    fn tell(&mut self, id: u32) {
        self.batch.images.push((id, self.images[id as usize].clone()));
    }

    /// Begins a program.
    fn begin(&mut self, pid: u32, parent: Option<u32>, is_exec: bool, name: &str) -> u32 {
        let (id, started) = (self.images.len() as u32, self.clock.ticks());
        let name = name.to_owned();
        let image = Image { pid, parent, is_exec, name, started, is_chosen: true, ..Image::default() };
        self.images.push(image);
        self.tell(id);
        id
    }

    fn sample(&mut self, id: u32) {
        self.images[id as usize].is_sampled = true;
        self.tell(id);
        let Image { pid, name, .. } = self.images[id as usize].clone();
        self.batch.tasks.push((self.tasks, Task { image: id, pid, tid: pid, name }));
        let ticks = self.clock.ticks();
        self.batch.samples.push(Sample { ticks, task: self.tasks, cpu: 0, node: 0, weight: 1 });
        self.tasks += 1;
    }

    fn end(&mut self, id: u32) {
        self.images[id as usize].ended = Some(self.clock.ticks());
        self.tell(id);
        self.batch.gone.push(id);
    }

    fn enter(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        let Played { sample_writer, clock, writer, .. } = self;
        sample_writer.take(batch, clock, writer, &mut Addresses::default()).unwrap();
    }

    /// Decides everything that is gone by now.
    fn settle(&mut self) {
        self.enter();
        let Played { sample_writer, processes, clock, writer, .. } = self;
        sample_writer.settle(Instant::now(), processes, clock, writer).unwrap();
    }

    /// The tables of the finished capture.
    fn tables(mut self) -> Tables {
        self.enter();
        self.sample_writer.finish(&mut self.processes, &self.clock, &mut self.writer).unwrap();
        self.writer.finish(&Summary::default()).unwrap();
        Reader::open(self.folder.path().join("x.memprof")).unwrap().into_tables()
    }

    /// What the tables say about tasks.
    fn finish(self) -> (Vec<Option<TaskText>>, usize) {
        tasks_of(&self.tables())
    }
}

/// For each task its process's pid and name, whether the process has ended, and its parent's name; and the number of
/// processes.
fn tasks_of(tables: &Tables) -> (Vec<Option<TaskText>>, usize) {
    let name = |id: ProcessId| tables.processes[id.index()].name.clone();
    let told = |task: &capture::Task| {
        let process = &tables.processes[task.process?.index()];
        Some((process.pid, process.name.clone(), process.end.is_some(), process.parent.map(name)))
    };
    (tables.tasks.iter().map(told).collect(), tables.processes.len())
}

/// What a capture says about a task's process.
type TaskText = (u32, String, bool, Option<String>);

/// Check that however many short processes there are, sampled or not, only the living ones are kept; that those which
/// started them are still recorded as their parents; and that each task has its process.
#[test]
fn what_is_gone_is_forgotten() {
    const MANY: u32 = 20_000;
    let mut played = Played::new();
    let shell = played.begin(1, None, true, "sh");
    played.sample(shell);
    for pid in 2..MANY + 2 {
        let fork = played.begin(pid, Some(shell), false, "sh");
        if pid % 5 == 0 {
            played.sample(fork);
        }
        played.end(fork);
        let exec = played.begin(pid, Some(fork), true, "true");
        if pid % 3 == 0 {
            played.sample(exec);
        }
        played.end(exec);
        if pid % 1000 == 0 {
            played.settle();
            assert_eq!((played.sample_writer.images(), played.sample_writer.tasks()), (1, 1), "{pid}");
        }
    }
    let (tasks, processes) = played.finish();
    assert_eq!(processes, 1 + MANY as usize);
    for (pid, name, has_ended, parent) in tasks.into_iter().map(Option::unwrap) {
        let expected = if pid == 1 { ("sh", false, None) } else { ("true", true, Some("sh")) };
        assert_eq!((&*name, has_ended, parent.as_deref()), expected, "{pid}");
    }
}

/// Check that an image which an agent reported is decided to be that process, even if it has ended before; that its
/// fork without an agent is that process too, and does not change its threads; and that a program that it started
/// without an agent is named.
#[test]
fn agents_processes_are_known_until_they_are_decided() {
    let mut played = Played::new();
    let shell = played.begin(7, None, true, "make");
    let liveness = Arc::new(Liveness::start().unwrap());
    let geometry = Geometry { rings: 1, ring_words: 9, nodes: 10, pcs: 10, slots: 2, module_bytes: 14 };
    let memory = Memory::new(geometry, Policy::default(), liveness.keeper().unwrap()).unwrap();
    let info = Info { pid: 7, ns_pid: 7, executable: "/bin/make".into(), ..Info::default() };
    let image = image::Image::new(ImageId(0), memory, info, Arc::default(), liveness, Arc::default());
    let now = played.clock.nanoseconds(played.clock.now());
    let arrival = Arrival { slot: 0, slot_process: Arc::new(SlotProcess::found(7, 7)), origin: None };
    let Played { processes, writer, .. } = &mut played;
    processes.start(&image, &arrival, now, writer).unwrap();
    processes.end(ImageId(0), 0, image::End::Gone(None), now..=now, writer).unwrap();
    let fork = played.begin(8, Some(shell), false, "make");
    played.sample(fork);
    played.end(fork);
    let stranger = played.begin(8, Some(fork), true, "static");
    let Played { processes, writer, .. } = &mut played;
    // Nobody could read the thread's name, and the kernel reports it after the fork's end.
    let process = processes.in_place(Place { image: ImageId(0), slot: 0, ns_pid: 7 }).unwrap();
    let thread = processes.thread(process, 77, writer).unwrap();
    played.settle();
    played.batch.names.push(ThreadName { pid: 7, tid: 77, name: "worker".to_owned() });
    played.end(shell);
    played.settle();
    played.sample(stranger);
    played.end(stranger);
    played.settle();
    assert_eq!(played.sample_writer.images(), 0);
    assert_eq!(played.sample_writer.without_agent(), [("static".to_owned(), 1)].into());
    let tables = played.tables();
    let (tasks, processes) = tasks_of(&tables);
    assert_eq!(tables.threads[thread.index()].name, "worker");
    let make = (7, "make".to_owned(), true, None);
    assert_eq!(tasks, [Some(make), Some((8, "static".to_owned(), true, Some("make".to_owned())))]);
    assert_eq!(processes, 2);
}

/// Check that nothing is kept or written of images that were gone before the recording began, except the descent of
/// others.
#[test]
fn what_was_gone_before_is_not_told() {
    let mut played = Played::new();
    let shell = played.begin(1, None, true, "sh");
    let fork = played.begin(2, Some(shell), false, "sh");
    let exec = played.begin(2, Some(fork), true, "env");
    let app = played.begin(2, Some(exec), true, "app");
    let other = played.begin(3, Some(shell), true, "other");
    for id in [fork, exec, other] {
        played.sample(id);
        played.end(id);
    }
    played.enter();
    played.sample_writer.forget(Instant::now());
    assert_eq!((played.sample_writer.images(), played.sample_writer.tasks()), (2, 0));
    played.sample(app);
    let (tasks, processes) = played.finish();
    let app = (2, "app".to_owned(), false, Some("sh".to_owned()));
    assert_eq!((&tasks[..], processes), (&[None, None, None, Some(app)][..], 2));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Check that it makes no difference when images are decided.
    #[test]
    fn it_does_not_matter_when(steps in prop::collection::vec((0u8..5, any::<prop::sample::Index>()), 1..60)) {
        let play = |settles: bool| {
            let mut played = Played::new();
            let mut alive = vec![played.begin(1, None, true, "first")];
            played.sample(0);
            for (number, (step, which)) in (2..).zip(&steps) {
                // The first image stays.
                let place = which.index(alive.len());
                let id = alive[place];
                let pid = played.images[id as usize].pid;
                match step {
                    0 | 1 => alive.push(played.begin(number, Some(id), false, "fork")),
                    2 => {
                        alive[place] = played.begin(pid, Some(id), true, &format!("exec {number}"));
                        played.end(id);
                    }
                    3 => played.sample(id),
                    _ if place > 0 => played.end(alive.remove(place)),
                    _ => {}
                }
                if settles && number % 3 == 0 {
                    played.settle();
                }
            }
            played.finish()
        };
        prop_assert_eq!(play(true), play(false));
    }
}
