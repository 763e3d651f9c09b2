//! The format's document agrees with the code.

use std::fmt::Write as _;

use capture::{Action, ChunkKind, Event, Frame, Metadata, NodeId, Process, Summary, Thread, VERSION, Writer};

use crate::{fixture, hand};

const DOCUMENT: &str = include_str!("../FORMAT.md");

/// The recording of the document's example: one thread allocates a block and frees it.
fn example() -> Vec<u8> {
    let metadata = Metadata { tool_version: "0.1.0".into(), ..Metadata::default() };
    let mut writer = Writer::new(Vec::new(), &metadata).unwrap();
    let process = writer.process(Process { pid: 42, ..Process::default() }).unwrap();
    let thread = writer.thread(Thread { process, tid: 42, name: "main".into() }).unwrap();
    let frame = writer.frame(Frame::Code { module: None, address: 0x1139, exact: false }).unwrap();
    let stack = writer.node(NodeId::ROOT, frame).unwrap();
    let alloc = Action::Alloc { address: 0x5000, size: 24, alignment: 0, stack };
    writer.event(Event { time: 1_500, thread, action: alloc }).unwrap();
    let free = Action::Free { address: 0x5000, stack: NodeId::ROOT };
    writer.event(Event { time: 3_700, thread, action: free }).unwrap();
    writer.finish(&Summary { duration_ns: 4_000, ..Summary::default() }).unwrap()
}

/// Check that the bytes of the worked example, which the document explains one by one, are the ones written.
#[test]
fn worked_example_has_these_bytes() {
    let block =
        DOCUMENT.split("```example\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap_or_default();
    let written = example();
    let mut documented = Vec::new();
    let mut left_out = false;
    for line in block.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_hexdigit())) {
        let (offset, rest) = line.split_once("  ").unwrap();
        let offset = usize::from_str_radix(offset, 16).unwrap();
        if std::mem::take(&mut left_out) {
            documented.extend_from_slice(&written[documented.len()..offset]);
        }
        assert_eq!(offset, documented.len(), "the offset of {line:?}");
        let bytes = rest.split("   ").next().unwrap_or_default();
        if bytes == "..." {
            left_out = true;
            continue;
        }
        documented.extend(bytes.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()));
    }
    let mut listing = String::new();
    for (offset, bytes) in written.chunks(16).enumerate() {
        let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(listing, "{:03x}  {}", offset * 16, bytes.join(" ")).unwrap();
    }
    assert!(documented == written, "the document's example differs from what is written:\n{listing}");
}

/// Check that chunks of columns have as many columns as the document's table has rows.
#[test]
fn columns_are_those_of_the_document() {
    for chunk in hand::chunks(&fixture::file()) {
        let kind = ChunkKind::from_number(chunk.kind).unwrap();
        let heading = format!("\n### {} {kind:?}\n", kind as u16);
        let (_, section) = DOCUMENT.split_once(&heading).unwrap();
        let Some((_, table)) = section.split("\n### ").next().unwrap().split_once("\n| | column |") else {
            continue;
        };
        let rows = table.lines().skip(2).take_while(|line| line.starts_with('|')).count();
        assert_eq!(usize::from(chunk.payload[0]), rows, "{kind:?}");
    }
}

/// Check that the document has the version that is written, and a section for each kind of chunk by its number.
#[test]
fn document_names_version_and_chunk_kinds() {
    assert!(DOCUMENT.contains(&format!("format {VERSION}")), "the document is not of format {VERSION}");
    for kind in ChunkKind::ALL {
        let heading = format!("### {} {kind:?}", kind as u16);
        assert!(DOCUMENT.lines().any(|line| line == heading), "the document lacks {heading:?}");
    }
}
