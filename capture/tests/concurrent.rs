//! One reader, many cursors.

use std::thread;

use capture::{Action, Event, Metadata, NodeId, Process, Reader, Summary, Thread, ThreadId, Writer};

/// Check that sixteen threads read one open file at once and each finds everything, and that a cursor dropped
/// half-way disturbs nobody.
#[test]
fn sixteen_cursors_find_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("many.memprof");
    let mut writer = Writer::create(&path, capture::Create::New, &Metadata::default()).unwrap();
    writer.process(Process::default()).unwrap();
    writer.thread(Thread::default()).unwrap();
    let mut expected = 0;
    for n in 0..50_000u64 {
        let action = Action::Alloc { address: n * 64, size: n % 777, alignment: 0, stack: NodeId::ROOT };
        writer.event(Event { time: n * 100, thread: ThreadId(0), action }).unwrap();
        expected += n % 777;
        if n % 9000 == 0 {
            writer.flush().unwrap();
        }
    }
    writer.finish(&Summary::default()).unwrap();
    let reader = Reader::open(&path).unwrap();
    let sum = || {
        let mut sum = 0;
        let add = |batch: &[Event]| {
            for event in batch {
                let Action::Alloc { size, .. } = event.action else { panic!("{event:?}") };
                sum += size;
            }
        };
        reader.for_each_batch(add).map(|()| sum)
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..16).map(|_| scope.spawn(sum)).collect();
        let mut given_up = reader.events().unwrap();
        assert!(given_up.by_ref().take(10).all(|event| event.is_ok()));
        drop(given_up);
        for thread in threads {
            assert_eq!(thread.join().unwrap().unwrap(), expected);
        }
    });
}

/// Check that a reader may be shared and sent, as `serve` does.
#[test]
fn readers_are_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    fn sent<T: Send>() {}
    shared::<Reader>();
    sent::<capture::Cursor<'_, std::fs::File>>();
    sent::<Writer>();
}
