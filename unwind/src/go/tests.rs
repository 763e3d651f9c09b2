use super::{Frame, rule, step, to_goroutine};
use crate::testing::{CODE, Segment, Words};
use crate::{CodeAddress, End, Kind, Modules, Registers, Rule, Sections};

/// Code without tables: these bytes are at [`CODE`], and before it `nop`s.
struct Go<'c>(&'c [u8]);

impl Modules for Go<'_> {
    fn find(&self, _address: u64) -> Option<Sections<'_>> {
        None
    }

    fn is_code(&self, address: u64) -> bool {
        Segment::of(b"").is_code(address)
    }

    fn code(&self, address: u64) -> Option<[u8; 16]> {
        let byte = |address: u64| match address.checked_sub(CODE) {
            Some(offset) => self.0.get(offset as usize).copied().unwrap_or(0xcc),
            None => 0x90,
        };
        Some(core::array::from_fn(|i| byte(address + i as u64)))
    }
}

/// Go 1.19 comes back to a goroutine's stack: mov 0x30(%rsp),%rdi; mov 8(%rdi),%rsi; sub 0x28(%rsp),%rsi;
/// mov %rdi,%fs:-8; mov %rsi,%rsp; mov %eax,0x18(%rsp); ret
const BACK: &[u8] =
    b"\x48\x8b\x7c\x24\x30\x48\x8b\x77\x08\x48\x2b\x74\x24\x28\x64\x48\x89\x3c\x25\xf8\xff\xff\xff\
    \x48\x89\xf4\x89\x44\x24\x18\xc3";
/// The same in position-independent code, saved as by Go 1.21: mov …(%rip),%rcx; mov 8(%rsp),%rdi; mov 8(%rdi),%rsi;
/// sub (%rsp),%rsi; mov %rdi,%fs:(%rcx); …
const BACK_ANYWHERE: &[u8] = b"\x48\x8b\x0d\0\0\x10\0\x48\x8b\x7c\x24\x08\x48\x8b\x77\x08\x48\x2b\x34\x24\
    \x64\x48\x89\x39\x48\x89\xf4\x89\x44\x24\x18\xc3";
/// On the same stack: mov 0x28(%rsp),%rsi; mov %rsi,%rsp; mov %eax,0x18(%rsp); ret
const SAME: &[u8] = b"\x48\x8b\x74\x24\x28\x48\x89\xf4\x89\x44\x24\x18\xc3";
const SAME_OF_1_21: &[u8] = b"\x48\x8b\x34\x24\x48\x89\xf4\x89\x44\x24\x18\xc3";
/// lea 0x28(%rsp),%rax; sub %rsp,%rax; mov %fs:-8,%rsi; mov %rsp,%rdi; add %rax,%rdi; mov -8(%rdi),%rbx
const CALLBACK: &[u8] =
    b"\x48\x8d\x44\x24\x28\x48\x29\xe0\x64\x48\x8b\x34\x25\xf8\xff\xff\xff\x48\x89\xe7\x48\x01\xc7\
    \x48\x8b\x5f\xf8";
/// call goexit1; nop
const EXIT: &[u8] = b"\xe8\xba\x24\0\0\x90";

/// Check that these functions are recognised after their calls, each with every form in which Go is compiled, and
/// code that differs in one byte is not.
#[test]
fn functions_that_change_stacks_are_recognised() {
    let callback = Rule::new(Kind::BpSavesBp, 16, -16);
    for (code, expected) in [
        (BACK, Rule::new(Kind::Goroutine, 0x30, 0x28)),
        (BACK_ANYWHERE, Rule::new(Kind::Goroutine, 8, 0)),
        (SAME, Rule::SLOW),
        (SAME_OF_1_21, Rule::SLOW),
        (CALLBACK, callback),
        (EXIT, Rule::END),
    ] {
        assert_eq!(rule(CodeAddress::Return(CODE), &Go(code)), Some(expected), "{code:02x?}");
        assert_eq!(rule(CodeAddress::Exact(CODE), &Go(code)), None, "{code:02x?}");
    }
    // An instruction's opcode, and what the result and the last one say about the frame.
    for (code, changed) in
        [(BACK, 6), (BACK, 28), (BACK, 30), (SAME, 6), (CALLBACK, 7), (CALLBACK, 21), (EXIT, 5)]
    {
        let mut other = code.to_vec();
        other[changed] ^= 0x20;
        assert_eq!(rule(CodeAddress::Return(CODE), &Go(&other)), None, "{other:02x?}");
    }
}

/// Check that a walk goes on where the runtime does, and says that it knows no more where it cannot read the stack of
/// the goroutine; a frame pointer that leads to where that stack was before it was moved is not used.
#[test]
fn stacks_go_on_on_the_other_stack() {
    const SP: u64 = 0x7000;
    let leave = |code: &[u8], bp: u64, words: &mut Words| {
        let ip = CodeAddress::Return(CODE);
        let frame = Frame::innermost(Registers { ip, sp: SP, bp });
        match rule(ip, &Go(code)) {
            Some(Rule::SLOW) => step(&frame, words, &Go(code)),
            rule => to_goroutine(rule.expect("known"), &frame, words),
        }
    };
    // The g is at 0x9000, its stack ends at 0x4000, and 0x40 bytes of it were in use.
    let goroutine = |g: u64, distance: u64| {
        Words::from([(SP + g, 0x9000), (0x9008, 0x4000), (SP + distance, 0x40), (0x3fc0, CODE + 7)])
    };
    let on = |sp, bp| Frame::caller(CODE + 7, sp, bp);
    for (code, g, distance) in [(BACK, 0x30, 0x28), (BACK_ANYWHERE, 8, 0)] {
        assert_eq!(leave(code, 0x3fe0, &mut goroutine(g, distance)), on(0x3fc8, 0x3fe0));
        for moved in [0x3fb8, 0x4000, 0x7080] {
            assert_eq!(leave(code, moved, &mut goroutine(g, distance)), on(0x3fc8, 0));
        }
        let mut copied = goroutine(g, distance);
        copied.0.remove(&0x3fc0);
        assert_eq!(leave(code, 0x3fe0, &mut copied), Err(End::NoUnwindInfo));
    }
    for (code, saved) in [(SAME, 0x28), (SAME_OF_1_21, 0)] {
        let mut words = Words::from([(SP + saved, 0x7100), (0x7100, CODE + 7)]);
        assert_eq!(leave(code, 0x7200, &mut words), on(0x7108, 0x7200));
    }
}
