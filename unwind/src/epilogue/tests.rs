use super::*;
use crate::module::Image;
use crate::{Scratch, Sections, cfi};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::vec::Vec;
use std::{fs, println, vec};

/// Where the code of the test cases and the ending functions pretend to be mapped.
const CODE: u64 = 0x40_0000;
const EXIT: u64 = CODE + 0x100;
const ABORT: u64 = CODE + 0x180;

/// The rule at an offset of some code, after a call or for an interrupted frame.
fn rule_of(code: &[u8], at: u64, is_return: bool) -> Option<Rule> {
    let mut bytes = vec![0x90; 16];
    bytes.extend(code);
    bytes.resize(0x200, 0xcc);
    let text = CodeWithoutTables {
        code: &bytes,
        address: CODE - 16,
        never_return: [EXIT, 0, ABORT, 0, 0, 0, 0, 0, 0, 0, 0],
    };
    rule(text, if is_return { CodeAddress::Return(CODE + at) } else { CodeAddress::Exact(CODE + at) })
}

fn sp(cfa: i32) -> Option<Rule> {
    Some(Rule::new(Kind::Sp, cfa, 0))
}

/// Code that is mapped alone, beginning at a page.
struct Made(Vec<u8>);

impl crate::Modules for Made {
    fn find(&self, _: u64) -> Option<Sections<'_>> {
        None
    }

    fn is_code(&self, address: u64) -> bool {
        (CODE..CODE + 4096).contains(&address)
    }

    fn code(&self, address: u64) -> Option<[u8; 16]> {
        let mut page = self.0.clone();
        page.resize(4096, 0);
        page.get(usize::try_from(address.checked_sub(CODE)?).ok()?..)?.first_chunk().copied()
    }
}

/// Check that functions made at run time which only pass a call on are understood at each of their instructions, also
/// where their page begins with them, and that nothing is made of calls in the middle of others.
#[test]
fn functions_that_pass_a_call_on_are_understood() {
    let check = |code: &[u8], interrupted: &[(u64, Option<Rule>)], returns: (u64, Option<Rule>)| {
        let made = Made(code.to_vec());
        for (at, expected) in interrupted {
            assert_eq!(
                rule_of_straight_code(CodeAddress::Exact(CODE + at), &made),
                *expected,
                "{code:x?} {at}"
            );
        }
        let (at, expected) = returns;
        assert_eq!(rule_of_straight_code(CodeAddress::Return(CODE + at), &made), expected, "{code:x?}");
    };
    // sub $8,%rsp; call *%rcx; add $8,%rsp; ret, and with endbr64 in front
    let python = b"\x48\x83\xec\x08\xff\xd1\x48\x83\xc4\x08\xc3";
    check(python, &[(0, sp(8)), (4, sp(16)), (6, sp(16)), (10, sp(8))], (6, sp(16)));
    let marked = [b"\xf3\x0f\x1e\xfa", &python[..]].concat();
    check(&marked, &[(0, sp(8)), (4, sp(8)), (8, sp(16)), (10, sp(16)), (14, sp(8))], (10, sp(16)));
    // push %rbp; mov %rsp,%rbp; call *%rcx; pop %rbp; ret
    let popped = Some(Rule::new(Kind::SpSavesBp, 16, -16));
    check(b"\x55\x48\x89\xe5\xff\xd1\x5d\xc3", &[(4, popped), (6, popped), (7, sp(8))], (6, popped));
    // Not behind a call.
    check(b"\x90\x90\x48\x83\xc4\x08\xc3", &[], (2, None));
    // A direct call on the way, which may not return; a jump; a frame that the ABI does not allow.
    check(b"\xe8\0\0\0\0\x48\x83\xc4\x08\xc3", &[(0, None)], (5, sp(16)));
    check(b"\xff\xd1\x74\x01\x90\x48\x83\xc4\x08\xc3", &[(2, None)], (2, None));
    check(b"\xff\xd1\xc3", &[(0, sp(8))], (2, None));
}

/// Check that each way in which compilers release a frame is understood, from a call on.
#[test]
fn frames_are_given_back_in_known_ways() {
    let cases: &[(&[u8], u64, Option<Rule>)] = &[
        // call rel32; add $8,%rsp; ret
        (b"\xe8\0\0\0\0\x48\x83\xc4\x08\xc3", 5, sp(16)),
        // call *%rax; pop %rbx; pop %rbp; pop %r12; ret
        (b"\xff\xd0\x5b\x5d\x41\x5c\xc3", 2, Some(Rule::new(Kind::SpSavesBp, 32, -24))),
        // The same with a large frame: add $0x198,%rsp; pop %r13; pop %r12; ret; once a multiple of 16, once not.
        (b"\xff\xd0\x48\x81\xc4\x98\x01\0\0\x41\x5d\x41\x5c\xc3", 2, sp(0x198 + 24)),
        (b"\xff\xd0\x48\x81\xc4\x90\x01\0\0\x41\x5d\x41\x5c\xc3", 2, None),
        // lea -0x10(%rbp),%rsp; pop %rbx; pop %r12; pop %rbp; ret, and leave; ret
        (b"\xff\xd0\x48\x8d\x65\xf0\x5b\x41\x5c\x5d\xc3", 2, Some(Rule::new(Kind::BpSavesBp, 16, -16))),
        (b"\xff\xd0\xc9\xc3", 2, Some(Rule::new(Kind::BpSavesBp, 16, -16))),
        // Two arguments pushed, and removed with the frame: push $1; push $1; call; add $0x18,%rsp; ret
        (b"\xff\xd0\x6a\x01\x6a\x01\xe8\0\0\0\0\x48\x83\xc4\x18\xc3", 2, sp(16)),
        // A call with a stack that the ABI does not allow: push $1; call; add $0x10,%rsp; ret
        (b"\xff\xd0\x6a\x01\xe8\0\0\0\0\x48\x83\xc4\x10\xc3", 2, None),
        // Two paths that agree: test; je +5; add $8; ret; nop; add $8; ret
        (b"\xff\xd0\x74\x05\x48\x83\xc4\x08\xc3\x48\x83\xc4\x08\xc3", 2, sp(16)),
        // and two that do not: add $8; add $0x18
        (b"\xff\xd0\x74\x05\x48\x83\xc4\x08\xc3\x48\x83\xc4\x18\xc3", 2, None),
        // A path into another function, which pushes and pops, since the call does not return
        (b"\xe8\0\0\0\0\x53\x48\x83\xec\x10\x48\x83\xc4\x10\x5b\xc3", 5, None),
        // A path that comes to a place of the first path with another stack: je +9; push $0; push $0; call; pop %rbx;
        // ret
        (b"\xff\xd0\x74\x09\x6a\0\x6a\0\xe8\0\0\0\0\x5b\xc3", 2, None),
        // The same after a call of a function that never returns
        (b"\xff\xd0\x74\x09\x6a\0\x6a\0\xe8\x73\x01\0\0\x5b\xc3", 2, sp(16)),
        // and the same after a path that returns: je +4; call; push %rbx; pop %rbx; ret; at +4: pop %rbx; ret
        (b"\xff\xd0\x74\x08\xe8\0\0\0\0\x53\x5b\xc3\x5b\xc3", 2, sp(16)),
        // and a path to a function that saves rbp for itself: pop %rbp; jmp +1; int3; push %rbp; pop %rbp; ret
        (b"\xff\xd0\x5d\xeb\x01\xcc\x55\x5d\xc3", 2, Some(Rule::new(Kind::SpSavesBp, 16, -16))),
        // A tail call: add $8,%rsp; jmp +1; int3; ret
        (b"\xff\xd0\x48\x83\xc4\x08\xeb\x01\xcc\xc3", 2, sp(16)),
        // and one through a register, or a table
        (b"\xff\xd0\x48\x83\xc4\x08\xff\xe0", 2, None),
        // A loop that never ends, and one that does: jmp self; pop %rbx; ret; jne −2
        (b"\xff\xd0\xeb\xfe", 2, None),
        (b"\xff\xd0\x75\xfe\x5b\xc3", 2, sp(16)),
        // Unknown effects: and $-16,%rsp; mov %rax,%rsp; pop %rsp; xchg; an unknown instruction
        (b"\xff\xd0\x48\x83\xe4\xf0\x5b\xc3", 2, None),
        (b"\xff\xd0\x48\x89\xc4\x5b\xc3", 2, None),
        (b"\xff\xd0\x5c\x5b\xc3", 2, None),
        (b"\xff\xd0\x48\x94\x5b\xc3", 2, None),
        (b"\xff\xd0\x06\x5b\xc3", 2, None),
        // The stack pointer is only read: mov %rsp,%rdi; lea 8(%rsp),%rsi; cmp %rsp,%rax
        (b"\xff\xd0\x48\x89\xe7\x48\x8d\x74\x24\x08\x48\x39\xe0\x5b\xc3", 2, sp(16)),
    ];
    for (code, at, expected) in cases {
        assert_eq!(rule_of(code, *at, true), *expected, "{code:02x?}");
    }
}

/// Check that a function which ends the process with another function's result is the first one, and that other
/// functions which end the process are not.
#[test]
fn beginnings_are_known_by_their_ends() {
    let exit = |code: &[u8]| {
        // A call of EXIT at the end of the code.
        let distance = EXIT.wrapping_sub(CODE + code.len() as u64 + 5) as u32;
        let mut code = code.to_vec();
        code.push(0xe8);
        code.extend(distance.to_le_bytes());
        code
    };
    for (code, at, is_first) in [
        (&b"\xff\xd3\x89\xc7"[..], 2, true), // call *%rbx; mov %eax,%edi
        (b"\xff\x13\x48\x89\xc7", 2, true),  // call *(%rbx); mov %rax,%rdi
        (b"\xff\x10\x48\x63\xf8", 2, true),  // call *(%rax); movslq %eax,%rdi
        (b"\xff\xd3\x31\xff", 2, false),     // xor %edi,%edi
        (b"\xe8\0\0\0\0\x89\xc7", 5, false), // the result of a known function
        (b"\xe8\0\0\0\0\x89\xdf\xff\xd3\x89\xc7", 5, true), // the result of an earlier call
        (b"\xe8\0\0\0\0\x89\xdf", 5, false), // call; mov %ebx,%edi, as `exit` itself ends
    ] {
        let expected = is_first.then_some(Rule::END);
        assert_eq!(rule_of(&exit(code), at, true), expected, "{code:02x?}");
    }
}

/// Check that an interrupted frame is left correctly from each of its instructions.
#[test]
fn interrupted_frames_are_left_from_anywhere() {
    // push %rbp; push %rbx; sub $0x18,%rsp; call; add $0x18,%rsp; pop %rbx; pop %rbp; ret
    let code = b"\x55\x53\x48\x83\xec\x18\xe8\0\0\0\0\x48\x83\xc4\x18\x5b\x5d\xc3";
    let saves = |cfa| Some(Rule::new(Kind::SpSavesBp, cfa, -16));
    for (at, expected) in [
        (1, saves(16)),
        (2, saves(24)),
        (6, saves(48)),
        (11, saves(48)),
        (15, saves(24)),
        (16, saves(16)),
        (17, sp(8)),
    ] {
        assert_eq!(rule_of(code, at, false), expected, "at {at}");
    }
    // A call that does not return ends a function: nop follows.
    assert_eq!(rule_of(b"\xe8\0\0\0\0\x90\x5b\xc3", 0, false), None);
}

/// A library as it would be mapped at 0.
struct Mapped {
    memory: Vec<u8>,
    image: Image,
    exported: BTreeMap<Vec<u8>, u64>,
}

impl Mapped {
    fn read(path: &str) -> Option<Self> {
        let file = fs::read(path).ok()?;
        let word = |at: usize| u64::from_le_bytes(*file[at..].first_chunk().unwrap()) as usize;
        let count = usize::from(u16::from_le_bytes([file[56], file[57]]));
        let headers = (0..count).map(|number| word(32) + number * 56);
        let mut memory = Vec::new();
        for header in headers.filter(|header| file[*header..*header + 4] == [1, 0, 0, 0]) {
            let (offset, address, length) = (word(header + 8), word(header + 16), word(header + 32));
            memory.resize(memory.len().max(address + length), 0);
            memory[address..address + length].copy_from_slice(&file[offset..offset + length]);
        }
        let copied = |from: u64, to: &mut [u8]| {
            let part = memory.get(from as usize..).and_then(|rest| rest.get(..to.len()));
            part.map(|part| to.copy_from_slice(part)).is_some()
        };
        let image = Image::parse(0, copied).ok()?;
        Some(Self { memory, image, exported: exported(&file) })
    }

    fn sections(&self) -> Sections<'_> {
        let tables = self.image.tables.as_ref().unwrap();
        let (start, end) = (tables.segment.start, (tables.segment.end as usize).min(self.memory.len()));
        Sections {
            segment: &self.memory[start as usize..end],
            segment_address: start,
            hdr_address: tables.hdr,
        }
    }

    /// The starts of functions with tables.
    fn functions(&self) -> Vec<u64> {
        let hdr = self.image.tables.as_ref().unwrap().hdr;
        let at =
            |offset: usize| i32::from_le_bytes(*self.memory[hdr as usize + offset..].first_chunk().unwrap());
        (0..at(8) as usize).map(|number| hdr.wrapping_add_signed(at(12 + number * 8).into())).collect()
    }
}

/// What a library's file exports.
fn exported(file: &[u8]) -> BTreeMap<Vec<u8>, u64> {
    const DYNSYM: u32 = 11;
    let word = |at: usize| u64::from_le_bytes(*file[at..].first_chunk().unwrap()) as usize;
    let half = |at: usize| u32::from_le_bytes(*file[at..].first_chunk().unwrap());
    let section = |number: usize| word(40) + number * 64;
    let count = usize::from(u16::from_le_bytes([file[60], file[61]]));
    let symbols = (0..count).map(section).find(|at| half(at + 4) == DYNSYM).unwrap();
    let names = word(section(half(symbols + 40) as usize) + 24);
    let (first, bytes) = (word(symbols + 24), word(symbols + 32));
    let named = (first..first + bytes).step_by(24).map(|at| {
        let name = &file[names + half(at) as usize..];
        (name.split(|byte| *byte == 0).next().unwrap().to_vec(), word(at + 8) as u64)
    });
    named.collect()
}

/// A comparison of rules from instructions with those from tables.
#[derive(Debug, Default)]
struct Compared {
    same: usize,
    unknown: Vec<CodeAddress>,
    other: Vec<(CodeAddress, Rule, Rule)>,
}

impl Compared {
    fn compare(&mut self, by_table: Rule, by_instructions: Option<Rule>, address: CodeAddress) {
        match by_instructions {
            None => self.unknown.push(address),
            Some(rule) if leads_alike(rule, by_table) => self.same += 1,
            Some(rule) => self.other.push((address, by_table, rule)),
        }
    }
}

/// Two paths to the CFA, one from rsp and one from rbp, cannot be compared without values.
fn leads_alike(one: Rule, other: Rule) -> bool {
    let (Some(a), Some(b)) = (one.ordinary(), other.ordinary()) else { return one == other };
    a.uses_bp != b.uses_bp
        || one == other
        || a.saves_bp != b.saves_bp && one.cfa_offset() == other.cfa_offset()
}

/// Check that for a library with tables, rules from instructions agree with them, after every call and at each
/// instruction. `EPILOGUES_OF` names another library.
#[test]
fn instructions_and_tables_say_the_same() {
    let path = std::env::var("EPILOGUES_OF").unwrap_or_else(|_| "/lib/x86_64-linux-gnu/libc.so.6".into());
    let Some(library) = Mapped::read(&path) else {
        println!("skipped: there is no {path}");
        return;
    };
    let code = library.image.code.as_slice()[0].clone();
    let text = CodeWithoutTables {
        code: &library.memory[code.start as usize..code.end as usize],
        address: code.start,
        never_return: CodeWithoutTables::NEVER_RETURN
            .map(|name| library.exported.get(name.to_bytes()).copied().unwrap_or(0)),
    };
    let scratch = &mut Scratch::new();
    let (mut returns, mut all) = (Compared::default(), Compared::default());
    let functions = library.functions();
    for (start, end) in functions.iter().zip(functions.iter().skip(1)) {
        let mut at = *start;
        while at < *end && code.contains(&at) {
            let by_table = cfi::rule(library.sections(), CodeAddress::Exact(at), scratch);
            let Some(instruction) = Instruction::at(&library.memory[at as usize..]) else { break };
            if by_table == Rule::NO_INFORMATION {
                break;
            }
            let behind = at + instruction.length as u64;
            // Padding is never executed.
            if by_table.ordinary().is_some() && !is_filled_up(&library.memory, at as usize) {
                let exact = CodeAddress::Exact(at);
                if at.is_multiple_of(16) {
                    all.compare(by_table, rule(text, exact), exact);
                }
                if matches!(instruction.flow, Flow::Call(_) | Flow::CallAny) {
                    let address = CodeAddress::Return(behind);
                    returns.compare(by_table, rule(text, address), address);
                }
            }
            at = behind;
        }
    }
    for (name, compared) in [("after calls", &returns), ("at instructions", &all)] {
        let Compared { same, unknown, other } = compared;
        println!("{path}, {name}: {same} alike, {} unknown, {} otherwise", unknown.len(), other.len());
        other.iter().take(12).for_each(|difference| println!("  {difference:x?}"));
    }
    // After a call all rules agree; only where a stack begins do tables lead to one more frame in the library.
    let is_wrong = |(_, _, rule): &&(CodeAddress, Rule, Rule)| *rule != Rule::END;
    assert_eq!(returns.other.iter().find(is_wrong), None);
    assert!(returns.other.len() < 8 && returns.same > 4 * returns.unknown.len() && returns.same > 1000);
    // For interrupted frames nearly all agree.
    assert!(all.other.len() * 1000 < all.same && all.same > 10 * all.unknown.len());
}

proptest! {
    /// Check that any bytes are read within their bounds and in bounded time.
    #[test]
    fn any_code_is_survived(code in proptest::collection::vec(any::<u8>(), 0..300), at in 0..400u64, is_return: bool) {
        let text = CodeWithoutTables { code: &code, address: CODE, never_return: [CODE + 9; 11] };
        let address = CODE + at;
        let _ = rule(text, if is_return { CodeAddress::Return(address) } else { CodeAddress::Exact(address) });
    }
}
