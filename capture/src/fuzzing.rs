//! Run by both the fuzzer and its replay in the tests.

use crate::event::Event;
use crate::format::{ChunkHeader, Header, Trailer};
use crate::ids::ScanId;
use crate::model::Tables;
use crate::reader::Reader;
use crate::sniff;

/// Reads `bytes` as they are, and again with corrected checksums, so that the code behind the checksums is reached.
///
/// # Panics
/// When a reader breaks one of its promises.
pub fn read_hostile(bytes: &[u8]) {
    read_everything(bytes);
    let mut sealed = bytes.to_vec();
    seal(&mut sealed);
    read_everything(&sealed);
}

/// Reads everything there is, in every way, and checks what must hold for any bytes.
fn read_everything(bytes: &[u8]) {
    let _any = sniff(bytes);
    let Ok(mut reader) = Reader::from_source(bytes) else { return };
    check_tables(reader.tables());
    let end = reader.index().last().map_or(0, |chunk| chunk.offset + chunk.length());
    assert!(end <= bytes.len() as u64, "chunks lie inside of the file");
    let mut count = 0;
    let read = reader.for_each_batch(|batch| {
        count += batch.len() as u64;
        batch.iter().for_each(|event| check_event(event, reader.tables()));
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
    check_readings(&reader);
    let chunks = reader.index().len();
    assert!(matches!(reader.refresh(), Ok(false)), "the file did not change");
    assert_eq!(reader.index().len(), chunks);
}

fn check_readings(reader: &Reader<&[u8]>) {
    let tables = reader.tables();
    let mut count = 0;
    let _either = reader.for_each_samples(|samples| {
        count += samples.len() as u64;
        for sample in samples {
            assert!(sample.task.index() < tables.tasks.len(), "tasks of samples are in range");
            assert!(sample.stack.index() < tables.nodes.len(), "stacks of samples are in range");
        }
    });
    assert!(count <= reader.sample_count(), "no sample comes from nowhere");
    let _either = reader.for_each_faults(|faults| {
        for fault in faults {
            assert!(fault.task.index() < tables.tasks.len(), "tasks of page faults are in range");
            assert!(fault.stack.index() < tables.nodes.len(), "stacks of page faults are in range");
        }
    });
    for scan in 0..tables.scans.len() {
        let _either = reader.for_each_pointers(ScanId::from_index(scan), |_| {});
        let _either = reader.for_each_objects(ScanId::from_index(scan), |objects| {
            let mut classes = objects.iter().map(|object| object.class.index());
            assert!(classes.all(|class| class < tables.strings.len()), "classes of objects are in range");
        });
    }
    let _either = reader.for_each_stack_copy(|copy| {
        assert!(copy.sample < reader.sample_count(), "samples of copied stacks are in range");
        let mut modules = copy.code.iter().filter_map(|code| Some(code.module?.index()));
        assert!(modules.all(|module| module < tables.modules.len()), "modules of copied stacks are in range");
    });
    let _either = reader.for_each_counters(|counters| {
        let mut owners = counters.iter().filter_map(|counter| counter.process);
        assert!(
            owners.all(|owner| owner.index() < tables.processes.len()),
            "processes of counters are in range"
        );
    });
}

fn check_tables(tables: &Tables) {
    for (position, node) in tables.nodes.iter().enumerate().skip(1) {
        assert!(node.parent.index() < position, "a stack comes after its caller");
        assert!(node.frame.index() < tables.frames.len(), "frames of stacks are in range");
    }
    for thread in &tables.threads {
        assert!(thread.process.index() < tables.processes.len(), "processes of threads are in range");
    }
    for scan in &tables.scans {
        assert!(scan.process.index() < tables.processes.len(), "processes of scans are in range");
    }
    for mark in &tables.marks {
        assert!(mark.thread.index() < tables.threads.len(), "threads of marks are in range");
        assert!(mark.name.index() < tables.strings.len(), "names of marks are in range");
    }
    assert_eq!(tables.symbols.len(), tables.frames.len(), "each frame has a place for its names");
}

fn check_event(event: &Event, tables: &Tables) {
    use crate::Action::*;
    use crate::ReallocOutcome::Block;
    assert!(event.thread.index() < tables.threads.len(), "threads of events are in range");
    match event.action {
        Alloc { stack, .. }
        | Free { stack, .. }
        | ReallocEnd { outcome: Block { stack, .. }, .. }
        | Map { stack, .. }
        | Remap { stack, .. }
        | Break { stack, .. } => assert!(stack.index() < tables.nodes.len(), "stacks of events are in range"),
        ProcessStart { process, .. } | ProcessEnd { process } => {
            assert!(process.index() < tables.processes.len(), "processes of events are in range");
        }
        PoolAlloc { pool, stack, .. } | PoolRealloc { pool, stack, .. } => {
            assert!(pool.index() < tables.strings.len(), "names of pools are in range");
            assert!(stack.index() < tables.nodes.len(), "stacks of pools' blocks are in range");
        }
        PoolFree { pool, .. } => {
            assert!(pool.index() < tables.strings.len(), "names of pools are in range");
        }
        Mark { mark } => assert!(mark.index() < tables.marks.len(), "marks of events are in range"),
        _ => {}
    }
}

/// Corrects the checksums of whatever looks like a header, a chunk or a trailer.
fn seal(bytes: &mut [u8]) {
    let Some(header) = bytes.get_mut(..Header::LENGTH) else { return };
    let checksum = crc32fast::hash(&header[..60]);
    header[60..].copy_from_slice(&checksum.to_le_bytes());
    let mut rest = &mut bytes[Header::LENGTH..];
    while let Some((start, after)) =
        std::mem::take(&mut rest).split_first_chunk_mut::<{ ChunkHeader::LENGTH }>()
    {
        let Ok(header) = ChunkHeader::decode(start) else { break };
        let Some((stored, after)) = after.split_at_mut_checked(header.stored_length as usize) else { break };
        *start = header.encode(stored);
        rest = after;
    }
    if let Some(trailer) = bytes.last_chunk_mut::<{ Trailer::LENGTH }>() {
        let checksum = crc32fast::hash(&trailer[..20]);
        trailer[20..].copy_from_slice(&checksum.to_le_bytes());
    }
}
