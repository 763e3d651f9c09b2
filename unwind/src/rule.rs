//! A table row condensed to eight bytes.

use crate::arch;
use core::fmt;

/// How to get from a frame to its caller.
///
/// ```text
/// bits 63            48 47            32 31                              0
///     ┌────────────────┬────────────────┬────────────────────────────────┐
///     │ kind        u16│ bp_offset   i16│ cfa_offset                  i32│
///     └────────────────┴────────────────┴────────────────────────────────┘
/// ```
///
/// Offsets are in bytes, except `bp_offset` on 64-bit ARM, which is in words of eight bytes: there functions save the
/// pair below all of their variables, however many there are. On x86-64 the return address is always at CFA−8. On
/// 64-bit ARM it is just above the saved frame pointer (x29 there, rbp on x86-64), or is saved alone. Rows that keep
/// it elsewhere are [`Kind::Slow`]. If the caller's frame pointer is not saved, its offset is that of the return
/// address, so that the same two loads leave all four ordinary kinds. The word 0 is no rule, so zeroed memory is an
/// empty table.
///
/// An example from x86-64, the middle of a function that pushed rbp and reserved 24 bytes:
///
/// ```text
///  rsp ─► ┌────────────┐
///         │ 24 bytes   │     kind       SpSavesBp
///         ├────────────┤     cfa_offset 40     CFA = rsp + 40
///         │ rbp        │     bp_offset  −16    caller's rbp = [CFA − 16]
///         ├────────────┤                       return address = [CFA − 8]
///         │ return addr│                       caller's rsp = CFA
///  CFA ─► └────────────┘
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Rule(u64);

const _: () = assert!(size_of::<Rule>() == 8);

/// The unit of the stored `bp_offset` in bytes.
const UNIT: i32 = if arch::PUSHES_RETURN_ADDRESS { 1 } else { 8 };

/// The ways of leaving a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum Kind {
    /// CFA = sp + `cfa_offset`; rbp is the caller's.
    Sp = 1,
    /// CFA = sp + `cfa_offset`; the caller's rbp is at CFA + `bp_offset`.
    SpSavesBp = 2,
    /// CFA = bp + `cfa_offset`; rbp is the caller's.
    Bp = 3,
    /// CFA = bp + `cfa_offset`; the caller's rbp is at CFA + `bp_offset`.
    BpSavesBp = 4,
    /// CFA = the word at bp + `cfa_offset`; the caller's rbp is at bp + `bp_offset`. gcc realigns stacks this way
    /// (DRAP).
    Deref = 5,
    /// The outermost frame: its return address is undefined.
    End = 6,
    /// A signal trampoline: the interrupted registers are in the ucontext that starts at sp.
    Signal = 7,
    /// None of these: the row is evaluated anew at each visit.
    Slow = 8,
    /// The module has no row here.
    NoInformation = 9,
    /// Go's call of C, on the thread's stack: the goroutine's `g` was saved at sp + `cfa_offset`, and how far below the
    /// end of its stack its frames go on at sp + `bp_offset`.
    Goroutine = 10,
}

/// The ordinary kinds, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ordinary {
    /// The CFA is relative to bp; else to sp.
    pub(crate) uses_bp: bool,
    /// The caller's rbp is saved relative to the CFA; else it is unchanged.
    pub(crate) saves_bp: bool,
}

impl Rule {
    /// What zeroed memory holds: no rule.
    pub(crate) const NONE: Self = Self(0);
    /// The outermost frame.
    pub const END: Self = Self::new(Kind::End, 0, 0);
    /// A signal trampoline.
    pub const SIGNAL: Self = Self::new(Kind::Signal, 0, 0);
    /// A row that must be evaluated.
    pub const SLOW: Self = Self::new(Kind::Slow, 0, 0);
    /// No row.
    pub const NO_INFORMATION: Self = Self::new(Kind::NoInformation, 0, 0);

    /// The rule of `kind` with these offsets, in bytes. `bp_offset` matters only if the caller's frame pointer is
    /// saved, or if calls do not push the return address. If it is no multiple of 8, or too far from the CFA to be
    /// stored, the rule is [`Rule::SLOW`].
    #[inline]
    pub const fn new(kind: Kind, cfa_offset: i32, bp_offset: i32) -> Self {
        let kept = bp_offset.wrapping_div(UNIT);
        let is_kept = kept as i16 as i32 == kept && kept.wrapping_mul(UNIT) == bp_offset;
        let (kind, cfa_offset, kept) = match kind {
            Kind::Sp | Kind::Bp if arch::PUSHES_RETURN_ADDRESS => {
                (kind, cfa_offset, arch::returns_at(0, false) as i32)
            }
            Kind::Sp | Kind::SpSavesBp | Kind::Bp | Kind::BpSavesBp if bp_offset % 8 != 0 => {
                (Kind::Slow, 0, 0)
            }
            _ if !is_kept => (Kind::Slow, 0, 0),
            _ => (kind, cfa_offset, kept),
        };
        Self((kind as u64) << 48 | (kept as u16 as u64) << 32 | cfa_offset as u32 as u64)
    }

    /// The rule as a word, never 0.
    #[inline]
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// The rule whose word is `bits`; `None` if [`Rule::new`] makes no such rule.
    #[inline]
    pub const fn from_bits(bits: u64) -> Option<Self> {
        let rule = Self(bits);
        match rule.kind() {
            Some(kind) if Self::new(kind, bits as i32, rule.bp_offset() as i32).0 == bits => Some(rule),
            _ => None,
        }
    }

    /// The way of leaving the frame; `None` for words that are no rule, such as 0.
    #[inline(always)]
    pub const fn kind(self) -> Option<Kind> {
        Some(match self.0 >> 48 {
            1 => Kind::Sp,
            2 => Kind::SpSavesBp,
            3 => Kind::Bp,
            4 => Kind::BpSavesBp,
            5 => Kind::Deref,
            6 => Kind::End,
            7 => Kind::Signal,
            8 => Kind::Slow,
            9 => Kind::NoInformation,
            10 => Kind::Goroutine,
            _ => return None,
        })
    }

    /// What distinguishes the ordinary kinds, which are the first four.
    #[inline(always)]
    pub(crate) const fn ordinary(self) -> Option<Ordinary> {
        let kind = (self.0 >> 48).wrapping_sub(Kind::Sp as u64);
        if kind > 3 {
            return None;
        }
        Some(Ordinary { uses_bp: kind & 2 != 0, saves_bp: kind & 1 != 0 })
    }

    /// From sp or bp to the CFA, or to the word that holds it.
    #[inline(always)]
    pub const fn cfa_offset(self) -> i64 {
        self.0 as i32 as i64
    }

    /// From the CFA (from bp for [`Kind::Deref`]) to the word that holds the caller's rbp, or to the return address;
    /// from sp to the saved distance for [`Kind::Goroutine`].
    #[inline(always)]
    pub const fn bp_offset(self) -> i64 {
        ((self.0 >> 32) as i16 as i64).wrapping_mul(UNIT as i64)
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            Some(kind) => write!(f, "{kind:?}({}, {})", self.cfa_offset(), self.bp_offset()),
            None => write!(f, "no rule ({:#x})", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Rule};
    use crate::arch;
    use proptest::prelude::*;

    const KINDS: [Kind; 10] = [
        Kind::Sp,
        Kind::SpSavesBp,
        Kind::Bp,
        Kind::BpSavesBp,
        Kind::Deref,
        Kind::End,
        Kind::Signal,
        Kind::Slow,
        Kind::NoInformation,
        Kind::Goroutine,
    ];

    /// Check that the bits are where the documentation shows them.
    #[test]
    fn layout_is_the_documented_one() {
        let saved = if arch::PUSHES_RETURN_ADDRESS { 0x0002_fff0_0000_0028 } else { 0x0002_fffe_0000_0028 };
        assert_eq!(Rule::new(Kind::SpSavesBp, 40, -16).to_bits(), saved);
        assert_eq!(Rule::new(Kind::Deref, -8, 0).to_bits(), 0x0005_0000_ffff_fff8);
    }

    /// Check that zeroed memory holds no rule.
    #[test]
    fn zero_is_no_rule() {
        assert_eq!(Rule::from_bits(0), None);
    }

    /// Check that a word which no rule has is refused: its offsets would lead to unaligned words.
    #[test]
    fn other_words_are_no_rules() {
        let [elsewhere, odd] = [0x0001_fff0_0000_0028, 0x0002_fff1_0000_0028];
        let pushes = arch::PUSHES_RETURN_ADDRESS;
        for (bits, is_none) in [(elsewhere, pushes), (odd, pushes), (0x000b_0000_0000_0000, true)] {
            assert_eq!(Rule::from_bits(bits).is_none(), is_none, "{bits:#x}");
        }
    }

    /// Check that offsets which do not fit make a slow rule, and that those of functions with large variables fit if
    /// the variables are between the caller's frame and the saved registers.
    #[test]
    fn large_frames_have_rules_where_they_are_common() {
        let kinds = [-32_768, -65_568, -262_144, -262_152]
            .map(|offset| Rule::new(Kind::SpSavesBp, 300_000, offset))
            .map(|rule| (rule.kind(), rule.bp_offset()));
        let (fits, slow) = (|offset| (Some(Kind::SpSavesBp), offset), (Some(Kind::Slow), 0));
        let expected = match arch::PUSHES_RETURN_ADDRESS {
            true => [fits(-32_768), slow, slow, slow],
            false => [fits(-32_768), fits(-65_568), fits(-262_144), slow],
        };
        assert_eq!(kinds, expected);
    }

    proptest! {
        /// Check that a rule returns the parts that it was made of.
        #[test]
        fn parts_round_trip(kind in 0..KINDS.len(), cfa: i32, bp: i16) {
            let bp = i32::from(bp);
            let rule = Rule::new(KINDS[kind], cfa, bp);
            let is_unsaved = matches!(KINDS[kind], Kind::Sp | Kind::Bp);
            let saves = matches!(KINDS[kind], Kind::SpSavesBp | Kind::BpSavesBp);
            let has_place = saves || is_unsaved && !arch::PUSHES_RETURN_ADDRESS;
            if (has_place || !arch::PUSHES_RETURN_ADDRESS) && bp % 8 != 0 {
                prop_assert_eq!(rule, Rule::SLOW);
                return Ok(());
            }
            prop_assert_eq!(rule.kind(), Some(KINDS[kind]));
            prop_assert_eq!(rule.cfa_offset(), i64::from(cfa));
            let is_pushed = is_unsaved && arch::PUSHES_RETURN_ADDRESS;
            prop_assert_eq!(rule.bp_offset(), if is_pushed { -8 } else { i64::from(bp) });
            prop_assert_eq!(Rule::from_bits(rule.to_bits()), Some(rule));
            let ordinary = match KINDS[kind] {
                Kind::Sp => Some((false, false)),
                Kind::SpSavesBp => Some((false, true)),
                Kind::Bp => Some((true, false)),
                Kind::BpSavesBp => Some((true, true)),
                _ => None,
            };
            prop_assert_eq!(rule.ordinary().map(|parts| (parts.uses_bp, parts.saves_bp)), ordinary);
        }
    }
}
