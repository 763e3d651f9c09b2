use super::images::ENDED;
use super::*;
use crate::base::clock::Clock;
use crate::image::End;
use crate::image::liveness::Liveness;
use crate::image::memory::{Memory, Policy};
use crate::image::slot_process::SlotProcess;
use capture::{Reader, Summary};
use shared_ring::Geometry;
use std::sync::Arc;

const GEOMETRY: Geometry =
    Geometry { rings: 1, ring_words: 9, nodes: 10, pcs: 10, slots: 2, module_bytes: 14 };
const FORKS: u32 = 3 * ENDED as u32;
/// No process has such a number.
const FIRST: u32 = 1 << 30;

fn arrival(slot: u32, pid: u32, origin: Option<Origin>) -> Arrival {
    Arrival { slot, slot_process: Arc::new(SlotProcess::found(pid, pid)), origin }
}

/// Check that processes that had the same pid one after the other each get their own end, in any order of asking, and
/// that one which was never reaped gets none.
#[test]
fn pid_used_again_has_its_own_end() {
    let liveness = Arc::new(Liveness::start().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("again.memprof");
    let mut writer = crate::base::capture_writer::create(&path).unwrap();
    let mut processes = Processes::new(Rules::default(), ProcScan::new(Clock::start()));
    let seconds = |number: u64| number * 1_000_000_000;
    for (number, begins) in [10, 20, 30].map(seconds).into_iter().enumerate() {
        let memory = Memory::new(GEOMETRY, Policy::default(), liveness.keeper().unwrap()).unwrap();
        let info = Info { pid: FIRST, ns_pid: FIRST, start_ticks: begins, ..Info::default() };
        let image = Image::new(
            ImageId(number as u32),
            memory,
            info,
            Arc::default(),
            liveness.clone(),
            Arc::default(),
        );
        processes.start(&image, &arrival(0, FIRST, None), begins, &mut writer).unwrap();
        processes.end(image.id, 0, End::Gone(None), begins..=begins + seconds(5), &mut writer).unwrap();
    }
    for (time, code) in [(9, 9), (17, 1), (27, 2)] {
        let status = std::os::unix::process::ExitStatusExt::from_raw(code << 8);
        processes.note_exit(FIRST, seconds(time), (status, None), &mut writer).unwrap();
    }
    writer.finish(&Summary::default()).unwrap();
    let ends = Reader::open(&path).unwrap().into_tables().processes;
    let ends: Vec<Ended> = ends.into_iter().map(|process| process.end.unwrap().ended).collect();
    assert_eq!(ends, [Ended::Exited(1), Ended::Exited(2), Ended::Unknown]);
}

/// Check that who announced an exec, and neither failed nor told of an exit, has executed another program, though the
/// status is known of which that one ended.
#[test]
fn status_after_an_announced_exec_is_the_next_programs() {
    let liveness = Arc::new(Liveness::start().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("exec.memprof");
    let mut writer = crate::base::capture_writer::create(&path).unwrap();
    let mut processes = Processes::new(Rules::default(), ProcScan::new(Clock::start()));
    let memory = Memory::new(GEOMETRY, Policy::default(), liveness.keeper().unwrap()).unwrap();
    let info = Info { pid: FIRST, ns_pid: FIRST, ..Info::default() };
    let image = Image::new(ImageId(0), memory, info, Arc::default(), liveness, Arc::default());
    for (fork, (fails, exits)) in [(false, false), (true, false), (true, true)].into_iter().enumerate() {
        let pid = FIRST + fork as u32;
        processes.start(&image, &arrival(0, pid, None), 0, &mut writer).unwrap();
        let (process, _) = processes.owner(image.id, 0).unwrap();
        let thread = processes.thread(process, pid, &mut writer).unwrap();
        processes.execing(image.id, 0, thread);
        if fails {
            processes.goes_on(image.id, 0, thread);
        }
        if exits {
            processes.exiting(image.id, 0, 4);
        }
        processes.end(image.id, 0, End::Gone(Some(4 << 8)), 0..=0, &mut writer).unwrap();
    }
    writer.finish(&Summary::default()).unwrap();
    let ends = Reader::open(&path).unwrap().into_tables().processes;
    let ends: Vec<Ended> = ends.into_iter().map(|process| process.end.unwrap().ended).collect();
    assert_eq!(ends, [Ended::Exec, Ended::Exited(4), Ended::Exited(4)]);
}

/// Check that any number of forks, each with threads, leaves only what ended lately (when sampling, once samples are
/// assigned), that the first process stays known to the end, and that the capture has them all.
#[test]
fn what_ended_long_ago_is_forgotten() {
    for awaits_samples in [false, true] {
        let liveness = Arc::new(Liveness::start().unwrap());
        let memory = Memory::new(GEOMETRY, Policy::default(), liveness.keeper().unwrap()).unwrap();
        let info = Info { pid: FIRST, ns_pid: FIRST, ..Info::default() };
        let image = Image::new(ImageId(0), memory, info, Arc::default(), liveness, Arc::default());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("forks.memprof");
        let mut writer = crate::base::capture_writer::create(&path).unwrap();
        let rules = Rules { awaits_samples, reuses_threads: !awaits_samples, ..Rules::default() };
        let began = Instant::now();
        let mut processes = Processes::new(rules, ProcScan::new(Clock::start()));
        processes.start(&image, &arrival(0, FIRST, None), 0, &mut writer).unwrap();
        for fork in 1..=FORKS {
            let origin = Some(Origin { slot: 0, pid: FIRST, fork });
            let ns_pid = FIRST + fork;
            processes.start(&image, &arrival(1, ns_pid, origin), 0, &mut writer).unwrap();
            let (process, _) = processes.owner(image.id, 1).unwrap();
            assert_eq!(processes.last_thread(process), None);
            for tid in [ns_pid, 1] {
                let thread = processes.thread(process, tid, &mut writer).unwrap();
                assert_eq!(processes.speaker(Some(ns_pid)), Some(thread));
                processes.leave(thread);
            }
            processes.end(image.id, 1, End::Gone(None), 0..=0, &mut writer).unwrap();
            assert_eq!(processes.speaker(None), None);
        }
        if awaits_samples {
            assert_eq!(processes.images.sizes(), [FORKS as usize + 1; 3]);
            assert!(!processes.are_many(began) && processes.are_many(Instant::now()));
            processes.forget(Instant::now());
        }
        assert_eq!(processes.images.sizes(), [ENDED + 1; 3]);
        assert!(processes.threads.writing.is_empty());

        processes.end(image.id, 0, End::Running, 0..=0, &mut writer).unwrap();
        assert_eq!(processes.running().len(), 1);
        let status = std::os::unix::process::ExitStatusExt::from_raw(7 << 8);
        processes.note_exit(FIRST, 0, (status, None), &mut writer).unwrap();
        writer.finish(&Summary::default()).unwrap();
        let reader = Reader::open(&path).unwrap();
        let all = &reader.tables().processes;
        assert_eq!((all.len(), processes.count()), (FORKS as usize + 1, FORKS as usize + 1));
        let threads = FORKS as usize * if awaits_samples { 2 } else { 1 };
        assert_eq!(reader.tables().threads.len(), threads);
        assert_eq!(all[0].end.as_ref().map(|end| &end.ended), Some(&Ended::Exited(7)));
        assert!(all[1..].iter().all(|process| process.parent == Some(ProcessId::from_index(0))));
    }
}
