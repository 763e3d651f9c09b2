//! Arithmetic of what consists of amounts or counts: part by part.

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

pub(crate) use {counts, parts};
