use crate::arch::SignalContext;
use crate::testing::{CODE, Function, Layout, Segment, Words};
use crate::{CodeAddress, End, Frame, Kind, Registers, Rule, Scratch, cfi};
use proptest::prelude::*;

/// The expression that linkers create for `.plt`.
const PLT: [u8; 13] = [0x0f, 0x0b, 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22];

/// Check that each form of row becomes the equivalent rule, and only then.
#[test]
fn rows_become_rules() {
    let rule = |kind, cfa, bp| Rule::new(kind, cfa, bp);
    for (name, instructions, expected) in [
        ("entry", &b""[..], rule(Kind::Sp, 8, 0)),
        ("after push rbp", b"\x0e\x10\x86\x02", rule(Kind::SpSavesBp, 16, -16)),
        ("frame pointer", b"\x0e\x10\x86\x02\x0d\x06", rule(Kind::BpSavesBp, 16, -16)),
        ("rbp not saved", b"\x0c\x06\x10", rule(Kind::Bp, 16, 0)),
        ("rbp undefined", b"\x07\x06", rule(Kind::Sp, 8, 0)),
        ("rbp saved at rsp + 24", b"\x0e\x30\x10\x06\x02\x77\x18", rule(Kind::SpSavesBp, 48, -24)),
        ("DRAP", b"\x10\x06\x02\x76\x00\x0f\x03\x76\x78\x06", rule(Kind::Deref, -8, 0)),
        ("CFA by expression", b"\x0f\x02\x77\x28", rule(Kind::Sp, 40, 0)),
        ("largest offset", b"\x0e\xf8\xff\xff\xff\x07", rule(Kind::Sp, 0x7fff_fff8, 0)),
        ("no return address", b"\x07\x10", Rule::END),
        ("return address unchanged", b"\x08\x10", Rule::NO_INFORMATION),
        ("offset beyond 32 bits", b"\x0e\x80\x80\x80\x80\x08", Rule::SLOW),
        ("odd offset", b"\x0e\x0c", Rule::SLOW),
        ("rbp far away", b"\x86\x90\x4e", Rule::SLOW),
        ("rbp at an odd place", b"\x10\x06\x02\x77\x04", Rule::SLOW),
        ("CFA from r10", b"\x0c\x0a\x00", Rule::SLOW),
        ("rbp in rbx", b"\x09\x06\x03", Rule::SLOW),
        ("rbp is a value", b"\x14\x06\x02", Rule::SLOW),
        ("DRAP without rbp", b"\x0f\x03\x76\x78\x06", Rule::SLOW),
        ("return address elsewhere", b"\x90\x03", Rule::SLOW),
        ("twice dereferenced", b"\x0f\x04\x76\x78\x06\x06", Rule::SLOW),
    ] {
        let segment = Segment::of(instructions);
        let found = cfi::rule(segment.sections(), CodeAddress::Exact(CODE), &mut Scratch::new());
        assert_eq!(found, expected, "{name}");
    }
}

/// Check that the expression of a PLT stub becomes the constant that it has at the given address.
#[test]
fn linkage_stubs_fold_to_a_constant() {
    let segment = Segment::of(&PLT);
    for offset in 0..64 {
        let expected = Rule::new(Kind::Sp, if offset % 16 >= 11 { 16 } else { 8 }, 0);
        let address = CodeAddress::Exact(CODE + offset);
        assert_eq!(cfi::rule(segment.sections(), address, &mut Scratch::new()), expected, "offset {offset}");
    }
}

/// Check that the kernel's signal frame is recognised, and any other is evaluated.
#[test]
fn signal_frames_are_known() {
    let kernel = b"\x0f\x04\x77\xa0\x01\x06\x10\x10\x03\x77\xa8\x01\x10\x06\x03\x77\xf8\x00";
    let other = b"\x0f\x04\x77\xa8\x01\x06\x10\x10\x03\x77\xb0\x01\x10\x06\x03\x77\xf8\x00";
    for (instructions, expected) in [(kernel, Rule::SIGNAL), (other, Rule::SLOW)] {
        let function = Function { start: 0, length: 16, instructions, signal: true };
        let segment = Segment::build(&[function], Layout::Indexed);
        let found = cfi::rule(segment.sections(), CodeAddress::Return(CODE + 1), &mut Scratch::new());
        assert_eq!(found, expected);
    }
}

const START: Registers = Registers { ip: CodeAddress::Exact(CODE), sp: 0x1000, bp: 0x1100 };

/// Leaves `frame` by the row of these instructions.
fn step(instructions: &[u8], signal: bool, frame: Frame, memory: &mut Words) -> Result<Frame, End> {
    let function = Function { start: 0, length: 16, instructions, signal };
    let segment = Segment::build(&[function], Layout::Indexed);
    let mut scratch = Scratch::new();
    let row = cfi::row(segment.sections(), CODE, &mut scratch).expect("the function has a table");
    row.step(&frame, memory)
}

/// Check that rows without a rule are left as they say: by values, by expressions, by other columns.
#[test]
fn slow_rows_are_evaluated() {
    let caller = |address, sp, bp| Frame::caller(address, sp, bp);
    let frame = Frame::innermost(START);
    for (name, instructions, words, expected) in [
        // The return address at CFA − 24.
        ("elsewhere", &b"\x0e\x40\x90\x03"[..], &[(0x1028, 7)][..], caller(7, 0x1040, 0x1100)),
        // rbp = CFA − 16.
        ("rbp is a value", b"\x14\x06\x02", &[(0x1000, 7)], caller(7, 0x1008, 0xff8)),
        // CFA = **(rbp − 8).
        (
            "two words",
            b"\x0f\x04\x76\x78\x06\x06",
            &[(0x10f8, 0x2000), (0x2000, 0x3000), (0x2ff8, 7)],
            caller(7, 0x3000, 0x1100),
        ),
        // The return address is the result of the expression: rsp + 0x300; the CFA below it on the stack is not used.
        ("computed", b"\x16\x10\x03\x77\x80\x06", &[], caller(0x1300, 0x1008, 0x1100)),
        ("no return address", b"\x0c\x07\x10\x07\x10", &[], Err(End::Root)),
        ("return address 0", b"\x90\x01", &[(0x1000, 0)], Err(End::Root)),
        ("return address of the kernel", b"\x90\x01", &[(0x1000, 1 << 63)], Err(End::Broken)),
        ("not above", b"\x0c\x07\x00", &[(0xff8, 7)], Err(End::Broken)),
        ("odd", b"\x0c\x07\x0c", &[(0x1008, 7)], Err(End::Broken)),
        ("unreadable return address", b"\x0e\x40", &[], Err(End::Unreadable)),
        ("unreadable CFA", b"\x0f\x03\x76\x78\x06", &[], Err(End::Unreadable)),
        ("unknown register", b"\x0c\x0a\x00", &[], Err(End::NoUnwindInfo)),
    ] {
        let mut memory = Words(words.iter().copied().collect());
        assert_eq!(step(instructions, false, frame, &mut memory), expected, "{name}");
    }
}

/// Check that an interrupted frame's other registers come from its signal context, here r10 in a prologue.
#[test]
fn interrupted_frames_have_all_registers() {
    let context = SignalContext::at(0x800);
    let frame = Frame::interrupted(CODE, START.sp, START.bp, context).expect("a frame");
    let mut memory = Words::from([(0x800 + 56, 0x1020), (0x1018, 7)]);
    assert_eq!(step(b"\x0c\x0a\x00", false, frame, &mut memory), Frame::caller(7, 0x1020, 0x1100));
    // xmm0 is not among them.
    assert_eq!(step(b"\x0c\x11\x00", false, frame, &mut memory), Err(End::NoUnwindInfo));
}

/// Check that a signal frame with another layout leads to an exact address, also on another stack.
#[test]
fn other_signal_frames_are_evaluated() {
    let instructions = b"\x0f\x04\x77\xa8\x01\x06\x10\x10\x03\x77\xb0\x01";
    let mut memory = Words::from([(0x1000 + 168, 0x500), (0x1000 + 176, 7)]);
    let stepped = step(instructions, true, Frame::innermost(START), &mut memory);
    assert_eq!(stepped, Frame::interrupted(7, 0x500, START.bp, None));
}

proptest! {
    /// Check that a rule, if there is one, leaves a frame exactly as the row itself does.
    #[test]
    fn rules_agree_with_their_rows(
        cfa in 1..40u8,
        from_bp: bool,
        saves_bp: bool,
        slot in 1..40u8,
        sp in (0x1000..0x2000u64).prop_map(|word| word * 8),
        bp in (0x1000..0x2000u64).prop_map(|word| word * 8),
    ) {
        let mut instructions = std::vec![0x0c, if from_bp { 6 } else { 7 }, cfa * 3];
        if saves_bp {
            instructions.extend([0x86, slot]);
        }
        let segment = Segment::of(&instructions);
        // All words of this memory are different.
        let mut memory = Words((0x0..0x4000u64).map(|word| (word * 8, word * 8 + 0x10_0000)).collect());
        let frame = Frame::innermost(Registers { ip: CodeAddress::Exact(CODE), sp, bp });
        let by_row = step(&instructions, false, frame, &mut memory);
        let (mut table, mut scratch) = (std::boxed::Box::new(crate::RuleTable::new()), Scratch::new());
        let mut rules =
            crate::CachedRules::new(&mut table, crate::SharedRules::new(&[]), &segment, &mut scratch);
        let (rule, _) = crate::Rules::rule(&mut rules, frame.code()).expect("code");
        prop_assert_eq!(crate::step(rule, frame, &mut memory, &mut rules), by_row, "{:?}", rule);
    }
}
