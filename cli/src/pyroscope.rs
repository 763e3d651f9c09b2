//! An upload to a server that accepts profiles as Pyroscope does: `POST /ingest` with a form of two parts.
//!
//! ```text
//!  POST /ingest?name=app{env=test}&from=1700000000&until=1700000015&format=pprof&spyName=sysprof-memprof
//!  Content-Type: multipart/form-data; boundary=…
//!
//!  profile               the profile of pprof
//!  sample_type_config    which of its sample types count, and how they are summed up over time
//! ```
//!
//! Allocations belong to a span of time, held memory to its end. Every profile of ours has both, so each upload says
//! which of them it is about, and a span takes two uploads.

use std::fmt::Write;

/// What an upload is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum About {
    /// What was allocated in a span of time.
    Allocated,
    /// What was held at a moment.
    Held,
}

impl About {
    /// The sample types that count, as JSON.
    fn config(self) -> &'static str {
        match self {
            About::Allocated => r#"{"alloc_objects":{"units":"objects"},"alloc_space":{"units":"bytes"}}"#,
            // Memory held twice as long is not twice as much: over time these are averaged.
            About::Held => {
                r#"{"inuse_objects":{"units":"objects","aggregation":"average"},"inuse_space":{"units":"bytes","aggregation":"average"}}"#
            }
        }
    }
}

/// The name of a program, with labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name(String);

impl Name {
    /// Combines name and labels.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(crate) fn new(name: &str, labels: &[(String, String)]) -> Result<Name, String> {
        let is_good = |text: &str| {
            !text.is_empty()
                && !text.contains(|letter: char| "{},=\"\\".contains(letter) || letter.is_control())
        };
        if !is_good(name) {
            return Err(format!(
                "{name:?} is not a valid program name: it must not be empty or contain any of {{}},=\""
            ));
        }
        let mut all = String::new();
        for (key, value) in labels {
            let is_key = !key.starts_with(|letter: char| letter.is_ascii_digit())
                && key.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
            if key.is_empty() || !is_key || !is_good(value) {
                return Err(format!("{key}={value} is not a valid label: write it like env=test"));
            }
            let _ = write!(all, "{}{key}={value}", if all.is_empty() { "" } else { "," });
        }
        Ok(Name(if all.is_empty() { name.to_owned() } else { format!("{name}{{{all}}}") }))
    }
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Upload {
    /// The address.
    pub(crate) url: String,
    /// The body's content type.
    pub(crate) content_type: String,
    /// The form.
    pub(crate) body: Vec<u8>,
}

impl Upload {
    /// An upload of a profile for a span of time, in seconds since the Unix epoch.
    pub(crate) fn new(
        server: &str,
        name: &Name,
        (from, until): (u64, u64),
        about: About,
        profile: &[u8],
    ) -> Upload {
        let url = format!(
            "{}/ingest?name={}&from={from}&until={until}&format=pprof&spyName=sysprof-memprof",
            server.trim_end_matches('/'),
            escaped(&name.0)
        );
        let boundary = boundary(profile);
        let parts: [(&str, &str, &[u8]); 2] = [
            ("profile", "profile.pprof", profile),
            ("sample_type_config", "sample_type_config.json", about.config().as_bytes()),
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
        Upload { url, content_type: format!("multipart/form-data; boundary={boundary}"), body }
    }
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

    /// Check that names have their labels, and that what a server would misread is refused.
    #[test]
    fn names_have_labels() {
        let label = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(Name::new("app", &[]), Ok(Name("app".into())));
        let name = Name::new("my.app", &[label("env", "test"), label("host", "a-1")]);
        assert_eq!(name, Ok(Name("my.app{env=test,host=a-1}".into())));
        for (name, key, value) in [
            ("", "a", "b"),
            ("a{", "a", "b"),
            ("a\n", "a", "b"),
            ("a", "", "b"),
            ("a", "1a", "b"),
            ("a", "a", "b,c=d"),
        ] {
            assert!(Name::new(name, &[label(key, value)]).is_err(), "{name:?} {key} {value}");
        }
    }

    /// Check the address and the form of an upload, byte for byte.
    #[test]
    fn upload_is_a_form() {
        let name = Name::new("app", &[("env".into(), "a b".into())]).unwrap();
        let upload = Upload::new("http://host:4040/", &name, (7, 9), About::Allocated, b"\x1f\x8b\r\n--");
        assert_eq!(
            upload.url,
            "http://host:4040/ingest?name=app%7Benv%3Da%20b%7D&from=7&until=9&format=pprof&spyName=sysprof-memprof"
        );
        let boundary = upload.content_type.strip_prefix("multipart/form-data; boundary=").unwrap();
        let expected = [
            format!("--{boundary}\r\nContent-Disposition: form-data; name=\"profile\"; filename=\"profile.pprof\"\r\nContent-Type: application/octet-stream\r\n\r\n").as_bytes(),
            b"\x1f\x8b\r\n--",
            format!("\r\n--{boundary}\r\nContent-Disposition: form-data; name=\"sample_type_config\"; filename=\"sample_type_config.json\"\r\nContent-Type: application/octet-stream\r\n\r\n{{\"alloc_objects\":{{\"units\":\"objects\"}},\"alloc_space\":{{\"units\":\"bytes\"}}}}\r\n--{boundary}--\r\n").as_bytes(),
        ]
        .concat();
        assert_eq!(String::from_utf8_lossy(&upload.body), String::from_utf8_lossy(&expected));
    }

    /// Check that a profile cannot terminate its own part of the form.
    #[test]
    fn boundary_is_not_in_the_profile() {
        let profile = b"x sysprof-memprof-0000000000000000 sysprof-memprof-0000000000000001";
        assert_eq!(boundary(profile), "sysprof-memprof-0000000000000002");
    }

    /// Check that both kinds of uploads name sample types of pprof, in JSON.
    #[test]
    fn configurations_are_json() {
        for (about, kinds) in [
            (About::Allocated, ["alloc_objects", "alloc_space"]),
            (About::Held, ["inuse_objects", "inuse_space"]),
        ] {
            let config: serde_json::Value = serde_json::from_str(about.config()).unwrap();
            assert!(kinds.iter().all(|kind| config[kind]["units"].is_string()), "{config}");
        }
    }
}
