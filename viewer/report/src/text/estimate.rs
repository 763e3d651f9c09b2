//! Amounts estimated from samples: `≈12.3 MiB ± 1.10 MiB`. Exact ones are formatted as usual.

use super::line::Line;
use super::style::Role;
use crate::views::ERROR;
use analysis::{Amount, Spread, format};
use engine::Loaded;

/// A number of bytes with its standard error, if it has one.
pub(super) fn bytes(amount: Amount, spread: Spread) -> String {
    let text = format::bytes(amount.bytes);
    match spread.bytes_error() {
        0 => text,
        error => format!("≈{text} ± {}", format::bytes(error)),
    }
}

/// A number of blocks, likewise.
pub(super) fn blocks(amount: Amount, spread: Spread) -> String {
    let text = format::count(amount.blocks);
    match spread.blocks_error() {
        0 => text,
        error => format!("≈{text} ± {}", format::count(error)),
    }
}

/// A number with its noun.
pub(super) fn counted(amount: Amount, spread: Spread, noun: &str) -> String {
    match spread.blocks_error() {
        0 => format::counted(amount.blocks, noun),
        // With an error, the number is never exactly one.
        _ => format!("{} {noun}s", blocks(amount, spread)),
    }
}

/// `12.3 MiB in 4 blocks`.
pub(super) fn held(amount: Amount, spread: Spread) -> String {
    format!("{} in {}", bytes(amount, spread), counted(amount, spread, "block"))
}

/// The standard error relative to the number, `±5.1 %`.
pub(super) fn relative(error: i64, number: i64) -> String {
    if error == 0 || number == 0 {
        return "±0 %".to_owned();
    }
    match error as f64 * 100.0 / number.unsigned_abs() as f64 {
        percent @ ..10.0 => format!("±{percent:.1} %"),
        percent => format!("±{percent:.0} %"),
    }
}

/// That the numbers of a sampled capture are estimates; none for an exact one.
pub(super) fn sampled(loaded: &Loaded) -> Option<String> {
    let interval = i64::try_from(loaded.profile.sampling?.interval()).unwrap_or(i64::MAX);
    Some(format!("sampled, one per {}: numbers are estimates", format::bytes(interval)))
}

/// The same, where numbers have errors.
pub(super) fn note(loaded: &Loaded) -> Option<Line> {
    sampled(loaded).map(|text| vec![(Role::Detail, format!("{text}, {ERROR}"))])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check numbers with and without an error, for none, one and many blocks.
    #[test]
    fn errors_stand_behind_their_numbers() {
        let amount = |blocks, bytes| Amount { blocks, bytes };
        let spread = Spread { blocks: 9.0, bytes: 1e12 };
        for (amount, spread, expected) in [
            (amount(1, 2048), Spread::ZERO, "2.00 KiB in 1 block"),
            (amount(4000, 12 << 20), spread, "≈12.0 MiB ± 977 KiB in ≈4,000 ± 3 blocks"),
            (amount(1, 5 << 20), spread, "≈5.00 MiB ± 977 KiB in ≈1 ± 3 blocks"),
            (amount(0, 0), Spread::ZERO, "0 B in 0 blocks"),
        ] {
            assert_eq!(held(amount, spread), expected);
        }
    }

    /// Check errors relative to their numbers, from none to more than all.
    #[test]
    fn relative_errors_have_two_digits() {
        for (error, number, expected) in
            [(0, 5, "±0 %"), (5, 0, "±0 %"), (1, 3, "±33 %"), (51, 1000, "±5.1 %"), (200, 100, "±200 %")]
        {
            assert_eq!(relative(error, number), expected);
        }
    }
}
