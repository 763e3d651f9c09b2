//! Enums that have numbers in files, each declared once: the writer's number, the reader's way back and the list of
//! all variants come from one table, which a test compares with the document.

/// Declares an enum whose variants have numbers in files.
///
/// A variant after a semicolon stands for numbers that only a later version knows; it is in no file.
macro_rules! numbered {
    (
        $(#[$meta:meta])*
        $visible:vis enum $name:ident: $number:ident {
            $($(#[$doc:meta])* $variant:ident = $value:literal,)+
            $(; $(#[$other_doc:meta])* $other:ident = $other_value:literal,)?
        }
    ) => {
        $(#[$meta])*
        #[repr($number)]
        $visible enum $name {
            $($(#[$doc])* $variant = $value,)+
            $($(#[$other_doc])* $other = $other_value,)?
        }

        impl $name {
            /// All variants that this version knows, ordered by number.
            #[allow(dead_code, reason = "of some only tests want all")]
            $visible const ALL: [$name; [$($value),+].len()] = [$($name::$variant),+];

            /// The variant with this number in files; none for a number that only a later version knows.
            $visible const fn from_number(number: $number) -> Option<Self> {
                match number {
                    $($value => Some($name::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

pub(crate) use numbered;

#[cfg(test)]
mod tests {
    numbered! {
        /// For the test.
        #[derive(Clone, Copy, Debug, PartialEq)]
        enum Fruit: u8 {
            /// A first one.
            Apple = 3,
            /// A gap before it.
            Pear = 9,
            ;
            /// Not in files.
            Other = 255,
        }
    }

    /// Check that numbers lead to their variants and back, and that all others lead to none.
    #[test]
    fn numbers_lead_back() {
        assert_eq!(Fruit::ALL.map(|fruit| fruit as u8), [3, 9]);
        for number in 0..=255 {
            let expected = Fruit::ALL.into_iter().find(|fruit| *fruit as u8 == number);
            assert_eq!(Fruit::from_number(number), expected, "{number}");
        }
        assert_eq!(Fruit::Other as u8, 255);
    }
}
