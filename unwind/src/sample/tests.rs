use super::{SampledModules, StackSample, unwind_sample};
use crate::testing::{CODE, Function, Layout, Segment};
use crate::{CodeAddress, End, Modules, Registers, Scratch, Sections, SharedRules, SharedSlot, arch};
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
    fn cached_rules(&self, address: u64) -> Option<(SharedRules<'_>, u64)> {
        self.is_code(address).then(|| (SharedRules::new(self.kept), self.bias))
    }
}

/// What differs between processors: tables, and where return addresses are.
struct Machine {
    /// The table of a function with a frame of 16 bytes.
    with_frame: &'static [u8],
    /// The table of a function that nobody has called.
    root: &'static [u8],
    /// The table of a function whose CFA is relative to a register that was not copied.
    by_another_register: &'static [u8],
    /// How a walk ends there.
    ends: End,
    /// Index in the copied stack, in words, of the second function's return address; that of the first one, which
    /// just returns, is at the stack pointer or in the link register.
    returns_at: usize,
    /// How many frames so many bytes of stack lead to.
    frames: &'static [(usize, usize)],
}

#[cfg(target_arch = "x86_64")]
const MACHINE: Machine = Machine {
    with_frame: b"\x0e\x18",
    root: b"\x07\x10",
    by_another_register: b"\x0c\x03\x10",
    ends: End::NoUnwindInfo,
    returns_at: 3,
    frames: &[(40, 3), (32, 3), (31, 2), (8, 2), (7, 1), (0, 1)],
};

#[cfg(target_arch = "aarch64")]
const MACHINE: Machine = Machine {
    // x30 is in the lowest word.
    with_frame: b"\x0e\x18\x9e\x03",
    root: b"\x07\x1e",
    by_another_register: b"\x0c\x13\x10",
    ends: End::Unreadable,
    returns_at: 0,
    frames: &[(40, 3), (8, 3), (7, 2), (0, 2)],
};

/// Four functions: one that just returns, one with a frame of 16 bytes, the root, and one that cannot be left.
fn tables() -> Segment {
    tables_of(&[b"", MACHINE.with_frame, MACHINE.root, MACHINE.by_another_register])
}

/// Functions of 16 bytes, one behind the other, with these rows.
fn tables_of(instructions: &[&[u8]]) -> Segment {
    let functions: Vec<Function<'_>> = (0..)
        .zip(instructions)
        .map(|(place, instructions)| Function {
            start: place * 0x10,
            length: 0x10,
            instructions,
            signal: false,
        })
        .collect();
    Segment::build(&functions, Layout::Indexed)
}

const SP: u64 = 0x7fff_0000;

/// A copied stack, and the link register if there is one, for a function that just returns to `returns`.
fn copied(returns: u64, rest: &[u64]) -> (Vec<u8>, Option<u64>) {
    match arch::PUSHES_RETURN_ADDRESS {
        true => (words(&[&[returns], rest].concat()), None),
        false => (words(rest), Some(returns)),
    }
}

/// The frames of a sample at `CODE` with this stack.
fn frames(
    process: &Process<'_>,
    (stack, link): (&[u8], Option<u64>),
    max_depth: usize,
) -> (Vec<CodeAddress>, End) {
    frames_at(0, process, (stack, link), max_depth)
}

/// The same for a sample at an offset `place` from there.
fn frames_at(
    place: u64,
    process: &Process<'_>,
    (stack, link): (&[u8], Option<u64>),
    max_depth: usize,
) -> (Vec<CodeAddress>, End) {
    let registers = Registers { ip: CodeAddress::Exact(CODE + process.bias + place), sp: SP, bp: 0 };
    let sample = StackSample { registers, link, stack, max_depth };
    let mut seen = Vec::new();
    let end = unwind_sample(&sample, process, &mut Scratch::new(), |frame| seen.push(frame.code()));
    (seen, end)
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Check that samples have the expected frames, in any process that maps the module, with rules cached by another
/// process or without, and that a copy that is too short yields the first of them.
#[test]
fn samples_have_these_frames() {
    let tables = tables();
    let kept: Vec<SharedSlot> = (0..64).map(|_| SharedSlot::new()).collect();
    for (bias, slots) in [(0, &kept[..]), (0x7f00_0000_0000, &kept[..]), (0x1000, &[])] {
        let process = Process { tables: &tables, kept: slots, bias };
        let code = CODE + bias;
        let all =
            [CodeAddress::Exact(code), CodeAddress::Return(code + 0x18), CodeAddress::Return(code + 0x28)];
        let mut rest = [7, 7, 7, 7, 9];
        rest[MACHINE.returns_at.saturating_sub(1)] = code + 0x28;
        let (stack, link) = copied(code + 0x18, &rest);
        for &(length, depth) in MACHINE.frames {
            let end = if depth == all.len() { End::Root } else { End::Truncated };
            let found = frames(&process, (&stack[..length], link), 100);
            assert_eq!(found, (all[..depth].to_vec(), end), "{length} bytes");
        }
        for limit in [2, 0] {
            let found = frames(&process, (&stack, link), limit);
            assert_eq!(found, (all[..limit].to_vec(), End::Truncated), "at most {limit} frames");
        }
    }
    assert!(SharedRules::new(&kept).find(CodeAddress::Exact(CODE)).is_some());
}

/// A module with tables and the instructions of its first function.
#[cfg(target_arch = "x86_64")]
struct WithCode<'a> {
    process: Process<'a>,
    code: &'a [u8],
}

#[cfg(target_arch = "x86_64")]
impl Modules for WithCode<'_> {
    fn find(&self, address: u64) -> Option<Sections<'_>> {
        self.process.find(address)
    }

    fn is_code(&self, address: u64) -> bool {
        self.process.is_code(address)
    }

    fn code(&self, address: u64) -> Option<[u8; 16]> {
        let rest = self.code.get(usize::try_from(address.checked_sub(CODE)?).ok()?..)?;
        let mut bytes = [0xcc; 16];
        bytes.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        Some(bytes)
    }
}

#[cfg(target_arch = "x86_64")]
impl SampledModules for WithCode<'_> {
    fn cached_rules(&self, address: u64) -> Option<(SharedRules<'_>, u64)> {
        self.process.cached_rules(address)
    }
}

/// Check that a sample at the end of a function, where the table still says that rbp is saved in a word that was
/// popped, goes on with the register, and that a register which the function restores later is not believed.
#[cfg(target_arch = "x86_64")]
#[test]
fn popped_frame_pointers_are_in_their_register() {
    // The CFA is rsp + 8, and rbp at CFA - 16, in the second by an expression; the CFA is rbp + 16, and rbp is at
    // CFA - 16; the CFA is rsp + 8; the root.
    let tables =
        tables_of(&[b"\x86\x02", b"\x10\x06\x02\x77\x78", b"\x0c\x06\x10\x86\x02", b"", b"\x07\x10"]);
    let (by_bp, by_sp, root) = (CODE + 0x28, CODE + 0x38, CODE + 0x48);
    for (code, is_callers) in [
        (&b"\xc3"[..], true),
        (b"\xf3\xc3", true),
        (b"\xf2\xc3", true),
        (b"\xc2\x08\x00", true),
        // pop %r12; ret, and such a pop by a pop of r13, which is called as rbp without its prefix
        (b"\x41\x5c\x41\x5d\xc3", true),
        (b"\xc5\xf8\x77\xc3", true),
        // A jump to a function that saves rbp, and to one that is found by name.
        (b"\xeb\x00\x55\x48\x89\xe5", true),
        (b"\xff\x25\x00\x00\x00\x00", true),
        // mov -8(%rsp),%rbp; ret
        (b"\x48\x8b\x6c\x24\xf8\xc3", false),
        (b"\x5d\xc3", false),
        (b"\xc9\xc3", false),
        (b"\x89\xc5\xc3", false),
        (b"\xff\xe0", false),
        (b"\xeb\xfe", false),
        (b"\xe8\x00\x00\x00\x00\xc3", false),
        (b"", false),
    ] {
        for at in [0, 0x10] {
            let shifted = [&[0xcc; 0x10][..at], code].concat();
            let process =
                WithCode { process: Process { tables: &tables, kept: &[], bias: 0 }, code: &shifted };
            let frames = |returns: u64| {
                // The frame of the caller, whose rbp leads to its end.
                let stack = words(&[returns, root, 7, 9, root]);
                let ip = CodeAddress::Exact(CODE + at as u64);
                let registers = Registers { ip, sp: SP, bp: SP + 24 };
                let sample = StackSample { registers, link: None, stack: &stack, max_depth: 9 };
                let mut seen = Vec::new();
                let end = unwind_sample(&sample, &process, &mut Scratch::new(), |frame| {
                    seen.push(frame.code().address());
                });
                (seen, end)
            };
            let start = CODE + at as u64;
            let expected = match is_callers {
                true => (Vec::from([start, by_bp, root]), End::Root),
                false => (Vec::from([start, by_bp]), End::Broken),
            };
            assert_eq!(frames(by_bp), expected, "{code:x?} at {at}");
            // A caller that does not need rbp is left in any case.
            assert_eq!(frames(by_sp), (Vec::from([start, by_sp, root]), End::Root), "{code:x?} at {at}");
        }
    }
}

/// Check that a frame which needs a register that was not copied ends the walk, and does not count as continuing
/// beyond the copy.
#[test]
fn other_registers_are_unknown() {
    let tables = tables();
    let process = Process { tables: &tables, kept: &[], bias: 0 };
    let (stack, link) = copied(CODE + 0x18, &[7; 5]);
    let found = frames_at(0x30, &process, (&stack, link), 9);
    assert_eq!(found, (Vec::from([CodeAddress::Exact(CODE + 0x30)]), MACHINE.ends));
}

/// Check that the link register leads on from the innermost frame only, signed or not, and that nothing leads on from
/// a leaf function without it.
#[cfg(target_arch = "aarch64")]
#[test]
fn the_link_register_is_the_innermost_frames() {
    let tables = tables();
    let process = Process { tables: &tables, kept: &[], bias: 0 };
    let [leaf, root] = [CodeAddress::Exact(CODE), CodeAddress::Return(CODE + 0x28)];
    let calling_leaf = CodeAddress::Return(CODE + 8);
    for (link, expected) in [
        (Some(CODE + 0x28), (Vec::from([leaf, root]), End::Root)),
        (Some((CODE + 0x28) | (0x2a_u64 << 48)), (Vec::from([leaf, root]), End::Root)),
        (Some((CODE + 0x28) | (1 << 63)), (Vec::from([leaf, root]), End::Root)),
        (Some(CODE + 8), (Vec::from([leaf, calling_leaf]), End::NoUnwindInfo)),
        (None, (Vec::from([leaf]), End::NoUnwindInfo)),
    ] {
        assert_eq!(frames(&process, (&[7; 40], link), 9), expected, "{link:x?}");
    }
}

/// Check that a return address that is not code ends the walk before it, and that the address 0 is the end of the
/// stack.
#[test]
fn walks_end_where_there_is_no_code() {
    let tables = tables();
    let process = Process { tables: &tables, kept: &[], bias: 0 };
    for (returns, end) in [(0, End::Root), (0x1000, End::Broken), (u64::MAX, End::Broken)] {
        let (stack, link) = copied(returns, &[]);
        let found = frames(&process, (&stack, link), 9);
        assert_eq!(found, (Vec::from([CodeAddress::Exact(CODE)]), end));
    }
}

proptest! {
    /// Check that any stack and any registers yield at most as many frames as requested, all of them code.
    #[test]
    fn hostile_samples_are_bounded(
        stack: Vec<u8>,
        returns in prop::collection::vec(CODE..CODE + 0x40, 0..20),
        (ip, sp, bp, link) in (any::<u64>(), any::<u64>(), any::<u64>(), any::<Option<u64>>()),
        inside: bool,
        max_depth in 0usize..50,
    ) {
        let tables = tables();
        let process = Process { tables: &tables, kept: &[], bias: 0 };
        let stack = if inside { words(&returns) } else { stack };
        let (ip, sp) = if inside { (CODE + ip % 0x40, sp & !7) } else { (ip, sp) };
        let registers = Registers { ip: CodeAddress::Exact(ip), sp, bp };
        let mut seen = 0;
        unwind_sample(&StackSample { registers, link, stack: &stack, max_depth }, &process, &mut Scratch::new(), |frame| {
            seen += 1;
            assert!(process.is_code(frame.code().lookup()));
        });
        prop_assert!(seen <= max_depth);
    }
}
