//! A code address, and how it was obtained.

/// Where a frame executes.
///
/// The distinction decides which table row is right: a return address is where execution *will* continue, and after a
/// call that never returns it may already lie in the next function. So it is looked up one byte earlier, inside the
/// call. The address of an interrupted instruction is looked up unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CodeAddress {
    /// The address after a call instruction.
    Return(u64),
    /// The address of the instruction that runs next: the innermost frame of a captured context, or the frame
    /// that a signal interrupted.
    Exact(u64),
}

/// Set in the compact form of an exact address. User space never reaches bit 63.
const EXACT: u64 = 1 << 63;

impl CodeAddress {
    /// The address itself.
    #[inline]
    pub const fn address(self) -> u64 {
        match self {
            Self::Return(address) | Self::Exact(address) => address,
        }
    }

    /// An address inside the instruction that this frame is executing, for looking up its function and its row.
    #[inline]
    pub const fn lookup(self) -> u64 {
        match self {
            Self::Return(address) => address.wrapping_sub(1),
            Self::Exact(address) => address,
        }
    }

    /// The compact form, a key of the rule tables.
    ///
    /// ```text
    /// bit 63   1 = exact
    /// bits 62…0   the address
    /// ```
    #[inline]
    pub const fn to_bits(self) -> u64 {
        match self {
            Self::Return(address) => address & !EXACT,
            Self::Exact(address) => address | EXACT,
        }
    }

    /// The address whose compact form is `bits`.
    #[inline]
    pub const fn from_bits(bits: u64) -> Self {
        if bits & EXACT == 0 { Self::Return(bits) } else { Self::Exact(bits & !EXACT) }
    }
}

#[cfg(test)]
mod tests {
    use super::CodeAddress;
    use proptest::prelude::*;

    /// Check that a return address is looked up inside the call, and an exact one unchanged.
    #[test]
    fn return_addresses_look_up_one_byte_earlier() {
        assert_eq!(CodeAddress::Return(0x1000).lookup(), 0xfff);
        assert_eq!(CodeAddress::Exact(0x1000).lookup(), 0x1000);
        assert_eq!(CodeAddress::Return(0).lookup(), u64::MAX);
    }

    proptest! {
        /// Check that the compact form keeps address and kind.
        #[test]
        fn compact_form_round_trips(address in 0..1u64 << 63, exact: bool) {
            let code = if exact { CodeAddress::Exact(address) } else { CodeAddress::Return(address) };
            prop_assert_eq!(CodeAddress::from_bits(code.to_bits()), code);
            prop_assert_eq!(CodeAddress::from_bits(code.to_bits()).address(), address);
        }
    }
}
