//! DWARF expressions, run on numbers or on symbols.
//!
//! One evaluator serves two purposes. Given registers and memory, it computes a value: the slow path of a frame.
//! Given symbols for the registers, it finds what the expression *means*, so that a row whose expression is only a
//! long way to say `rsp + 16` becomes an ordinary rule:
//!
//! ```text
//! .plt                 breg7(rsp) 8; breg16(rip) 0; lit15; and; lit11; ge; lit3; shl; plus
//!                      rip is known for the given address, so this is  Relative(Sp, 8)  or  Relative(Sp, 16)
//! gcc's DRAP           breg6(rbp) −8; deref                              Loaded(Bp, −8)
//! signal trampoline    breg7(rsp) 160; deref                             Loaded(Sp, 160)
//! ```

use gimli::{EndianSlice, Expression, LittleEndian, Operation, Register};

/// Bytes of the tables.
pub(crate) type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// Eight-byte addresses; format and version make no difference for what call frame tables may use.
const ENCODING: gimli::Encoding =
    gimli::Encoding { format: gimli::Format::Dwarf32, version: 4, address_size: 8 };

/// Enough for any expression a compiler emits (the PLT's needs 3).
const STACK: usize = 16;

/// Limit for expressions that loop.
const MAX_OPERATIONS: usize = 256;

/// What a symbolic value is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// The stack pointer of the frame.
    Sp,
    /// The frame's rbp.
    Bp,
    /// The frame's canonical frame address.
    Cfa,
}

/// A value on the evaluator's stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// A number.
    Known(u64),
    /// Base plus offset.
    Relative(Base, i64),
    /// The word at base plus offset.
    Loaded(Base, i64),
}

impl Value {
    /// The value plus `offset` bytes. A loaded word is opaque: only 0 can be added to its symbol.
    pub(crate) fn plus(self, offset: i64) -> Option<Self> {
        Some(match self {
            Self::Known(number) => Self::Known(number.wrapping_add_signed(offset)),
            Self::Relative(base, start) => Self::Relative(base, start.checked_add(offset)?),
            Self::Loaded(..) if offset == 0 => self,
            Self::Loaded(..) => return None,
        })
    }

    /// The number, if it is one.
    pub(crate) fn known(self) -> Option<u64> {
        match self {
            Self::Known(number) => Some(number),
            Self::Relative(..) | Self::Loaded(..) => None,
        }
    }
}

/// What an expression may access.
pub(crate) trait Machine {
    /// The value of `register`, if it has one.
    fn register(&mut self, register: Register) -> Option<Value>;
    /// The word at `address`.
    fn load(&mut self, address: Value) -> Option<Value>;
}

/// The value of `expression`, started with `initial` on its stack. `None` if it needs something that the machine does
/// not have, uses an operation that has no meaning in call frame tables, or is damaged.
pub(crate) fn evaluate(
    expression: Expression<Bytes<'_>>,
    initial: Option<Value>,
    machine: &mut impl Machine,
) -> Option<Value> {
    let code = expression.0;
    let mut rest = code;
    let mut stack = Stack { values: [Value::Known(0); STACK], len: 0 };
    if let Some(value) = initial {
        stack.push(value)?;
    }
    for _ in 0..MAX_OPERATIONS {
        if rest.is_empty() {
            return stack.pop();
        }
        let operation = Operation::parse(&mut rest, ENCODING).ok()?;
        if let Some(distance) = execute(operation, &mut stack, machine)? {
            let here = code.len().wrapping_sub(rest.len());
            let target = here.checked_add_signed(isize::from(distance))?;
            rest = EndianSlice::new(code.slice().get(target..)?, LittleEndian);
        }
    }
    None
}

/// Runs one operation. Returns the distance of the jump, if it is a jump that is taken.
fn execute(
    operation: Operation<Bytes<'_>>,
    stack: &mut Stack,
    machine: &mut impl Machine,
) -> Option<Option<i16>> {
    let value = match operation {
        Operation::Nop => return Some(None),
        Operation::Skip { target } => return Some(Some(target)),
        Operation::Bra { target } => {
            let taken = stack.pop()?.known()? != 0;
            return Some(taken.then_some(target));
        }
        Operation::Drop => {
            stack.pop()?;
            return Some(None);
        }
        Operation::Swap => {
            let (a, b) = (stack.pop()?, stack.pop()?);
            stack.push(a)?;
            b
        }
        Operation::Rot => {
            let (a, b, c) = (stack.pop()?, stack.pop()?, stack.pop()?);
            stack.push(a)?;
            stack.push(c)?;
            b
        }
        Operation::Pick { index } => stack.peek(index)?,
        Operation::UnsignedConstant { value } | Operation::Address { address: value } => Value::Known(value),
        Operation::SignedConstant { value } => Value::Known(value.cast_unsigned()),
        Operation::RegisterOffset { register, offset, .. } => machine.register(register)?.plus(offset)?,
        Operation::PlusConstant { value } => stack.pop()?.plus(value.cast_signed())?,
        Operation::Deref { size: 8, space: false, .. } => machine.load(stack.pop()?)?,
        Operation::Not => Value::Known(!stack.pop()?.known()?),
        Operation::Neg => Value::Known(stack.pop()?.known()?.wrapping_neg()),
        Operation::Abs => Value::Known(stack.pop()?.known()?.cast_signed().wrapping_abs().cast_unsigned()),
        other => {
            let right = stack.pop()?;
            binary(&other, stack.pop()?, right)?
        }
    };
    stack.push(value)?;
    Some(None)
}

/// An operation on two values: sums may contain a symbol, everything else needs numbers.
fn binary(operation: &Operation<Bytes<'_>>, left: Value, right: Value) -> Option<Value> {
    match (operation, left, right) {
        (Operation::Plus, symbol, Value::Known(offset)) | (Operation::Plus, Value::Known(offset), symbol) => {
            return symbol.plus(offset.cast_signed());
        }
        (Operation::Minus, symbol, Value::Known(offset)) => {
            return symbol.plus(offset.cast_signed().wrapping_neg());
        }
        _ => {}
    }
    let (a, b) = (left.known()?, right.known()?);
    // DWARF's generic type: an address-sized integer, signed in comparisons and division.
    let (signed_a, signed_b) = (a.cast_signed(), b.cast_signed());
    let shift = u32::try_from(b).unwrap_or(u32::MAX);
    Some(Value::Known(match operation {
        Operation::And => a & b,
        Operation::Or => a | b,
        Operation::Xor => a ^ b,
        Operation::Mul => a.wrapping_mul(b),
        Operation::Div => signed_a.checked_div(signed_b)?.cast_unsigned(),
        Operation::Mod => a.checked_rem(b)?,
        Operation::Shl => a.checked_shl(shift).unwrap_or(0),
        Operation::Shr => a.checked_shr(shift).unwrap_or(0),
        Operation::Shra => signed_a.checked_shr(shift).unwrap_or(signed_a >> 63).cast_unsigned(),
        Operation::Eq => u64::from(a == b),
        Operation::Ne => u64::from(a != b),
        Operation::Ge => u64::from(signed_a >= signed_b),
        Operation::Gt => u64::from(signed_a > signed_b),
        Operation::Le => u64::from(signed_a <= signed_b),
        Operation::Lt => u64::from(signed_a < signed_b),
        _ => return None,
    }))
}

struct Stack {
    values: [Value; STACK],
    len: usize,
}

impl Stack {
    fn push(&mut self, value: Value) -> Option<()> {
        *self.values.get_mut(self.len)? = value;
        self.len = self.len.wrapping_add(1);
        Some(())
    }

    fn pop(&mut self) -> Option<Value> {
        self.len = self.len.checked_sub(1)?;
        self.values.get(self.len).copied()
    }

    /// The value `index` below the top.
    fn peek(&self, index: u8) -> Option<Value> {
        self.values.get(self.len.checked_sub(1)?.checked_sub(usize::from(index))?).copied()
    }
}

#[cfg(test)]
mod tests;
