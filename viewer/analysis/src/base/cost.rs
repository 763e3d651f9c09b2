//! What a stack, a process or a function costs: values with `+=` and `-=`.

use super::parts::follow;
use serde::{Deserialize, Serialize};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub};

/// A number of blocks and the bytes in them.
///
/// Signed, because the difference of two costs is a cost as well. Sums wrap: sizes that add up to 2⁶³ occur only in
/// forged files, and an odd number is a better answer to these than an abort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Amount {
    /// Number of blocks.
    pub blocks: i64,
    /// Sum of their requested sizes.
    pub bytes: i64,
}

impl Amount {
    /// Nothing at all.
    pub const ZERO: Amount = Amount { blocks: 0, bytes: 0 };

    /// One block of this size.
    pub fn block(size: u64) -> Self {
        Self { blocks: 1, bytes: size.cast_signed() }
    }

    /// True when both numbers are 0.
    pub fn is_zero(self) -> bool {
        self == Self::ZERO
    }

    /// The result of this function, for types that consist of amounts.
    #[must_use]
    pub fn map(self, each: impl FnOnce(Self) -> Self) -> Self {
        each(self)
    }
}

impl Add for Amount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { blocks: self.blocks.wrapping_add(other.blocks), bytes: self.bytes.wrapping_add(other.bytes) }
    }
}

impl Neg for Amount {
    type Output = Self;

    fn neg(self) -> Self {
        Self { blocks: self.blocks.wrapping_neg(), bytes: self.bytes.wrapping_neg() }
    }
}

follow!(Amount);

/// Everything that is counted per stack and process.
///
/// `allocated = freed + live() + ended without a recorded free`, where the last part is in
/// [`Anomalies`](crate::count::profile::Anomalies) and zero in a capture without gaps.
///
/// Generic, because the [`Spread`](crate::base::spread::Spread) of each is kept in the same form.
// Fields are in this order in memory: most events change one of the first two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[repr(C)]
pub struct Cost<T = Amount> {
    /// Successful calls that returned a block, and the sizes they asked for.
    pub allocated: T,
    /// Blocks of these allocations that were freed, wherever the free happened.
    pub freed: T,
    /// The part of `freed` that was temporary.
    pub temporary: T,
    /// Blocks that this stack freed, whoever allocated them; independent of what was allocated here. Zero unless the
    /// stacks of frees were recorded.
    pub frees: T,
    /// Held at the moment when the whole capture held the most bytes.
    pub peak: T,
    /// Alive when the process or the recording ended.
    pub leaked: T,
    /// Alive across a gap or a pause of the recording and never freed: either leaked, or the free was lost.
    pub uncertain: T,
    /// Alive when exec replaced the program.
    pub at_exec: T,
    /// CPU samples, and the nanoseconds that they stand for (cycles, where those were counted). Not memory, but kept
    /// in the same row: the time of a stack next to what it allocates.
    pub cpu: T,
}

impl<T: Copy + Add<Output = T>> Cost<T> {
    /// Blocks whose end was not recorded, for whatever reason.
    pub fn live(&self) -> T {
        self.leaked + self.uncertain + self.at_exec
    }
}

/// The parts of a [`Cost`] that single blocks are added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Allocated,
    Freed,
    Temporary,
    Frees,
    Leaked,
    Uncertain,
    AtExec,
}

impl<T> Cost<T> {
    #[inline]
    pub(crate) fn part_mut(&mut self, part: Part) -> &mut T {
        match part {
            Part::Allocated => &mut self.allocated,
            Part::Freed => &mut self.freed,
            Part::Temporary => &mut self.temporary,
            Part::Frees => &mut self.frees,
            Part::Leaked => &mut self.leaked,
            Part::Uncertain => &mut self.uncertain,
            Part::AtExec => &mut self.at_exec,
        }
    }

    fn zip(self, other: Self, mut f: impl FnMut(T, T) -> T) -> Self {
        Self {
            allocated: f(self.allocated, other.allocated),
            freed: f(self.freed, other.freed),
            temporary: f(self.temporary, other.temporary),
            frees: f(self.frees, other.frees),
            peak: f(self.peak, other.peak),
            leaked: f(self.leaked, other.leaked),
            uncertain: f(self.uncertain, other.uncertain),
            at_exec: f(self.at_exec, other.at_exec),
            cpu: f(self.cpu, other.cpu),
        }
    }
}

impl<T: Copy + Add<Output = T>> AddAssign for Cost<T> {
    fn add_assign(&mut self, other: Self) {
        *self = self.zip(other, T::add);
    }
}

impl<T: Sub<Output = T>> Sub for Cost<T> {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self.zip(other, T::sub)
    }
}

impl<T: Copy + Default + Add<Output = T>> Sum for Cost<T> {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::default(), |sum, cost| sum.zip(cost, T::add))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn amount() -> impl Strategy<Value = Amount> {
        (any::<i64>(), any::<i64>()).prop_map(|(blocks, bytes)| Amount { blocks, bytes })
    }

    fn cost() -> impl Strategy<Value = Cost> {
        prop::array::uniform9(amount()).prop_map(
            |[allocated, freed, temporary, frees, peak, leaked, uncertain, at_exec, cpu]| Cost {
                allocated,
                freed,
                temporary,
                frees,
                peak,
                leaked,
                uncertain,
                at_exec,
                cpu,
            },
        )
    }

    proptest! {
        /// Check that subtraction exactly undoes addition, for every value.
        #[test]
        fn subtraction_undoes_addition(a in cost(), b in cost()) {
            let mut sum = a;
            sum += b;
            prop_assert_eq!(sum - b, a);
        }

        /// Check that the order of addition does not matter.
        #[test]
        fn addition_commutes(a in cost(), b in cost()) {
            let (mut left, mut right) = (a, b);
            left += b;
            right += a;
            prop_assert_eq!(left, right);
        }
    }
}
