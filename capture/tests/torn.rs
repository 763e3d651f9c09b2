//! A capture may end anywhere: whole chunks are read, and the reader says where the rest is missing.

use capture::{
    Action, CutReason, Error, Event, Frame, Metadata, NodeId, Process, Reader, Sniff, Summary, Thread, Writer,
};

use crate::fixture::{self, readable_events};

/// Reads a file cut off at each of `lengths`, and compares what is readable with what the whole file has before that
/// place.
fn check_cuts(file: &[u8], lengths: impl Iterator<Item = usize>) {
    let whole = Reader::from_source(file).unwrap();
    let (tables, events) = (whole.tables(), readable_events(&whole));
    let index = whole.index();
    let mut read_with = None;
    for length in lengths {
        let reader = Reader::from_source(&file[..length]).unwrap();
        let cut = reader.cut().unwrap_or_else(|| panic!("{length} of {} bytes are not all", file.len()));
        let whole_chunks = index.partition_point(|chunk| chunk.offset + chunk.length() <= length as u64);
        assert_eq!(reader.index(), &index[..whole_chunks], "at {length}");
        let end = index[..whole_chunks].last().map_or(64, |chunk| chunk.offset + chunk.length());
        assert_eq!((cut.offset, cut.lost), (end, length as u64 - end));
        let expected = if cut.lost == 0 { CutReason::Unfinished } else { CutReason::Torn };
        assert_eq!(cut.reason, expected, "at {length}");
        // The same whole chunks have the same events.
        if read_with.replace(whole_chunks) != Some(whole_chunks) {
            let found = readable_events(&reader);
            assert_eq!(found.len() as u64, reader.event_count(), "each event of a whole chunk, at {length}");
            assert_eq!(found, events[..found.len()], "at {length}");
        }
        let part = reader.tables();
        assert!(tables.strings.starts_with(&part.strings), "at {length}");
        assert!(tables.frames.starts_with(&part.frames), "at {length}");
        assert!(tables.nodes.starts_with(&part.nodes), "at {length}");
        assert_eq!(
            part.summary.is_some(),
            index[..whole_chunks].iter().any(|chunk| chunk.kind_number() == 10)
        );
    }
}

/// Check that a small capture cut off after each of its bytes gives all its whole chunks.
#[test]
fn small_capture_is_readable_wherever_it_ends() {
    let file = fixture::file();
    check_cuts(&file, 64..file.len());
}

/// Check that a file that ends inside its header is refused with its length, and an empty one as empty.
#[test]
fn cut_header_is_refused() {
    let file = fixture::file();
    assert!(matches!(Reader::from_source(&file[..0]), Err(Error::NotACapture { found: Sniff::Empty })));
    for length in 1..64 {
        match Reader::from_source(&file[..length]).err().unwrap() {
            Error::HeaderCut { length: found } => assert_eq!(found, length as u64),
            other => panic!("at {length}: {other}"),
        }
    }
}

/// Check that a larger capture of many chunks, cut off at ten thousand places, gives all its whole chunks.
#[test]
fn larger_capture_is_readable_wherever_it_ends() {
    let mut writer = Writer::new(Vec::new(), &Metadata::default()).unwrap();
    let process = writer.process(Process::default()).unwrap();
    let thread = writer.thread(Thread { process, tid: 1, name: "main".into() }).unwrap();
    for n in 0..600u64 {
        let frame = Frame::Code { module: None, address: n * n, exact: false };
        let frame = writer.frame(frame).unwrap();
        let stack = writer.node(NodeId((n / 2) as u32), frame).unwrap();
        let action = Action::Alloc { address: n * 7919 * 16, size: n, alignment: 0, stack };
        writer.event(Event { time: n * 1000, thread, action }).unwrap();
        if n % 10 == 9 {
            writer.string(&format!("function number {n}")).unwrap();
            writer.flush().unwrap();
        }
    }
    let file = writer.finish(&Summary::default()).unwrap();
    let places = file.len() - 64;
    assert!(places > 10_000, "{places}");
    check_cuts(&file, (0..10_000).map(|n| 64 + n * places / 10_000));
}

/// Check that a recording that fails at any byte (a full disk) leaves a file that is readable up to there, and that
/// the writer does not go on.
#[test]
fn full_disk_leaves_a_readable_file() {
    struct Disk {
        bytes: Vec<u8>,
        size: usize,
    }
    impl std::io::Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let room = (self.size - self.bytes.len()).min(bytes.len());
            match room {
                0 => Err(std::io::ErrorKind::StorageFull.into()),
                _ => self.bytes.write(&bytes[..room]),
            }
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    impl capture::Sink for &mut Disk {
        fn sync(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let whole = fixture::file();
    let events = fixture::events();
    for size in (0..whole.len()).step_by(7) {
        let mut disk = Disk { bytes: Vec::new(), size };
        match fixture::write_to(&mut disk) {
            Ok(mut writer) => {
                let flushed = writer.flush();
                let again = writer.flush();
                assert!(flushed.is_ok() || matches!(again, Ok(()) | Err(Error::GivenUp)));
                assert!(writer.finish(&fixture::summary()).is_err(), "{size} bytes are too few");
            }
            Err(error) => assert!(matches!(error, Error::Io { .. }), "{error}"),
        }
        assert_eq!(disk.bytes, whole[..size], "bytes go out in the same order, whatever fails");
        if let Ok(reader) = Reader::from_source(disk.bytes.as_slice()) {
            let found = readable_events(&reader);
            assert_eq!(found, events[..found.len()]);
        }
    }
}
