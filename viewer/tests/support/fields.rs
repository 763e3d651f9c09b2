//! Fields of JSON documents, for the tests that read them; other crates that use the captures beside this file do without.

/// Shows the name of each field of a JSON document.
pub(crate) fn walk(value: &serde_json::Value, visit: &mut impl FnMut(&str)) {
    match value {
        serde_json::Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            visit(key);
            walk(value, visit);
        }),
        serde_json::Value::Array(values) => values.iter().for_each(|value| walk(value, visit)),
        _ => {}
    }
}
