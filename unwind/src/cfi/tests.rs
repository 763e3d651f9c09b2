use super::{Scratch, rule};
use crate::testing::{CODE, Function, Layout, Segment};
use crate::{CodeAddress, Kind, Rule};
use proptest::prelude::*;
use std::vec::Vec;

/// The rule at an offset of the code.
fn rule_at(segment: &Segment, offset: u64) -> Rule {
    rule(segment.sections(), CodeAddress::Exact(CODE + offset), &mut Scratch::new())
}

fn sp(offset: i32) -> Rule {
    Rule::new(Kind::Sp, offset, 0)
}

/// Three functions with gaps between them; the CFA of each is 16 times its number above rsp.
fn three(layout: Layout) -> Segment {
    let instructions = [[0x0e, 16], [0x0e, 32], [0x0e, 48]];
    let starts = [0x100, 0x200, 0x300];
    let functions: Vec<_> = starts
        .into_iter()
        .zip(&instructions)
        .map(|(start, instructions)| Function { start, length: 0x80, instructions, signal: false })
        .collect();
    Segment::build(&functions, layout)
}

/// Check that an address is found in its function, from the first to the last byte, in every layout of the sections.
#[test]
fn functions_are_found_in_every_layout() {
    for layout in [Layout::Indexed, Layout::NoIndex, Layout::FrameFirst] {
        let segment = three(layout);
        for (offset, expected) in [
            (0x0ff, Rule::NO_INFORMATION),
            (0x100, sp(16)),
            (0x17f, sp(16)),
            (0x180, Rule::NO_INFORMATION),
            (0x1ff, Rule::NO_INFORMATION),
            (0x200, sp(32)),
            (0x27f, sp(32)),
            (0x300, sp(48)),
            (0x37f, sp(48)),
            (0x380, Rule::NO_INFORMATION),
        ] {
            assert_eq!(rule_at(&segment, offset), expected, "{layout:?}, offset {offset:#x}");
        }
    }
}

/// Check that each row of a function applies from its own address on.
#[test]
fn rows_begin_where_they_are_advanced_to() {
    let segment = Segment::of(&[0x41, 0x0e, 16, 0x43, 0x0e, 64]); // advance 1, CFA+16, advance 3, CFA+64
    for (offset, expected) in [(0, sp(8)), (1, sp(16)), (3, sp(16)), (4, sp(64)), (255, sp(64))] {
        assert_eq!(rule_at(&segment, offset), expected, "offset {offset}");
    }
}

/// Check that a function's rows do not reach beyond its end, wherever its instructions advance to.
#[test]
fn rows_end_with_their_function() {
    let function =
        Function { start: 0, length: 16, instructions: &[0x0e, 16, 0x02, 100, 0x0e, 32], signal: false };
    let segment = Segment::build(&[function], Layout::Indexed);
    assert_eq!(rule_at(&segment, 15), sp(16));
    assert_eq!(rule_at(&segment, 16), Rule::NO_INFORMATION);
}

/// Check that a return address after the last byte of a function, behind a call that does not return, still belongs
/// to that function.
#[test]
fn return_addresses_at_the_end_belong_to_the_caller() {
    let segment = three(Layout::Indexed);
    let end = CODE + 0x180;
    let scratch = &mut Scratch::new();
    assert_eq!(rule(segment.sections(), CodeAddress::Return(end), scratch), sp(16));
    assert_eq!(rule(segment.sections(), CodeAddress::Exact(end), scratch), Rule::NO_INFORMATION);
}

/// Check that tables we do not understand give no rule.
#[test]
fn odd_tables_give_no_rule() {
    let mut version = three(Layout::Indexed);
    version.bytes[16] = 2;
    let mut count = three(Layout::Indexed);
    count.bytes[16 + 8..][..4].copy_from_slice(&u32::MAX.to_le_bytes());
    let mut outside = three(Layout::Indexed);
    outside.hdr += 0x10_0000;
    let mut before = three(Layout::Indexed);
    before.hdr = 0;
    for (name, segment) in [("version", version), ("outside", outside), ("before", before)] {
        assert_eq!(rule_at(&segment, 0x100), Rule::NO_INFORMATION, "{name}");
    }
    // A table that claims to be longer than its segment is not used, but the entries can still be found one by one.
    assert_eq!(rule_at(&count, 0x100), sp(16));
    // Five nested remember_state: more than any compiler nests, and more than there is room for.
    assert_eq!(rule_at(&Segment::of(&[0x0a; 5]), 0), Rule::NO_INFORMATION);
    // An instruction that does not exist.
    assert_eq!(rule_at(&Segment::of(&[0x3f]), 0), Rule::NO_INFORMATION);
}

/// Check that working memory can be used again after a table that failed.
#[test]
fn working_memory_survives_failures() {
    let (good, bad) = (three(Layout::Indexed), Segment::of(&[0x0a; 5]));
    let mut scratch = Scratch::new();
    for _ in 0..3 {
        let address = CodeAddress::Exact(CODE + 0x200);
        assert_eq!(rule(bad.sections(), CodeAddress::Exact(CODE), &mut scratch), Rule::NO_INFORMATION);
        assert_eq!(rule(good.sections(), address, &mut scratch), sp(32));
    }
}

proptest! {
    /// Check that no segment of random bytes makes a look-up panic or read outside of it.
    #[test]
    fn random_segments_are_survived(bytes: Vec<u8>, hdr in 0..300u64, offset in 0..0x400u64, index: bool) {
        let mut segment = three(if index { Layout::Indexed } else { Layout::NoIndex });
        let hdr = hdr.min(segment.bytes.len() as u64) as usize;
        let end = (hdr + bytes.len()).min(segment.bytes.len());
        segment.bytes[hdr..end].copy_from_slice(&bytes[..end - hdr]);
        rule_at(&segment, offset);
        segment.bytes = bytes;
        segment.hdr = crate::testing::SEGMENT;
        rule_at(&segment, offset);
    }

    /// Check that tables with a few damaged bytes, or cut short, make no look-up panic.
    #[test]
    fn damaged_tables_are_survived(
        damage in prop::collection::vec((0..400usize, any::<u8>()), 1..6),
        keep in 0..400usize,
        offset in 0..0x400u64,
        frame_first: bool,
    ) {
        let mut segment = three(if frame_first { Layout::FrameFirst } else { Layout::Indexed });
        for (at, value) in damage {
            if let Some(byte) = segment.bytes.get_mut(at) {
                *byte = value;
            }
        }
        segment.bytes.truncate(keep);
        rule_at(&segment, offset);
    }

    /// Check that random instructions make no evaluation panic, and give only rules of known kinds.
    #[test]
    fn random_instructions_are_survived(instructions in prop::collection::vec(any::<u8>(), 0..64), offset in 0..256u64) {
        let rule = rule_at(&Segment::of(&instructions), offset);
        prop_assert!(rule.kind().is_some());
    }
}
