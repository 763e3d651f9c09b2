//! What the fuzzer and its replay in the tests both run.

use crate::{Event, Reader, sniff};

/// Reads everything there is to read in `bytes`, by every way, and checks what must hold for any bytes.
///
/// # Panics
/// When a reader breaks one of its promises.
pub fn read_everything(bytes: &[u8]) {
    let _any = sniff(bytes);
    let Ok(mut reader) = Reader::from_source(bytes) else { return };
    let tables = reader.tables();
    for (position, node) in tables.nodes.iter().enumerate().skip(1) {
        assert!(node.parent.index() < position, "a stack comes after its caller");
        assert!(node.frame.index() < tables.frames.len(), "frames of stacks are in range");
    }
    assert!(tables.threads.iter().all(|thread| thread.process.index() < tables.processes.len()));
    let end = reader.index().last().map_or(0, |chunk| chunk.offset + chunk.length());
    assert!(end <= bytes.len() as u64, "chunks lie inside of the file");
    let mut count = 0;
    let read = reader.for_each_batch(|batch| {
        count += batch.len() as u64;
        batch.iter().for_each(|event| check_event(event, tables.threads.len()));
    });
    assert!(count <= reader.event_count(), "no event comes from nowhere");
    if let Ok(events) = reader.events() {
        let (good, bad) = events.fold((0, 0), |(good, bad), event| match event {
            Ok(_) => (good + 1, bad),
            Err(_) => (good, bad + 1),
        });
        assert_eq!(good, count, "events one by one and in batches are the same");
        assert_eq!(bad, u32::from(read.is_err()), "an error ends the events");
    }
    let _nothing_new = reader.refresh();
}

fn check_event(event: &Event, threads: usize) {
    assert!(event.thread.index() < threads, "threads of events are in range");
}
