//! Functions that have nothing on the stack, recognised by their instructions: those in the vDSO have no tables here.
//!
//! ```text
//!  ip ─►  ldr   w4, [x3]
//!         cmp   w7, w4
//!         b.ne  …              either path will do
//!         autiasp              the signature is not part of the address
//!         ret                  to x30, with sp as it was at ip
//! ```
//!
//! If any path leads from an address to a return, and nothing on it changes sp or x30, then a function that executes
//! there has its return address in x30 and its caller's stack pointer in sp: a function that has saved x30 or made
//! room must load it back or release the room on every path. Instructions that are not understood are assumed to
//! change both.

/// Most instructions that are examined.
const BUDGET: usize = 2048;
/// Most of these on one path before it is given up.
const ON_ONE_WAY: usize = 256;
/// Most branches whose other path is remembered.
const WAYS: usize = 16;

/// What follows an instruction that changes neither sp nor x30.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// The next instruction.
    Behind,
    /// The instruction at this distance in bytes.
    At(i64),
    /// Either of the two.
    Either(i64),
    /// The caller.
    Return,
    /// It is unknown, or the instruction changes sp or x30.
    Unknown,
}

/// Whether a function that executes at `ip` returns to x30 and leaves sp unchanged. `read` returns the instruction at
/// an address.
pub(crate) fn returns_by_register(ip: u64, read: impl Fn(u64) -> Option<u32>) -> bool {
    let mut ways = [0; WAYS];
    let mut count = 1;
    let [first, ..] = &mut ways;
    *first = ip;
    let (mut budget, mut begun) = (BUDGET, 0_usize);
    while begun < count {
        let Some(mut at) = ways.get(begun).copied() else { break };
        begun = begun.wrapping_add(1);
        for _ in 0..ON_ONE_WAY {
            budget = budget.wrapping_sub(1);
            if budget == 0 {
                return false;
            }
            let next = read(at).map_or(Next::Unknown, next);
            let target = |distance| at.wrapping_add_signed(distance);
            let behind = target(4);
            if let Next::Either(distance) = next
                && let Some(known) = ways.get(..count)
                && !known.contains(&target(distance))
                && let Some(way) = ways.get_mut(count)
            {
                *way = at.wrapping_add_signed(distance);
                count = count.wrapping_add(1);
            }
            at = match next {
                Next::Return => return true,
                Next::Unknown => break,
                Next::Behind | Next::Either(_) => behind,
                Next::At(distance) => at.wrapping_add_signed(distance),
            };
        }
    }
    false
}

/// By the groups of the manual's encoding index, bits 25 to 28.
fn next(instruction: u32) -> Next {
    let register = |lowest: u32| instruction >> lowest & 31;
    // A distance in instructions, of this many bits.
    let distance = |lowest: u32, bits: u32| {
        let up = 64_u32.wrapping_sub(lowest).wrapping_sub(bits);
        let field = i64::from(instruction).wrapping_shl(up);
        field.wrapping_shr(64_u32.wrapping_sub(bits)).wrapping_mul(4)
    };
    let has_link = |places: &[u32]| places.iter().any(|place| register(*place) == 30);
    let sets_flags = instruction >> 29 & 1 == 1;
    match instruction >> 25 & 15 {
        // Immediates and registers: neither x30 is the result, nor sp, whose number means no register where flags are
        // set.
        0b1000 | 0b1001 | 0b0101 | 0b1101 if !has_link(&[0]) && (register(0) != 31 || sets_flags) => {
            Next::Behind
        }
        // Vectors, some with a result in a general register.
        0b0111 | 0b1111 if !has_link(&[0]) => Next::Behind,
        // Loads and stores whose base is not sp, and none of whose registers can be x30.
        0b0100 | 0b0110 | 0b1100 | 0b1110 if register(5) != 31 && !has_link(&[0, 5, 10, 16]) => Next::Behind,
        0b1010 | 0b1011 => match instruction {
            // ret, and its variants that check a signature first.
            0xd65f_03c0 | 0xd65f_0bff | 0xd65f_0fff => Next::Return,
            // svc; hints, including signing; barriers; moves between a system register and any register but x30.
            _ if instruction & 0xffe0_001f == 0xd400_0001 => Next::Behind,
            _ if instruction & 0xffff_f01f == 0xd503_201f => Next::Behind,
            _ if instruction & 0xffff_f01f == 0xd503_301f => Next::Behind,
            _ if instruction & 0xffd0_0000 == 0xd510_0000 && !has_link(&[0]) => Next::Behind,
            _ if instruction >> 26 == 0b00_0101 => Next::At(distance(0, 26)),
            // b.cond; cbz, cbnz; tbz, tbnz.
            _ if instruction & 0xff00_0010 == 0x5400_0000 => Next::Either(distance(5, 19)),
            _ if instruction & 0x7e00_0000 == 0x3400_0000 => Next::Either(distance(5, 19)),
            _ if instruction & 0x7e00_0000 == 0x3600_0000 => Next::Either(distance(5, 14)),
            _ => Next::Unknown,
        },
        _ => Next::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::{Next, next, returns_by_register};

    /// Where the test's code begins.
    const START: u64 = 0x1000;

    /// Whether a function with these instructions that executes at the given one returns to x30.
    fn returns_from(code: &[u32], place: usize) -> bool {
        returns_by_register(START + 4 * place as u64, |address| {
            let place = usize::try_from(address.checked_sub(START)? / 4).ok()?;
            code.get(place).copied()
        })
    }

    /// Check what follows each kind of instruction: one that changes sp or x30, or may do so, ends the path.
    #[test]
    fn instructions_have_these_successors() {
        for (instruction, expected) in [
            (0xd65f_03c0, Next::Return),      // ret
            (0xd65f_0bff, Next::Return),      // retaa
            (0xd65f_0020, Next::Unknown),     // ret x1
            (0xd61f_0200, Next::Unknown),     // br x16
            (0xd63f_0020, Next::Unknown),     // blr x1
            (0x9400_0004, Next::Unknown),     // bl #16
            (0xd400_0001, Next::Behind),      // svc #0
            (0xd420_0000, Next::Unknown),     // brk #0
            (0x0000_0000, Next::Unknown),     // udf #0
            (0xd503_233f, Next::Behind),      // paciasp
            (0xd503_23bf, Next::Behind),      // autiasp
            (0xd503_39bf, Next::Behind),      // dmb ishld
            (0xd503_3fdf, Next::Behind),      // isb
            (0xd53b_e042, Next::Behind),      // mrs x2, cntvct_el0
            (0xd53b_d05e, Next::Unknown),     // mrs x30, tpidr_el0
            (0x1400_0004, Next::At(16)),      // b #16
            (0x17ff_ffcf, Next::At(-196)),    // b #-196
            (0x5400_05e8, Next::Either(188)), // b.hi #188
            (0x54ff_fde1, Next::Either(-68)), // b.ne #-68
            (0x3400_0482, Next::Either(144)), // cbz w2, #144
            (0xb500_0081, Next::Either(16)),  // cbnz x1, #16
            (0x3700_0567, Next::Either(172)), // tbnz w7, #0, #172
            (0x7100_3c1f, Next::Behind),      // cmp w0, #15
            (0x721b_045f, Next::Behind),      // tst w2, #0x60
            (0x9100_43ff, Next::Unknown),     // add sp, sp, #16
            (0xd100_43ff, Next::Unknown),     // sub sp, sp, #16
            (0x927c_ec1f, Next::Unknown),     // and sp, x0, #-16
            (0x9100_03fe, Next::Unknown),     // mov x30, sp
            (0x10fe_e8c3, Next::Behind),      // adr x3
            (0x8b24_63e4, Next::Behind),      // add x4, sp, x4
            (0xcb30_63ff, Next::Unknown),     // sub sp, sp, x16
            (0x6a04_0044, Next::Behind),      // ands w4, w2, w4
            (0xaa00_03fe, Next::Unknown),     // mov x30, x0
            (0x9b05_2400, Next::Behind),      // madd x0, x0, x5, x9
            (0xf940_009f, Next::Behind),      // ldr xzr, [x4]
            (0xa940_a86b, Next::Behind),      // ldp x11, x10, [x3, #8]
            (0xa900_0026, Next::Behind),      // stp x6, x0, [x1]
            (0xa9bf_7bfd, Next::Unknown),     // stp x29, x30, [sp, #-16]!
            (0xa8c1_7bfd, Next::Unknown),     // ldp x29, x30, [sp], #16
            (0xf840_0bfe, Next::Unknown),     // ldtr x30, [sp]
            (0xf940_003e, Next::Unknown),     // ldr x30, [x1]
            (0xa940_783d, Next::Unknown),     // ldp x29, x30, [x1]
            (0x9e66_001e, Next::Unknown),     // fmov x30, d0
            (0x9e66_0001, Next::Behind),      // fmov x1, d0
            (0x4ee0_8420, Next::Behind),      // add v0.2d, v1.2d, v0.2d
            (0x0420_0000, Next::Unknown),     // of a later extension
        ] {
            assert_eq!(next(instruction), expected, "{instruction:08x}");
        }
    }

    /// Check that a return is found from within a loop, in whichever direction it leaves the loop, and that a return
    /// which only comes after a restored register or stack pointer does not count.
    #[test]
    fn leaf_functions_are_told_from_others() {
        // A loop that ends by a branch back to a return before it, and by one forward that leads back in:
        // __kernel_clock_gettime.
        let inner = [
            0xd503_23bf, // 0 autiasp
            0xd65f_03c0, // 1 ret
            0xb940_0062, // 2 ldr w2, [x3]
            0x3700_0082, // 3 tbnz w2, #0, 7
            0xb940_0067, // 4 ldr w7, [x3]
            0x54ff_ff60, // 5 b.eq 0
            0x17ff_fffc, // 6 b 2
            0xd503_203f, // 7 yield
            0x17ff_fffa, // 8 b 2
        ];
        assert!((0..inner.len()).all(|place| returns_from(&inner, place)));
        // Nothing leads out of it.
        assert!(!returns_from(&[0xd503_203f, 0x17ff_ffff], 0));
        let with_frame = [
            0xa9bf_7bfd, // 0 stp x29, x30, [sp, #-16]!
            0x9100_03fd, // 1 mov x29, sp
            0x9400_0004, // 2 bl
            0xd503_201f, // 3 nop
            0xa8c1_7bfd, // 4 ldp x29, x30, [sp], #16
            0xd65f_03c0, // 5 ret
        ];
        let found: [bool; 6] = core::array::from_fn(|place| returns_from(&with_frame, place));
        assert_eq!(found, [false, false, false, false, false, true]);
        // Where the code ends, the answer is unknown.
        assert!(!returns_from(&inner[2..5], 0));
    }
}
