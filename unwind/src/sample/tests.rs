use super::{SampledModules, StackSample, unwind_sample};
use crate::testing::{CODE, Function, Layout, Segment};
use crate::{CodeAddress, End, Modules, Registers, Scratch, Sections, SharedRules, SharedSlot};
use proptest::prelude::*;
use std::vec::Vec;

/// A process that has the tables of [`Segment`] mapped `bias` bytes above their own addresses.
struct Process<'a> {
    tables: &'a Segment,
    kept: &'a [SharedSlot],
    bias: u64,
}

impl Modules for Process<'_> {
    fn find(&self, address: u64) -> Option<Sections<'_>> {
        let sections = self.tables.find(address.wrapping_sub(self.bias))?;
        Some(Sections {
            segment_address: sections.segment_address + self.bias,
            hdr_address: sections.hdr_address + self.bias,
            ..sections
        })
    }

    fn is_code(&self, address: u64) -> bool {
        self.tables.is_code(address.wrapping_sub(self.bias))
    }
}

impl SampledModules for Process<'_> {
    fn kept(&self, address: u64) -> Option<(SharedRules<'_>, u64)> {
        self.is_code(address).then(|| (SharedRules::new(self.kept), self.bias))
    }
}

/// Three functions: one that just returns, one with a frame of 16 bytes, and the root.
fn tables() -> Segment {
    let functions = [
        Function { start: 0, length: 0x10, instructions: b"", signal: false },
        Function { start: 0x10, length: 0x10, instructions: b"\x0e\x18", signal: false },
        Function { start: 0x20, length: 0x10, instructions: b"\x07\x10", signal: false },
    ];
    Segment::build(&functions, Layout::Indexed)
}

const SP: u64 = 0x7fff_0000;

/// The frames of a sample at `CODE` with this stack.
fn frames(process: &Process<'_>, stack: &[u8], max_depth: usize) -> (Vec<CodeAddress>, End) {
    let registers = Registers { ip: CodeAddress::Exact(CODE + process.bias), sp: SP, bp: 0 };
    let sample = StackSample { registers, stack, max_depth };
    let mut seen = Vec::new();
    let end = unwind_sample(&sample, process, &mut Scratch::new(), |frame| seen.push(frame.code()));
    (seen, end)
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Check that samples give the frames that were written down for them, in any process that maps the module, with rules
/// kept by another process as without, and that a copy that is too short gives a beginning of them.
#[test]
fn samples_have_these_frames() {
    let tables = tables();
    let kept: Vec<SharedSlot> = (0..64).map(|_| SharedSlot::new()).collect();
    for (bias, slots) in [(0, &kept[..]), (0x7f00_0000_0000, &kept[..]), (0x1000, &[])] {
        let process = Process { tables: &tables, kept: slots, bias };
        let code = CODE + bias;
        let all =
            [CodeAddress::Exact(code), CodeAddress::Return(code + 0x18), CodeAddress::Return(code + 0x28)];
        let stack = words(&[code + 0x18, 7, 7, code + 0x28, 9]);
        for (length, limit, depth, end) in [
            (40, 100, 3, End::Root),
            (32, 100, 3, End::Root),
            (31, 100, 2, End::Truncated),
            (8, 100, 2, End::Truncated),
            (7, 100, 1, End::Truncated),
            (0, 100, 1, End::Truncated),
            (40, 2, 2, End::Truncated),
            (40, 0, 0, End::Truncated),
        ] {
            let found = frames(&process, &stack[..length], limit);
            assert_eq!(found, (all[..depth].to_vec(), end), "{length} bytes, at most {limit} frames");
        }
    }
    assert_eq!(SharedRules::new(&kept).find(CodeAddress::Exact(CODE)).map(|rule| rule.cfa_offset()), Some(8));
}

/// Check that a return address that is no code ends the walk before it, and that the address 0 is its end.
#[test]
fn walks_end_where_there_is_no_code() {
    let tables = tables();
    let process = Process { tables: &tables, kept: &[], bias: 0 };
    for (returns, end) in [(0, End::Root), (0x1000, End::Broken), (u64::MAX, End::Broken)] {
        assert_eq!(frames(&process, &words(&[returns]), 9), (Vec::from([CodeAddress::Exact(CODE)]), end));
    }
}

proptest! {
    /// Check that any stack and any registers give at most as many frames as asked for, all of them code.
    #[test]
    fn hostile_samples_are_bounded(
        stack: Vec<u8>,
        returns in prop::collection::vec(CODE..CODE + 0x40, 0..20),
        (ip, sp, bp) in (any::<u64>(), any::<u64>(), any::<u64>()),
        inside: bool,
        max_depth in 0usize..50,
    ) {
        let tables = tables();
        let process = Process { tables: &tables, kept: &[], bias: 0 };
        let stack = if inside { words(&returns) } else { stack };
        let (ip, sp) = if inside { (CODE + ip % 0x40, sp & !7) } else { (ip, sp) };
        let registers = Registers { ip: CodeAddress::Exact(ip), sp, bp };
        let mut seen = 0;
        unwind_sample(&StackSample { registers, stack: &stack, max_depth }, &process, &mut Scratch::new(), |frame| {
            seen += 1;
            assert!(process.is_code(frame.code().lookup()));
        });
        prop_assert!(seen <= max_depth);
    }
}
