//! Reading a file while it grows.

use std::fs::OpenOptions;
use std::io::Write;

use capture::{Action, CutReason, Event, Metadata, Process, Reader, Summary, Thread, ThreadId, Writer};

use crate::fixture;

/// Check that a follower sees each flush, with its tables, and the end; nothing is read twice.
#[test]
fn follower_sees_each_flush_and_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("live.memprof");
    let mut writer = Writer::create(&path, capture::Create::New, &Metadata::default()).unwrap();
    writer.process(Process::default()).unwrap();
    writer.thread(Thread::default()).unwrap();
    let mut reader = Reader::open(&path).unwrap();
    let mut seen = Vec::new();
    for round in 0..5u64 {
        let start = reader.index().len();
        assert!(!reader.refresh().unwrap(), "nothing was flushed");
        writer.string(&format!("round {round}")).unwrap();
        let event = Event { time: round * 1_000_000, thread: ThreadId(0), action: Action::ThreadStart };
        writer.event(event).unwrap();
        writer.flush().unwrap();
        assert!(reader.refresh().unwrap());
        assert_eq!(reader.cut().unwrap().reason, CutReason::Unfinished);
        assert_eq!(reader.tables().strings.len() as u64, round + 1);
        let mut cursor = reader.cursor().unwrap();
        cursor.seek(start);
        while let Some(batch) = cursor.next_batch().unwrap() {
            seen.extend(batch.iter().map(|event| event.time));
        }
    }
    assert_eq!(seen, [0, 1_000_000, 2_000_000, 3_000_000, 4_000_000]);
    writer.finish(&Summary { duration_ns: 5, ..Summary::default() }).unwrap();
    assert!(reader.refresh().unwrap());
    assert_eq!(reader.cut(), None);
    assert_eq!(reader.tables().summary.as_ref().unwrap().duration_ns, 5);
    assert!(!reader.refresh().unwrap());
}

/// Check that a follower learns which rows of processes are new or were replaced, and of each change once.
#[test]
fn follower_is_told_of_changed_processes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("live.memprof");
    let mut writer = Writer::create(&path, capture::Create::New, &Metadata::default()).unwrap();
    let first = writer.process(Process::default()).unwrap();
    writer.flush().unwrap();
    let mut reader = Reader::open(&path).unwrap();
    assert_eq!(reader.take_changed_processes(), [first]);
    assert_eq!(reader.take_changed_processes(), []);
    let second = writer.process(Process::default()).unwrap();
    writer.update_process(first, Process { pid: 7, ..Process::default() }).unwrap();
    writer.flush().unwrap();
    reader.refresh().unwrap();
    assert_eq!(reader.take_changed_processes(), [second, first]);
    writer.thread(Thread::default()).unwrap();
    writer.flush().unwrap();
    reader.refresh().unwrap();
    assert_eq!(reader.take_changed_processes(), []);
}

/// Check that a follower that forgets what it has read learns where that ends, keeps the tables, and sees only what
/// comes after.
#[test]
fn forgotten_events_do_not_come_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("live.memprof");
    let mut writer = Writer::create(&path, capture::Create::New, &Metadata::default()).unwrap();
    writer.process(Process::default()).unwrap();
    let thread = writer.thread(Thread::default()).unwrap();
    let mut flush = |time| {
        writer.event(Event { time, thread, action: Action::ThreadStart }).unwrap();
        writer.flush().unwrap();
        std::fs::metadata(&path).unwrap().len()
    };
    let length = flush(1_000_000);
    let mut reader = Reader::open(&path).unwrap();
    assert_eq!(reader.forget(), length);
    assert_eq!(fixture::readable_events(&reader), []);
    flush(2_000_000);
    assert!(reader.refresh().unwrap());
    assert_eq!(
        fixture::readable_events(&reader).iter().map(|event| event.time).collect::<Vec<_>>(),
        [2_000_000]
    );
    assert_eq!((reader.tables().processes.len(), reader.tables().threads.len()), (1, 1));
}

/// Check that a file that grows byte by byte, as during a copy, reads at each length as if opened then, and in the
/// end as the whole.
#[test]
fn growing_byte_by_byte_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("copied.memprof");
    let whole = fixture::file();
    let mut file = OpenOptions::new().append(true).create_new(true).open(&path).unwrap();
    file.write_all(&whole[..64]).unwrap();
    let mut reader = Reader::open(&path).unwrap();
    for end in 65..=whole.len() {
        file.write_all(&whole[end - 1..end]).unwrap();
        reader.refresh().unwrap();
        let fresh = Reader::from_source(&whole[..end]).unwrap();
        assert_eq!((reader.cut(), reader.index()), (fresh.cut(), fresh.index()), "at {end}");
    }
    assert_eq!(reader.tables(), &fixture::tables());
    assert_eq!(fixture::readable_events(&reader), fixture::events());
}
