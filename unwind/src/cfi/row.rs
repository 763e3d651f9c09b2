//! The meaning of one row: a rule if the row has an ordinary form, else the step itself.

use super::Storage;
use crate::arch;
use crate::end::End;
use crate::expression::{self, Base, Bytes, Machine, Value};
use crate::frame::Frame;
use crate::memory::Memory;
use crate::memory::word;
use crate::rule::{Kind, Rule};
use gimli::{CfaRule, EhFrame, Register, RegisterRule, UnwindTableRow};

/// One row of the call frame tables.
pub(crate) struct Row<'a> {
    columns: &'a UnwindTableRow<usize, Storage>,
    /// The section that expressions are offsets into.
    eh_frame: EhFrame<Bytes<'a>>,
    /// Whether the function is marked as a signal trampoline: its caller is an interrupted instruction.
    signal: bool,
}

/// How a register of the caller is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    /// Not at all.
    Undefined,
    /// It was not changed.
    Unchanged,
    /// It was saved at this address.
    Saved(Value),
    /// It is this value.
    Computed(Value),
}

impl<'a> Row<'a> {
    pub(crate) fn new(
        columns: &'a UnwindTableRow<usize, Storage>,
        eh_frame: EhFrame<Bytes<'a>>,
        signal: bool,
    ) -> Self {
        Self { columns, eh_frame, signal }
    }

    /// The rule that is equivalent to this row, for a frame that executes at `ip`.
    pub(crate) fn rule(&self, ip: u64) -> Rule {
        let mut symbols = Symbols { ip };
        let cfa = self.cfa(&mut symbols);
        let [returns, bp] = [arch::RETURN_ADDRESS, arch::FRAME_POINTER]
            .map(|register| self.column(register, Value::Relative(Base::Cfa, 0), &mut symbols));
        match (cfa, returns, bp) {
            (_, Some(Column::Undefined), _) => Rule::END,
            (_, Some(Column::Unchanged), _) if arch::PUSHES_RETURN_ADDRESS => Rule::NO_INFORMATION,
            (Some(cfa), Some(returns), Some(bp)) if self.signal => signal_rule(cfa, returns, bp),
            (Some(cfa), Some(Column::Saved(Value::Relative(Base::Cfa, returns_at))), Some(bp)) => {
                let rule = match (pushed_before(cfa, returns_at), bp) {
                    (Some(cfa), Column::Unchanged) => ordinary_rule(cfa, -8, bp),
                    _ => ordinary_rule(cfa, returns_at, bp),
                };
                rule.unwrap_or(Rule::SLOW)
            }
            _ => Rule::SLOW,
        }
    }

    /// Leaves `frame` by evaluating the row with the frame's registers.
    pub(crate) fn step(&self, frame: &Frame, memory: &mut impl Memory) -> Result<Frame, End> {
        let mut live = Live { frame, memory, failure: None };
        let Some((cfa, returns, bp)) = self.evaluate(&mut live) else {
            return Err(live.failure.unwrap_or(End::NoUnwindInfo));
        };
        // A handler may run on a stack of its own, above or below the interrupted one. An interrupted frame need not
        // have a word on its stack.
        let lowest =
            frame.sp().saturating_add(u64::from(arch::PUSHES_RETURN_ADDRESS || frame.context().is_none()));
        if !cfa.is_multiple_of(8) || (cfa < lowest && !self.signal) {
            return Err(End::Broken);
        }
        let returns = arch::code_address(returns.ok_or(End::Root)?);
        if self.signal { Frame::interrupted(returns, cfa, bp, None) } else { Frame::caller(returns, cfa, bp) }
    }

    /// The CFA, the return address if it is defined, and the caller's frame pointer.
    fn evaluate<M: Memory>(&self, live: &mut Live<'_, M>) -> Option<(u64, Option<u64>, u64)> {
        let cfa = self.cfa(live)?;
        let returns = match self.column(arch::RETURN_ADDRESS, cfa, live)? {
            Column::Undefined => None,
            Column::Unchanged if arch::PUSHES_RETURN_ADDRESS => return None,
            Column::Unchanged => Some(live.register(arch::RETURN_ADDRESS)?),
            Column::Saved(address) if live.is_below(address) => Some(live.register(arch::RETURN_ADDRESS)?),
            Column::Saved(address) => Some(live.load(address)?),
            Column::Computed(value) => Some(value),
        };
        let bp = match self.column(arch::FRAME_POINTER, cfa, live)? {
            Column::Undefined | Column::Unchanged => Value::Known(live.frame.bp()),
            Column::Saved(address) if live.is_below(address) => Value::Known(live.frame.bp()),
            Column::Saved(address) => live.load(address)?,
            Column::Computed(value) => value,
        };
        let returns = match returns {
            None => None,
            Some(value) => Some(value.known()?),
        };
        Some((cfa.known()?, returns, bp.known()?))
    }

    fn cfa(&self, machine: &mut impl Machine) -> Option<Value> {
        match self.columns.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => machine.register(*register)?.plus(*offset),
            CfaRule::Expression(code) => expression::evaluate(code.get(&self.eh_frame).ok()?, None, machine),
        }
    }

    fn column(&self, register: Register, cfa: Value, machine: &mut impl Machine) -> Option<Column> {
        Some(match self.columns.register(register) {
            None | Some(RegisterRule::SameValue) => Column::Unchanged,
            Some(RegisterRule::Undefined) => Column::Undefined,
            Some(RegisterRule::Offset(offset)) => Column::Saved(cfa.plus(offset)?),
            Some(RegisterRule::ValOffset(offset)) => Column::Computed(cfa.plus(offset)?),
            Some(RegisterRule::Register(other)) => Column::Computed(machine.register(other)?),
            Some(RegisterRule::Expression(code)) => {
                Column::Saved(expression::evaluate(code.get(&self.eh_frame).ok()?, Some(cfa), machine)?)
            }
            Some(RegisterRule::ValExpression(code)) => {
                Column::Computed(expression::evaluate(code.get(&self.eh_frame).ok()?, Some(cfa), machine)?)
            }
            Some(RegisterRule::Constant(value)) => Column::Computed(Value::Known(value)),
            Some(RegisterRule::Architectural) => return None,
        })
    }
}

/// The rule for the kernel's signal frame, if the row describes exactly that.
fn signal_rule(cfa: Value, returns: Column, bp: Column) -> Rule {
    let kernel = cfa == Value::Loaded(Base::Sp, arch::SAVED_SP)
        && returns == Column::Saved(Value::Relative(Base::Sp, arch::SAVED_IP))
        && bp == Column::Saved(Value::Relative(Base::Sp, arch::SAVED_BP));
    if kernel { Rule::SIGNAL } else { Rule::SLOW }
}

/// The CFA of a frame whose return address is above the CFA that its table gives: glibc's resolver for 64-bit ARM
/// does not count the two words that a PLT stub has pushed for it.
fn pushed_before(cfa: Value, returns_at: i64) -> Option<Value> {
    let pushed = returns_at.checked_add(8).filter(|pushed| *pushed > 0 && !arch::PUSHES_RETURN_ADDRESS)?;
    cfa.plus(pushed)
}

/// The rule for a frame whose return address is at this offset from its CFA; `None` if there is no ordinary form.
fn ordinary_rule(cfa: Value, returns_at: i64, bp: Column) -> Option<Rule> {
    let (base, offset) = match cfa {
        Value::Relative(base @ (Base::Sp | Base::Bp), offset) | Value::Loaded(base @ Base::Bp, offset) => {
            (base, offset)
        }
        _ => return None,
    };
    // Like libgcc: an undefined rbp is left alone. A function that declares it so has no caller that needs it.
    let saved = match bp {
        Column::Undefined | Column::Unchanged => None,
        Column::Saved(Value::Relative(from, at)) => Some((from, at)),
        Column::Saved(_) | Column::Computed(_) => return None,
    };
    let (kind, bp_offset) = match (cfa, saved) {
        (Value::Loaded(..), Some((Base::Bp, at))) if arch::PUSHES_RETURN_ADDRESS => {
            arch::second_offset(returns_at, None)?;
            (Kind::Deref, at)
        }
        (Value::Loaded(..), _) => return None,
        (_, None) => {
            let kind = if base == Base::Sp { Kind::Sp } else { Kind::Bp };
            (kind, arch::second_offset(returns_at, None)?)
        }
        (_, Some((from, at))) => {
            let at = if from == Base::Cfa {
                at
            } else if from == base {
                at.checked_sub(offset)?
            } else {
                return None;
            };
            let kind = if base == Base::Sp { Kind::SpSavesBp } else { Kind::BpSavesBp };
            (kind, arch::second_offset(returns_at, Some(at))?)
        }
    };
    if offset.wrapping_rem(8) != 0 || bp_offset.wrapping_rem(8) != 0 {
        return None;
    }
    let is_below = base == Base::Sp && offset.checked_add(returns_at)? < 0;
    if is_below && !arch::PUSHES_RETURN_ADDRESS {
        return None;
    }
    Some(Rule::new(kind, i32::try_from(offset).ok()?, i32::try_from(bp_offset).ok()?))
}

/// Registers as symbols; only the instruction pointer is known.
struct Symbols {
    ip: u64,
}

impl Machine for Symbols {
    fn register(&mut self, register: Register) -> Option<Value> {
        match register {
            arch::STACK_POINTER => Some(Value::Relative(Base::Sp, 0)),
            arch::FRAME_POINTER => Some(Value::Relative(Base::Bp, 0)),
            arch::INSTRUCTION_POINTER => Some(Value::Known(self.ip)),
            _ => None,
        }
    }

    fn load(&mut self, address: Value) -> Option<Value> {
        match address {
            Value::Relative(base, offset) => Some(Value::Loaded(base, offset)),
            Value::Known(_) | Value::Loaded(..) => None,
        }
    }
}

/// The registers of a frame, and the memory of its stack.
struct Live<'a, M> {
    frame: &'a Frame,
    memory: &'a mut M,
    /// Why a word could not be read, if one could not.
    failure: Option<End>,
}

impl<M> Live<'_, M> {
    /// Whether a register cannot have been saved at `address`, because that is below the frame, where the next signal
    /// may write: the table of an epilogue lags behind, and the register has its value again.
    fn is_below(&self, address: Value) -> bool {
        !arch::PUSHES_RETURN_ADDRESS && address.known().is_some_and(|address| address < self.frame.sp())
    }
}

impl<M: Memory> Machine for Live<'_, M> {
    /// Registers other than the three that every walk carries are known only for an interrupted frame; that is also
    /// where tables need them, such as r10 in the prologue of a function that realigns its stack.
    fn register(&mut self, register: Register) -> Option<Value> {
        match register {
            arch::STACK_POINTER => Some(Value::Known(self.frame.sp())),
            arch::FRAME_POINTER => Some(Value::Known(self.frame.bp())),
            arch::INSTRUCTION_POINTER => Some(Value::Known(self.frame.code().address())),
            _ => {
                let slot = self.frame.context()?.slot(register)?;
                self.load(Value::Known(slot))
            }
        }
    }

    fn load(&mut self, address: Value) -> Option<Value> {
        match word(self.memory, address.known()?) {
            Ok(value) => Some(Value::Known(value)),
            Err(end) => {
                self.failure = Some(end);
                None
            }
        }
    }
}

// The made-up tables are those of x86-64.
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;
