//! Names of PHP's.

/// True for a function without a name, which PHP from 8.4 on calls by where it is made: `Row::{closure:Row::load():12}`,
/// `{closure:/srv/app (1)/a.php:3}`. In other languages nothing that is a whole part of a name begins so.
pub(crate) fn is_closure(name: &str) -> bool {
    let place =
        name.split_once("{closure:").filter(|(before, _)| before.is_empty() || before.ends_with(['\\', ':']));
    let line = place.and_then(|(_, place)| place.strip_suffix('}')?.rsplit_once(':'));
    line.is_some_and(|(_, line)| !line.is_empty() && line.bytes().all(|digit| digit.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check what PHP calls functions without a name, and names that look alike.
    #[test]
    fn closures_are_known() {
        for name in [
            "{closure:/srv/app (1)/a.php:3}",
            "Row::{closure:Row::load():12}",
            "App\\{closure:{closure:/srv/a.php:3}:4}",
        ] {
            assert!(is_closure(name), "{name}");
        }
        for name in
            ["{closure}", "f::{closure#0}", "f(int)::{lambda()#1}", "{closure:f()}", "x{closure:f():3}"]
        {
            assert!(!is_closure(name), "{name}");
        }
    }
}
