//! The pc table: code addresses and the modules they belong to.
//!
//! An address that is reused after `dlclose` belongs to another module and therefore gets another id, so that stacks
//! taken earlier keep their meaning.

use crate::intern::{Batch, Commit, InternTable, hash};

/// Table of code addresses. Its ids begin at [`crate::pseudo::FIRST_PC`].
pub type PcTable<'a, P> = InternTable<'a, P, 2>;

/// A code address as stacks refer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pc {
    /// The address; bit 63 is set if it is that of an instruction, not a return address.
    pub bits: u64,
    /// Serial in the module log: of its module, or of the function that an interpreter runs; 0 for code that is in
    /// neither.
    pub module: u32,
}

impl Pc {
    /// The bit that marks the address of an instruction.
    pub const EXACT: u64 = 1 << 63;

    /// Set above a line, so that no pc is 0.
    const LINE: u64 = 1 << 32;

    /// A line of the function with this serial in the module log; 0 if the line is unknown.
    pub fn of_line(line: u32, function: u32) -> Self {
        Self { bits: Self::LINE | u64::from(line), module: function }
    }

    /// The line of a pc in such a function.
    pub fn line(self) -> u32 {
        self.bits as u32
    }

    /// The address itself.
    pub fn address(self) -> u64 {
        self.bits & !Self::EXACT
    }

    /// True for the address of an instruction, as below a signal frame.
    pub fn is_exact(self) -> bool {
        self.bits & Self::EXACT != 0
    }
}

impl<P: Commit> PcTable<'_, P> {
    /// The id of `pc`; `None` when the table is full.
    #[inline]
    pub fn id(&self, pc: Pc, batch: &mut Batch) -> Option<u32> {
        let key = [pc.bits, u64::from(pc.module)];
        self.intern(key, hash(key), 0, batch)
    }

    /// The address of an id; `None` when the id is outside of the table or was never filled in.
    pub fn pc(&self, id: u32) -> Option<Pc> {
        self.key(id).map(|[bits, module]| Pc { bits, module: module as u32 }).filter(|pc| pc.bits != 0)
    }
}
