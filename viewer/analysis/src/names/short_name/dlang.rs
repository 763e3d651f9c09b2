//! D names.

/// What may follow the parameters.
const SUFFIXES: [&str; 5] = [" const", " immutable", " inout", " shared", " [clone "];

/// True when a name has the form of D's: identifiers separated by dots, then template arguments or parameters.
pub(super) fn is_one(name: &str) -> bool {
    let Some((before, _)) = name.split_once('(') else { return false };
    let before = before.strip_prefix("thunk to ").unwrap_or(before);
    before.contains('.') && !before.ends_with('.') && !before.contains([' ', ':', '<', '[', '/'])
}

/// The name without anything in brackets, and without the qualifiers of `this`.
pub(super) fn short(name: &str) -> Option<String> {
    let (mut short, mut depth, mut quote, mut is_escaped) = (String::new(), 0_usize, None, false);
    for letter in name.chars() {
        match (letter, quote) {
            (_, Some(_)) if is_escaped => is_escaped = false,
            ('\\', Some(_)) => is_escaped = true,
            (_, Some(open)) if letter == open => quote = None,
            (_, Some(_)) => {}
            ('"' | '\'', None) if depth > 0 => quote = Some(letter),
            ('(', None) => {
                if depth == 0 && short.ends_with('!') {
                    short.pop();
                }
                depth += 1;
            }
            (')', None) => depth = depth.checked_sub(1)?,
            (_, None) if depth == 0 => short.push(letter),
            _ => {}
        }
    }
    let end = SUFFIXES.iter().filter_map(|suffix| short.find(suffix)).min();
    short.truncate(end.unwrap_or(short.len()));
    (depth == 0).then_some(short)
}
