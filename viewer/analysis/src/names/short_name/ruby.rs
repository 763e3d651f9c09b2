//! Names of Ruby's.

/// True for a name that Ruby gives to code that is not simply a method: `block in Row#fill`, `rescue in load`,
/// `<class:Row>`, and for a method with its class, as `Row#<=>`. Nothing of these looks like a type.
pub(crate) fn is_label(name: &str) -> bool {
    let kind = name.strip_prefix("block (").and_then(|rest| rest.split_once(" levels) in "));
    let is_block = kind.is_some_and(|(levels, _)| levels.bytes().all(|digit| digit.is_ascii_digit()));
    let is_part = ["block in ", "rescue in ", "ensure in "].iter().any(|kind| name.starts_with(kind));
    let is_body = ["<class:", "<module:"].iter().any(|kind| name.starts_with(kind));
    let is_method = name.split_once('#').is_some_and(|(class, _)| class.split("::").all(is_constant));
    is_block || is_part || is_body || is_method || ["<top (required)>", "singleton class"].contains(&name)
}

fn is_constant(word: &str) -> bool {
    word.starts_with(char::is_uppercase)
        && word.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check what Ruby calls code, and names that look alike.
    #[test]
    fn labels_are_known() {
        for name in [
            "block in Row#fill",
            "block (2 levels) in <main>",
            "rescue in load",
            "ensure in rescue in raises",
            "<class:Row>",
            "<module:Shared>",
            "<top (required)>",
            "singleton class",
            "Outer::Row#<=>",
            "Row#[]",
        ] {
            assert!(is_label(name), "{name}");
        }
        for name in [
            "block(int)",
            "block (x) in y",
            "f(int)::{lambda()#1}::operator()() const",
            "std::Row<int>#1",
            "<T>::f",
            "unsigned long f(int)",
        ] {
            assert!(!is_label(name), "{name}");
        }
    }
}
