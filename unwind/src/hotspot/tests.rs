use super::returns_from;
use crate::testing::{CODE, Words};
use crate::{CodeAddress, Frame, Modules, Registers, Sections};

/// An interpreter with two entries; other code is `nop`s.
struct Interpreter(&'static [u8]);

const ENTRY: u64 = CODE;
const OTHER_ENTRY: u64 = CODE + 0x200;
const METHOD: u64 = CODE + 0x1000;

impl Modules for Interpreter {
    fn find(&self, _address: u64) -> Option<Sections<'_>> {
        None
    }

    fn is_code(&self, _address: u64) -> bool {
        true
    }

    fn code(&self, address: u64) -> Option<[u8; 16]> {
        let code = if [ENTRY, OTHER_ENTRY].contains(&address) { self.0 } else { &[] };
        Some(core::array::from_fn(|i| code.get(i).copied().unwrap_or(0x90)))
    }
}

/// mov -0x10(%rbp),%rsp; movq $0,-0x10(%rbp)
const JAVA_17: &[u8] = b"\x48\x8b\x65\xf0\x48\xc7\x45\xf0\0\0\0\0";
/// mov -0x10(%rbp),%rcx; lea 0(%rbp,%rcx,8),%rsp; movq $0,-0x10(%rbp)
const JAVA_25: &[u8] = b"\x48\x8b\x4d\xf0\x48\x8d\x64\xcd\0\x48\xc7\x45\xf0\0\0\0";

/// Check that frames of the interpreter are left in both of its forms, and those of compiled methods that have left
/// its rbp as it was are not: a return address of theirs is in between.
#[test]
fn only_frames_of_the_interpreter_are_left() {
    const SP: u64 = 0x7000;
    let leaves = |entry, bp, returns, first: u64, second: u64| {
        let mut words = Words::from([(SP, first), (SP + 8, second), (SP + 16, 0x7100), (SP + 24, returns)]);
        let frame = Frame::innermost(Registers { ip: CodeAddress::Return(METHOD), sp: SP, bp });
        returns_from(&frame, returns, &mut words, &Interpreter(entry))
    };
    for entry in [JAVA_17, JAVA_25] {
        assert!(leaves(entry, SP + 16, ENTRY, 0x1234, METHOD));
        assert!(!leaves(entry, SP + 16, METHOD, 0x1234, METHOD));
        assert!(!leaves(entry, SP + 16, ENTRY, SP + 16, ENTRY));
        assert!(!leaves(entry, SP + 16, ENTRY, SP + 16, OTHER_ENTRY));
        // Left from calls that have returned.
        assert!(leaves(entry, SP + 16, ENTRY, OTHER_ENTRY, METHOD));
        assert!(leaves(entry, SP + 16, ENTRY, SP + 16, METHOD));
        // What cannot be read, or is too much to look through, may be anything.
        assert!(!leaves(entry, SP + 48, ENTRY, 0x1234, METHOD));
        assert!(!leaves(entry, SP + 8192, ENTRY, 0x1234, METHOD));
        assert!(!leaves(&entry[1..], SP + 16, ENTRY, 0x1234, METHOD));
    }
}
