//! Hand-made files: what becomes of each record, and of damaged ones.

use super::super::{Import, import};
use capture::{Frame, Reader, Sample};
use proptest::prelude::*;

/// Sample type: ip, pid and tid, time, chain, processor, period.
const TYPE: u64 = 1 | 1 << 1 | 1 << 2 | 1 << 5 | 1 << 7 | 1 << 8;

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn halves(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

fn text(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize((bytes.len() + 1).next_multiple_of(8), 0);
    bytes
}

fn record(kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(8 + body.len()).unwrap();
    [&words(&[u64::from(kind) | u64::from(misc) << 32 | u64::from(length) << 48])[..], body].concat()
}

/// A record other than a sample, with the trailing fields that all have.
fn event(kind: u32, misc: u16, body: &[u8], time: u64) -> Vec<u8> {
    record(kind, misc, &[body, &words(&[halves(7, 7), time, 0])].concat())
}

fn sample(tid: u32, time: u64, chain: &[u64]) -> Vec<u8> {
    let head = [chain.last().copied().unwrap_or(0), halves(7, tid), time, 3, 250, chain.len() as u64];
    record(9, 2, &[words(&head), words(chain)].concat())
}

/// A file with these records and one event.
fn file(records: &[Vec<u8>]) -> Vec<u8> {
    let records = records.concat();
    let mut attributes = words(&[0; 17]);
    attributes[4..8].copy_from_slice(&136_u32.to_le_bytes());
    attributes[24..32].copy_from_slice(&TYPE.to_le_bytes());
    attributes[40..48].copy_from_slice(&(1_u64 << 18).to_le_bytes());
    let (from, length) = (104 + 152, records.len() as u64);
    let head = [104, 152, 104, 152, from, length, 0, 0, 0, 0, 0, 0];
    [b"PERFILE2".to_vec(), words(&head), attributes, words(&[from, 0]), records].concat()
}

/// A process executes a program, maps it, is sampled twice, and ends; the records are not in order of time.
pub(in crate::import) fn small() -> Vec<u8> {
    let user = 512_u64.wrapping_neg();
    let map = [halves(7, 7), 0x40_0000, 0x1000, 0x2000, 0, 99, 0, 5];
    file(&[
        event(10, 2, &[words(&map), text("/no/app")].concat(), 1010),
        event(3, 2 | 1 << 13, &[words(&[halves(7, 7)]), text("app")].concat(), 1000),
        sample(8, 3000, &[user, 0x40_0010, 0x40_0105]),
        event(3, 2, &[words(&[halves(7, 8)]), text("worker")].concat(), 1500),
        sample(7, 2000, &[user, 0x40_0020]),
        event(2, 0, &words(&[0, 5]), 3500),
        event(4, 0, &words(&[halves(7, 1), halves(7, 1), 0]), 4000),
        // An internal record of perf.
        record(68, 0, &words(&[0])),
    ])
}

fn import_bytes(bytes: &[u8]) -> Result<(u64, Reader), String> {
    let folder = tempfile::tempdir().unwrap();
    let (file, output) = (folder.path().join("perf.data"), folder.path().join("it.memprof"));
    std::fs::write(&file, bytes).unwrap();
    let what = Import { file, output, replace: false, store_command: true, tool_version: "1".into() };
    match import(&what) {
        Ok(imported) => Ok((imported.samples, Reader::open(&what.output).unwrap())),
        Err(error) => {
            assert!(!what.output.exists(), "half a capture is left: {error}");
            Err(error.to_string())
        }
    }
}

/// Check that samples have their time, thread, processor, weight and stack, with addresses within the mapped file,
/// and that processes have names and ends.
#[test]
fn records_become_samples() {
    let (count, reader) = import_bytes(&small()).unwrap();
    let (tables, mut samples) = (reader.tables(), Vec::new());
    reader.for_each_samples(|some| samples.extend_from_slice(some)).unwrap();
    let seen: Vec<_> = samples
        .iter()
        .map(|Sample { time, task, cpu, stack, weight }| {
            let task = &tables.tasks[task.index()];
            let stack: Vec<_> =
                tables.stack(*stack).map(|(_, node)| tables.frames[node.frame.index()]).collect();
            (*time, task.tid, task.name.as_str(), *cpu, *weight, stack)
        })
        .collect();
    let module = Some(capture::ModuleId(0));
    let at = |address, exact| Frame::Code { module, address, exact };
    assert_eq!(
        seen,
        [
            (1000, 7, "app", 3, 250, vec![at(0x2020, true)]),
            (2000, 8, "worker", 3, 250, vec![at(0x2010, true), at(0x2105, false)]),
        ]
    );
    assert_eq!((count, tables.modules[0].path.as_str(), tables.modules[0].inode), (2, "/no/app", 99));
    let process = &tables.processes[0];
    assert_eq!((process.name.as_str(), process.pid, process.end.as_ref().unwrap().time), ("app", 7, 3000));
    let summary = tables.summary.as_ref().unwrap();
    assert_eq!((summary.cpu.event.as_str(), summary.cpu.lost, summary.duration_ns), ("cycles", 5, 3000));
}

/// Check that a process without any records of its own has samples all the same.
#[test]
fn unknown_processes_have_samples() {
    let (count, reader) = import_bytes(&file(&[sample(7, 10, &[5])])).unwrap();
    assert_eq!((count, reader.tables().processes[0].name.as_str()), (1, "[pid = 7]"));
}

/// Check that a file of a killed perf is read as far as it goes.
#[test]
fn killed_recordings_are_read() {
    let mut bytes = small();
    // perf writes the length when it ends.
    bytes[48..56].copy_from_slice(&[0; 8]);
    assert_eq!(import_bytes(&bytes).unwrap().0, 2);
    bytes.truncate(bytes.len() - 100);
    assert!(import_bytes(&bytes).unwrap().0 >= 1);
}

/// Check that refused files come with advice.
#[test]
fn other_files_say_what_to_do() {
    let pipe = [b"PERFILE2".to_vec(), words(&[16])].concat();
    let longer = [pipe, words(&[0; 20])].concat();
    for (bytes, reason) in [
        (longer, "perf record -o FILE"),
        (file(&[record(81, 0, &words(&[0]))]), "without -z"),
        (file(&[record(71, 0, &words(&[0]))]), "Intel PT"),
        (file(&[record(9, 0, &words(&[1]))]), "too short for its contents"),
        (b"PERFILE2".to_vec(), "ends inside"),
    ] {
        let error = import_bytes(&bytes).err().unwrap();
        assert!(error.contains(reason), "{error}");
    }
}

proptest! {
    /// Check that a file changed or truncated anywhere gives a capture that opens, or a reason.
    #[test]
    fn any_damage_has_a_reason(at in 0..small().len(), bytes: [u8; 8], is_cut: bool) {
        let mut file = small();
        if is_cut {
            file.truncate(at);
        } else {
            let end = file.len().min(at + 8);
            file[at..end].copy_from_slice(&bytes[..end - at]);
        }
        match import_bytes(&file) {
            Ok((_, reader)) => prop_assert!(reader.cut().is_none()),
            Err(reason) => prop_assert!(!reason.is_empty()),
        }
    }
}
