//! A made-up machine that calls and returns, with a function for each way of leaving a frame.

use crate::testing::{CODE, Function, Layout, Segment, Words};
use crate::{CodeAddress, Registers};
use std::vec::Vec;

/// Its functions are at multiples of this.
pub(super) const LENGTH: u64 = 0x10;
/// The outermost function, which nobody has called.
pub(super) const OUTERMOST: u64 = 0;
/// Left by sp.
pub(super) const PLAIN: u64 = 1;
/// Left by sp; keeps a value of its own in the frame pointer.
pub(super) const SAVES: u64 = 2;
/// Left by the frame pointer.
pub(super) const BY_BP: u64 = 3;
/// Left through the frame pointer from further below: its stack was realigned, or it has arguments above.
pub(super) const REALIGNED: u64 = 4;
/// Its row is evaluated anew at each visit.
pub(super) const EVALUATED: u64 = 5;
/// Left by the frame pointer, without a table. No compiler creates the two before.
pub(super) const BARE: u64 = 8;

/// How a function uses its frame; places are relative to its CFA.
#[derive(Clone, Copy)]
struct Shape {
    /// Its table, after what all have in common: at its beginning the caller's stack pointer is the CFA.
    table: &'static [u8],
    /// From its stack pointer, not counting the room that a call asks for.
    size: u64,
    returns_at: u64,
    saves_bp_at: Option<u64>,
    /// Where it stores the CFA itself.
    cfa_at: Option<u64>,
    bp: Bp,
}

/// The contents of the frame pointer.
#[derive(Clone, Copy)]
enum Bp {
    Callers,
    Given,
    At(u64),
}

#[cfg(target_arch = "x86_64")]
const SHAPES: [Shape; 9] = {
    let plain =
        Shape { table: b"", size: 24, returns_at: 8, saves_bp_at: None, cfa_at: None, bp: Bp::Callers };
    [
        // The return address is undefined.
        Shape { table: b"\x07\x10", ..plain },
        // CFA = rsp + 24
        Shape { table: b"\x0e\x18", ..plain },
        // CFA = rsp + 32, rbp at CFA - 24
        Shape { table: b"\x0e\x20\x86\x03", size: 32, saves_bp_at: Some(24), bp: Bp::Given, ..plain },
        // CFA = rbp + 16, rbp at CFA - 16
        Shape { table: b"\x0c\x06\x10\x86\x02", size: 16, saves_bp_at: Some(16), bp: Bp::At(16), ..plain },
        // CFA = [rbp - 8], rbp at [rbp]
        Shape {
            table: b"\x0f\x03\x76\x78\x06\x10\x06\x02\x76\x00",
            size: 48,
            saves_bp_at: Some(32),
            cfa_at: Some(40),
            bp: Bp::At(32),
            ..plain
        },
        // CFA = rsp + 24, by an expression that fits no rule: breg7 16, lit8, and, breg7 24, plus
        Shape { table: b"\x0f\x07\x30\x77\x10\x1e\x77\x18\x22", ..plain },
        // CFA = rsp + 24, rbp at CFA + 8
        Shape {
            table: b"\x0e\x18\x11\x06\x7f",
            saves_bp_at: Some(8_u64.wrapping_neg()),
            bp: Bp::Given,
            ..plain
        },
        // CFA = rsp + 24, rbp at CFA - 40
        Shape { table: b"\x0e\x18\x86\x05", saves_bp_at: Some(40), bp: Bp::Given, ..plain },
        Shape { size: 16, saves_bp_at: Some(16), bp: Bp::At(16), ..plain },
    ]
};

#[cfg(target_arch = "aarch64")]
const SHAPES: [Shape; 9] = {
    let plain =
        Shape { table: b"", size: 24, returns_at: 16, saves_bp_at: None, cfa_at: None, bp: Bp::Callers };
    [
        // The return address is undefined.
        Shape { table: b"\x07\x1e", ..plain },
        // CFA = sp + 24, x30 at CFA - 16
        Shape { table: b"\x0e\x18\x9e\x02", ..plain },
        // CFA = sp + 32, x29 at CFA - 24, x30 at CFA - 16
        Shape { table: b"\x0e\x20\x9d\x03\x9e\x02", size: 32, saves_bp_at: Some(24), bp: Bp::Given, ..plain },
        // CFA = x29 + 32, x29 at CFA - 32, x30 at CFA - 24
        Shape {
            table: b"\x0c\x1d\x20\x9d\x04\x9e\x03",
            size: 32,
            returns_at: 24,
            saves_bp_at: Some(32),
            bp: Bp::At(32),
            ..plain
        },
        // CFA = x29 + 48, x29 at CFA - 48, x30 at CFA - 40
        Shape {
            table: b"\x0c\x1d\x30\x9d\x06\x9e\x05",
            size: 64,
            returns_at: 40,
            saves_bp_at: Some(48),
            bp: Bp::At(48),
            ..plain
        },
        // CFA = sp + 24, x29 at CFA - 8, x30 at CFA - 24: not adjacent, which fits no rule
        Shape { table: b"\x0e\x18\x9d\x01\x9e\x03", returns_at: 24, saves_bp_at: Some(8), ..plain },
        // CFA = sp + 24, x29 at CFA + 8, x30 at CFA + 16
        Shape {
            table: b"\x0e\x18\x11\x1d\x7f\x11\x1e\x7e",
            returns_at: 16_u64.wrapping_neg(),
            saves_bp_at: Some(8_u64.wrapping_neg()),
            bp: Bp::Given,
            ..plain
        },
        // CFA = sp + 24, x29 at CFA - 40, x30 at CFA - 32
        Shape {
            table: b"\x0e\x18\x9d\x05\x9e\x04",
            returns_at: 32,
            saves_bp_at: Some(40),
            bp: Bp::Given,
            ..plain
        },
        Shape { size: 32, saves_bp_at: Some(24), bp: Bp::At(24), ..plain },
    ]
};

/// The functions' tables.
pub(super) fn tables() -> Segment {
    let functions: Vec<Function<'_>> = (0..)
        .zip(&SHAPES[..BARE as usize])
        .map(|(number, shape)| Function {
            start: number * LENGTH as u32,
            length: LENGTH as u32,
            instructions: shape.table,
            signal: false,
        })
        .collect();
    Segment::build(&functions, Layout::Indexed)
}

/// A frame: where it executes, and its registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    function: u64,
    site: u64,
    pub(super) sp: u64,
    bp: u64,
}

impl At {
    pub(super) fn code(self) -> u64 {
        CODE + self.function * LENGTH + 1 + self.site
    }

    /// What its callee saves to return to it: signed with the stack pointer, where functions may do that.
    fn returns(self) -> u64 {
        let signature = if cfg!(target_arch = "aarch64") { (self.sp >> 3 & 0x7f) << 48 } else { 0 };
        self.code() | signature
    }
}

/// The machine: its frames, newest last, and its memory.
pub(super) struct Machine {
    pub(super) frames: Vec<At>,
    pub(super) words: Words,
}

impl Machine {
    pub(super) fn new(top: u64) -> Self {
        let outermost = At { function: OUTERMOST, site: 0, sp: top, bp: 7 };
        Self { frames: Vec::from([outermost]), words: Words::default() }
    }

    /// A machine whose outermost frame is of any function. It returns to 0, or has no table and begins a process.
    pub(super) fn beginning_in(function: u64, top: u64) -> Self {
        let Shape { size, returns_at, .. } = SHAPES[function as usize];
        let mut machine = Self::new(top + size);
        match function {
            OUTERMOST => {}
            BARE => {
                machine.frames = Vec::from([At { function, site: 0, sp: top, bp: 0 }]);
                machine.words = Words::from([(top, 1), (top + 8, top + 24), (top + 16, 0)]);
            }
            _ => {
                machine.call(1, 0, function, 0, 7);
                machine.frames.remove(0);
                machine.words.0.insert((top + size).wrapping_sub(returns_at), 0);
            }
        }
        machine
    }

    /// Leaves all frames but the oldest `keep`, lets the newest of those continue to its call number `site`, and has
    /// it call `function`, which uses `room` bytes and sets the frame pointer to `bp` if it may.
    pub(super) fn call(&mut self, keep: usize, site: u64, function: u64, room: u64, bp: u64) {
        self.frames.truncate(keep.max(1));
        let caller = self.frames.last_mut().expect("the outermost frame stays");
        caller.site = site;
        let caller = *caller;
        let (words, cfa) = (&mut self.words.0, caller.sp);
        assert_ne!(function, OUTERMOST, "that is not called");
        let shape = &SHAPES[function as usize];
        words.insert(cfa.wrapping_sub(shape.returns_at), caller.returns());
        if let Some(at) = shape.saves_bp_at {
            words.insert(cfa.wrapping_sub(at), caller.bp);
        }
        if let Some(at) = shape.cfa_at {
            words.insert(cfa - at, cfa);
        }
        let (bp, room) = match shape.bp {
            Bp::Callers => (caller.bp, 0),
            Bp::Given => (bp, 0),
            // Only functions that are not left by sp can have room that the table does not know of.
            Bp::At(at) => (cfa - at, room),
        };
        self.frames.push(At { function, site: 0, sp: cfa - shape.size - room, bp });
    }

    pub(super) fn start(&self) -> Registers {
        let newest = self.frames.last().expect("the outermost frame stays");
        Registers { ip: CodeAddress::Return(newest.code()), sp: newest.sp, bp: newest.bp }
    }
}
