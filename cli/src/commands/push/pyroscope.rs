//! An upload to a receiver that takes profiles as Pyroscope does: `POST /ingest` with a form of two parts.
//!
//! ```text
//!  POST /ingest?name=app{env=test}&from=1700000000&until=1700000015&format=pprof&spyName=sysprof-memprof
//!  Content-Type: multipart/form-data; boundary=…
//!
//!  profile               the profile of pprof
//!  sample_type_config    which of its sample types count, and how they are summed up over time
//! ```

use crate::commands::labels;
use std::fmt::Write;

/// The sample types that count, as JSON. Memory held twice as long is not twice as much: over time it is averaged.
const CONFIG: &str = r#"{"alloc_objects":{"units":"objects"},"alloc_space":{"units":"bytes"},"inuse_objects":{"units":"objects","aggregation":"average"},"inuse_space":{"units":"bytes","aggregation":"average"}}"#;

/// The name of a program, with labels. What the syntax has no room for becomes `_`.
pub(super) fn name(name: &str, labels: &[(String, String)]) -> String {
    let good = |text: &str| {
        let is_bad = |letter: char| "{},=\"\\".contains(letter) || letter.is_control();
        text.chars().map(|letter| if is_bad(letter) { '_' } else { letter }).collect::<String>()
    };
    let labels: Vec<String> =
        (labels::of(labels, &[]).iter()).map(|(key, value)| format!("{key}={}", good(value))).collect();
    if labels.is_empty() { good(name) } else { format!("{}{{{}}}", good(name), labels.join(",")) }
}

/// The query of the address; the span is in seconds since the Unix epoch.
pub(super) fn query(name: &str, (from, until): (u64, u64)) -> String {
    // An empty span is rejected.
    let until = until.max(from + 1);
    format!("name={}&from={from}&until={until}&format=pprof&spyName=sysprof-memprof", escaped(name))
}

/// The form with a profile, and its content type.
pub(super) fn form(profile: &[u8]) -> (String, Vec<u8>) {
    let boundary = boundary(profile);
    let parts: [(&str, &str, &[u8]); 2] = [
        ("profile", "profile.pprof", profile),
        ("sample_type_config", "sample_type_config.json", CONFIG.as_bytes()),
    ];
    let mut body = Vec::with_capacity(profile.len() + 1024);
    for (field, file, content) in parts {
        let head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{field}\"; filename=\"{file}\"\r\n\
             Content-Type: application/octet-stream\r\n\r\n"
        );
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    (format!("multipart/form-data; boundary={boundary}"), body)
}

/// A text that does not occur in the profile.
fn boundary(profile: &[u8]) -> String {
    let is_in = |text: &str| profile.windows(text.len()).any(|window| window == text.as_bytes());
    let mut numbers = (0..).map(|number: u64| format!("sysprof-memprof-{number:016x}"));
    // There are more numbers than a profile has bytes, so one is found.
    numbers.find(|text| !is_in(text)).unwrap_or_default()
}

/// Escapes a text for a URL's query string.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that names have their labels, and that nothing in them is taken for syntax.
    #[test]
    fn names_have_labels() {
        let label = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(name("app", &[]), "app");
        let labels = [label("env", "test"), label("host.name", "a-1")];
        assert_eq!(name("my.app", &labels), "my.app{env=test,host_name=a-1}");
        assert_eq!(name("a{b\n", &[label("1a", "b,c=d}")]), "a_b_{label_1a=b_c_d_}");
    }

    /// Check the address and the form of an upload, byte for byte.
    #[test]
    fn upload_is_a_form() {
        let expected = "name=app%7Benv%3Da%20b%7D&from=7&until=9&format=pprof&spyName=sysprof-memprof";
        assert_eq!(query("app{env=a b}", (7, 9)), expected);
        assert!(query("app", (7, 7)).contains("&from=7&until=8&"));
        let (content_type, body) = form(b"\x1f\x8b\r\n--");
        let boundary = content_type.strip_prefix("multipart/form-data; boundary=").unwrap();
        let expected = [
            format!("--{boundary}\r\nContent-Disposition: form-data; name=\"profile\"; filename=\"profile.pprof\"\r\nContent-Type: application/octet-stream\r\n\r\n").as_bytes(),
            b"\x1f\x8b\r\n--",
            format!("\r\n--{boundary}\r\nContent-Disposition: form-data; name=\"sample_type_config\"; filename=\"sample_type_config.json\"\r\nContent-Type: application/octet-stream\r\n\r\n{CONFIG}\r\n--{boundary}--\r\n").as_bytes(),
        ]
        .concat();
        assert_eq!(String::from_utf8_lossy(&body), String::from_utf8_lossy(&expected));
    }

    /// Check that a profile cannot terminate its own part of the form.
    #[test]
    fn boundary_is_not_in_the_profile() {
        let profile = b"x sysprof-memprof-0000000000000000 sysprof-memprof-0000000000000001";
        assert_eq!(boundary(profile), "sysprof-memprof-0000000000000002");
    }

    /// Check that the configuration of sample types is JSON, and has those of pprof.
    #[test]
    fn configuration_is_json() {
        let config: serde_json::Value = serde_json::from_str(CONFIG).unwrap();
        for kind in ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"] {
            assert!(config[kind]["units"].is_string(), "{config}");
        }
    }
}
