//! Damaged and hostile files: an error or a part of the truth, never anything else.

use capture::{Error, Reader, ScanId, VERSION};

use crate::fixture::{self, readable_events};
use crate::hand;

/// Check that with any one bit changed, a capture is refused or reads as a beginning of what it held.
#[test]
fn one_changed_bit_never_changes_what_is_read() {
    let mut file = fixture::file();
    let (tables, events) = (fixture::tables(), fixture::events());
    for bit in 0..file.len() * 8 {
        let (byte, mask) = (bit / 8, 1 << (bit % 8));
        file[byte] ^= mask;
        if let Ok(reader) = Reader::from_source(file.as_slice()) {
            assert!(byte >= 64, "bit {bit} of the header is not noticed");
            let found = readable_events(&reader);
            assert!(events.starts_with(&found), "bit {bit}");
            let part = reader.tables();
            assert!(tables.strings.starts_with(&part.strings), "bit {bit}");
            assert!(tables.frames.starts_with(&part.frames), "bit {bit}");
            assert!(tables.nodes.starts_with(&part.nodes), "bit {bit}");
            let noticed = reader.cut().is_some()
                || reader.for_each_batch(|_| {}).is_err()
                || reader.for_each_samples(|_| {}).is_err()
                || reader.for_each_counters(|_| {}).is_err()
                || reader.for_each_faults(|_| {}).is_err()
                || reader.for_each_stack_copy(|_| {}).is_err()
                || (0..2).any(|scan| reader.for_each_pointers(ScanId(scan), |_| {}).is_err())
                || (0..2).any(|scan| reader.for_each_objects(ScanId(scan), |_| {}).is_err());
            let in_index = reader.index().last().is_some_and(|last| byte as u64 >= last.offset);
            assert!(noticed || in_index, "bit {bit} is not noticed");
        }
        file[byte] ^= mask;
    }
}

/// Check that a damaged event chunk in a finished file loses the events from there on, with its place named, and no
/// tables.
#[test]
fn damaged_events_are_an_error_with_a_place() {
    let mut file = fixture::file();
    let reader = Reader::from_source(file.clone()).unwrap();
    let chunk = *reader.index().iter().filter(|chunk| chunk.times().is_some()).nth(1).unwrap();
    file[chunk.offset as usize + 50] ^= 1;
    let reader = Reader::from_source(file).unwrap();
    assert_eq!((reader.cut(), reader.tables()), (None, &fixture::tables()));
    let mut before = Vec::new();
    let error = reader.for_each_batch(|batch| before.extend_from_slice(batch)).unwrap_err();
    assert_eq!(before, fixture::events()[..fixture::events().len() / 2]);
    let Error::Damaged { offset, .. } = error else { panic!("{error}") };
    assert_eq!(offset, chunk.offset);
}

/// Check that a file with a damaged or misplaced index opens all the same, by its chunks.
#[test]
fn wrong_index_is_rebuilt() {
    let file = fixture::file();
    let index = Reader::from_source(file.as_slice()).unwrap().index().last().unwrap().offset as usize;
    let mut trailer = file.clone();
    *trailer.last_mut().unwrap() ^= 1;
    let mut moved = file.clone();
    moved.truncate(index);
    moved.extend(&file[file.len() - 24..]);
    for (bytes, whole) in [(trailer, false), (moved, true)] {
        let reader = Reader::from_source(bytes).unwrap();
        assert_eq!(readable_events(&reader), fixture::events());
        assert_eq!(reader.tables(), &fixture::tables());
        assert_eq!(reader.cut().is_none(), whole);
    }
}

/// Check that chunks with impossible contents and a valid checksum end the file there, each with its reason.
#[test]
fn impossible_contents_are_named() {
    let good = hand::chunks(&fixture::file());
    let chunk = |kind, records, first, payload: &[u8]| hand::Chunk {
        kind,
        records,
        first,
        last: 0,
        payload: payload.to_vec(),
    };
    let two_columns = |first: &[u8], second: &[u8]| {
        let mut payload = vec![2];
        payload.extend((first.len() as u32).to_le_bytes());
        payload.extend((second.len() as u32).to_le_bytes());
        payload.extend([first, second].concat());
        payload
    };
    let mark =
        |thread: u8, name: u8| [&[20][..], &[0; 8], &[thread, 0, 0, 0], &[0; 4], &[name, 0, 0, 0]].concat();
    // For frame 0: no names, no reason, and this linkage name.
    let linkage = |name: u8| [&[18][..], &[0; 4], &[0; 8], &[0], &[1, name, 0, 0, 0]].concat();
    let cases = [
        (chunk(2, 1, 6, &[9]), "a record is longer than its chunk"),
        (chunk(2, 1, 6, &[1, 0xff]), "a name is not UTF-8"),
        (chunk(2, 1, 9, &[0]), "a chunk's rows do not continue their table"),
        (chunk(2, 2, 6, &[0]), "a column ends inside a number"),
        (chunk(4, 1, 5, &two_columns(&[200, 1], &[0])), "a frame refers to an unknown module"),
        (chunk(5, 1, 6, &two_columns(&[0], &[0])), "a stack does not come after its caller"),
        (chunk(5, 1, 6, &two_columns(&[1], &[100])), "a stack refers to an unknown frame"),
        (chunk(5, 1, 6, &[]), "a chunk lacks its columns"),
        (chunk(5, 1, 6, &[3, 0]), "a chunk ends inside its column lengths"),
        (chunk(5, 1, 6, &[1, 255, 0, 0, 0]), "a column is longer than its chunk"),
        (chunk(6, 1, 0, &[4, 9, 0, 0, 0]), "a chunk's rows do not continue their table"),
        (chunk(7, 1, 0, &[8, 0, 0, 0, 0, 9, 0, 0, 0]), "a thread refers to an unknown process"),
        (chunk(8, 1, 0, &[4, 99, 0, 0, 0]), "a symbol refers to an unknown frame"),
        (chunk(8, 1, 0, &linkage(9)), "a symbol refers to an unknown name"),
        (chunk(13, 1, 3, &mark(9, 0)), "a mark refers to an unknown thread"),
        (chunk(13, 1, 3, &mark(0, 9)), "a mark refers to an unknown name"),
        (chunk(13, 1, 0, &mark(0, 0)), "a chunk's rows do not continue their table"),
        (chunk(7, 1, 0, &[0x80, 0x80, 0x80, 5]), "a record is longer than the format allows"),
        (chunk(99, 2 << 20, 0, &[]), "a chunk has more records than the format allows"),
    ];
    for (bad, reason) in cases {
        let mut chunks = good.clone();
        chunks.push(bad);
        let reader = Reader::from_source(hand::file(VERSION.major, 0, &chunks)).unwrap();
        let cut = reader.cut().unwrap();
        assert!(cut.to_string().ends_with(reason), "{cut}, not {reason:?}");
        assert_eq!(readable_events(&reader), fixture::events());
    }
}

/// Check that a small file cannot make the reader use unbounded memory: repeated bytes decompress to a lot, and the
/// tables they fill are limited.
#[test]
fn tables_larger_than_their_file_allows_are_refused() {
    let rows = 1 << 20;
    let mut file = hand::header(VERSION.major, 0, "bomb");
    for n in 0..40u64 {
        let (records, first) = (rows as u32, n * rows as u64);
        let chunk = hand::Chunk { kind: 2, records, first, last: 0, payload: vec![0; rows] };
        file.extend(hand::packed(&chunk, 8160));
    }
    let reader = Reader::from_source(file).unwrap();
    let cut = reader.cut().unwrap().to_string();
    assert!(cut.ends_with("the tables take more memory than a file of this length may"), "{cut}");
    assert!(reader.tables().strings.len() < 12 * rows);
}

/// Check that a chunk is refused which holds more records, or more bytes, than one of its length may, whatever it holds,
/// and that one of just that length is read.
#[test]
fn chunks_hold_no_more_than_their_length_allows() {
    let chunk = |records: u32, length: usize| {
        let payload = vec![0; length];
        hand::Chunk { kind: 99, records, first: 0, last: 0, payload }
    };
    for (chunk, least) in
        [(chunk(1 << 20, 10), 8160), (chunk(1, 16 << 20), 16_320), (chunk(4096 + 128 * 300, 10), 300)]
    {
        for (length, is_read) in [(least, true), (least - 1, false)] {
            let mut file = hand::file(VERSION.major, 0, &hand::chunks(&fixture::file()));
            file.extend(hand::packed(&chunk, length));
            let reader = Reader::from_source(file).unwrap();
            let cut = reader.cut().unwrap().to_string();
            assert_eq!(reader.skipped(), u64::from(is_read), "{cut}");
            assert_eq!(cut.ends_with("a chunk holds more than one of its length may"), !is_read, "{cut}");
        }
    }
}

/// Check that empty names are limited by the memory they take, not by their bytes in the file.
#[test]
fn empty_names_are_limited_by_their_memory() {
    let names = 2 << 20;
    // For frame 0: names without function, file and line; no reason, no linkage.
    let record = [&[0; 4][..], &(names as u64).to_le_bytes(), &vec![0; 3 * names], &[0; 2]].concat();
    let length = [0x80 | record.len() as u8 & 0x7f, 0x80 | (record.len() >> 7) as u8 & 0x7f];
    let length =
        [&length[..], &[0x80 | (record.len() >> 14) as u8 & 0x7f, (record.len() >> 21) as u8]].concat();
    let symbol = hand::Chunk { kind: 8, records: 1, first: 0, last: 0, payload: [length, record].concat() };
    let mut file = hand::file(VERSION.major, 0, &hand::chunks(&fixture::file()));
    let symbol = hand::packed(&symbol, 6100);
    let cut = |file: &[u8]| Reader::from_source(file).unwrap().cut().unwrap().to_string();
    file.extend(&symbol);
    assert!(cut(&file).starts_with("not finished"), "{}", cut(&file));
    // Five times 48 MiB in memory, plus what is charged for their bytes.
    (0..4).for_each(|_| file.extend(&symbol));
    assert!(
        cut(&file).ends_with("the tables take more memory than a file of this length may"),
        "{}",
        cut(&file)
    );
}
