//! The main function of a program without symbols.
//!
//! The entry of a program, which crt1.o brings, passes its address to the C library. That is read from the entry's
//! instructions, so it does not depend on which functions the library calls before main (constructors) or beside it:
//!
//! ```text
//! glibc   _start:    …; lea main(%rip),%rdi │ mov main@GOTPCREL(%rip),%rdi │ mov $main,%rdi; call __libc_start_main
//! musl    _start:    …; mov %rsp,%rdi; call _start_c
//!         _start_c:  …; lea main(%rip),%rdi; jmp __libc_start_main
//! ARM     _start:    …; adrp x0, main; add x0, x0, main │ ldr x0, [x0, main@got]; bl __libc_start_main
//! ```
//!
//! Only the instructions of these are known; any other ends the search.

use crate::elf::Elf;
use crate::elf::Target;

/// Most instructions that are read.
const MOST_INSTRUCTIONS: usize = 48;

/// The C library's function that calls main; newer ones have a version behind the name.
const STARTS: &[u8] = b"__libc_start_main";

/// The first argument of a call, as far as the entry's instructions tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Argument {
    Unknown,
    /// The stack pointer at the entry.
    Stack,
    /// An address of the file.
    Address(u64),
}

/// Where a call leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Callee {
    /// To an address.
    Direct(u64),
    /// To where the word at an address leads.
    Slot(u64),
    Unknown,
}

/// What an instruction does to the first argument.
enum Effect {
    Nothing,
    Sets(Argument),
    /// Loads it from the word at an address.
    Loads(u64),
    Calls(Callee),
}

/// The address that the entry of a program passes to the C library as its main function; none where it does not, or in
/// other ways.
// Cost: once for a module, some microseconds and a search in its relocations.
pub(crate) fn main_function(binary: &Elf<'_>) -> Option<u64> {
    let mut at = binary.program_entry()?;
    let mut argument = Argument::Unknown;
    for _ in 0..MOST_INSTRUCTIONS {
        let code = binary.bytes_at(at)?;
        let (effect, length) = if binary.is_x86_64() {
            x86_64(code, at)?
        } else if binary.is_aarch64() {
            aarch64(code.first_chunk()?, at, argument)?
        } else {
            return None;
        };
        at = at.checked_add(length)?;
        match (effect, argument) {
            (Effect::Nothing, _) => {}
            (Effect::Sets(value), _) => argument = value,
            (Effect::Loads(slot), _) => argument = loaded(binary, slot),
            (Effect::Calls(Callee::Direct(target)), Argument::Stack) => at = target,
            (Effect::Calls(callee), Argument::Address(main)) => {
                return starts_programs(binary, callee).then(|| behind_jump(binary, main));
            }
            (Effect::Calls(_), _) => return None,
        }
    }
    None
}

/// The value of a word once the program runs.
fn loaded(binary: &Elf<'_>, slot: u64) -> Argument {
    let stored = || binary.word(binary.bytes_at(slot)?.get(..8)?).filter(|value| *value != 0);
    match binary.dynamic().relocation(binary, slot) {
        Some(Target::Address(address)) => Argument::Address(address),
        Some(Target::Symbol(_)) => Argument::Unknown,
        None => stored().map_or(Argument::Unknown, Argument::Address),
    }
}

/// Whether a callee may be the C library's function: one that is found by name is, by its name.
fn starts_programs(binary: &Elf<'_>, callee: Callee) -> bool {
    let slot = match callee {
        Callee::Direct(target) => stub_slot(binary, target),
        Callee::Slot(slot) => Some(slot),
        Callee::Unknown => None,
    };
    match slot.and_then(|slot| binary.dynamic().relocation(binary, slot)) {
        Some(Target::Symbol(name)) => name.starts_with(STARTS),
        _ => true,
    }
}

/// The word that a PLT stub of x86-64 jumps through.
fn stub_slot(binary: &Elf<'_>, address: u64) -> Option<u64> {
    let code = binary.bytes_at(address).filter(|_| binary.is_x86_64())?;
    let (marked, code) = match code.strip_prefix(b"\xf3\x0f\x1e\xfa") {
        Some(rest) => (4, rest),
        None => (0, code),
    };
    let (effect, _) = x86_64(code, address.checked_add(marked)?)?;
    if let Effect::Calls(Callee::Slot(slot)) = effect { Some(slot) } else { None }
}

/// On 64-bit ARM, crt1.o may pass a function that only jumps to main, so that main may be far away.
fn behind_jump(binary: &Elf<'_>, main: u64) -> u64 {
    let target = || {
        let code = binary.bytes_at(main).filter(|_| binary.is_aarch64())?;
        let (words, _) = code.as_chunks::<4>();
        let (first, second) = (words.first()?, words.get(1)?);
        let jump = |word: &[u8; 4], at| match aarch64(word, at, Argument::Unknown) {
            Some((Effect::Calls(Callee::Direct(target)), _)) if word[3] & 0xfc == 0x14 => Some(target),
            _ => None,
        };
        let is_filler = matches!(u32::from_le_bytes(*first), NOP | BTI_C);
        jump(first, main).or_else(|| jump(second, main.checked_add(4)?).filter(|_| is_filler))
    };
    target().unwrap_or(main)
}

const RDI: u8 = 7;
const RSP: u8 = 4;

/// The instruction of x86-64 at an address, and its length; none if it is none that entries consist of.
fn x86_64(code: &[u8], at: u64) -> Option<(Effect, u64)> {
    if code.starts_with(b"\xf3\x0f\x1e\xfa") {
        return Some((Effect::Nothing, 4));
    }
    // For branches: no tracking, bounds, and padding by the linker.
    let prefix = code.iter().take(2).take_while(|byte| matches!(byte, 0x67 | 0xf2 | 0x3e)).count();
    let rex = code.get(prefix).copied().filter(|byte| byte & 0xf0 == 0x40).unwrap_or(0);
    let opcode_at = prefix + usize::from(rex != 0);
    let rest = code.get(opcode_at..)?;
    let (&opcode, operands) = rest.split_first()?;
    let number = |bytes: &[u8]| Some(i64::from(i32::from_le_bytes(*bytes.first_chunk()?)));
    let end = |operand_bytes: usize| (opcode_at + 1 + operand_bytes) as u64;
    let relative = |from_end: u64, distance: i64| at.checked_add(from_end)?.checked_add_signed(distance);
    match opcode {
        0x90 => return Some((Effect::Nothing, end(0))),
        // push, pop
        0x50..=0x5f => {
            let sets = opcode == 0x58 + RDI && rex & 1 == 0;
            let effect = if sets { Effect::Sets(Argument::Unknown) } else { Effect::Nothing };
            return Some((effect, end(0)));
        }
        // mov $number,%edi
        0xb8..=0xbf if rex & 8 == 0 => {
            let value = Argument::Address(u64::from(number(operands)? as u32));
            let sets = opcode == 0xb8 + RDI && rex & 1 == 0;
            return Some((if sets { Effect::Sets(value) } else { Effect::Nothing }, end(4)));
        }
        0xe8 | 0xe9 => {
            let target = relative(end(4), number(operands)?)?;
            return Some((Effect::Calls(Callee::Direct(target)), end(4)));
        }
        _ => {}
    }
    let modrm = *operands.first()?;
    let (mode, register, operand) = (modrm >> 6, modrm >> 3 & 7, modrm & 7);
    let is_relative = mode == 0 && operand == 5;
    let operand_bytes = 1
        + usize::from(mode != 3 && operand == RSP)
        + match mode {
            0 if is_relative => 4,
            1 => 1,
            2 => 4,
            _ => 0,
        };
    let place = |immediate: usize| {
        let distance = number(operands.get(1..)?)?;
        relative(end(operand_bytes + immediate), distance).filter(|_| is_relative)
    };
    let to_register = register == RDI && rex & 4 == 0;
    let to_operand = mode == 3 && operand == RDI && rex & 1 == 0;
    let (effect, immediate) = match opcode {
        // lea
        0x8d if to_register => (Effect::Sets(place(0).map_or(Argument::Unknown, Argument::Address)), 0),
        0x8b if to_register => (place(0).map_or(Effect::Sets(Argument::Unknown), Effect::Loads), 0),
        0x89 if to_operand => {
            let is_stack = register == RSP && rex & 4 == 0;
            (Effect::Sets(if is_stack { Argument::Stack } else { Argument::Unknown }), 0)
        }
        0xc7 if to_operand => {
            let value = number(operands.get(operand_bytes..)?)?.cast_unsigned();
            (Effect::Sets(Argument::Address(value)), 4)
        }
        0xc7 => (Effect::Nothing, 4),
        0x31 | 0x33 | 0x83 if to_operand || opcode == 0x33 && to_register => {
            (Effect::Sets(Argument::Unknown), usize::from(opcode == 0x83))
        }
        0x83 => (Effect::Nothing, 1),
        0x31 | 0x33 | 0x63 | 0x85 | 0x89 | 0x8b | 0x8d => (Effect::Nothing, 0),
        // call, jmp
        0xff if register == 2 || register == 4 => {
            (Effect::Calls(place(0).map_or(Callee::Unknown, Callee::Slot)), 0)
        }
        _ => return None,
    };
    Some((effect, end(operand_bytes + immediate)))
}

const NOP: u32 = 0xd503_201f;
const BTI_C: u32 = 0xd503_245f;

/// The instruction of 64-bit ARM at an address, and its length.
fn aarch64(code: &[u8; 4], at: u64, argument: Argument) -> Option<(Effect, u64)> {
    let word = u32::from_le_bytes(*code);
    // The bits of a signed number, shifted to the top first.
    let signed = |bits: u32, count: u32| i64::from((bits << (32 - count)).cast_signed() >> (32 - count));
    let page = |argument: Argument, distance: u64| match argument {
        Argument::Address(page) => Some(page.wrapping_add(distance)),
        _ => None,
    };
    let address_bits = (word >> 5 & 0x7_ffff) << 2 | word >> 29 & 3;
    let to_first = word & 31 == 0;
    let from_first = word >> 5 & 31 == 0;
    let twelve = u64::from(word >> 10 & 0xfff);
    let address = |value: Option<u64>| Effect::Sets(value.map_or(Argument::Unknown, Argument::Address));
    let effect = match word {
        // b, bl
        _ if word & 0x7c00_0000 == 0x1400_0000 => {
            Effect::Calls(Callee::Direct(at.checked_add_signed(signed(word & 0x3ff_ffff, 26) << 2)?))
        }
        // Other branches and system instructions except hints.
        _ if word & 0x1c00_0000 == 0x1400_0000 && word & 0xffff_f01f != 0xd503_201f => return None,
        // Stores and instructions of vectors leave it; of loads below only the ones of one register are known.
        _ if !to_first => Effect::Nothing,
        // adrp, adr
        _ if word & 0x9f00_0000 == 0x9000_0000 => {
            address((at & !0xfff).checked_add_signed(signed(address_bits, 21) << 12))
        }
        _ if word & 0x9f00_0000 == 0x1000_0000 => address(at.checked_add_signed(signed(address_bits, 21))),
        // mov x0, sp
        0x9100_03e0 => Effect::Sets(Argument::Stack),
        // add x0, x0, #number
        _ if word & 0xffc0_0000 == 0x9100_0000 && from_first => address(page(argument, twelve)),
        // ldr x0, [x0, #number]
        _ if word & 0xffc0_0000 == 0xf940_0000 && from_first => {
            page(argument, twelve << 3).map_or(Effect::Sets(Argument::Unknown), Effect::Loads)
        }
        // movz x0, #number; movk x0, #number, lsl
        _ if word & 0xff80_0000 == 0xd280_0000 => address(Some(moved(word))),
        _ if word & 0xff80_0000 == 0xf280_0000 => {
            address(page(argument, 0).map(|value| value & !(0xffff << moved_by(word)) | moved(word)))
        }
        _ => Effect::Sets(Argument::Unknown),
    };
    Some((effect, 4))
}

/// How far a wide move shifts its number.
fn moved_by(word: u32) -> u32 {
    (word >> 21 & 3) * 16
}

/// The number of a wide move.
fn moved(word: u32) -> u64 {
    u64::from(word >> 5 & 0xffff) << moved_by(word)
}
