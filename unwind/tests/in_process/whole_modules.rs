//! Every row of every table in this process: our rule against gimli's own evaluation.

use crate::support::{Process, Walker, is_vdso};
use gimli::{
    BaseAddresses, CfaRule, CieOrFde, EhFrame, EndianSlice, Evaluation, EvaluationResult, EvaluationStorage,
    Expression, LittleEndian, Location, Piece, Reader, ReaderOffset, Register, RegisterRule, UnwindContext,
    UnwindContextStorage, UnwindSection, UnwindTableRow, Value,
};
use std::collections::BTreeMap;
use unwind::{CodeAddress, End, Frame, Kind, Memory, Modules, Registers, Rules, step};

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// What differs between processors.
#[cfg(target_arch = "x86_64")]
mod machine {
    use gimli::{Register, Vendor, X86_64};

    pub(super) const RETURNS: Register = X86_64::RA;
    pub(super) const IP: Register = X86_64::RA;
    pub(super) const SP: Register = X86_64::RSP;
    pub(super) const BP: Register = X86_64::RBP;
    pub(super) const VENDOR: Vendor = Vendor::Default;
    pub(super) const ADDRESSES: u64 = u64::MAX;
    pub(super) const LEAST_ROWS: usize = 20_000;
}

#[cfg(target_arch = "aarch64")]
mod machine {
    use gimli::{AArch64, Register, Vendor};

    pub(super) const RETURNS: Register = AArch64::X30;
    pub(super) const IP: Register = AArch64::PC;
    pub(super) const SP: Register = AArch64::SP;
    pub(super) const BP: Register = AArch64::X29;
    pub(super) const VENDOR: Vendor = Vendor::AArch64;
    /// The address bits of a signed return address.
    pub(super) const ADDRESSES: u64 = (1 << 48) - 1;
    pub(super) const LEAST_ROWS: usize = 10_000;
}

/// More room than any table needs.
#[derive(Debug, PartialEq, Eq)]
struct Roomy;

impl<T: ReaderOffset> UnwindContextStorage<T> for Roomy {
    type Rules = [(Register, RegisterRule<T>); 128];
    type Stack = [UnwindTableRow<T, Self>; 8];
}

impl<R: Reader> EvaluationStorage<R> for Roomy {
    type Stack = [Value; 64];
    type ExpressionStack = [(R, R); 4];
    type Result = [Piece<R>; 1];
}

/// A memory whose words are all different, aligned, and above their own addresses.
struct Distinct;

impl Memory for Distinct {
    fn read(&mut self, address: u64) -> Option<u64> {
        assert!(address.is_multiple_of(8), "{address:#x} is no word's address");
        Some(load(address))
    }
}

fn load(address: u64) -> u64 {
    address.wrapping_add(0x10_0000_0000) & (u64::MAX >> 1)
}

/// What a row says, computed by gimli. `None` if it needs a register that a walk does not carry.
struct Reference<'a> {
    row: &'a UnwindTableRow<usize, Roomy>,
    eh_frame: &'a EhFrame<Bytes<'a>>,
    registers: Registers,
    signal: bool,
}

impl Reference<'_> {
    fn caller(&self) -> Option<Result<(CodeAddress, u64, u64), End>> {
        let cfa = match self.row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => {
                self.register(*register)?.wrapping_add_signed(*offset)
            }
            CfaRule::Expression(expression) => self.evaluate(expression.get(self.eh_frame).ok()?, None)?,
        };
        // glibc's resolver for 64-bit ARM does not count the two words that a PLT stub has pushed for it.
        let caller_sp = match self.row.register(machine::RETURNS) {
            Some(RegisterRule::Offset(at @ 0..)) => cfa.wrapping_add_signed(at + 8),
            _ => cfa,
        };
        let returns = match (self.row.register(machine::RETURNS), self.column(machine::RETURNS, cfa)?) {
            (Some(RegisterRule::Undefined), _) => return Some(Err(End::Root)),
            // It is in a register.
            (_, None) => return None,
            // Likewise: an epilogue's table may lag behind, and nothing lies below sp.
            (Some(RegisterRule::Offset(at)), _) if cfa.wrapping_add_signed(at) < self.registers.sp => {
                return None;
            }
            (_, Some(returns)) => returns & machine::ADDRESSES,
        };
        let bp = self.column(machine::BP, cfa)?.unwrap_or(self.registers.bp);
        let code = if self.signal { CodeAddress::Exact(returns) } else { CodeAddress::Return(returns) };
        Some(Ok((code, caller_sp, bp)))
    }

    fn register(&self, register: Register) -> Option<u64> {
        match register {
            machine::SP => Some(self.registers.sp),
            machine::BP => Some(self.registers.bp),
            machine::IP => Some(self.registers.ip.address()),
            _ => None,
        }
    }

    /// The value of the caller's register; the inner option is `None` if it is undefined or unchanged.
    fn column(&self, register: Register, cfa: u64) -> Option<Option<u64>> {
        let expression = |code: gimli::UnwindExpression<usize>| {
            self.evaluate(code.get(self.eh_frame).expect("validated"), Some(cfa))
        };
        Some(Some(match self.row.register(register) {
            None | Some(RegisterRule::Undefined | RegisterRule::SameValue) => return Some(None),
            Some(RegisterRule::Offset(offset)) => load(cfa.wrapping_add_signed(offset)),
            Some(RegisterRule::ValOffset(offset)) => cfa.wrapping_add_signed(offset),
            Some(RegisterRule::Register(other)) => self.register(other)?,
            Some(RegisterRule::Expression(code)) => load(expression(code)?),
            Some(RegisterRule::ValExpression(code)) => expression(code)?,
            Some(other) => panic!("{other:?} in a table of this machine"),
        }))
    }

    fn evaluate(&self, code: Expression<Bytes<'_>>, initial: Option<u64>) -> Option<u64> {
        let encoding = gimli::Encoding { format: gimli::Format::Dwarf32, version: 4, address_size: 8 };
        let mut evaluation = Evaluation::<_, Roomy>::new_in(code.0, encoding);
        if let Some(value) = initial {
            evaluation.set_initial_value(value);
        }
        let mut result = evaluation.evaluate().ok()?;
        loop {
            result = match result {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresRegister { register, .. } => {
                    evaluation.resume_with_register(Value::Generic(self.register(register)?)).ok()?
                }
                EvaluationResult::RequiresMemory { address, .. } => {
                    evaluation.resume_with_memory(Value::Generic(load(address))).ok()?
                }
                other => panic!("{other:?} in a call frame table"),
            };
        }
        match evaluation.as_result() {
            [Piece { location: Location::Address { address }, .. }] => Some(*address),
            other => panic!("{other:?} is no value of a call frame table"),
        }
    }
}

/// Compares all rows of the module that contains `code`, and counts our rules by kind.
fn compare_module(process: &Process, code: u64, kinds: &mut BTreeMap<String, usize>) {
    let sections = process.find(code).expect("tables");
    let from = |address: u64| &sections.segment[(address - sections.segment_address) as usize..];
    let hdr = from(sections.hdr_address);
    let distance = i32::from_le_bytes(hdr[4..8].try_into().expect("four bytes"));
    let eh_frame_address = (sections.hdr_address + 4).wrapping_add_signed(i64::from(distance));
    let mut eh_frame = EhFrame::new(from(eh_frame_address), LittleEndian);
    eh_frame.set_vendor(machine::VENDOR);
    let bases = BaseAddresses::default().set_eh_frame(eh_frame_address);
    let mut context = Box::new(UnwindContext::<usize, Roomy>::new_in());
    let mut walker = Walker::new();
    let mut entries = eh_frame.entries(&bases);
    while let Some(entry) = entries.next().expect("sound tables") {
        let CieOrFde::Fde(partial) = entry else { continue };
        let fde = partial.parse(EhFrame::cie_from_offset).expect("a sound entry");
        let mut rows = fde.rows(&eh_frame, &bases, &mut context).expect("sound initial instructions");
        while let Some(row) = rows.next_row().expect("sound instructions") {
            // Empty rows are superseded at their own address.
            if row.start_address() == row.end_address() {
                continue;
            }
            for (ip, sp, bp) in [
                (row.start_address(), 0x7ff0_0000, 0x7ff0_1000),
                (row.end_address() - 1, 0x7ff0_0008, 0x7ff0_2008),
            ] {
                let registers = Registers { ip: CodeAddress::Exact(ip), sp, bp };
                let signal = fde.is_signal_trampoline();
                let expected = Reference { row, eh_frame: &eh_frame, registers, signal }.caller();
                let (kind, found) = walker.with_rules(|rules| {
                    let (rule, _) = rules.rule(registers.ip).expect("an address with a row is code");
                    (rule.kind(), step(rule, Frame::innermost(registers), &mut Distinct, rules))
                });
                let key = if expected.is_some() { format!("{kind:?}") } else { String::from("by registers") };
                *kinds.entry(key).or_default() += 1;
                let found = found.map(|frame| (frame.code(), frame.sp(), frame.bp()));
                match expected {
                    Some(expected) => assert_eq!(found, expected, "{kind:?} at {registers:x?}: {row:?}"),
                    None => assert_eq!((kind, found), (Some(Kind::Slow), Err(End::NoUnwindInfo)), "{row:?}"),
                }
            }
        }
    }
}

/// Check that in this executable, libc, libgcc, the loader and the vDSO every row of every function leads to the same
/// frame as gimli's evaluation, and that hardly any needs the slow path.
#[test]
fn every_row_of_every_module() {
    let process = Process::new();
    let mut kinds = BTreeMap::new();
    for image in process.images() {
        if image.tables.is_none() && is_vdso(image.bias) {
            continue;
        }
        compare_module(&process, image.code.as_slice()[0].start, &mut kinds);
    }
    println!("rules by kind: {kinds:?}");
    let total: usize = kinds.values().sum();
    let slow = kinds.get("Some(Slow)").copied().unwrap_or(0);
    assert!(total > machine::LEAST_ROWS, "{total} rows");
    assert!(slow * 1000 < total, "{slow} of {total} rows are slow");
}
