//! How uncertain an estimated amount is.

use super::parts::follow;
use serde::{Deserialize, Serialize};
use std::ops::{Add, Neg};

/// The variances of an [`Amount`](crate::base::cost::Amount) estimated from samples. Supports `+=` and `-=`, since samples are
/// independent. All zero when everything was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Of the number of blocks.
    pub blocks: f64,
    /// Of the number of bytes.
    pub bytes: f64,
}

impl Spread {
    /// No uncertainty.
    pub const ZERO: Spread = Spread { blocks: 0.0, bytes: 0.0 };

    /// This variance without a part of it; zero if the rest is within the rounding error of summing in a different
    /// order.
    pub fn without(self, part: Spread) -> Spread {
        let rest = |whole: f64, part: f64| {
            let rest = whole - part;
            if rest.abs() > whole * 1e-9 { rest } else { 0.0 }
        };
        Spread { blocks: rest(self.blocks, part.blocks), bytes: rest(self.bytes, part.bytes) }
    }

    /// Standard error of the number of blocks, rounded up.
    pub fn blocks_error(self) -> i64 {
        error(self.blocks)
    }

    /// Standard error of the number of bytes, rounded up.
    pub fn bytes_error(self) -> i64 {
        error(self.bytes)
    }
}

/// The square root, rounded up. Subtraction may leave a little less than 0 of a variance that is gone, which counts
/// as 0.
fn error(variance: f64) -> i64 {
    variance.max(0.0).sqrt().ceil() as i64
}

impl Add for Spread {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { blocks: self.blocks + other.blocks, bytes: self.bytes + other.bytes }
    }
}

impl Neg for Spread {
    type Output = Self;

    fn neg(self) -> Self {
        Self { blocks: -self.blocks, bytes: -self.bytes }
    }
}

follow!(Spread);

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that an error is the root of its variance, rounded up, and zero when only rounding errors are left.
    #[test]
    fn errors_are_roots() {
        let spread = Spread { blocks: 25.0, bytes: 2.0 };
        assert_eq!((spread.blocks_error(), spread.bytes_error()), (5, 2));
        let nothing = Spread { blocks: -1e-9, bytes: f64::NAN };
        assert_eq!((nothing.blocks_error(), nothing.bytes_error()), (0, 0));
        assert_eq!((spread - spread).blocks_error(), Spread::ZERO.bytes_error());
        let of = |bytes| Spread { blocks: 1.0, bytes };
        assert_eq!(of(0.1 + 0.2).without(of(0.3)), Spread::ZERO);
        assert_eq!(of(9.0).without(Spread { bytes: 5.0, blocks: 0.0 }), Spread { blocks: 1.0, bytes: 4.0 });
    }
}
