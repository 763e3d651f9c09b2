//! Enums whose variants have words.

/// Defines an enum whose variants have a word each, with `ALL` and `name`, from a single list of them.
///
/// ```
/// analysis::named! {
///     /// A direction.
///     #[derive(Clone, Copy, Debug, PartialEq)]
///     pub enum Direction {
///         /// Towards `main`.
///         Outwards = "out",
///         /// Away from it.
///         Inwards = "in",
///     }
/// }
/// assert_eq!(Direction::ALL.map(Direction::name), ["out", "in"]);
/// ```
#[macro_export]
macro_rules! named {
    (
        $(#[$about:meta])*
        $vis:vis enum $name:ident { $($(#[$of_variant:meta])* $variant:ident = $word:literal),+ $(,)? }
    ) => {
        $(#[$about])*
        $vis enum $name {
            $($(#[$of_variant])* $variant),+
        }

        impl $name {
            /// All of them, in order.
            $vis const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// The word that names it.
            $vis fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }
    };
}
pub(crate) use named;
