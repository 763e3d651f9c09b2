//! Names with `*` and `?`, for `--only` and `--skip`.

/// Whether `name` matches `pattern`, in which `*` stands for any characters and `?` for one.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut from) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while from < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(c) if *c == '?' || *c == name[from] => {
                at += 1;
                from += 1;
            }
            _ => {
                // Backtrack: the last star takes one more character.
                let Some((place, taken)) = star else { return false };
                star = Some((place, taken + 1));
                at = place + 1;
                from = taken + 1;
            }
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
}

/// Whether a program that has each of these names is to be recorded.
pub(crate) fn is_chosen(names: &[&str], only: &[String], skip: &[String]) -> bool {
    let is_named = |pattern: &String| names.iter().any(|name| matches(pattern, name));
    (only.is_empty() || only.iter().any(is_named)) && !skip.iter().any(is_named)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that patterns match what a shell user expects.
    #[test]
    fn patterns_match_as_in_a_shell() {
        for (pattern, name, expected) in [
            ("gcc", "gcc", true),
            ("gcc", "gcc-12", false),
            ("gcc*", "gcc-12", true),
            ("*", "", true),
            ("?", "", false),
            ("cc?", "cc1", true),
            ("*plus*", "cc1plus", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            ("*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaa", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    /// Check that skip wins over only, and that nothing given means everything.
    #[test]
    fn skip_wins() {
        let list = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        assert!(is_chosen(&["sh"], &[], &[]));
        assert!(!is_chosen(&["sh"], &list(&["cc*"]), &[]));
        assert!(is_chosen(&["cc1"], &list(&["cc*"]), &[]));
        assert!(!is_chosen(&["cc1"], &list(&["cc*"]), &list(&["*1"])));
        assert!(is_chosen(&["sh", "dash"], &list(&["dash"]), &[]));
        assert!(!is_chosen(&["sh", "dash"], &[], &list(&["dash"])));
    }
}
