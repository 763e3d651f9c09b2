//! Arithmetic of what consists of amounts or counts: part by part.

use std::ops::AddAssign;

/// Gives a type of amounts `+=`, `-`, and a function for each of its amounts. Its parts may have parts of their own.
#[macro_export]
macro_rules! parts {
    ($type:ident { $($part:ident),+ $(,)? }) => {
        impl std::ops::AddAssign for $type {
            fn add_assign(&mut self, other: Self) {
                $(self.$part += other.$part;)+
            }
        }

        impl std::ops::Sub for $type {
            type Output = Self;

            fn sub(self, other: Self) -> Self {
                Self { $($part: self.$part - other.$part),+ }
            }
        }

        impl $type {
            /// The same with this function applied to each amount.
            #[must_use]
            pub fn map(self, mut each: impl FnMut($crate::Amount) -> $crate::Amount) -> Self {
                Self { $($part: self.$part.map(&mut each)),+ }
            }
        }
    };
}

/// Gives a type of counts `+=`, which never wraps.
macro_rules! counts {
    ($type:ident { $($part:ident),+ $(,)? }) => {
        impl std::ops::AddAssign for $type {
            fn add_assign(&mut self, other: Self) {
                $(self.$part = self.$part.saturating_add(other.$part);)+
            }
        }
    };
}

/// Gives a type with `+` and a negative what follows from these.
macro_rules! follow {
    ($type:ident) => {
        impl std::ops::Sub for $type {
            type Output = Self;

            fn sub(self, other: Self) -> Self {
                self + -other
            }
        }

        impl std::ops::AddAssign for $type {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        impl std::ops::SubAssign for $type {
            fn sub_assign(&mut self, other: Self) {
                *self = *self - other;
            }
        }

        impl std::iter::Sum for $type {
            fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
                amounts.fold(Self::ZERO, |sum, amount| sum + amount)
            }
        }
    };
}

/// Adds amounts to sums; both are ordered by slice, or by another key.
pub fn add_by_key<K: Copy + Ord, T: Copy + AddAssign>(sum: &mut Vec<(K, T)>, changes: &[(K, T)]) {
    if sum.is_empty() {
        sum.extend_from_slice(changes);
        return;
    }
    let mut old = std::mem::take(sum).into_iter().peekable();
    sum.reserve(old.len().max(changes.len()));
    for &(slice, change) in changes {
        sum.extend(std::iter::from_fn(|| old.next_if(|(earlier, _)| *earlier < slice)));
        let mut change = change;
        if let Some((_, same)) = old.next_if(|(other, _)| *other == slice) {
            change += same;
        }
        sum.push((slice, change));
    }
    sum.extend(old);
}

pub(crate) use {counts, follow, parts};
