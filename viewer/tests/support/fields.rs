//! Fields of JSON documents, for the tests that read them; other crates that use the captures beside this file do without.

use serde_json::Value;

/// Checks that the document of the formats names every field of a JSON document.
#[track_caller]
pub(crate) fn assert_described(of: &str, value: &Value) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| {
            let described = include_str!("../../JSON.md").contains(&format!("`{key}`"));
            assert!(described, "{of}: JSON.md does not name `{key}`");
            // The keys of these are the recording's.
            if !["options", "labels"].contains(&key.as_str()) {
                assert_described(of, value);
            }
        }),
        Value::Array(values) => values.iter().for_each(|value| assert_described(of, value)),
        _ => {}
    }
}
