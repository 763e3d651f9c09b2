//! The drain thread and the translation against misbehaving agents.

use super::batch::{Batch, Part};
use super::queue::{Received, queue};
use super::waiter::WakeReason;
use super::*;
use crate::image::liveness::Liveness;
use crate::image::memory::{Memory, Policy};
use crate::image::wakeup::MOST;
use crate::image::watcher::Request;
use crate::image::{End, ImageId};
use crate::proc::process::Info;
use crate::proc::wait_status::wait_status;
use crate::tables::processes::Rules;
use crate::writer::pipeline::Pipeline;
use crate::writer::snapshot;
use capture::{Reader, Summary};
use proptest::prelude::*;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use shared_ring::Geometry;
use shared_ring::record::name::{MAX_NAME, MarkKind, Named};
use shared_ring::record::{Record, encode};
use std::sync::atomic::{AtomicU32, AtomicU64};

const GEOMETRY: Geometry =
    Geometry { rings: 2, ring_words: 9, nodes: 10, pcs: 10, slots: 2, module_bytes: 14 };

/// A session without threads, over one image whose memory the test writes as an agent would.
struct Bench {
    image: Arc<Image>,
    drained: ImageDrain,
    merger: Merger,
    pipeline: Pipeline,
    counts: Counts,
    watcher: Watcher,
    clock: Clock,
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Bench {
        Bench::with(GEOMETRY)
    }

    fn with(geometry: Geometry) -> Bench {
        Bench::of(ImageId(0), geometry)
    }

    fn of(id: ImageId, geometry: Geometry) -> Bench {
        let liveness = Arc::new(Liveness::start().unwrap());
        let policy = Policy::default();
        let mut memory = Memory::new(geometry, policy, liveness.keeper().unwrap()).unwrap();
        // As if a process had mapped the memory and is gone.
        drop(memory.take_descriptors());
        let pid = std::process::id();
        let info = Info { pid, ns_pid: pid, ..Info::default() };
        let image = Image::new(id, memory, info, Arc::default(), liveness, Arc::default());
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::start();
        let writer = crate::base::capture_writer::create(&folder.path().join("x.memprof")).unwrap();
        let mut pipeline = Pipeline::new(writer, clock, Rules { stores_command: true, ..Rules::default() });
        let mut batch = Batch::default();
        batch.note(Message { time: 0, image: image.id, event: Lifecycle::Image(image.clone()) });
        pipeline.take(&mut batch).unwrap();
        let (drained, merger) = (ImageDrain::new(image.clone()), Merger::default());
        let (watcher, _) = Watcher::start(clock).unwrap();
        Bench { image, drained, merger, pipeline, counts: Counts::default(), watcher, clock, folder }
    }

    /// Writes words into a ring as committed.
    fn commit(&self, ring: usize, words: &[u64]) {
        let segment = self.image.memory.segment();
        segment.header().rings_used.fetch_max(ring as u32 + 1, Ordering::Relaxed);
        let head = &segment.directory()[ring].front.head;
        let at = head.load(Ordering::Relaxed);
        let slots = segment.ring(ring);
        for (index, word) in words.iter().enumerate() {
            slots[(at as usize + index) % slots.len()].store(*word, Ordering::Relaxed);
        }
        head.store(at + words.len() as u64, Ordering::Release);
    }

    /// Drains and translates until nothing is left, in turns short enough to cut records.
    fn round(&mut self) {
        let Bench { drained, merger, pipeline, counts, watcher, clock, .. } = self;
        drained.note_ends(merger, clock.now());
        let mut batch = Batch::default();
        for turn in 0.. {
            assert!(turn < 10_000, "what is left is never read");
            drained.sweep(&mut Sweep { turn: 7, merger, counts, watcher, clock, has_met: false });
            if !drained.is_behind() {
                break;
            }
            while merger.merge(drained.read_until(merger), &mut batch) {}
        }
        drained.finish_ended(merger);
        while merger.merge(u64::MAX, &mut batch) {}
        pipeline.take(&mut batch).unwrap();
        merger.compact(0);
    }

    /// Finishes the capture, reads it back, and returns its number of events.
    fn events(mut self) -> u64 {
        let time = self.clock.now();
        let mut batch = Batch::default();
        batch.note(Message { time, image: self.image.id, event: Lifecycle::Finished });
        self.pipeline.take(&mut batch).unwrap();
        self.pipeline.writer.finish(&Summary::default()).unwrap();
        let reader = Reader::open(self.folder.path().join("x.memprof")).unwrap();
        assert!(reader.cut().is_none());
        reader.event_count()
    }
}

/// Check that arbitrary frame ids do not make tables grow up to them.
#[test]
fn ids_of_frames_take_no_memory() {
    let mut bench = Bench::new();
    let segment = bench.image.memory.segment();
    segment.slots()[0].claim(std::process::id(), None);
    let nodes = segment.base().wrapping_add(segment.layout().nodes.offset).cast::<AtomicU64>();
    // Outermost frames: one whose pc id is beyond the table, and one whose pc was never entered.
    for (id, pc) in [(1, 1u64 << 24), (2, 1 << 9)] {
        // SAFETY: there is room for a thousand nodes.
        unsafe { &*nodes.wrapping_add(id) }.store(pc, Ordering::Relaxed);
    }
    let records = [
        Record::Owner { slot: 0, tid: 1, time: 5 },
        Record::Alloc { address: 0x10_0000, size: 8, alignment: 0, stack: 1 },
        Record::Alloc { address: 0x20_0000, size: 8, alignment: 0, stack: 2 },
    ];
    for record in records {
        let (words, length) = encode(record, 1);
        bench.commit(0, &words[..length]);
    }
    bench.round();
    let [known, frames] = bench.pipeline.stack_tables(bench.image.id).unwrap();
    assert!(known == 3 && frames <= 1 << GEOMETRY.pcs, "{known} {frames}");
    let time = bench.clock.now();
    let mut batch = Batch::default();
    batch.note(Message { time, image: bench.image.id, event: Lifecycle::Finished });
    bench.pipeline.take(&mut batch).unwrap();
    assert_eq!(bench.pipeline.totals.corrupt, 2);
}

fn words() -> impl Strategy<Value = Vec<u64>> {
    let word = prop_oneof![any::<u64>(), 0u64..1 << 33, (0u64..25).prop_map(|opcode| opcode << 20)];
    proptest::collection::vec(word, 0..400)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Check that draining ends and the capture is sound whatever lies in rings, tables and ring heads.
    #[test]
    fn any_memory_gives_a_sound_capture(
        ring in words(),
        head in prop_oneof![0u64..600, any::<u64>()],
        nodes in proptest::collection::vec(any::<u64>(), 0..100),
        modules in words(),
    ) {
        let mut bench = Bench::new();
        let segment = bench.image.memory.segment();
        let fill = |offset: usize, words: &[u64]| {
            for (index, word) in words.iter().enumerate() {
                let place = segment.base().wrapping_add(offset + index * 8).cast::<AtomicU64>();
                // SAFETY: the offsets are those of parts that are larger than any of the lists.
                unsafe { &*place }.store(*word, Ordering::Relaxed);
            }
        };
        let layout = *segment.layout();
        fill(layout.nodes.offset, &nodes);
        fill(layout.pcs.offset, &nodes);
        fill(layout.modules.offset, &modules);
        segment.slots()[0].claim(std::process::id(), None);
        let owner = encode(Record::Owner { slot: 0, tid: 1, time: 5 }, 0);
        bench.commit(0, &owner.0[..owner.1]);
        bench.commit(0, &ring);
        bench.commit(1, &ring);
        bench.round();
        segment.directory()[2].front.head.store(head, Ordering::Release);
        segment.header().rings_used.store(head as u32, Ordering::Release);
        segment.header().slots_used.store(head as u32, Ordering::Release);
        bench.round();
        bench.events();
    }
}

/// Check that a record that spans two turns of draining, and the end of the ring, comes out whole.
#[test]
fn records_survive_any_cut() {
    let mut bench = Bench::new();
    bench.image.memory.segment().slots()[0].claim(std::process::id(), None);
    let owner = encode(Record::Owner { slot: 0, tid: 1, time: 5 }, 0);
    bench.commit(0, &owner.0[..owner.1]);
    let mut committed = 0;
    for round in 0..100u64 {
        for index in 0..40 {
            let address = 0x10_0000 + (round * 40 + index) * 16;
            let (words, length) = encode(Record::Alloc { address, size: 8, alignment: 0, stack: 0 }, 1);
            bench.commit(0, &words[..length]);
            committed += 1;
        }
        bench.round();
    }
    assert_eq!(bench.counts.corrupt.load(Ordering::Relaxed), 0);
    // Plus process start and thread start.
    assert_eq!(bench.events(), committed + 2);
}

/// Check that a process that announces execs, or failed execs, without end causes no more work than one that says it
/// once, and that its last word counts, even if it also keeps claiming to be another thread.
#[test]
fn endless_execs_keep_nobody_busy() {
    let owner = Record::Owner { slot: 0, tid: 1, time: 5 };
    let mut bench = Bench::with(Geometry { ring_words: 13, ..GEOMETRY });
    let asked;
    (bench.watcher, asked) = Watcher::idle();
    bench.image.memory.segment().slots()[0].claim(std::process::id(), None);
    let alone = [Record::Exec, Record::ExecFailed];
    let between = [Record::Exec, owner, Record::ExecFailed, owner];
    for (records, last) in [(&alone[..], true), (&between[..], false)] {
        for record in [owner].iter().chain(records.iter().cycle().take(1999 + usize::from(last) * 2)) {
            let (words, length) = encode(*record, 0);
            bench.commit(0, &words[..length]);
        }
        let Bench { drained, merger, counts, watcher, clock, .. } = &mut bench;
        assert!(
            drained.sweep(&mut Sweep { turn: 6000, merger, counts, watcher, clock, has_met: false }) > 2000
        );
        let asked: Vec<Request> = asked.try_iter().collect();
        let is_exec =
            |request: &Request| matches!(request, Request::Exec { .. } | Request::ExecFailed { .. });
        assert_eq!(asked.iter().filter(|request| is_exec(request)).count(), 1, "{records:?}");
        assert_eq!(matches!(asked.last(), Some(Request::Exec { slot: 0, .. })), last, "{records:?}");
    }
}

/// Check that a process that keeps saying it waits at exit is handed over once, and that its slot is clean for the
/// next process.
#[test]
fn each_process_parts_once() {
    let mut bench = Bench::new();
    let segment = bench.image.memory.segment();
    let slot = &segment.slots()[0];
    segment.header().slots_used.store(u32::MAX, Ordering::Release);
    for _ in 0..2 {
        slot.claim(std::process::id(), None);
        assert!(slot.begin_to_part() && bench.drained.has_parting());
        let exit_scans = bench.drained.take_exit_scans();
        assert!(exit_scans.len() == 1 && slot.is_parting());
        drop(exit_scans);
        assert!(!slot.is_parting());
        slot.parting.store(0, Ordering::Relaxed);
        assert!(slot.begin_to_part() && !bench.drained.has_parting());
        assert!(bench.drained.take_exit_scans().is_empty());
        bench.image.gone(0, std::process::id(), None);
        bench.round();
        assert_eq!(slot.owner(), None);
    }
}

/// Check that a record longer than all that may wait of a ring holds nobody up.
#[test]
fn longest_record_is_read_in_pieces() {
    let mut bench = Bench::new();
    bench.image.memory.segment().slots()[0].claim(std::process::id(), None);
    let owner = encode(Record::Owner { slot: 0, tid: 1, time: 5 }, 0);
    bench.commit(0, &owner.0[..owner.1]);
    let (words, length) = Named::Mark(MarkKind::Instant).encode(&[b'x'; MAX_NAME], 0);
    bench.commit(0, &words[..length]);
    bench.round();
    assert_eq!(bench.counts.events.load(Ordering::Relaxed), 2);
}

/// Check that what was read before the writer fell behind still waits for earlier records that were not read
/// meanwhile.
#[test]
fn nothing_is_merged_while_the_writer_is_behind() {
    let bench = Bench::new();
    let wakeup = Arc::new(Wakeup::default());
    let (batches, written) = queue(wakeup.clone());
    let (_, images) = mpsc::channel();
    let (watcher, clock) = (bench.watcher.clone(), bench.clock);
    let mut round = Round::new(Drain {
        images,
        watcher,
        batches,
        wakeup,
        shared: Arc::default(),
        clock,
        exit_scans: None,
    });
    round.ready.add(ImageDrain::new(bench.image.clone()));
    let commit_at = |ring, time| {
        let (words, length) = encode(Record::Time { time }, 0);
        bench.commit(ring, &words[..length]);
    };
    // As late as possible: it is read, and stays unmerged.
    commit_at(1, u64::MAX >> 8);
    assert!(!round.run() && round.batch.is_empty());
    let mut much = Batch::default();
    much.run(bench.image.id, 2, 0, &vec![0; 4 << 20]);
    round.drain.batches.send(much);
    std::thread::sleep(Duration::from_millis(1));
    commit_at(0, 1);
    assert!(!round.run() && round.held.is_some());
    let mut rings = Vec::new();
    let mut receive = || {
        let Received::Batch(mut batch) = written.receive(Duration::ZERO) else { return false };
        let bytes = batch.bytes();
        batch.take(|part| {
            if let Part::Run(run, _) = part {
                rings.push(run.ring)
            }
        });
        written.finish(batch, bytes);
        true
    };
    while receive() {}
    assert!(!round.run() && round.held.is_none());
    while receive() {}
    assert_eq!(rings, [2, 0, 1]);
}

/// Check that of many images only those are looked at in each round that lately had something to say or that there is
/// news of, and that nothing is merged before all were.
#[test]
fn idle_images_are_not_visited() {
    let benches: Vec<Bench> = (0..MOST as u32).map(|id| Bench::of(ImageId(id), GEOMETRY)).collect();
    let wakeup = Arc::new(Wakeup::default());
    let (batches, written) = queue(wakeup.clone());
    let (_, images) = mpsc::channel();
    let (watcher, clock) = (benches[0].watcher.clone(), benches[0].clock);
    let (shared, waking) = (Arc::default(), wakeup.clone());
    let mut round = Round::new(Drain { images, watcher, batches, wakeup, shared, clock, exit_scans: None });
    let commit = |image: usize, record| {
        let (words, length) = encode(record, 0);
        benches[image].commit(0, &words[..length]);
    };
    for (image, bench) in benches.iter().enumerate() {
        bench.image.memory.segment().slots()[0].claim(std::process::id(), None);
        commit(image, Record::Owner { slot: 0, tid: 1, time: 1 });
        round.ready.add(ImageDrain::new(bench.image.clone()));
    }
    let run = |round: &mut Round, is_whole: bool| {
        if is_whole {
            std::thread::sleep(super::waiter::LONGEST);
        } else {
            round.waiter.polled(0);
        }
        assert!(!round.run());
        let mut runs = Vec::new();
        while let Received::Batch(mut batch) = written.receive(Duration::ZERO) {
            let bytes = batch.bytes();
            batch.take(|part| {
                if let Part::Run(run, _) = part {
                    runs.push(run.image.0);
                }
            });
            written.finish(batch, bytes);
        }
        (runs, round.ready.busy().count())
    };
    assert_eq!(run(&mut round, true), ((0..MOST as u32).collect(), MOST), "all are new");
    assert_eq!(run(&mut round, true), (vec![], 0), "all sleep");
    commit(7, Record::Time { time: 10 });
    waking.notify_of(ImageId(9));
    commit(9, Record::Time { time: 20 });
    assert_eq!(run(&mut round, false), (vec![], 1));
    assert_eq!(run(&mut round, true), (vec![7, 9], 1), "in order, and one had something to say");
}

/// Check that a process that writes without end cannot keep the recording from ending: only what it had written when
/// the recording ended is read.
#[test]
fn writers_without_end_keep_nobody() {
    let bench = Bench::with(Geometry { ring_words: 17, ..GEOMETRY });
    let wakeup = Arc::new(Wakeup::default());
    let (batches, written) = queue(wakeup.clone());
    let (_, images) = mpsc::channel();
    let (watcher, clock) = (bench.watcher.clone(), bench.clock);
    let shared = Arc::new(Shared::default());
    let mut round = Round::new(Drain {
        images,
        watcher,
        batches,
        wakeup,
        shared: shared.clone(),
        clock,
        exit_scans: None,
    });
    round.ready.add(ImageDrain::new(bench.image.clone()));
    let (words, _) = encode(Record::Free { address: 0x10_0000 }, 0);
    let turn = vec![words[0]; TURN];
    bench.commit(0, &turn);
    bench.commit(0, &turn[1..]);
    shared.stop.store(true, Ordering::Release);
    let mut rounds = 0;
    while !round.run() {
        rounds += 1;
        assert!(rounds < 4, "it goes on");
        bench.commit(0, &turn[1..]);
    }
    drop(round);
    let mut words = 0;
    while let Received::Batch(mut batch) = written.receive(Duration::ZERO) {
        batch.take(|part| {
            if let Part::Run(_, run) = part {
                words += run.len();
            }
        });
    }
    assert_eq!(words, 2 * TURN - 1);
}

/// Check that the amount waiting to be merged is bounded whatever times the rings have, and that a ring whose time
/// stands still holds up only itself.
#[test]
fn what_waits_is_bounded() {
    let mut bench = Bench::new();
    let (still, _) = encode(Record::Free { address: 0x10_0000 }, 0);
    let (later, _) = encode(Record::Free { address: 0x10_0000 }, 1);
    let (turn, mut batch, mut written) = (7, Batch::default(), [0; 2]);
    let mut most = 0;
    for _ in 0..1000 {
        let words = [still[0]; 14];
        // The writer does not wait for room.
        let read = bench.image.memory.control().tail(0).load(Ordering::Relaxed);
        let head = bench.image.memory.segment().directory()[0].front.head.load(Ordering::Relaxed);
        if head - read < 400 {
            bench.commit(0, &words);
        }
        bench.commit(1, &[later[0]]);
        let Bench { drained, merger, counts, watcher, clock, .. } = &mut bench;
        drained.sweep(&mut Sweep { turn, merger, counts, watcher, clock, has_met: false });
        while merger.merge(drained.read_until(merger), &mut batch) {}
        merger.compact(0);
        most = most.max(merger.waiting());
        batch.take(|part| {
            if let Part::Run(run, words) = part {
                written[run.ring as usize] += words.len();
            }
        });
    }
    assert!(most <= 2 * 5 * turn && written[0] > 1000, "{most}, {written:?}");
}

/// Check that no thread is held up by a ring that was given up, and that a snapshot reports that ring, too.
#[test]
fn given_up_ring_is_still_emptied() {
    let mut bench = Bench::new();
    let unknown = [4000u64 << 20];
    bench.commit(0, &unknown);
    bench.round();
    assert_eq!(bench.counts.corrupt.load(Ordering::Relaxed), 1);
    bench.commit(0, &[0; 300]);
    bench.round();
    let tail = bench.image.memory.control().tail(0).load(Ordering::Relaxed);
    assert_eq!(tail, bench.image.memory.segment().directory()[0].front.head.load(Ordering::Relaxed));
    assert_eq!(bench.counts.unread.load(Ordering::Relaxed), 300);
    bench.commit(0, &[0; 212]);
    bench.round();
    let losses = bench.pipeline.totals.losses(&bench.counts);
    assert_eq!((losses.len(), losses[0].events), (1, 1));
    assert!(losses[0].advice.contains("4 KiB, is unknown"), "{}", losses[0].advice);
    let so_far = bench.pipeline.so_far(&bench.counts).unwrap();
    let [capture, copy] = ["x.memprof", "copy.memprof"].map(|name| bench.folder.path().join(name));
    snapshot::write(&capture, &so_far, &copy).unwrap();
    let summary = Reader::open(copy).unwrap().into_tables().summary;
    assert_eq!(summary.unwrap().lost, losses);
}

/// Check that a forked child that executed another recorded program before anything of it was read ends with that
/// exec, keeping all that it wrote before.
#[test]
fn exec_before_the_first_look_is_an_exec() {
    let mut bench = Bench::new();
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let slots = bench.image.memory.segment().slots();
    slots[0].claim(std::process::id(), None);
    slots[1].claim(child.id(), Some(0));
    bench.image.memory.segment().header().slots_used.store(2, Ordering::Release);
    let owner = encode(Record::Owner { slot: 1, tid: 1, time: 5 }, 0);
    bench.commit(0, &owner.0[..owner.1]);
    // Its agent connects again.
    bench.image.execed(child.id());
    bench.drained.note_ends(&mut bench.merger, bench.clock.now());
    assert!(format!("{:?}", bench.drained).contains("slot: 1, end: Exec"), "{:?}", bench.drained);
    // The watcher, asked only now, finds that it is gone.
    bench.round();
    bench.image.gone(1, child.id(), None);
    bench.round();
    assert!(slots[0].owner().is_some() && slots[1].owner().is_none());
    child.kill().and_then(|()| child.wait()).unwrap();
}

/// Bytes this thread has read from files, and those that this query itself reads.
fn read_so_far() -> (u64, u64) {
    let told = std::fs::read_to_string("/proc/thread-self/io").unwrap_or_default();
    let read =
        told.lines().find_map(|line| line.strip_prefix("rchar: ")).and_then(|count| count.parse().ok());
    (read.unwrap_or_default(), told.len() as u64)
}

/// Check that rings are drained without reading `/proc`, which may be slow, both when a process begins and when the
/// recording ends, and that others find out what can be known.
#[test]
fn draining_reads_nothing() {
    let (before, asking) = read_so_far();
    if read_so_far().0 != before + asking || asking == 0 {
        return println!("skipped: what a thread has read (the kernel does not count it)");
    }
    let mut bench = Bench::new();
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let slots = bench.image.memory.segment().slots();
    slots[0].claim(std::process::id(), None);
    slots[1].claim(child.id(), Some(0));
    for (ring, slot) in [(0, 0), (1, 1)] {
        let owner = encode(Record::Owner { slot, tid: 1, time: 5 }, 0);
        bench.commit(ring, &owner.0[..owner.1]);
    }
    let (before, asking) = read_so_far();
    let Bench { drained, merger, counts, watcher, clock, .. } = &mut bench;
    assert!(drained.sweep(&mut Sweep { turn: TURN, merger, counts, watcher, clock, has_met: false }) > 0);
    drained.finish_all(merger, clock.now());
    assert_eq!(read_so_far().0, before + asking);
    let mut batch = Batch::default();
    while merger.merge(u64::MAX, &mut batch) {}
    bench.pipeline.take(&mut batch).unwrap();
    let running = bench.pipeline.processes.running();
    assert!(running.iter().any(|name| name.starts_with(&format!("{} ", std::process::id()))), "{running:?}");
    child.kill().and_then(|()| child.wait()).unwrap();
}

/// Check that a process counts as recorded in the memory that it maps, not in that of another image.
#[test]
fn memory_of_another_image_is_another() {
    let [one, other] = [Bench::new(), Bench::new()];
    let own_pid = std::process::id();
    assert!(one.image.is_mapped_by(own_pid));
    let id = one.image.memory.id().unwrap();
    drop(one);
    assert!(other.image.is_mapped_by(own_pid) && !crate::proc::process::maps_this(own_pid, id));
}

/// Check that an image stays while something is in its rings, even if nobody can write any more: a process may do
/// everything it ever does after a sweep.
#[test]
fn image_stays_until_all_is_read() {
    let mut bench = Bench::new();
    assert!(bench.drained.is_over(&bench.merger));
    bench.image.memory.segment().slots()[0].claim(std::process::id(), None);
    let owner = encode(Record::Owner { slot: 0, tid: 1, time: 5 }, 0);
    bench.commit(0, &owner.0[..owner.1]);
    assert!(!bench.drained.is_over(&bench.merger));
    bench.round();
    assert!(!bench.drained.is_over(&bench.merger), "the process has not ended");
    bench.drained.finish_all(&mut bench.merger, bench.clock.now());
    bench.round();
    assert!(bench.drained.is_over(&bench.merger));
}

/// Check that the thread does not sleep when an agent has called after its rings were read: what a process that has
/// just begun is, only the process itself can tell, while it lives.
#[test]
fn calls_after_a_look_are_heard() {
    let mut bench = Bench::new();
    let Bench { image, drained, merger, counts, watcher, clock, .. } = &mut bench;
    let mut waiter = Waiter::new(Arc::default());
    for is_called in [false, true] {
        waiter.listen();
        drained.sweep(&mut Sweep { turn: TURN, merger, counts, watcher, clock, has_met: false });
        let header = image.memory.segment().header();
        // The agent sees that we are awake, so it does not wake us.
        let wake = |_: &AtomicU32| panic!("we are awake");
        let calls = shared_ring::wakeup::Wakeup {
            asleep: &image.memory.control().header().asleep,
            count: &header.wakeups,
            wake,
        };
        if is_called {
            calls.call();
        }
        calls.notify();
        waiter.sleep(std::iter::once((&**image, drained.heard)), false, || false);
        assert_eq!(waiter.woken == WakeReason::Agent, is_called, "{waiter:?}");
    }
}

/// Check that it is known how a process ended that was killed and reaped before the thread that watches woke up.
#[test]
fn ends_of_short_processes_are_known() {
    let mut bench = Bench::new();
    let asked;
    (bench.watcher, asked) = Watcher::idle();
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let slots = bench.image.memory.segment().slots();
    slots[1].claim(child.id(), Some(0));
    bench.image.memory.segment().header().slots_used.store(2, Ordering::Release);
    let owner = encode(Record::Owner { slot: 1, tid: 1, time: 5 }, 0);
    bench.commit(0, &owner.0[..owner.1]);
    let Bench { image, drained, merger, counts, watcher, clock, .. } = &mut bench;
    let mut sweep = Sweep { turn: TURN, merger, counts, watcher, clock, has_met: false };
    drained.sweep(&mut sweep);
    assert!(sweep.has_met);
    let pidfd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).ok();
    child.kill().and_then(|()| child.wait()).unwrap();
    let (watcher, _) = Watcher::start(*clock).unwrap();
    watcher.ask(asked.recv().unwrap());
    let deadline = Instant::now() + Duration::from_secs(60);
    let end = loop {
        match image.take_end(1) {
            None if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(1)),
            end => break end,
        }
    };
    let Some(pidfd) = pidfd.filter(|pidfd| wait_status(Some(pidfd), child.id()).is_some()) else {
        return println!("skipped: how a reaped process ended (the kernel is older than Linux 6.15)");
    };
    assert!(matches!(end, Some(End::Gone(Some(libc::SIGKILL)))), "{end:?} {pidfd:?}");
}
