//! A reader of Sysprof's files that shares nothing with the writer, and refuses what Sysprof refuses.

use analysis::Metric;
use std::collections::HashMap;
use std::fmt::Write;

/// Frames of a file: process, time, kind and all bytes.
fn frames(bytes: &[u8]) -> Vec<(i32, i64, u8, &[u8])> {
    assert_eq!(bytes[..6], [0x5e, 0x97, 0xca, 0xfd, 1, 1]);
    assert_eq!(bytes[88..256], [0; 168]);
    let (start, end) = (int(bytes, 72), int(bytes, 80));
    let mut frames = Vec::new();
    let mut rest = &bytes[256..];
    let mut last = start;
    while !rest.is_empty() {
        let length = usize::from(u16::from_le_bytes([rest[0], rest[1]]));
        assert!((24..=16_384).contains(&length) && length % 8 == 0, "a frame of {length} bytes");
        let (frame, after) = rest.split_at(length);
        let (pid, time) = (i32::from_le_bytes(frame[4..8].try_into().unwrap()), int(frame, 8));
        // Marks of what went on for a time may be written when it is over.
        let from = if frame[16] == 10 { start } else { last };
        assert!((from..=end).contains(&time), "frames are in order of time");
        assert_eq!(frame[17..24], [0; 7]);
        frames.push((pid, time, frame[16], frame));
        (rest, last) = (after, last.max(time));
    }
    frames
}

fn int(bytes: &[u8], at: usize) -> i64 {
    i64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn short(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]))
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn c_string(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).expect("texts end");
    String::from_utf8(bytes[..end].to_vec()).expect("texts are UTF-8")
}

/// Names by process and address, from the file within.
fn symbols(frames: &[(i32, i64, u8, &[u8])]) -> HashMap<(u32, i64), String> {
    let mut file = Vec::new();
    let mut is_last = false;
    for (_, _, _, frame) in frames.iter().filter(|(_, _, kind, _)| *kind == 13) {
        assert!(!is_last && c_string(&frame[28..284]) == "__symbols__");
        is_last = short(frame, 24) & 1 == 1;
        file.extend_from_slice(&frame[284..284 + short(frame, 26)]);
    }
    assert!(is_last, "the last part says so");
    let mut symbols = HashMap::new();
    let mut last = (0, 0);
    for entry in file.chunks(32).take_while(|entry| **entry != [0; 32]) {
        let (begin, end, pid) = (int(entry, 0), int(entry, 8), word(entry, 16));
        assert!(begin < end && last <= (pid, begin), "entries are in order and apart");
        last = (pid, end);
        let name = c_string(&file[word(entry, 20) as usize..]);
        let file_name = c_string(&file[word(entry, 24) as usize..]);
        let tag = if word(entry, 24) == 0 { String::new() } else { format!(" [{file_name}]") };
        symbols.insert((pid, begin), name + &tag);
    }
    symbols
}

/// What was allocated. A block of no bytes has one in such a file, so no test has a block of one.
pub(crate) fn sums(bytes: &[u8]) -> Vec<(Metric, i64)> {
    let frames = frames(bytes);
    let symbols = symbols(&frames);
    let mut allocated = 0;
    for (pid, _, _, frame) in frames.iter().filter(|(_, _, kind, _)| *kind == 14) {
        let depth = short(frame, 44);
        let (size, stack) = (int(frame, 32), (0..depth).map(|place| int(frame, 48 + 8 * place)));
        assert!(
            (size > 0) == (depth > 0) && size >= 0 && depth <= 1024,
            "allocations have stacks, frees have none"
        );
        stack.for_each(|address| {
            assert!(symbols.contains_key(&(pid.cast_unsigned(), address)), "{address:#x}")
        });
        allocated += size * i64::from(size > 1);
    }
    let mut samples = 0;
    for (pid, _, _, frame) in frames.iter().filter(|(_, _, kind, _)| *kind == 2) {
        let stack = stack_of(frame);
        assert!(stack.len() > 1 && stack.len() <= 1024 && is_mark(stack[0]), "{stack:?}");
        for address in stack.iter().filter(|address| !is_mark(**address)) {
            assert!(symbols.contains_key(&(pid.cast_unsigned(), *address)), "{address:#x}");
        }
        samples += 1;
    }
    vec![(Metric::Bytes, allocated), (Metric::Cpu, samples)]
}

/// The addresses of a sample.
fn stack_of(frame: &[u8]) -> Vec<i64> {
    (0..short(frame, 24)).map(|place| int(frame, 32 + 8 * place)).collect()
}

/// What says whose the addresses behind it are.
fn is_mark(address: i64) -> bool {
    [-128, -512].contains(&address)
}

/// Counters by number: category, name, and whether they are shares.
fn counters(frames: &[(i32, i64, u8, &[u8])]) -> HashMap<u32, (String, bool)> {
    let mut counters = HashMap::new();
    for (_, _, _, frame) in frames.iter().filter(|(_, _, kind, _)| *kind == 8) {
        for counter in frame[32..].chunks(128).take(short(frame, 24)) {
            let (number, kind) = (word(counter, 116) & 0xff_ffff, word(counter, 116) >> 24);
            let name =
                format!("{}: {}, {}", c_string(counter), c_string(&counter[32..]), c_string(&counter[64..]));
            assert!(number > 0 && kind < 2, "number {number}, kind {kind}");
            assert!(counters.insert(number, (name, kind == 1)).is_none(), "numbers are used once");
        }
    }
    counters
}

/// The file as text, a line for each frame.
pub(crate) fn text(bytes: &[u8]) -> String {
    let frames = frames(bytes);
    let (symbols, counters) = (symbols(&frames), counters(&frames));
    let mut text = format!("{} from {} to {}\n", c_string(&bytes[8..72]), int(bytes, 72), int(bytes, 80));
    for (pid, time, kind, frame) in frames {
        write!(text, "{time} {pid} ").unwrap();
        match kind {
            1 => writeln!(text, "timestamp").unwrap(),
            2 => {
                let name = |address: &i64| match address {
                    -128 => "(kernel)",
                    -512 => "(user)",
                    _ => symbols[&(pid.cast_unsigned(), *address)].as_str(),
                };
                let names = stack_of(frame).iter().map(name).collect::<Vec<_>>().join(" < ");
                writeln!(text, "sample of {} on {}: {names}", word(frame, 28), short(frame, 2)).unwrap();
            }
            4 => writeln!(text, "process {:?}", c_string(&frame[24..])).unwrap(),
            8 => {
                let mut defined: Vec<_> = frame[32..]
                    .chunks(128)
                    .take(short(frame, 24))
                    .map(|one| word(one, 116) & 0xff_ffff)
                    .collect();
                defined.sort_unstable();
                let names: Vec<&str> = defined.iter().map(|number| counters[number].0.as_str()).collect();
                writeln!(text, "counters {names:?}").unwrap();
            }
            9 => {
                write!(text, "values").unwrap();
                for group in frame[32..].chunks(96).take(short(frame, 24)) {
                    for place in (0..8).filter(|place| word(group, 4 * place) != 0) {
                        let (number, value) = (word(group, 4 * place), int(group, 32 + 8 * place));
                        let shown = match counters[&number].1 {
                            true => format!("{:.3} %", f64::from_bits(value.cast_unsigned())),
                            false => value.to_string(),
                        };
                        write!(text, " {number}={shown}").unwrap();
                    }
                }
                writeln!(text).unwrap();
            }
            10 => {
                let (group, name) = (c_string(&frame[32..56]), c_string(&frame[56..96]));
                let (duration, message) = (int(frame, 24), c_string(&frame[96..]));
                writeln!(text, "mark {group} {name:?} for {duration}: {message:?}").unwrap();
            }
            13 => writeln!(text, "part of {}", c_string(&frame[28..284])).unwrap(),
            14 => {
                let stack = (0..short(frame, 44)).map(|place| int(frame, 48 + 8 * place));
                let names = stack.map(|address| symbols[&(pid.cast_unsigned(), address)].as_str());
                let names = names.collect::<Vec<_>>().join(" < ");
                let (address, size, tid) = (int(frame, 24), int(frame, 32), word(frame, 40));
                writeln!(text, "{address:#x} {size} bytes by {tid}: {names}").unwrap();
            }
            other => panic!("a frame of kind {other}"),
        }
    }
    text
}
