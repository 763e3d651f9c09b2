//! The order of names.

use std::cmp::Ordering;

/// Compares names as people do, whatever the locale: letters regardless of case, numbers by value. Names that are
/// equal so far are ordered by their bytes, so that the order is total.
///
/// ```
/// # use analysis::natural;
/// let mut names = ["step10", "Step9", "step9", "alpha"];
/// names.sort_by(|a, b| natural(a, b));
/// assert_eq!(names, ["alpha", "Step9", "step9", "step10"]);
/// ```
pub fn natural(a: &str, b: &str) -> Ordering {
    loose(a, b).then_with(|| a.cmp(b))
}

fn loose(mut a: &str, mut b: &str) -> Ordering {
    loop {
        let (digits_a, digits_b) = (digits(a), digits(b));
        if digits_a > 0 && digits_b > 0 {
            let order = number(&a[..digits_a], &b[..digits_b]);
            if order.is_ne() {
                return order;
            }
            (a, b) = (&a[digits_a..], &b[digits_b..]);
            continue;
        }
        let (mut rest_a, mut rest_b) = (a.chars(), b.chars());
        match (rest_a.next(), rest_b.next()) {
            (Some(x), Some(y)) => {
                let order = x.to_lowercase().cmp(y.to_lowercase());
                if order.is_ne() {
                    return order;
                }
            }
            (x, y) => return x.is_some().cmp(&y.is_some()),
        }
        (a, b) = (rest_a.as_str(), rest_b.as_str());
    }
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// Compares decimal numbers of any length.
fn number(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Check the order of a list that exercises every rule.
    #[test]
    fn names_are_in_the_order_of_people() {
        let expected = [
            "",
            "007",
            "7",
            "7a",
            "10",
            "99999999999999999999998",
            "99999999999999999999999",
            "a1",
            "A2",
            "a10",
            "é",
        ];
        let mut names = expected;
        names.reverse();
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, expected);
    }

    proptest! {
        /// Check that the order is total: antisymmetric, transitive, and equal only for equal names.
        #[test]
        fn order_is_total(mut names in prop::collection::vec("[aAb019é]{0,5}", 3)) {
            names.sort_by(|a, b| natural(a, b));
            for (i, a) in names.iter().enumerate() {
                for b in &names[i..] {
                    prop_assert_ne!(natural(a, b), Ordering::Greater);
                    prop_assert_eq!(natural(a, b), natural(b, a).reverse());
                    prop_assert_eq!(natural(a, b) == Ordering::Equal, a == b);
                }
            }
        }
    }
}
